package functional

import (
	"strconv"

	"firstcopy/dedup/interchange"
)

// Actions, 0083. The others of the list were withdrawn.
const (
	actionReject      = "4" // this level and all below it
	actionAcknowledge = "7" // this level, and all below it unless explicitly rejected
	actionReceive     = "8" // the interchange has been received, and will be answered for
)

// Errors, 0085 (ISO 9735-10).
const (
	errInvalid   = "12"
	errMissing   = "13"
	errOther     = "18" // unspecified
	errDuplicate = "26"
	errReference = "28" // of header and trailer do not match
	errCount     = "29"
	errMixed     = "30" // groups and messages
	errTypes     = "31" // more than one type in a group
	errEmpty     = "32"
)

// A finding is one error: 0085, the segment (0135), and the element's position
// in it (0098), which counts the tag as 1. A response names no more than one
// (ISO 9735-4 §5.3.3).
type finding struct{ code, segment, position string }

func (f finding) bad() bool { return f.code != "" }

// composeCONTRL writes a CONTRL (ISO 9735-4). For syntax versions 1 to 3 it is
// that of directory D.3.
func composeCONTRL(x *interchange.Interchange, o Options) (Acknowledgement, error) {
	u, err := parseUNB(x)
	if err != nil {
		return Acknowledgement{}, err
	}
	a := Acknowledgement{Kind: CONTRL, Control: strconv.FormatInt(o.Numbers[0], 10), Outcome: Accepted}
	version, date := []string{"CONTRL", "D", "3", "UN"}, "060102"
	w := &segments{asterisk: u.version() >= '4'}
	if u.version() >= '4' {
		version, date = []string{"CONTRL", "4", "1", "UN"}, "20060102"
	}
	test := ""
	if u.test {
		test = "1"
	}
	w.advice(u.identifier())
	// The parties change places with all that belongs to them: 0008 is where
	// answers are to be routed, 0014 (ISO 9735-1 Annex C).
	at := []string{o.At.Format(date), o.At.Format("1504")}
	w.add("UNB", u.identifier(), u.recipient, u.sender, at, a.Control, "", "", "", "", "", test)
	w.count = 0 // 0074 does not count UNA and UNB
	w.add("UNH", "1", version)
	w.respond(x, &u, o.Drift, &a)
	w.add("UNT", strconv.Itoa(w.count+1), "1")
	w.add("UNZ", "1", a.Control)
	a.Octets = []byte(w.b.String())
	return a, nil
}

// advice writes UNA where the service characters may not be taken for granted:
// with level A they are; level B had others before version 4 (ISO 9735:1988
// §5.2), and GS1 asks for UNA with every other level.
func (w *segments) advice(identifier []string) {
	switch {
	case identifier[0] == "UNOA":
	case w.asterisk:
		w.b.WriteString("UNA:+.?*'")
	default:
		w.b.WriteString("UNA:+.? '")
	}
}

// respond writes UCI and what is below it. What is acknowledged is not listed,
// since 7 says it of all that is not (ISO 9735-4 §5.3.4).
func (w *segments) respond(x *interchange.Interchange, u *unb, drift bool, a *Acknowledgement) {
	f := interchangeFinding(x, drift)
	r := responsesTo(x)
	if !f.bad() && r.unnamed && !x.ReceiptOnly {
		f = finding{code: errOther}
	}
	action := actionAcknowledge
	switch {
	case f.bad():
		action, a.Outcome, a.Code = actionReject, Rejected, f.code
	case x.ReceiptOnly: // says that UNB and UNZ are sound, and no more
		action, a.Outcome = actionReceive, Received
	}
	w.add("UCI", u.control, u.sender, u.recipient, action, f.code, f.segment, f.position)
	if action != actionAcknowledge {
		return
	}
	a.Code = r.code()
	if a.Code != "" {
		a.Outcome = Partial
	}
	for _, m := range r.messages {
		w.message(x, m)
	}
	for _, g := range r.groups {
		w.group(x, g)
	}
}

// message writes UCM for a message that is rejected.
func (w *segments) message(x *interchange.Interchange, m messageResponse) {
	s009 := append([]string{octets(m.Type)}, components(octets(m.Version), x.Separators)...)
	w.add("UCM", octets(m.Control), s009, actionReject, m.code, m.segment, m.position)
}

// group writes UCF for a group that is rejected, or of which a message is.
func (w *segments) group(x *interchange.Interchange, g groupResponse) {
	action := actionAcknowledge
	if g.bad() {
		action = actionReject
	}
	from, to := components(octets(g.Sender), x.Separators), components(octets(g.Recipient), x.Separators)
	w.add("UCF", octets(g.Control), from, to, action, g.code, g.segment, g.position)
	for _, m := range g.messages {
		w.message(x, m)
	}
}

// A check is a fault with what is said of it.
type check struct {
	fault interchange.Faults
	finding
}

// What is wrong with an envelope, by what is told of first. A duplicate comes
// before all else: its reference is what the sender has to change.
var (
	interchangeChecks = []check{
		{interchange.FaultDuplicate, finding{errDuplicate, "UNB", "6"}},
		{interchange.FaultMissing, finding{errMissing, "UNB", ""}},
		{interchange.FaultInvalid, finding{errInvalid, "UNB", ""}},
		{interchange.FaultMixed, finding{errMixed, "", ""}},
		{interchange.FaultTrailer, finding{errMissing, "UNZ", ""}},
		{interchange.FaultControl, finding{errReference, "UNZ", "3"}},
		{interchange.FaultCount, finding{errCount, "UNZ", "2"}},
		{interchange.FaultEmpty, finding{errEmpty, "", ""}},
	}
	groupChecks = []check{
		{interchange.FaultDuplicate, finding{errDuplicate, "UNG", "6"}},
		{interchange.FaultMissing, finding{errMissing, "UNG", ""}},
		{interchange.FaultInvalid, finding{errInvalid, "UNG", ""}},
		{interchange.FaultTrailer, finding{errMissing, "UNE", ""}},
		{interchange.FaultControl, finding{errReference, "UNE", "3"}},
		{interchange.FaultCount, finding{errCount, "UNE", "2"}},
		{interchange.FaultEmpty, finding{errEmpty, "", ""}},
		{interchange.FaultType, finding{errTypes, "", ""}},
	}
	messageChecks = []check{
		{interchange.FaultDuplicate, finding{errDuplicate, "UNH", "2"}},
		{interchange.FaultMissing, finding{errMissing, "UNH", ""}},
		{interchange.FaultInvalid, finding{errInvalid, "UNH", ""}},
		{interchange.FaultType, finding{errInvalid, "UNH", "3"}},
		{interchange.FaultTrailer, finding{errMissing, "UNT", ""}},
		{interchange.FaultControl, finding{errReference, "UNT", "3"}},
		{interchange.FaultCount, finding{errCount, "UNT", "2"}},
	}
)

// first is what is said of an envelope's faults.
func first(checks []check, f interchange.Faults) finding {
	for i := range checks {
		if f.Has(checks[i].fault) {
			return checks[i].finding
		}
	}
	if f != 0 {
		return finding{code: errOther}
	}
	return finding{}
}

func interchangeFinding(x *interchange.Interchange, drift bool) finding {
	f := x.Faults
	if drift {
		f |= interchange.FaultDuplicate
	}
	return first(interchangeChecks, f)
}

func groupFinding(f interchange.Faults) finding { return first(groupChecks, f) }

// messageFinding says of a wrong type that it is not that of the group, where
// there is one.
func messageFinding(f interchange.Faults, grouped bool) finding {
	found := first(messageChecks, f)
	if grouped && found == (finding{errInvalid, "UNH", "3"}) {
		found.code = errTypes
	}
	return found
}
