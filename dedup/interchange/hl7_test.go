package interchange_test

import (
	"slices"
	"strings"
	"testing"

	"firstcopy/dedup/interchange"
)

const (
	hl7Head = `MSH|^~\&|WARD|NORTH|LAB|SOUTH|20260301093015||ORM^O01^ORM_O01|M-77|P|2.5|||AL|NE` + "\r"
	hl7Body = `PID|||4711^^^NORTH||DOE^JANE` + "\r" + `ORC|NW|A\T\B~x` + "\r"
)

func TestHL7(t *testing.T) {
	t.Parallel()
	ic := one(t, hl7Head+hl7Body)
	if ic.Standard != interchange.HL7 || ic.Sender != "WARD" || ic.SenderQualifier != "NORTH" || ic.Recipient != "LAB" || ic.RecipientQualifier != "SOUTH" ||
		ic.Control != "M-77" || ic.Version != "2.5" || ic.Date != "20260301" || ic.Time != "093015" || ic.Test || !ic.Complete || ic.Acknowledges || ic.Faults != 0 {
		t.Errorf("got %+v", ic)
	}
	if !ic.AckRequested || !ic.ReceiptOnly || string(ic.Header) != strings.TrimSuffix(hl7Head, "\r") || ic.Separators.Component != '^' {
		t.Errorf("acknowledgement %t, receipt only %t, header %q, %+v", ic.AckRequested, ic.ReceiptOnly, ic.Header, ic.Separators)
	}
	compareMessages(t, ic, []interchange.Message{
		{Group: -1, Type: "ORM^O01", Control: "M-77", Version: "2.5", Date: "20260301093015", Segments: 3, Declared: -1},
	})
	irregular(t, ic)
}

func TestHL7Variants(t *testing.T) {
	t.Parallel()
	message := hl7Head + hl7Body
	plain := one(t, message)
	for name, c := range map[string]struct {
		payload string
		same    bool
	}{
		"line feeds":           {strings.ReplaceAll(message, "\r", "\n"), true},
		"CR LF":                {strings.ReplaceAll(message, "\r", "\r\n"), true},
		"MLLP frame":           {"\x0B" + message + "\x1C\r", true},
		"MLLP frame, CR LF":    {"\x0B" + strings.ReplaceAll(message, "\r", "\r\n") + "\x1C\r", true},
		"another time":         {strings.Replace(message, "20260301093015", "20260302", 1), true},
		"other separators":     {strings.NewReplacer("|", "!", "^", "@", "~", "*").Replace(message), true},
		"trailing empty":       {strings.Replace(message, "JANE\r", "JANE^^|||\r", 1), true},
		"three encoding chars": {strings.Replace(message, `^~\&`, `^~\`, 1), true},
		"five encoding chars":  {strings.Replace(message, `^~\&`, `^~\&#`, 1), true},
		"other data":           {strings.Replace(message, "JANE", "JOAN", 1), false},
		"other type":           {strings.Replace(message, "ORM^O01", "ORM^O02", 1), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ic := one(t, c.payload)
			if ic.Standard != interchange.HL7 || ic.Control != "M-77" || (ic.Content == plain.Content) != c.same {
				t.Errorf("same content %t, got %+v", ic.Content == plain.Content, ic)
			}
			irregular(t, ic)
		})
	}
	moved := one(t, strings.NewReplacer("WARD|NORTH", "DESK|EAST", "M-77", "M-78").Replace(message))
	if moved.Content == plain.Content || moved.Messages[0].Digest != plain.Messages[0].Digest {
		t.Error("another sender and reference: the content is the same, or the message another")
	}
}

func TestHL7Identity(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		old, new string
		check    func(interchange.Interchange) bool
	}{
		"training":      {"|P|", "|T|", func(ic interchange.Interchange) bool { return ic.Test }},
		"debugging":     {"|P|", "|D|", func(ic interchange.Interchange) bool { return ic.Test }},
		"facility only": {"WARD|NORTH", "|NORTH", func(ic interchange.Interchange) bool { return ic.Sender == "|NORTH" && ic.SenderQualifier == "" }},
		"no parties":    {"WARD|NORTH", "|", func(ic interchange.Interchange) bool { return ic.Standard == interchange.Content }},
		"no MSH-10": {"M-77", "", func(ic interchange.Interchange) bool {
			return ic.Standard == interchange.Content && ic.Faults.Has(interchange.FaultMissing) && ic.Messages[0].Faults.Has(interchange.FaultMissing)
		}},
		"acknowledgement":  {"ORM^O01^ORM_O01", "ACK^O01^ACK", func(ic interchange.Interchange) bool { return ic.Acknowledges }},
		"original mode":    {"|AL|NE", "", func(ic interchange.Interchange) bool { return ic.AckRequested && !ic.ReceiptOnly }},
		"never":            {"|AL|NE", "|NE|NE", func(ic interchange.Interchange) bool { return !ic.AckRequested }},
		"both":             {"|AL|NE", "|AL|AL", func(ic interchange.Interchange) bool { return ic.AckRequested && !ic.ReceiptOnly }},
		"tilde in a name":  {"WARD", "W~D", func(ic interchange.Interchange) bool { return ic.Sender == "W~D" }},
		"no message event": {"ORM^O01^ORM_O01", "ORM", func(ic interchange.Interchange) bool { return ic.Types()[0] == "ORM" }},
	} {
		if ic := one(t, strings.Replace(hl7Head+hl7Body, c.old, c.new, 1)); !c.check(ic) {
			t.Errorf("%s: %+v", name, ic)
		}
	}
}

// TestHL7Several: every MSH outside of a batch is an interchange of its own.
func TestHL7Several(t *testing.T) {
	t.Parallel()
	second := strings.Replace(hl7Head, "M-77", "M-78", 1) + hl7Body
	for name, payload := range map[string]string{
		"one after the other": hl7Head + hl7Body + second,
		"in frames":           "\x0B" + hl7Head + hl7Body + "\x1C\r\x0B" + second + "\x1C\r",
	} {
		found := scan(t, payload)
		if len(found) < 2 || found[0].Control != "M-77" || found[1].Control != "M-78" || !found[0].Complete {
			t.Errorf("%s: %d interchanges, %+v", name, len(found), found)
		}
	}
}

func TestHL7Batches(t *testing.T) {
	t.Parallel()
	const fhs, bhs = `FHS|^~\&|WARD|NORTH|LAB|SOUTH|20260301||f.hl7|note|F-1` + "\r", `BHS|^~\&|WARD|NORTH|LAB|SOUTH|20260301||||B-1` + "\r"
	second := strings.Replace(hl7Head, "M-77", "M-78", 1) + hl7Body
	file := fhs + bhs + hl7Head + hl7Body + second + "BTS|2\r" + bhs + "BTS|1\rFTS|2\r"
	ic := one(t, file)
	if ic.Control != "F-1" || ic.Sender != "WARD" || !ic.Complete || ic.Version != "2.5" || len(ic.Messages) != 2 || ic.Messages[1].Group != 0 || ic.Faults != 0 {
		t.Errorf("got %+v", ic)
	}
	want := []interchange.Group{
		{Type: "BHS", Sender: "WARD", Recipient: "LAB", Control: "B-1", Messages: 2, Declared: 2},
		{Type: "BHS", Sender: "WARD", Recipient: "LAB", Control: "B-1", Declared: 1, Faults: interchange.FaultCount | interchange.FaultDuplicate | interchange.FaultEmpty},
	}
	if !slices.Equal(ic.Groups, want) {
		t.Errorf("groups %+v", ic.Groups)
	}
	if again := one(t, strings.ReplaceAll(file, "20260301", "20260302")); again.Content != ic.Content {
		t.Error("another date is another content")
	}
	if other := one(t, strings.Replace(file, "M-78", "M-79", 1)); other.Content == ic.Content {
		t.Error("another reference of a message is the same content")
	}

	batch := one(t, bhs+hl7Head+hl7Body+"BTS|2\r")
	if batch.Control != "B-1" || !batch.Complete || batch.Faults != interchange.FaultCount {
		t.Errorf("got %+v", batch)
	}
	open := scan(t, bhs+hl7Head+hl7Body+bhs+hl7Head+hl7Body+"BTS|1\r")
	if len(open) != 2 || open[0].Standard != interchange.Content || open[0].Complete || !open[1].Complete {
		t.Errorf("got %+v", open)
	}
}
