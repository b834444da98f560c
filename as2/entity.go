package as2

import (
	"bytes"
	"io"
	"path"
	"strings"

	"firstcopy/as2/smime"
)

// entity is one MIME entity: the message itself or what a layer held.
type entity struct {
	contentType string // as received
	mediaType   string
	params      map[string]string
	encoding    string
	disposition map[string]string
	body        io.Reader
	held        []byte // what body reads, if it is in memory
}

func newEntity(contentType, encoding, disposition string) *entity {
	e := &entity{contentType: contentType, encoding: encoding}
	e.mediaType, e.params = smime.ParseContentType(contentType)
	if disposition != "" {
		_, e.disposition = smime.ParseContentType(disposition)
	}
	return e
}

// parseEntity reads an entity with its header block.
func parseEntity(octets []byte) *entity {
	header, body := smime.SplitHeader(octets)
	e := newEntity(header.Get("Content-Type"), header.Get("Content-Transfer-Encoding"), header.Get("Content-Disposition"))
	e.body, e.held = bytes.NewReader(body), body
	return e
}

// octets returns the whole body of a multipart. The only transfer encoding it
// may have is one that does not encode (RFC 2045 §6.4), but base64 is seen.
func (e *entity) octets() ([]byte, error) {
	if strings.EqualFold(strings.TrimSpace(e.encoding), "base64") {
		return io.ReadAll(smime.DecodeTransfer(e.body, "base64"))
	}
	if e.held != nil {
		return e.held, nil
	}
	return io.ReadAll(e.body)
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

// rawName is the file name as the sender gave it: the disposition's comes first
// (RFC 2183 §2.3), the Content-Type's is its predecessor.
func (e *entity) rawName() string {
	if name := e.disposition["filename"]; name != "" {
		return name
	}
	return e.params["name"]
}
