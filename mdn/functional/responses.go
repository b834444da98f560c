package functional

import "firstcopy/dedup/interchange"

// responses are what CONTRL has to say below the interchange.
type responses struct {
	messages []messageResponse // rejected ones outside of groups
	groups   []groupResponse   // rejected ones, and those with a rejected message
	// unnamed says that something is in error that lacks the elements by which
	// it could be named. The level above is rejected for it.
	unnamed bool
}

type messageResponse struct {
	*interchange.Message
	finding
}

type groupResponse struct {
	*interchange.Group
	finding
	messages []messageResponse
}

// responsesTo looks for what is to be rejected. CONTRL messages are passed over.
func responsesTo(x *interchange.Interchange) responses {
	var r responses
	groups := make([]groupResponse, len(x.Groups))
	for i := range x.Groups {
		groups[i] = groupResponse{Group: &x.Groups[i], finding: groupFinding(x.Groups[i].Faults)}
	}
	for i := range x.Messages {
		m := &x.Messages[i]
		grouped := m.Group >= 0 && m.Group < len(groups)
		f := messageFinding(m.Faults, grouped)
		if !f.bad() || m.Type == "CONTRL" {
			continue
		}
		named := m.Control != "" && fits(octets(m.Control), 14) && m.Type != "" && fits(octets(m.Type), 6)
		switch response := (messageResponse{m, f}); {
		case !named && grouped:
			if g := &groups[m.Group]; !g.bad() {
				g.finding = finding{code: errOther}
			}
		case !named:
			r.unnamed = true
		case grouped:
			groups[m.Group].messages = append(groups[m.Group].messages, response)
		default:
			r.messages = append(r.messages, response)
		}
	}
	for _, g := range groups {
		named := g.Control != "" && fits(octets(g.Control), 14)
		switch {
		case !g.bad() && len(g.messages) == 0:
		case !named:
			r.unnamed = true
		default:
			if g.bad() { // 4 rejects all that is below
				g.messages = nil
			}
			r.groups = append(r.groups, g)
		}
	}
	return r
}

// code is the first error.
func (r *responses) code() string {
	switch {
	case len(r.messages) > 0:
		return r.messages[0].code
	case len(r.groups) == 0:
		return ""
	case r.groups[0].bad():
		return r.groups[0].code
	}
	return r.groups[0].messages[0].code
}
