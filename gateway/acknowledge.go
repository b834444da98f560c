package gateway

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"firstcopy/dedup"
	"firstcopy/gateway/forward"
	"firstcopy/internal/failpoint"
	"firstcopy/mdn/functional"
)

// due is a functional acknowledgement that an interchange gets.
type due struct {
	interchange  int
	kind         functional.Kind
	numbers      []int64
	stored       bool      // only if the interchange has one already
	transmission uuid.UUID // Nil if it is sent nowhere
	composed     *forward.Acknowledgement
}

// parties are whom the acknowledgement's control numbers are counted for.
func (w *work) parties(d *due) forward.Parties {
	from, to := functional.Parties(&w.Interchanges[d.interchange])
	standard := "x12"
	if d.kind == functional.CONTRL {
		standard = "edifact"
	}
	return forward.Parties{Standard: standard, Sender: cut(from), Recipient: cut(to)}
}

// cut bounds an identity for an index entry. One that is longer is in no valid acknowledgement.
func cut(identity string) string { return strings.ToValidUTF8(identity[:min(len(identity), 500)], "") }

// number draws control numbers beforehand for all acknowledgements that are due whatever the verdict: the one round trip that
// they cost. What is not used in the end leaves a gap.
func (w *work) number(ctx context.Context) error {
	if w.numbered {
		return nil
	}
	w.numbered = true
	terms := w.Partner.Acknowledge.Terms()
	for i := range w.Interchanges {
		for _, kind := range functional.Due(&w.Interchanges[i], terms, false) {
			w.due = append(w.due, due{interchange: i, kind: kind})
		}
	}
	if len(w.due) == 0 {
		return nil
	}
	err := w.draw(w.due, func(counts map[forward.Parties]int) (map[forward.Parties]int64, error) {
		return forward.DrawNumbers(ctx, w.pool, counts)
	})
	failpoint.Hit("ingest.numbered")
	return err
}

// draw has control numbers drawn for acknowledgements.
func (w *work) draw(all []due, from func(map[forward.Parties]int) (map[forward.Parties]int64, error)) error {
	counts := map[forward.Parties]int{}
	for i := range all {
		d := &all[i]
		d.numbers = make([]int64, functional.Numbers(&w.Interchanges[d.interchange], d.kind))
		counts[w.parties(d)] += len(d.numbers)
	}
	last, err := from(counts)
	if err != nil {
		return err
	}
	for i := range all {
		d := &all[i]
		p := w.parties(d)
		for n := range d.numbers { // the counter goes on beyond what the element holds, and is cut here
			d.numbers[n] = (last[p]-int64(counts[p]))%functional.MaxNumber(d.kind) + 1
			counts[p]--
		}
	}
	return nil
}

// settle makes of what was due beforehand what is due by the verdicts. Drift that is to be rejected is answered even if
// nothing asks for it, with a number that is drawn inside the transaction: that is rare, and an ingest without drift is not
// to pay for it.
func (w *work) settle(ctx context.Context, tx *pipelined, decisions []dedup.Decision) error {
	terms := w.Partner.Acknowledge.Terms()
	if !terms.RejectDrift {
		return nil
	}
	drifted := func(i int) bool { return decisions[i].Verdict == dedup.Drift }
	w.due = slices.DeleteFunc(w.due, func(d due) bool {
		return drifted(d.interchange) && !slices.Contains(functional.Due(&w.Interchanges[d.interchange], terms, true), d.kind)
	})
	type place struct {
		interchange int
		kind        functional.Kind
	}
	there := make(map[place]bool, len(w.due))
	for _, d := range w.due {
		there[place{d.interchange, d.kind}] = true
	}
	var more, known []due
	for i := range decisions {
		for _, kind := range functional.Due(&w.Interchanges[i], terms, true) {
			switch {
			case there[place{i, kind}]:
			case drifted(i):
				more = append(more, due{interchange: i, kind: kind})
			case !decisions[i].Fresh(): // perhaps a retry of rejected drift, which is answered as that was
				known = append(known, due{interchange: i, kind: kind, stored: true})
			}
		}
	}
	if err := w.dueAgain(ctx, tx, decisions, known); err != nil || more == nil {
		return err
	}
	err := w.draw(more, func(counts map[forward.Parties]int) (map[forward.Parties]int64, error) {
		return forward.DrawNumbersIn(ctx, tx, counts)
	})
	w.due = append(w.due, more...)
	return err
}

// dueAgain adds those of duplicates that are there already.
func (w *work) dueAgain(ctx context.Context, tx *pipelined, decisions []dedup.Decision, known []due) error {
	if known == nil {
		return nil
	}
	var documents []uuid.UUID
	for _, d := range known {
		documents = append(documents, decisions[d.interchange].Document)
	}
	kinds, err := forward.KindsOf(ctx, tx, documents)
	if err != nil {
		return err
	}
	for _, d := range known {
		if slices.Contains(kinds[decisions[d.interchange].Document], d.kind) {
			w.due = append(w.due, d)
		}
	}
	return nil
}

// acknowledge composes what is due. A duplicate is composed for, too: the copy before it may have had no acknowledgement. What
// is due is put into the order in which every transaction writes it, so that two cannot deadlock.
func (w *work) acknowledge(decisions []dedup.Decision) []forward.AcknowledgementJob {
	reject := w.Partner.Acknowledge.Terms().RejectDrift
	channel := forward.AcknowledgementChannel(w.Channel, w.Partner)
	slices.SortFunc(w.due, func(a, b due) int {
		x, y := decisions[a.interchange].Document, decisions[b.interchange].Document
		return cmp.Or(bytes.Compare(x[:], y[:]), strings.Compare(string(a.kind), string(b.kind)), a.interchange-b.interchange)
	})
	var jobs []forward.AcknowledgementJob
	for i := range w.due {
		d := &w.due[i]
		decision := &decisions[d.interchange]
		if !d.stored {
			d.composed = w.compose(d, decision, reject && decision.Verdict == dedup.Drift)
		}
		if channel != "" && (d.stored || d.composed.Octets != nil) {
			d.transmission = uuid.Must(uuid.NewV7())
			jobs = append(jobs, forward.AcknowledgementJob{Transmission: d.transmission})
		}
	}
	return jobs
}

// compose makes one acknowledgement. One that cannot be made is recorded with its reason: the partner has to be told by
// other means.
func (w *work) compose(d *due, decision *dedup.Decision, drift bool) *forward.Acknowledgement {
	a := &forward.Acknowledgement{ID: uuid.Must(uuid.NewV7()), Document: decision.Document, Kind: d.kind, Delivery: w.ID, Ordinal: d.interchange + 1,
		PartnerID: w.Partner.ID, Key: decision.Key, Epoch: decision.Epoch}
	made, err := functional.Compose(&w.Interchanges[d.interchange], d.kind,
		functional.Options{Numbers: d.numbers, At: w.ReceivedAt, Drift: drift})
	if err != nil {
		a.Outcome, a.Problem = forward.Impossible, text(err.Error())
		return a
	}
	a.Control, a.Outcome, a.Code, a.Octets = made.Control, string(made.Outcome), made.Code, made.Octets
	return a
}

// queueAcknowledgements adds the rows, the transmissions and the events. jobs are the ids of the outbox jobs. Transmissions
// exclude each other, so everybody adds them in one order: by document and kind.
func (w *work) queueAcknowledgements(batch *pgx.Batch, decisions []dedup.Decision, jobs []int64) {
	type transmission struct {
		due *due
		job int64
	}
	var all []transmission
	for i := range w.due {
		d := &w.due[i]
		if d.composed != nil {
			forward.QueueAcknowledgement(batch, d.composed)
		}
		forward.QueueAcknowledged(batch, w.ID, w.node, decisions[d.interchange].Document, d.kind)
		if d.transmission != uuid.Nil {
			all = append(all, transmission{d, jobs[0]})
			jobs = jobs[1:]
		}
	}
	document := func(t transmission) uuid.UUID { return decisions[t.due.interchange].Document }
	slices.SortStableFunc(all, func(a, b transmission) int {
		x, y := document(a), document(b)
		return cmp.Or(bytes.Compare(x[:], y[:]), cmp.Compare(a.due.kind, b.due.kind))
	})
	for _, one := range all {
		t := forward.Transmission{ID: one.due.transmission, Delivery: w.ID, Channel: w.Channel}
		forward.QueueTransmission(batch, &t, document(one), one.due.kind, one.job)
	}
}

// again has what a delivery was answered with sent once more, octet for octet.
func (w *work) again(p *prior) (jobs []forward.AcknowledgementJob, queue func(*pgx.Batch, []int64)) {
	if forward.AcknowledgementChannel(w.Channel, w.Partner) == "" {
		return nil, func(*pgx.Batch, []int64) {}
	}
	for range p.acknowledgements {
		jobs = append(jobs, forward.AcknowledgementJob{Transmission: uuid.Must(uuid.NewV7())})
	}
	return jobs, func(batch *pgx.Batch, ids []int64) {
		for i, id := range p.acknowledgements {
			t := forward.Transmission{ID: jobs[i].Transmission, Delivery: p.delivery, Channel: w.Channel}
			forward.QueueRetransmission(batch, &t, id, ids[i])
		}
	}
}
