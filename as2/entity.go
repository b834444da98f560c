package as2

import (
	"io"
	"path"
	"strings"

	"firstcopy/as2/smime"
)

// entity is one MIME entity: the message itself or what a layer held.
type entity struct {
	block       []byte // the header block as received, empty line included
	contentType string // as received
	mediaType   string
	params      map[string]string
	encoding    string
	disposition map[string]string
	body        io.Reader
}

func newEntity(contentType, encoding, disposition string) *entity {
	e := &entity{contentType: contentType, encoding: encoding}
	e.mediaType, e.params = smime.ParseContentType(contentType)
	if disposition != "" {
		_, e.disposition = smime.ParseContentType(disposition)
	}
	return e
}

// entityOf is an entity whose header block has been read.
func entityOf(header smime.Header, block []byte) *entity {
	e := newEntity(header.Get("Content-Type"), header.Get("Content-Transfer-Encoding"), header.Get("Content-Disposition"))
	e.block = block
	return e
}

// readEntity reads an entity's header block.
func readEntity(src *smime.Source) (*entity, error) {
	header, block, err := smime.ReadHeader(src)
	if err != nil {
		return nil, err
	}
	e := entityOf(header, block)
	e.body = src
	return e, nil
}

// encoded reports whether the body is labelled with an encoding that encodes.
func (e *entity) encodes() bool {
	switch strings.ToLower(strings.TrimSpace(e.encoding)) {
	case "base64", "quoted-printable":
		return true
	}
	return false
}

// decoded is the body of a multipart. The only transfer encoding it may have
// is one that does not encode (RFC 2045 §6.4), but base64 is seen.
func (e *entity) decoded() *smime.Source {
	if strings.EqualFold(strings.TrimSpace(e.encoding), "base64") {
		return smime.NewSource(smime.DecodeTransfer(e.body, "base64"))
	}
	return smime.NewSource(e.body)
}

// hasParts says that the entity is a payload of several documents: related, as
// RFC 6362 has it, or mixed, as some products send it.
func (e *entity) hasParts() bool {
	return (e.mediaType == "multipart/related" || e.mediaType == "multipart/mixed") && e.params["boundary"] != ""
}

// mustBeCMS says that the type admits nothing else. The x- form is an old alias
// (RFC 8551 §3.2).
func (e *entity) mustBeCMS() bool {
	return e.mediaType == "application/pkcs7-mime" || e.mediaType == "application/x-pkcs7-mime"
}

// mayBeCMS says that it is worth looking. Receivers are to recognise CMS under
// a generic type by the file name (RFC 8551 §3.10); without any name, the
// content decides. A payload that has another name may be CMS of the sender's
// own business and is left alone.
func (e *entity) mayBeCMS() bool {
	if e.mustBeCMS() {
		return true
	}
	if e.mediaType != "" && e.mediaType != "application/octet-stream" {
		return false
	}
	switch name := e.rawName(); strings.ToLower(path.Ext(name)) {
	case ".p7m", ".p7z":
		return true
	default:
		return name == ""
	}
}

// isSMIMEName says that the file name is the one S/MIME gives its own layers
// (RFC 8551 §3.2.1).
func (e *entity) isSMIMEName() bool { return strings.EqualFold(e.rawName(), "smime.p7m") }

// rawName is the file name as the sender gave it: the disposition's comes first
// (RFC 2183 §2.3), the Content-Type's is its predecessor.
func (e *entity) rawName() string {
	if name := e.disposition["filename"]; name != "" {
		return name
	}
	return e.params["name"]
}
