package interchange

import "crypto/sha256"

// Separators are the service characters of a delimited standard; zero where
// there is none. A terminator of several octets is given by its first.
type Separators struct {
	Component, Element, Repetition, Release, Terminator byte
}

// A Group is a functional group: UNG to UNE, GS to GE.
type Group struct {
	Type              string // 0038; GS01
	Sender, Recipient string // S006, S007 with their separators as written; GS02, GS03
	Control           string // 0048; GS06
	Version           string // S008 with its separators as written; GS08
	Messages          int    // how many there are
	Declared          int    // how many the trailer says (UNE 0060, GE01); -1 if it does not
	Faults            Faults
}

// A Message is what an interchange is sent for: an EDIFACT message, an X12
// transaction set, the one document of a UBL file, an EPCIS event.
type Message struct {
	Group   int    // index of its group, -1 outside of groups
	Type    string // 0065; ST01; the local name of a root element; an EPCIS event's type
	Control string // 0062; ST02; "" where the standard has none
	Version string // S009 after 0065 as written, "D:96A:UN:EAN008"; ST03, or "" without it

	// Number is that of the business document (BGM 1004, BEG03, cbc:ID, an EPCIS
	// eventID), Revision its version as the sender counts (1056, cXML
	// orderVersion), Date that of the document, as written (DTM 137, BEG05,
	// cbc:IssueDate). Each is "" when the message does not say.
	Number, Revision, Date string
	Function               string // 1225, X12 353, or the standard's own word; "" when not said
	Effect                 Effect // of that function
	// Predecessors are the numbers of documents that this one says it replaces,
	// changes or cancels (RFF in EANCOM, cac:BillingReference, OrderReference).
	Predecessors []string

	// Digest is the SHA-256 of the message in canonical form, without the
	// references of its envelope, so that the same document in another
	// interchange has the same one.
	Digest   [sha256.Size]byte
	Segments int // how many there are, header and trailer included; 0 where nothing counts them
	Declared int // how many the trailer says (0074, SE01); -1 if it does not
	Faults   Faults
}

// An Effect is what a message function means for the document that it is about.
type Effect string

// The effects. Codes that are in no list, and messages that state none, have
// NoStatement: such a message is taken for an original.
const (
	NoStatement Effect = ""
	New         Effect = "new"       // an original, whole
	Supersede   Effect = "supersede" // whole, in place of an earlier one
	Delta       Effect = "delta"     // to be applied to an earlier one, in order
	Cancel      Effect = "cancel"
	NoEffect    Effect = "none" // a copy, a duplicate, a retransmission, a reminder
	Response    Effect = "response"
	Trial       Effect = "trial"
)

// Faults is a set of envelope faults of one level, of those that a functional
// acknowledgement can report.
type Faults uint16

// The faults.
const (
	FaultControl   Faults = 1 << iota // the trailer's reference is not the header's
	FaultCount                        // the trailer's count is wrong
	FaultTrailer                      // there is no trailer
	FaultMissing                      // a mandatory element of the header is missing
	FaultInvalid                      // an element of the header is invalid
	FaultDuplicate                    // the reference is not unique on its level
	FaultMixed                        // messages both inside and outside of groups
	FaultEmpty                        // there is no lower level
	FaultType                         // the message type is unknown, or not that of the group
)

// Has reports whether all of the given faults are in the set.
func (f Faults) Has(some Faults) bool { return f&some == some }
