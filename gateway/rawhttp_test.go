package gateway_test

import (
	"bufio"
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"firstcopy/as2/smime"
	"firstcopy/internal/as2client"
	"firstcopy/internal/as2test"
	"firstcopy/mdn"
)

// rawPost is a POST written octet by octet: net/http would tidy up what these tests are about.
type rawPost struct {
	target, proto string
	fields        []mdn.Field
	body          []byte
}

func raw(m as2client.Prepared) rawPost {
	return rawPost{"/as2", "HTTP/1.1", append([]mdn.Field{{Name: "Host", Value: "hub.example"}}, m.Header...), m.Body}
}

// set replaces a field, or adds it.
func (p rawPost) set(name, value string) rawPost {
	p = p.drop(name)
	p.fields = append(p.fields, mdn.Field{Name: name, Value: value})
	return p
}

// drop leaves a field out, however it is spelled.
func (p rawPost) drop(name string) rawPost {
	p.fields = slices.DeleteFunc(slices.Clone(p.fields), func(f mdn.Field) bool { return strings.EqualFold(f.Name, name) })
	return p
}

// lowerCase spells every name in lower case.
func (p rawPost) lowerCase() rawPost {
	p.fields = slices.Clone(p.fields)
	for i := range p.fields {
		p.fields[i].Name = strings.ToLower(p.fields[i].Name)
	}
	return p
}

// head is the request up to the blank line.
func (p rawPost) head() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "POST %s %s\r\n", p.target, p.proto)
	for _, f := range p.fields {
		fmt.Fprintf(&b, "%s: %s\r\n", f.Name, f.Value)
	}
	b.WriteString("\r\n")
	return b.Bytes()
}

// octets is the whole request, framed by its Content-Length.
func (p rawPost) octets() []byte {
	return append(p.set("Content-Length", strconv.Itoa(len(p.body))).head(), p.body...)
}

// rawConn is a partner's connection to a hub.
type rawConn struct {
	net.Conn
	tb testing.TB
	in *bufio.Reader
}

func connect(tb testing.TB, hub *as2test.Hub) *rawConn { return connectTo(tb, hub.Node.Address()) }

func connectTo(tb testing.TB, address string) *rawConn {
	tb.Helper()
	return connectFrom(tb, "127.0.0.1", address)
}

// connectFrom lets the gateway see another address of this machine.
func connectFrom(tb testing.TB, local, address string) *rawConn {
	tb.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(local)}}
	c, err := dialer.Dial("tcp", address)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		tb.Fatal(err)
	}
	return &rawConn{c, tb, bufio.NewReader(c)}
}

func (c *rawConn) write(octets []byte) {
	c.tb.Helper()
	if _, err := c.Write(octets); err != nil {
		c.tb.Fatalf("writing: %v", err)
	}
}

// halfClose says that nothing more will be sent.
func (c *rawConn) halfClose() {
	c.tb.Helper()
	err := c.Conn.(*net.TCPConn).CloseWrite()
	if err != nil && !errors.Is(err, syscall.ENOTCONN) { // the answer may have come, and the connection be closed, already
		c.tb.Fatal(err)
	}
}

// closed reports whether the other side closes without another octet.
func (c *rawConn) closed() bool {
	_, err := c.in.ReadByte()
	return err != nil && !isTimeout(err)
}

func isTimeout(err error) bool {
	ne, ok := err.(net.Error)
	return ok && ne.Timeout()
}

// exchange posts on a connection of its own.
func exchange(tb testing.TB, hub *as2test.Hub, octets []byte) rawReply {
	tb.Helper()
	c := connect(tb, hub)
	c.write(octets)
	return c.read()
}

// rawReply is an answer as it came over the wire.
type rawReply struct {
	proto  string
	status int
	lines  []string // of the header, without line ends
	body   []byte
	octets []byte // all of it
}

// read reads one answer; the answer 100 Continue is one, too.
func (c *rawConn) read() rawReply {
	c.tb.Helper()
	r, err := readRaw(c.in)
	if err != nil {
		c.tb.Fatalf("reading the answer: %v; so far: %q", err, r.octets)
	}
	return r
}

func readRaw(in *bufio.Reader) (r rawReply, err error) {
	for {
		line, err := in.ReadString('\n')
		r.octets = append(r.octets, line...)
		if err != nil {
			return r, err
		}
		line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		if line == "" {
			break
		}
		r.lines = append(r.lines, line)
	}
	if len(r.lines) == 0 {
		return r, fmt.Errorf("no status line")
	}
	status := strings.SplitN(r.lines[0], " ", 3)
	r.proto, r.lines = status[0], r.lines[1:]
	if len(status) > 1 {
		r.status, _ = strconv.Atoi(status[1])
	}
	if length, ok := r.find("Content-Length"); ok {
		n, err := strconv.Atoi(length)
		if err != nil {
			return r, err
		}
		r.body = make([]byte, n)
		_, err = io.ReadFull(in, r.body)
		r.octets = append(r.octets, r.body...)
		return r, err
	}
	if r.status >= 200 {
		r.body, err = io.ReadAll(in)
		r.octets = append(r.octets, r.body...)
	}
	return r, err
}

// find looks a header field up by its exact spelling.
func (r rawReply) find(name string) (string, bool) {
	for _, line := range r.lines {
		if value, ok := strings.CutPrefix(line, name+": "); ok {
			return value, true
		}
	}
	return "", false
}

func (r rawReply) value(name string) string {
	v, _ := r.find(name)
	return v
}

// receipt reads the MDN that the answer must be.
func (r rawReply) receipt(tb testing.TB) mdn.Parsed {
	tb.Helper()
	p, err := mdn.Parse(r.value("Content-Type"), r.body)
	if err != nil {
		tb.Fatalf("no receipt: %v; the answer is %q", err, r.octets)
	}
	return p
}

func (r rawReply) isReceipt() bool {
	_, err := mdn.Parse(r.value("Content-Type"), r.body)
	return err == nil
}

// taken checks that the answer is a positive receipt for the message, signed by the hub.
func (r rawReply) taken(tb testing.TB, hub *as2test.Hub, m as2client.Prepared) mdn.Parsed {
	tb.Helper()
	p := r.answers(tb, mdn.Processed, m.MessageID)
	checkSigned(tb, hub, p)
	return p
}

// answers checks that the answer is a receipt with HTTP 200 that says this of the message.
func (r rawReply) answers(tb testing.TB, want mdn.Disposition, messageID string) mdn.Parsed {
	tb.Helper()
	p := r.receipt(tb)
	if r.status != 200 || p.Disposition != want || p.OriginalMessageID != messageID {
		tb.Errorf("status %d, %v for %q; want 200, %v for %q", r.status, p.Disposition, p.OriginalMessageID, want, messageID)
	}
	return p
}

func checkSigned(tb testing.TB, hub *as2test.Hub, p mdn.Parsed) {
	tb.Helper()
	if !p.Signed {
		tb.Error("the receipt is not signed")
	} else if _, err := smime.Verify(bytes.NewReader(p.SignedContent), p.Signature, []*x509.Certificate{hub.Key.Certificate}); err != nil {
		tb.Errorf("the receipt's signature: %v", err)
	}
}

// sealed is a message around a part that was written by hand, signed and encrypted as the partner does it.
func sealed(tb testing.TB, p as2client.Partner, messageID string, part []byte) as2client.Prepared {
	tb.Helper()
	return enveloped(tb, p, messageID, signedEntity(tb, *p.SignKey, part, part))
}

// signedEntity is a multipart/signed, with its header, that transmits one part and signs another.
func signedEntity(tb testing.TB, key smime.Key, transmitted, signed []byte) []byte {
	tb.Helper()
	der, err := smime.Sign(bytes.NewReader(signed), key, crypto.SHA256)
	if err != nil {
		tb.Fatal(err)
	}
	boundary := "part-" + rand.Text()
	return slices.Concat(
		[]byte("Content-Type: multipart/signed; protocol=\"application/pkcs7-signature\"; micalg=sha-256; boundary=\""+boundary+"\"\r\n\r\n"),
		[]byte("--"+boundary+"\r\n"), transmitted,
		[]byte("\r\n--"+boundary+"\r\nContent-Type: application/pkcs7-signature\r\nContent-Transfer-Encoding: base64\r\n\r\n"),
		[]byte(base64.StdEncoding.EncodeToString(der)), []byte("\r\n--"+boundary+"--\r\n"))
}

// enveloped is a message with an encrypted entity.
func enveloped(tb testing.TB, p as2client.Partner, messageID string, entity []byte) as2client.Prepared {
	tb.Helper()
	m := as2test.Prepare(tb, p, "replaced", as2client.Options{MessageID: messageID})
	var body bytes.Buffer
	if err := smime.Encrypt(&body, bytes.NewReader(entity), p.EncryptFor, "aes-256-cbc"); err != nil {
		tb.Fatal(err)
	}
	m.Body = body.Bytes()
	return m
}

// ediPart is a MIME part with the payload as it is.
func ediPart(payload string) []byte {
	return []byte("Content-Type: application/EDIFACT\r\nContent-Transfer-Encoding: binary\r\n\r\n" + payload)
}

// keptNothing checks that no table knows of a message.
func keptNothing(tb testing.TB, hub *as2test.Hub) {
	tb.Helper()
	for _, table := range []string{"delivery", "receipt", "dedup_key", "dedup_version", "document", "document_lineage", "payload_chunk", "payload_stage", "ledger_event"} {
		if n := hub.Count(`SELECT count(*) FROM ` + table); n != 0 {
			tb.Errorf("%d rows in %s, want none", n, table)
		}
	}
}
