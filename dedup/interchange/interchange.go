// Package interchange finds the interchanges of a payload: where each one
// starts and ends, who sent it to whom under which control reference, what
// kinds of message it holds, and two digests that tell a retransmission from
// new content.
//
// It reads UN/EDIFACT, batch and interactive (ISO 9735:1988 to ISO 9735:2002,
// syntax versions 1 to 4), ANSI X12 (X12.5, X12.6), TRADACOMS, HL7 version 2 and
// the records of VDA. Everything else, and every envelope without a usable
// identity, becomes an interchange of Standard Content, known by its digest
// alone. A payload may hold several interchanges, of any standards, each with
// its own service characters.
//
// Of XML and JSON it reads UBL 2, UN/CEFACT CII, the Standard Business Document
// (Peppol, GS1), AS4, EPCIS 1.x and 2.0, GS1 XML and cXML; see markup.go.
//
// Real files break the standards, so Scan never refuses one: line breaks
// inside segments, line breaks in place of terminators, byte order marks, lost
// trailers and wrong counts are read through and reported in Irregular.
//
// Not done: the content of messages is not validated beyond their envelope;
// messages and groups without an interchange header have no identity; bytes are
// never decoded, so that neither UTF-16 nor EBCDIC payloads have one, which
// Irregular says.
//
// Scan makes one pass, in memory that does not depend on the size of the
// payload. It may be called from any number of goroutines at once; for payloads
// beyond 64 KiB it hashes in goroutines of its own, all ended when it returns.
package interchange

import "crypto/sha256"

// ContentVersion is the version of the canonical form behind
// Interchange.Content. It is stored beside every digest: digests of different
// versions say nothing about each other.
const ContentVersion = 2

// MaxInterchanges bounds how many interchanges of one payload are told apart.
// What follows the last of them is one interchange of Standard Content, so that
// nothing is lost and memory stays bounded (some 10 MiB for 10000).
const MaxInterchanges = 10000

// MaxMessages bounds how many groups, messages and predecessors of one payload
// are listed. An interchange beyond it is marked irregular; its digests and counts cover all of
// it.
const MaxMessages = 10000

// Bounds on the parts of a reference.
const (
	maxDistinct = 64  // entries of MessageTypes
	maxIdentity = 64  // octets of one identity element
	maxType     = 35  // octets of one message type
	maxWritten  = 256 // octets of what is kept as written, of each element
)

// Standard names the envelope standard of an interchange.
type Standard string

// The standards told apart. Content is any octets known by their digest only.
const (
	EDIFACT   Standard = "edifact"
	X12       Standard = "x12"
	TRADACOMS Standard = "tradacoms"
	HL7       Standard = "hl7"
	VDA       Standard = "vda"
	UBL       Standard = "ubl"   // OASIS UBL 2
	CII       Standard = "cii"   // UN/CEFACT Cross Industry Invoice, ZUGFeRD 1
	SBDH      Standard = "sbdh"  // UN/CEFACT Standard Business Document, as Peppol's
	AS4       Standard = "as4"   // SOAP with an ebMS 3.0 header
	EPCIS     Standard = "epcis" // EPCIS 1.x XML, 2.0 XML and JSON-LD
	GS1       Standard = "gs1"   // GS1 XML
	CXML      Standard = "cxml"
	Content   Standard = "content"
)

// A Reference is what makes two interchanges the same one in the eyes of the
// partners: ISO 9735-1 Annex C (0004, 0010, 0020), ISO 9735-3 (0300), X12.5
// §5.1.2 (ISA05 to ISA08, ISA13), STX (FROM, UNTO, SNRF), MSH-3 to MSH-6 and
// MSH-10, and the numbers of customer, supplier and transmission of VDA. Dates
// are no part of it, since a retransmission that is built anew carries a new
// one. Text fields are made with Text.
type Reference struct {
	Standard Standard
	// Sender is 0004, ISA06 without its padding, the code in FROM, or a colon and
	// its name, MSH-3, or a bar and MSH-4 without it; "" for Content.
	Sender string
	// SenderQualifier is ISA05 or MSH-4. It is empty for EDIFACT: networks add
	// and drop 0007 on the way, so it is kept in AsWritten and out of the identity. For
	// markup see markup.go.
	SenderQualifier    string
	Recipient          string // 0010, ISA08, UNTO, MSH-5 in the same way
	RecipientQualifier string // ISA07, MSH-6
	// Control is 0020 as it stands, or ISA13 as at least nine digits, or
	// "sha256:" and the hexadecimal raw digest for Content.
	Control string
	// MessageTypes are sorted, each once: 0065, ST01, the type of MHD, MSH-9 as
	// "ADT^A03", the number of a VDA recommendation; nil for Content.
	MessageTypes []string
	Test         bool // 0035 is 1 to 4; ISA15 is T; MSH-11 is T or D
}

// Written holds parts of the header octet for octet as the sender wrote them,
// with padding, release characters and line breaks, made displayable by Text,
// at most 256 octets of each.
type Written struct {
	Sender, SenderQualifier       string // 0004, 0007; ISA06, ISA05
	Recipient, RecipientQualifier string // 0010, 0007; ISA08, ISA07
	Control                       string // 0020; ISA13
}

// An Interchange is one envelope found in a payload. For Standard Content the
// fields after the Reference are filled as far as the header allowed.
type Interchange struct {
	Reference
	AsWritten    Written
	Version      string // syntax identifier and version, "UNOC:3"; ISA12, "00501"
	Date         string // 0017 or ISA09 as written, valid or not
	Time         string // 0019 or ISA10 as written
	AckRequested bool   // 0031 is 1 or 2; ISA14 is 1
	// ReceiptOnly says that no more than an indication of receipt is asked for:
	// 0031 is 2.
	ReceiptOnly bool
	// Acknowledges says that the interchange holds nothing but functional
	// acknowledgements (CONTRL; TA1, 997, 999; an AS4 signal; an HL7 ACK), which
	// are never acknowledged themselves.
	Acknowledges bool

	// Header is the header segment (UNB, ISA, STX, MSH …) as received, without
	// its terminator, at most 4 KiB, and 4 MiB in all of a payload; nil beyond,
	// and where the standard has none. With the Separators it gives the elements
	// that an acknowledgement copies.
	Header     []byte
	Separators Separators
	// Groups and Messages tell the parts, in order of appearance. They are the
	// subjects of functional acknowledgements and of lineage.
	Groups   []Group
	Messages []Message
	Faults   Faults // of the envelope itself

	// Complete says that the trailer (UNZ, IEA, END …) was there; a single HL7
	// message has none and always is. Whether it agrees
	// with the header is a matter of Irregular. An interchange that is not
	// complete should not come to own its reference.
	Complete bool
	// Start and End are octet offsets. The extents of all interchanges
	// partition the payload: what precedes the first header belongs to the
	// first, what follows a trailer to the interchange before it.
	Start, End int64
	Raw        [sha256.Size]byte // SHA-256 of the octets from Start to End
	// Content is the SHA-256 of the canonical form, which is the same for two
	// interchanges that differ only in service characters, line breaks,
	// padding, trailing empty elements and the date and time of the envelope.
	// Of each message it holds the references and the Digest, so that every
	// octet is digested once for both. For Standard Content it equals Raw.
	Content [sha256.Size]byte
	// Irregular lists deviations as constant short texts, each once.
	Irregular []string
}
