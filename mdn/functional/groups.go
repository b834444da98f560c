package functional

import (
	"fmt"
	"slices"
	"strconv"

	"firstcopy/dedup/interchange"
)

// implementationGuide is the 999's own (ST03, GS08).
const implementationGuide = "005010X231A1"

// maxCodes bounds the error codes of AK5, IK5 and AK9.
const maxCodes = 5

// dataGroups are the groups that are answered: those that hold no
// acknowledgements. GS01 is FA for 997 and 999 alike.
func dataGroups(x *interchange.Interchange) []int {
	var data []int
	for i := range x.Groups {
		if x.Groups[i].Type != "FA" {
			data = append(data, i)
		}
	}
	return data
}

// byParties puts the answered groups together that have the same GS02 and GS03,
// and so are answered in one group.
func byParties(x *interchange.Interchange) [][]int {
	var all [][]int
	at := map[[2]string]int{}
	for _, i := range dataGroups(x) {
		parties := [2]string{x.Groups[i].Sender, x.Groups[i].Recipient}
		n, known := at[parties]
		if !known {
			n = len(all)
			at[parties] = n
			all = append(all, nil)
		}
		all[n] = append(all[n], i)
	}
	return all
}

// composeGroups writes an interchange of 997 (X12.20) or 999 (005010X231A1):
// one transaction set for every group of the subject.
func composeGroups(x *interchange.Interchange, kind Kind, o Options) (Acknowledgement, error) {
	h, err := parseISA(x)
	if err != nil {
		return Acknowledgement{}, err
	}
	groups, err := answers(x, kind)
	if err != nil {
		return Acknowledgement{}, err
	}
	w, err := separatorsFor(copied(x, &h), x.Separators)
	if err != nil {
		return Acknowledgement{}, err
	}
	a := Acknowledgement{Kind: kind, Control: control(o), Outcome: overall(groups), Code: firstCode(groups)}
	w.open(&h, o)
	together := byParties(x)
	for n, members := range together {
		g := &x.Groups[members[0]]
		number := strconv.FormatInt(o.Numbers[n], 10)
		version := release(g.Version, kind)
		date := o.At.Format("20060102")
		if version < "004010" {
			date = date[2:] // GS04 has six digits before 4010
		}
		w.add("GS", "FA", octets(g.Recipient), octets(g.Sender), date, o.At.Format("1504"), number, "X", version)
		for i, member := range members {
			w.answer(groups[member], kind, fmt.Sprintf("%04d", i+1)) // ST02 has four digits at least
		}
		w.add("GE", strconv.Itoa(len(members)), number)
	}
	w.close(len(together), o)
	a.Octets = w.b.Bytes()
	return a, nil
}

// release is GS08: that of the subject's group for 997, without what an
// implementation adds to it.
func release(version string, kind Kind) string {
	if kind == Implementation {
		return implementationGuide
	}
	if len(version) >= 6 && digits(version[:6]) {
		return version[:6]
	}
	return "004010"
}

// A groupAnswer is what is said of one group.
type groupAnswer struct {
	*interchange.Group
	sets     []setAnswer
	codes    []string
	rejected int // sets
}

type setAnswer struct {
	*interchange.Message
	codes []string
}

// answers judges the groups to be answered, by their index.
func answers(x *interchange.Interchange, kind Kind) (map[int]groupAnswer, error) {
	all := map[int]groupAnswer{}
	for _, i := range dataGroups(x) {
		g := &x.Groups[i]
		for _, value := range []struct {
			name, value string
			longest     int
		}{{"GS01", g.Type, 2}, {"GS02", g.Sender, 15}, {"GS03", g.Recipient, 15}, {"GS06", g.Control, 9}} {
			if v := octets(value.value); v == "" || !fits(v, value.longest) {
				return nil, unanswerable("no valid %s in group %d", value.name, i+1)
			}
		}
		all[i] = groupAnswer{Group: g, codes: groupCodes(g)}
	}
	for i := range x.Messages {
		m := &x.Messages[i]
		a, answered := all[m.Group]
		if !answered {
			continue
		}
		s := setAnswer{m, setCodes(m)}
		if len(s.codes) > 0 {
			a.rejected++
		}
		a.sets = append(a.sets, s)
		all[m.Group] = a
	}
	for i, a := range all {
		if kind == Implementation && len(a.sets) < a.Messages {
			return nil, unanswerable("group %d has more transaction sets than a 999 can list here", i+1)
		}
	}
	return all, nil
}

// setCodes are the errors of a transaction set (718, 621).
func setCodes(m *interchange.Message) []string {
	var codes []string
	add := func(on bool, code string) {
		if on {
			codes = append(codes, code)
		}
	}
	f := m.Faults
	add(f.Has(interchange.FaultTrailer), "2")
	add(f.Has(interchange.FaultControl), "3")
	add(f.Has(interchange.FaultCount), "4")
	invalid := f.Has(interchange.FaultMissing) || f.Has(interchange.FaultInvalid)
	control := octets(m.Control)
	unusable := len(control) < 4 || !fits(control, 9) // ST02 is AN 4/9
	add(f.Has(interchange.FaultType) || invalid && !unusable, "6")
	add(invalid && unusable, "7")
	add(f.Has(interchange.FaultDuplicate), "23")
	if f != 0 && codes == nil {
		codes = []string{"5"}
	}
	return codes[:min(len(codes), maxCodes)]
}

// groupCodes are the errors of a group (716). That its number is not unique has
// a code of its own since 5010; before that, 19 was something else.
func groupCodes(g *interchange.Group) []string {
	var codes []string
	add := func(on bool, code string) {
		if on {
			codes = append(codes, code)
		}
	}
	f := g.Faults
	add(f.Has(interchange.FaultTrailer), "3")
	add(f.Has(interchange.FaultControl), "4")
	add(f.Has(interchange.FaultCount) || f.Has(interchange.FaultEmpty), "5")
	twice := f.Has(interchange.FaultDuplicate)
	invalid := f.Has(interchange.FaultMissing) || f.Has(interchange.FaultInvalid)
	add(invalid || twice && g.Version < "005010", "6")
	add(twice && g.Version >= "005010", "19")
	if f != 0 && codes == nil {
		codes = []string{"1"} // not supported
	}
	return codes[:min(len(codes), maxCodes)]
}

// outcome is AK901.
func (a *groupAnswer) outcome() (code string, outcome Outcome) {
	switch {
	case len(a.codes) > 0, a.rejected > 0 && a.rejected >= a.Messages:
		return "R", Rejected
	case a.rejected > 0:
		return "P", Partial
	}
	return "A", Accepted
}

// accepted is AK904.
func (a *groupAnswer) accepted() int {
	if code, _ := a.outcome(); code == "R" {
		return 0
	}
	return a.Messages - a.rejected
}

// answer writes one transaction set. In a rejected group only the sets in error
// are listed: an acceptance of the others would contradict AK9. A set that
// lacks the elements which AK2 copies is counted, and not listed.
func (w *sets) answer(a groupAnswer, kind Kind, number string) {
	w.count = 0
	trailer, guide := "AK5", ""
	if kind == Implementation {
		trailer, guide = "IK5", implementationGuide
	}
	// AK103 and AK203 came with 5010.
	version := ""
	if v := octets(a.Version); (kind == Implementation || v >= "005010") && fits(v, 12) {
		version = v
	}
	w.add("ST", string(kind), number, guide)
	w.add("AK1", octets(a.Type), octets(a.Control), version)
	for _, s := range a.sets {
		id, control, convention := octets(s.Type), octets(s.Control), ""
		named := id != "" && control != "" && fits(id, 3) && fits(control, 9)
		if !named || len(a.codes) > 0 && len(s.codes) == 0 {
			continue
		}
		if v := octets(s.Version); version != "" && fits(v, 35) {
			convention = v
		}
		w.add("AK2", id, control, convention)
		if len(s.codes) == 0 {
			w.add(trailer, "A")
		} else {
			w.add(trailer, slices.Concat([]string{"R"}, s.codes)...)
		}
	}
	code, _ := a.outcome()
	included := a.Declared
	if included < 0 || included > 999_999 {
		included = a.Messages
	}
	counts := []string{strconv.Itoa(included), strconv.Itoa(a.Messages), strconv.Itoa(a.accepted())}
	w.add("AK9", slices.Concat([]string{code}, counts, a.codes)...)
	w.add("SE", strconv.Itoa(w.count+1), number)
}

// copied are the values of the subject that the answer holds.
func copied(x *interchange.Interchange, h *isa) []string {
	values := []string{h.senderQualifier, h.sender, h.recipientQualifier, h.recipient}
	for i := range x.Groups {
		g := &x.Groups[i]
		values = append(values, octets(g.Type), octets(g.Sender), octets(g.Recipient), octets(g.Control),
			octets(g.Version))
	}
	for i := range x.Messages {
		m := &x.Messages[i]
		values = append(values, octets(m.Type), octets(m.Control), octets(m.Version))
	}
	return values
}

// overall is what the answers come to.
func overall(groups map[int]groupAnswer) Outcome {
	accepted, rejected := 0, 0
	for _, a := range groups {
		switch _, outcome := a.outcome(); outcome {
		case Accepted:
			accepted++
		case Rejected:
			rejected++
		}
	}
	switch len(groups) {
	case accepted:
		return Accepted
	case rejected:
		return Rejected
	}
	return Partial
}

// firstCode is the first error of the first group that has one.
func firstCode(groups map[int]groupAnswer) string {
	first, code := -1, ""
	for i, a := range groups {
		codes := a.codes
		for _, s := range a.sets {
			codes = slices.Concat(codes, s.codes)
		}
		if len(codes) > 0 && (first < 0 || i < first) {
			first, code = i, codes[0]
		}
	}
	return code
}
