package sftpwatch

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"firstcopy/internal/failpoint"
	"firstcopy/partners"
)

// poll looks at one partner's folder and takes what is ready.
func (r *running) poll(ctx context.Context, a *partners.Agreement, l lease) (found report) {
	p := &polling{running: r, partner: a, terms: a.SFTP, lease: l}
	found = p.run(ctx)
	if found.again == 0 {
		found.again = p.terms.Interval.Duration() + spread(p.terms.Jitter.Duration())
	}
	if found.err != nil {
		found.again = max(found.again, pause(l.failures))
	}
	return found
}

func spread(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	return rand.N(d)
}

// pause is how long a partner whose polls fail is left alone at least. The dialler has its own, longer waits.
func pause(failures int) time.Duration { return min(time.Second<<min(failures, 8), time.Minute) }

// polling is one poll.
type polling struct {
	*running
	partner *partners.Agreement
	terms   *partners.SFTP
	lease   lease
	link    *link

	sightings *sightings // of the partner's files; behind mutex while files are taken

	mutex sync.Mutex
	taken int
	left  map[string]bool // files that were ready and have not been taken
	err   error           // of ours, which ends the poll
}

func (p *polling) run(ctx context.Context) (found report) {
	if p.link, found.err = p.links.get(ctx, p.partner); found.err != nil {
		return found
	}
	failpoint.Hit("sftp.leased")
	listing, err := p.link.list(ctx, p.terms.Folders.In)
	if err != nil {
		found.err = err
		return found
	}
	failpoint.Hit("sftp.listed")
	found.listed = len(listing)
	files, odd := pick(listing, p.terms)
	listing = nil // it may be large
	p.tellOdd(ctx, odd)
	if files, err = p.confirm(ctx, files); err != nil {
		found.err = err
		return found
	}
	now := time.Now()
	p.sightings = p.seen.of(p.partner.ID, p.terms)
	seen := p.sightings
	seen.see(files, now)
	waiting, err := p.waiting(ctx, files)
	if err != nil {
		found.err = err
		return found
	}
	ready := slices.Collect(func(yield func(entry) bool) {
		for _, f := range waiting {
			if !f.waits && seen.ready(f, p.terms, now) && !yield(f) {
				return
			}
		}
	})
	slices.SortStableFunc(ready, func(a, b entry) int { return cmp.Compare((*seen)[a.name].failures, (*seen)[b.name].failures) })
	more := len(ready) > p.terms.MaxFiles
	ready = ready[:min(len(ready), p.terms.MaxFiles)]
	p.takeAll(ctx, ready)
	found.taken, found.err = p.taken, p.err
	if found.err == nil {
		found.err = p.link.ended()
	}
	done := map[string]bool{}
	for _, f := range ready {
		done[f.name] = !p.left[f.name]
	}
	for _, f := range waiting {
		if !done[f.name] {
			found.waiting++
			found.oldest = max(found.oldest, time.Since((*seen)[f.name].since))
		}
	}
	if more && found.err == nil && p.taken > 0 {
		found.again = time.Millisecond // the rest at once
	}
	return found
}

// oddTold is how many of the names that a poll passes over are logged each: they are as many as the server likes.
const oddTold = 10

func (p *polling) tellOdd(ctx context.Context, odd []refusal) {
	for _, o := range odd[:min(len(odd), oddTold)] {
		p.log.WarnContext(ctx, "name passed over", "partner", p.partner.Name, "file", shown(o.name), "reason", o.why)
	}
	if more := len(odd) - oddTold; more > 0 {
		p.log.WarnContext(ctx, "more names passed over", "partner", p.partner.Name, "names", more)
	}
}

// confirm looks at the files whose listing says nothing of them: some servers send names without attributes, or without
// sizes. Where others of the listing have a size, none is none.
func (p *polling) confirm(ctx context.Context, files []entry) ([]entry, error) {
	sizes := slices.ContainsFunc(files, func(f entry) bool { return f.size > 0 })
	out := files[:0]
	for _, f := range files {
		if f.size == 0 && (f.mtime == 0 || !sizes) {
			v, info, err := p.link.stat(ctx, within(p.terms.Folders.In, f.name))
			switch kindOf(err) {
			case "":
			case KindMissing, KindPermission, KindRefused:
				continue
			default:
				return nil, err
			}
			if !info.Mode().IsRegular() {
				continue
			}
			f.size, f.mtime = v.size, v.mtime
		}
		if f.size == 0 && p.terms.Empty == partners.EmptyIgnore {
			continue
		}
		out = append(out, f)
	}
	return out, nil
}

// waiting are the listed files of which nothing has been decided: not those that are taken already and lie there still, since
// deleting is denied or keeping agreed. It forgets what the folder has no more.
func (p *polling) waiting(ctx context.Context, files []entry) ([]entry, error) {
	rows, err := p.store.known(ctx, p.partner.ID)
	if err != nil {
		return nil, err
	}
	var out []entry
	for _, f := range files {
		k, ok := rows[f.name]
		delete(rows, f.name)
		switch {
		case !ok, k.state == claimed && !k.held:
		case k.held:
			continue // by a node that has lost the poll's lease, and perhaps does not know yet
		case k.version != f.version():
		case k.state == incomplete && k.since >= p.terms.Ready.Grace.Duration():
		case k.state == refused && !k.job && refusedGoes(f.size, p.terms) != "": // agreed on since it was refused
		default:
			if k.state != incomplete {
				continue
			}
			f.waits = true
		}
		out = append(out, f)
	}
	gone := make([]string, 0, len(rows))
	for name := range rows {
		gone = append(gone, name)
	}
	return out, p.store.forget(ctx, p.partner.ID, gone)
}

// claimSize is how many files are claimed in one statement.
const claimSize = 256

// takeAll takes the ready files, as many at once as the agreement allows. Those that could not be taken before come last, one
// by one: if it is one of them that makes the server close the connection, it does so to no other.
func (p *polling) takeAll(ctx context.Context, ready []entry) {
	p.left = make(map[string]bool, len(ready))
	for _, f := range ready {
		p.left[f.name] = true
	}
	settler := p.newSettler(ctx)
	var jobs []int64
	defer func() { p.conclude(ctx, settler, jobs) }()
	failed := slices.IndexFunc(ready, func(f entry) bool { return (*p.sightings)[f.name].failures > 0 })
	if failed < 0 {
		failed = len(ready)
	}
	jobs = p.takeSome(ctx, ready[:failed], settler, p.partner.Limits.Concurrent)
	jobs = append(jobs, p.takeSome(ctx, ready[failed:], settler, 1)...)
}

// takeSome claims files and takes so many of them at once. It returns the jobs that stand behind them.
func (p *polling) takeSome(ctx context.Context, ready []entry, settler *settler, atOnce int) (jobs []int64) {
	work := make(chan claim)
	var wait sync.WaitGroup
	for range min(atOnce, len(ready)) {
		wait.Go(func() {
			for c := range work {
				p.takeOne(ctx, c, settler)
			}
		})
	}
	for part := range slices.Chunk(ready, claimSize) {
		if p.over(ctx) {
			break
		}
		ours, job, err := p.store.claim(ctx, p.outbox, p.lease, part)
		if err != nil {
			p.fail(err)
			break
		}
		failpoint.Hit("sftp.claims")
		jobs = append(jobs, job)
		var unused []string
		for _, f := range part {
			since, ok := ours[f.name]
			switch {
			case !ok:
			case p.over(ctx):
				unused = append(unused, f.name)
			default:
				work <- claim{f, since, job}
			}
		}
		if err := p.giveBack(ctx, unused); err != nil {
			p.fail(err)
		}
	}
	close(work)
	wait.Wait()
	return jobs
}

// giveBack ends claims, also when ctx has ended, and does not wait for long.
func (p *polling) giveBack(ctx context.Context, names []string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
	defer cancel()
	return p.store.giveBack(ctx, p.lease, names)
}

// conclude takes the jobs back that have nothing left to do.
func (p *polling) conclude(ctx context.Context, s *settler, jobs []int64) {
	s.close()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	for _, job := range jobs {
		if err := p.store.done(ctx, p.partner.ID, job); err != nil {
			p.log.WarnContext(ctx, "job not taken back", "partner", p.partner.Name, "error", err)
			return
		}
	}
}

// claim is a file that is ours to take.
type claim struct {
	entry
	since time.Duration // how long its version has been known
	job   int64         // that does what is due of it, should the poll not
}

// over reports whether no further file is to be begun.
func (p *polling) over(ctx context.Context) bool {
	select {
	case <-p.stopping:
		return true
	case <-ctx.Done():
		return true
	case <-p.link.done:
		return true
	default:
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.err != nil
}

// fail ends the poll for a reason of ours.
func (p *polling) fail(err error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.err == nil {
		p.err = err
	}
}

// ignorable errors of one file say nothing of the others.
func ignorable(err error) bool {
	switch kindOf(err) {
	case KindMissing, KindPermission, KindRefused, KindChanged:
		return true
	}
	return false
}
