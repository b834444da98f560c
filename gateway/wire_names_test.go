package gateway_test

import (
	"slices"
	"testing"

	"firstcopy/internal/as2client"
	"firstcopy/internal/as2test"
	"firstcopy/mdn"
	"firstcopy/partners"
)

// RFC 4130 §6.2: names are compared unquoted, in their case, and written with quotes where they need them.
func TestNamesInEverySpelling(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{})
	senders := map[string]as2client.Partner{}
	for agreement, name := range map[string]string{"spaced": "My Company", "part": "PART", "escaped": `a"b\c`} {
		senders[name] = hub.Agree(agreement, func(a *partners.Agreement) { a.AS2.ID = name })
	}
	for _, tt := range []struct{ name, from, to, answeredTo string }{
		{"My Company", `"My Company"`, "HUB", `"My Company"`},
		{"My Company", `My Company`, "HUB", `"My Company"`},
		{"PART", `PART`, "HUB", "PART"},
		{"PART", `"PART"`, `"HUB"`, "PART"},
		{"PART", "PART \t", " HUB ", "PART"},
		{`a"b\c`, `"a\"b\\c"`, "HUB", `"a\"b\\c"`},
	} {
		t.Run(tt.from, func(t *testing.T) {
			t.Parallel()
			m := as2test.Prepare(t, senders[tt.name], as2test.Invoice("N", "1"), as2client.Options{})
			r := exchange(t, hub, raw(m).set("AS2-From", tt.from).set("AS2-To", tt.to).octets())
			p := r.taken(t, hub, m)
			if from, to := r.value("AS2-From"), r.value("AS2-To"); from != "HUB" || to != tt.answeredTo {
				t.Errorf("answered from %q to %q, want HUB and %q", from, to, tt.answeredTo)
			}
			if p.FinalRecipient != "HUB" {
				t.Errorf("Final-Recipient %q", p.FinalRecipient)
			}
		})
	}
}

// Names are case-sensitive. HTTP 200 with an MDN, since a 4xx makes many products retry for ever; and unsigned, since
// there is no agreement to choose a key by.
func TestStrangersGetAnUnsignedReceipt(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{})
	part := hub.Agree("part", nil)
	t.Run("each", func(t *testing.T) {
		for name, tt := range map[string]struct{ from, to, answeredFrom, answeredTo string }{
			"lower case":       {"part", "HUB", "HUB", "part"},
			"lower case to":    {"PART", "hub", "hub", "PART"},
			"unknown":          {`"No Such"`, "HUB", "HUB", `"No Such"`},
			"unknown to":       {"PART", `"No Such"`, `"No Such"`, "PART"},
			"quotes are named": {`"\"PART\""`, "HUB", "HUB", `"\"PART\""`},
			"Latin-1":          {"P\xc4RT", "HUB", "HUB", "\"P\xc4RT\""},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				m := as2test.Prepare(t, part, as2test.Invoice("N", "1"), as2client.Options{})
				r := exchange(t, hub, raw(m).set("AS2-From", tt.from).set("AS2-To", tt.to).octets())
				if p := r.answers(t, mdn.UnknownTradingRelationship, m.MessageID); p.Signed || !p.MIC.IsZero() {
					t.Error("the receipt is signed, or names a digest")
				}
				if from, to := r.value("AS2-From"), r.value("AS2-To"); from != tt.answeredFrom || to != tt.answeredTo {
					t.Errorf("answered from %q to %q, want %q and %q", from, to, tt.answeredFrom, tt.answeredTo)
				}
			})
		}
	})
	t.Run("nothing kept", func(t *testing.T) { keptNothing(t, hub) })
}

// RFC 4130 §7.5.6 shows such a message as an error.
func TestSenderEqualToReceiver(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{})
	m := as2test.Prepare(t, hub.Agree("acme", nil), as2test.Invoice("N", "1"), as2client.Options{})
	for _, name := range []string{"HUB", "ACME", "NOBODY"} {
		exchange(t, hub, raw(m).set("AS2-From", name).set("AS2-To", name).octets()).answers(t, mdn.UnexpectedProcessingError, m.MessageID)
	}
	keptNothing(t, hub)
}

func TestMissingNames(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{})
	m := as2test.Prepare(t, hub.Agree("acme", nil), as2test.Invoice("N", "1"), as2client.Options{})
	for _, field := range []string{"AS2-From", "AS2-To"} {
		r := exchange(t, hub, raw(m).drop(field).octets())
		r.answers(t, mdn.UnexpectedProcessingError, m.MessageID)
		if slices.Contains(r.lines, field+": ") {
			t.Errorf("the answer has an empty %s", field)
		}
	}
	keptNothing(t, hub)
}
