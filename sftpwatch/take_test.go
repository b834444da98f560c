package sftpwatch

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"firstcopy/internal/pgtest"
	"firstcopy/internal/sftptest"
	"firstcopy/partners"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// undecided is a gateway that records what it is asked to, and cannot commit it.
type undecided struct{ recorded int }

func (*undecided) Spool(int64) Payload { return &memoryPayload{} }
func (g *undecided) Ingest(_ context.Context, a *Arrival) (Outcome, error) {
	a.Record(&pgx.Batch{}, uuid.New())
	g.recorded++
	return Outcome{}, errors.New("the commit failed")
}

// unheard is an observer whom nothing interests.
type unheard struct{}

func (unheard) Polled(string, Kind, time.Duration) {}
func (unheard) Fetched(string, int64)              {}
func (unheard) SetAside(string, string)            {}
func (unheard) PutBack(string, Kind)               {}

// attempt has one file taken for which there is no claim in the database, and returns why the poll ended.
func attempt(t *testing.T, server *sftptest.Scripted, gateway Gateway, after partners.After) error {
	t.Helper()
	terms := scriptedTerms(t, server)
	terms.After, terms.Folders = after, partners.Folders{In: "in", Archive: "archive", Error: "error"}
	l := dialled(t, terms)
	v, _, err := l.stat(t.Context(), "in/a.edi")
	if err != nil {
		t.Fatal(err)
	}
	w := &Watcher{gateway: gateway, store: &store{pool: pgtest.New(t), owner: "test", lease: time.Minute}, log: slog.New(slog.DiscardHandler),
		observer: unheard{}}
	p := &polling{running: &running{Watcher: w}, terms: terms, link: l, sightings: &sightings{}, left: map[string]bool{},
		partner: &partners.Agreement{Name: "acme", SFTP: terms, Limits: partners.Limits{Payload: 1 << 20}}}
	settler := p.newSettler(t.Context())
	p.takeOne(t.Context(), claim{entry: entry{name: "a.edi", size: v.size, mtime: v.mtime}, job: 1}, settler)
	settler.close()
	return p.err
}

// A file whose transaction did not commit is the only copy there is: nothing may be done to it.
func TestUncommittedStays(t *testing.T) {
	t.Parallel()
	for _, after := range []partners.After{partners.AfterArchive, partners.AfterDelete} {
		server := sftptest.StartScripted(t, sftptest.Script{})
		server.Files.Mkdir("archive", "error")
		server.Files.Put("in/a.edi", wholes["EDIFACT"])
		gateway := &undecided{}
		if err := attempt(t, server, gateway, after); err == nil || gateway.recorded != 1 {
			t.Errorf("%s: the poll goes on, %d recorded", after, gateway.recorded)
		}
		if content, _ := server.Files.Read("in/a.edi"); content != wholes["EDIFACT"] {
			t.Errorf("%s: the file is gone", after)
		}
	}
}

// A file that is refused goes to the error folder only when the database says so: here the claim is lost, and with it the say.
func TestRefusedWithoutTheClaimStays(t *testing.T) {
	t.Parallel()
	server := sftptest.StartScripted(t, sftptest.Script{})
	server.Files.Mkdir("archive", "error")
	server.Files.Put("in/a.edi", wholes["EDIFACT"][:40])
	if err := attempt(t, server, &undecided{}, partners.AfterArchive); err == nil {
		t.Error("the poll goes on")
	}
	if _, there := server.Files.Read("in/a.edi"); !there {
		t.Error("the file is gone")
	}
}
