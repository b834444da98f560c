// Package interop lets firstcopy talk to other AS2 implementations, live: each
// sends to a running hub in every packaging it can make and judges the receipt
// with its own code, and each receives what internal/as2client sends.
//
// The peers are installed into the user's cache folder by the tests, which are
// built with the tag "interop" alone ("make interop"): they need python3, java,
// mvn, node, npm and openssl, and package registries the first time. What was
// learned is written to docs/interop.md, and accepted messages are kept in
// as2/testdata/peers, where the tests of package as2 replay them. EDI libraries
// read our functional acknowledgements back (-peer readers for these alone).
//
// Each peer is a small driver, a program in the peer's language in the folder
// of its name. It reads a [Plan] from the file it is given and writes one JSON
// object a line to standard output: as "send" an [Outcome] for each case, as
// "receive" a [Listening] and then an [Arrival] for each message until its
// standard input ends.
package interop

import (
	"fmt"
	"strings"
)

// HubName is the hub's AS2 name in all exchanges.
const HubName = "HUB"

// Plan is what a driver needs to know.
type Plan struct {
	HubURL      string `json:"hub_url"` // where to post; a case's identifier is appended as "?case="
	HubName     string `json:"hub_name"`
	HubCert     string `json:"hub_cert"` // PEM files
	PeerName    string `json:"peer_name"`
	PeerCert    string `json:"peer_cert"`
	PeerKey     string `json:"peer_key"`     // PKCS #8
	ListenPort  int    `json:"listen_port"`  // of "receive"
	ReceiptPort int    `json:"receipt_port"` // where "send" takes asynchronous receipts
	Scratch     string `json:"scratch"`      // a folder for the driver's files
	Quiet       bool   `json:"quiet"`        // the peer is not to log what goes well
	Cases       []Case `json:"cases"`
}

// Case is one message to send. The zero value of a layer's field is no such
// layer.
type Case struct {
	ID string `json:"id"`
	// Compress says where the compression layer is (RFC 5402 §2): "before" or
	// "after" the signature; without signature it is "before".
	Compress string `json:"compress,omitempty"`
	// Sign is the signature's digest: "sha1", "sha256", "sha384" or "sha512".
	Sign string `json:"sign,omitempty"`
	PSS  bool   `json:"pss,omitempty"` // RSASSA-PSS instead of PKCS #1 v1.5
	// Encrypt is the cipher: "3des", "aes128-cbc", "aes256-gcm" and the like.
	Encrypt string `json:"encrypt,omitempty"`
	// OAEP is the digest of RSAES-OAEP; "" is PKCS #1 v1.5.
	OAEP string `json:"oaep,omitempty"`
	// Receipt is "sync" or "async", both signed, or "unsigned" (synchronous).
	Receipt string `json:"receipt"`
	Payload string `json:"payload"`
	// Golden cases are kept as vectors.
	Golden bool `json:"-"`
}

// Outcome is what became of one case, by the peer's own judgement.
type Outcome struct {
	Case string `json:"case"`
	// Verdict is [Accepted] if the peer found the receipt's signature and
	// content digest right and its disposition positive, [Negative] if the
	// receipt is right and says that the message was refused, [Rejected] if the
	// peer holds the receipt for wrong, [NotOffered] if the peer cannot make the
	// message, and [Failed] if there was no receipt.
	Verdict string `json:"verdict"`
	Detail  string `json:"detail,omitempty"`
}

// The verdicts on an exchange.
const (
	Accepted   = "accepted"
	Negative   = "refused"
	Rejected   = "receipt rejected"
	NotOffered = "not offered"
	Failed     = "failed"
)

// Listening is the first line of a receiver.
type Listening struct {
	URL string `json:"listening"`
}

// Arrival is a payload that a peer's receiver took out of a message.
type Arrival struct {
	MessageID string `json:"message_id"`
	SHA256    string `json:"sha256"` // hex, of the payload
	Detail    string `json:"detail,omitempty"`
}

// Packaging names the layers from the inside out, as in "compressed, signed
// sha256, encrypted aes256-cbc".
func (c Case) Packaging() string {
	var layers []string
	compressed := func(where string) {
		if c.Compress == where {
			layers = append(layers, "compressed")
		}
	}
	compressed("before")
	if c.Sign != "" {
		layer := "signed " + c.Sign
		if c.PSS {
			layer += " (PSS)"
		}
		layers = append(layers, layer)
	}
	compressed("after")
	if c.Encrypt != "" {
		layer := "encrypted " + c.Encrypt
		if c.OAEP != "" {
			layer += " (OAEP " + c.OAEP + ")"
		}
		layers = append(layers, layer)
	}
	if len(layers) == 0 {
		return "plain"
	}
	return strings.Join(layers, ", ")
}

// name makes the case's identifier, which is also a file name and part of a
// URL.
func (c Case) name() string {
	s := strings.NewReplacer(", ", "+", " (", "-", ")", "", "signed ", "", "encrypted ", "", " ", "-").Replace(c.Packaging())
	return strings.ToLower(s) + "." + c.Receipt
}

// payload is an interchange of its own for each case: the hub forwards a
// reference once. reference has at most 14 characters.
func payload(reference string) string {
	return "UNA:+.? '\r\nUNB+UNOC:3+4012345000009:14+5412345000013:14+261201:1015+" + reference + "++INVOIC'\r\n" +
		"UNH+1+INVOIC:D:96A:UN:EAN008'\r\nBGM+380+RE-" + reference + "+9'\r\nDTM+137:20261201:102'\r\n" +
		"NAD+SU+4012345000009::9'\r\nLIN+1++4000862141404:EN'\r\nQTY+47:12'\r\nMOA+77:119.00'\r\n" +
		"UNT+8+1'\r\nUNZ+1+" + reference + "'\r\n"
}

// Cases are the messages that every peer is asked to send. prefix tells the
// peers' interchange references apart.
func Cases(prefix string) []Case {
	var cases []Case
	for _, receipt := range []string{"sync", "async"} {
		golden := receipt == "sync"
		for _, c := range packagings() {
			c.Receipt, c.Golden = receipt, golden
			cases = append(cases, c)
		}
	}
	cases = append(cases, Case{Sign: "sha256", Encrypt: "aes256-cbc", Receipt: "unsigned"})
	for _, digest := range []string{"sha1", "sha384", "sha512"} {
		cases = append(cases, Case{Sign: digest, Receipt: "sync", Golden: digest == "sha1"})
	}
	for _, cipher := range []string{"3des", "aes128-cbc", "aes192-cbc", "aes128-gcm", "aes192-gcm", "aes256-gcm"} {
		cases = append(cases, Case{Sign: "sha256", Encrypt: cipher, Receipt: "sync", Golden: cipher == "3des" || cipher == "aes256-gcm"})
	}
	cases = append(cases,
		Case{Sign: "sha256", PSS: true, Receipt: "sync", Golden: true},
		Case{Encrypt: "aes256-cbc", OAEP: "sha1", Receipt: "sync", Golden: true},
		Case{Encrypt: "aes256-cbc", OAEP: "sha256", Receipt: "sync", Golden: true})
	for i := range cases {
		cases[i] = cases[i].Named(fmt.Sprintf("%s%04d", prefix, i))
	}
	return cases
}

// Named fills in the identifier, and a payload with an interchange reference of
// at most 14 characters.
func (c Case) Named(reference string) Case {
	c.ID, c.Payload = c.name(), payload(reference)
	return c
}

// packagings are those of RFC 4130 §4.2 and RFC 5402 §2.
func packagings() []Case {
	const digest, cipher = "sha256", "aes256-cbc"
	return []Case{
		{},
		{Sign: digest},
		{Encrypt: cipher},
		{Sign: digest, Encrypt: cipher},
		{Compress: "before"},
		{Compress: "before", Sign: digest},
		{Compress: "after", Sign: digest},
		{Compress: "before", Encrypt: cipher},
		{Compress: "before", Sign: digest, Encrypt: cipher},
		{Compress: "after", Sign: digest, Encrypt: cipher},
	}
}
