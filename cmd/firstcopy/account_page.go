package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"time"

	"firstcopy/dedup"
	"firstcopy/gateway"
	"firstcopy/gateway/forward"
)

// writeAccounts writes one page for each reference. It is made to be shown to a
// partner: who sent what when, how it was answered, and what was forwarded.
func writeAccounts(w io.Writer, all []accountOutput) error {
	if len(all) > 1 {
		fmt.Fprintf(w, "%d references have this control reference; they differ in partner, parties, message types or test flag.\n\n", len(all))
	}
	for i := range all {
		if i > 0 {
			fmt.Fprintf(w, "\n%s\n\n", strings.Repeat("─", 60))
		}
		if err := all[i].write(w); err != nil {
			return err
		}
	}
	return nil
}

func (o *accountOutput) write(w io.Writer) error {
	fmt.Fprintf(w, "Reference %s of partner %s\n\n", printable(o.Reference.Control), o.Partner)
	if err := o.writeReference(w); err != nil {
		return err
	}
	fmt.Fprintf(w, "\n%s\n\n", o.sentence())
	if err := writeLineage(w, o.Lineage); err != nil {
		return err
	}
	t := newTable(w, "TIME", "EVENT", "WHAT HAPPENED")
	for i := range o.Account {
		l := &o.Account[i]
		first := whenExactly(l.At)
		event := eventName(l.Event)
		for _, text := range o.explain(l) {
			t.line(first, event, text)
			first, event = "", ""
		}
	}
	return t.flush()
}

func (o *accountOutput) writeReference(w io.Writer) error {
	r := o.Reference
	t := newTable(w)
	standard := r.Standard
	if r.Test {
		standard += ", marked as a test"
	}
	t.pair("standard", standard)
	if r.Sender != "" || r.Recipient != "" {
		t.pair("sender", r.sender())
		t.pair("recipient", party(r.Recipient, r.RecipientQualifier))
		t.pair("messages", summary(r.MessageTypes))
	}
	t.pair("first copy", fmt.Sprintf("%s, document %s", when(o.FirstSeen), o.Document))
	t.pair("octets", fmt.Sprintf("sha256 %x", []byte(o.Raw)))
	t.pair("content", fmt.Sprintf("sha256 %x", []byte(o.Content)))
	t.pair("protected until", o.window())
	if o.Besides != "" {
		t.pair("told apart by", o.Besides)
	}
	if o.Epoch > 1 {
		t.pair("epoch", fmt.Sprintf("%d: the reference has been used for other content before, see below", o.Epoch))
	}
	return t.flush()
}

func (o *accountOutput) window() string {
	switch {
	case o.Expires.IsZero():
		return "for ever: no copy is forwarded again"
	case o.Open:
		return fmt.Sprintf("%s, for %s from now", when(o.Expires), remaining(time.Until(o.Expires)))
	}
	return fmt.Sprintf("%s, over since %s; copies of known content are still not forwarded", when(o.Expires), age(time.Since(o.Expires)))
}

// sentence is the account in brief.
func (o *accountOutput) sentence() string {
	s := fmt.Sprintf("It arrived %s", count(o.Counts.Arrivals, "time", "times"))
	var parts []string
	for _, p := range []struct{ kind, one, many string }{
		{string(dedup.First), "first copy", "first copies"},
		{dedup.Repeat, "repeat of the same delivery", "repeats of the same delivery"},
		{string(dedup.Duplicate), "duplicate", "duplicates"},
		{string(dedup.Drift), "copy with other content", "copies with other content"},
		{string(dedup.Amendment), "amendment", "amendments"},
		{string(dedup.Stale), "copy that came too late", "copies that came too late"},
		{string(dedup.Reuse), "reuse after the window", "reuses after the window"},
	} {
		if n := o.Counts.Kinds[p.kind]; n > 0 {
			parts = append(parts, count(n, p.one, p.many))
		}
	}
	if len(parts) > 1 {
		s += " (" + strings.Join(parts, ", ") + ")"
	}
	switch o.Counts.Forwarded {
	case 0:
		return s + "; nothing has been forwarded yet."
	case 1:
		return s + "; one document was forwarded."
	}
	return s + fmt.Sprintf("; %d documents, each of other content, were forwarded.", o.Counts.Forwarded)
}

func eventName(kind string) string {
	switch kind {
	case string(dedup.First):
		return "first copy"
	case dedup.DriftReleased, dedup.DriftDiscarded: // of stale documents as well
		return strings.TrimPrefix(kind, "drift_")
	}
	return strings.ReplaceAll(kind, "_", " ")
}

// explain says in a few lines what an event was.
func (o *accountOutput) explain(l *lineOutput) []string {
	if l.arrival() {
		lines := append(o.explainArrival(l), o.explainVerdict(l))
		lines = append(lines, explainLineage(l.detail.Lineage)...)
		return append(lines, l.explainAnswer()...)
	}
	lines := []string{"document " + l.Document.String()}
	d := &l.detail
	switch l.Event {
	case dedup.Forwarded:
		lines = []string{"document " + l.Document.String(), "handed to " + d.Sink}
		if d.Attempt > 1 {
			lines[1] += fmt.Sprintf(" at the attempt number %d", d.Attempt)
		}
	case dedup.Stuck:
		lines = append(lines, "the last attempt failed: "+d.Error)
	case dedup.ReceiptDelivered:
		lines = []string{"receipt " + d.Receipt, "taken by the partner at " + d.URL}
	case dedup.ReceiptFailed:
		lines = []string{"receipt " + d.Receipt, "not taken at " + d.URL + ", and no attempt is left: " + d.Error}
	case dedup.Acknowledged, dedup.AcknowledgementSent, dedup.AcknowledgementStuck, dedup.AcknowledgementResent:
		lines = l.explainAcknowledgement()
	default:
		if d.Who != "" {
			lines = append(lines, "by "+d.Who+reasonOf(d))
		}
	}
	lines[len(lines)-1] += ", node " + l.Node
	return lines
}

// explainAcknowledgement says what an interchange was answered with, and whether that has arrived.
func (l *lineOutput) explainAcknowledgement() []string {
	d := &l.detail
	name := strings.ToUpper(d.Acknowledgement) + " " + d.Number
	switch {
	case l.Event == dedup.AcknowledgementSent && d.File != "":
		return []string{name, "put on the partner's server as " + d.File}
	case l.Event == dedup.AcknowledgementSent:
		return []string{name, "as message " + d.MessageID, "taken by the partner at " + d.URL + " with receipt " + d.Receipt}
	case l.Event == dedup.AcknowledgementStuck:
		return []string{name, "the last attempt failed: " + d.Error}
	case l.Event == dedup.AcknowledgementResent:
		return []string{name, "sent again by " + d.Who + reasonOf(d)}
	case d.Problem != "":
		return []string{strings.ToUpper(d.Acknowledgement) + " is due, and cannot be built", d.Problem}
	}
	s := name + ": " + d.Outcome
	if d.Code != "" {
		s += ", code " + d.Code
	}
	return []string{s + ", for delivery " + l.Delivery.String()}
}

func reasonOf(d *eventDetail) string {
	if d.Reason == "" {
		return ""
	}
	return ": " + d.Reason
}

// explainArrival says what came, how, and by whom it was sealed.
func (o *accountOutput) explainArrival(l *lineOutput) []string {
	d := o.delivery(l.Delivery)
	head := "file " + l.detail.TransportID
	if l.detail.Channel == gateway.AS2 {
		head = "message " + l.detail.TransportID
	}
	lines := []string{head + ", node " + l.Node}
	octets := "octets " + l.Raw.short()
	if l.Event == dedup.Repeat {
		return append(lines, octets+", the same as delivery "+l.Delivery.String()+" brought")
	}
	lines = append(lines, "delivery "+l.Delivery.String())
	if d == nil { // retention has removed it; the event itself names the signer
		if l.detail.Signer != "" {
			octets += ", signed by certificate " + l.detail.Signer
		}
		return append(lines, octets)
	}
	if d.RemoteAddress != "" {
		lines[1] += " from " + d.RemoteAddress
	}
	if d.ReusedID {
		lines[1] += "; the same id had come with other content before"
	}
	if d.Signer != nil {
		octets += ", signed " + d.signature()
	}
	if d.Cipher != "" {
		octets += ", encrypted " + d.Cipher
	}
	return append(lines, octets)
}

// explainVerdict says what was decided, and what that meant.
func (o *accountOutput) explainVerdict(l *lineOutput) string {
	named := "document " + l.Document.String()
	doc := o.document(l.Document)
	switch l.Event {
	case string(dedup.First):
		return "not known before: becomes " + named
	case dedup.Repeat:
		return "the same message again: not forwarded again"
	case string(dedup.Reuse):
		return fmt.Sprintf("other content after the window, so the counter has wrapped: epoch %d, becomes %s", l.Epoch, named)
	case string(dedup.Drift):
		return "other content inside the window: becomes " + named + fate(doc)
	case string(dedup.Amendment):
		return amends(l.detail.Lineage) + ": becomes " + named
	case string(dedup.Stale):
		return "older than what has been forwarded: becomes " + named + fate(doc)
	}
	if l.detail.Lineage != nil { // known by its documents, in octets that are kept
		return "holds nothing but known documents: becomes " + named + fate(doc)
	}
	s := "the content of " + named
	if doc != nil && bytes.Equal(doc.Raw, l.Raw) {
		s = "the octets of " + named
	} else if doc != nil {
		s += ", in other octets"
	}
	if l.Late {
		s += ", after the window"
	}
	return s + ": not forwarded again"
}

// fate is what became of a document that was not forwarded as a matter of course.
func fate(d *documentOutput) string {
	if d == nil {
		return ""
	}
	return map[forward.State]string{forward.HeldState: ", held for a decision", forward.DiscardState: ", discarded"}[d.State]
}

// explainAnswer says how the partner was answered.
func (l *lineOutput) explainAnswer() []string {
	a := l.Answer
	if a == nil {
		if l.Event == dedup.Repeat {
			return []string{"answered as before"}
		}
		return []string{"no receipt was asked for"}
	}
	head := "answered with receipt " + a.MessageID
	if a.Stored {
		head = "answered with the stored receipt again, " + a.MessageID
	}
	if a.AsyncURL != "" {
		head += " to " + a.AsyncURL
		if a.DeliveredAt.IsZero() {
			head += ", not taken yet"
		} else {
			head += ", taken " + when(a.DeliveredAt)
		}
	}
	lines := []string{head, a.Disposition}
	if a.MIC != "" {
		lines[1] += ", MIC " + a.MIC
	}
	return lines
}
