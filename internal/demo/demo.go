// Package demo plays the main job for somebody who has just built firstcopy: a gateway on a private database, two trading
// partners who post real AS2 messages to it, and what became of each. It uses the gateway as its users do: the binary is
// started with a configuration file, agreements are applied with its CLI, messages go over HTTP, and files lie on a partner's
// SFTP server.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"firstcopy/internal/as2client"
)

// Options say how the demo runs.
type Options struct {
	Binary      string // the firstcopy executable to play with
	Dir         string // for keys, configuration and forwarded files; "" is a temporary folder that goes at the end
	DatabaseURL string // of a server where a database may be created; "" starts a private one
	Stay        bool   // keep everything running until the context ends
	Out         io.Writer
}

// world is what the demo has set up.
type world struct {
	Options
	database *database
	gateway  *process
	pool     *pgxpool.Pool
	url      string // where partners post to
	receipts *as2client.ReceiptListener
	drops    *dropServer // acme's
	failed   int
}

// Run plays the demo. It returns an error when anything came out otherwise than it should.
func Run(ctx context.Context, o Options) (err error) {
	w := &world{Options: o}
	if w.Dir == "" {
		if w.Dir, err = os.MkdirTemp("", "firstcopy-demo-"); err != nil {
			return err
		}
		defer os.RemoveAll(w.Dir)
	}
	if w.Dir, err = filepath.Abs(w.Dir); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	if err := w.setUp(ctx); err != nil {
		return err
	}
	if err := w.play(ctx); err != nil {
		return err
	}
	if err := w.showResult(ctx); err != nil {
		return err
	}
	if w.failed > 0 {
		return fmt.Errorf("%d of the steps came out otherwise than they should", w.failed)
	}
	fmt.Fprintln(w.Out, "\nEverything came out as it should.")
	if w.Stay {
		w.invite()
		<-ctx.Done()
	}
	return nil
}

func (w *world) setUp(ctx context.Context) (err error) {
	if err := w.writeFiles(); err != nil {
		return err
	}
	if w.database, err = openDatabase(ctx, w.DatabaseURL, func(s string) { w.say("%s …", s) }); err != nil {
		return err
	}
	w.say("database     %s", w.database.where)
	if w.receipts, err = as2client.ListenReceipts("127.0.0.1:0"); err != nil {
		return err
	}
	if w.drops, err = startDropServer(ctx, w.path("drop/ssh")); err != nil {
		return err
	}
	w.say("SFTP server  %s, %s", w.drops.address, w.drops.kind)
	if err := w.writeConfig(); err != nil {
		return err
	}
	if _, err := w.cli(ctx, "migrate"); err != nil {
		return err
	}
	if _, err := w.cli(ctx, "partner", "apply", "-f", w.path("agreements.yaml"), "--as", "demo"); err != nil {
		return err
	}
	w.say("agreements   acme (signed and encrypted; SFTP), globex (asynchronous receipts)")
	if w.gateway, err = startGateway(ctx, w.Binary, w.path("firstcopy.yaml"), w.path("gateway.log")); err != nil {
		return err
	}
	w.url = "http://" + w.gateway.address + "/as2"
	w.say("gateway      %s  (operator: http://%s)", w.url, w.gateway.operator)
	w.pool, err = pgxpool.New(ctx, w.database.url)
	return err
}

func (w *world) path(name string) string { return filepath.Join(w.Dir, name) }

func (w *world) say(format string, args ...any) { fmt.Fprintf(w.Out, format+"\n", args...) }

// close stops what the demo started, the gateway before its database.
func (w *world) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var errs []error
	if w.pool != nil {
		w.pool.Close()
	}
	if w.gateway != nil {
		errs = append(errs, w.gateway.stop(ctx))
	}
	if w.drops != nil {
		w.drops.close()
	}
	if w.receipts != nil {
		errs = append(errs, w.receipts.Close())
	}
	if w.database != nil {
		errs = append(errs, w.database.close(ctx))
	}
	return errors.Join(errs...)
}

// invite says how to go on by hand.
func (w *world) invite() {
	host, port, _ := net.SplitHostPort(w.drops.address)
	w.say(`
The gateway keeps running; end it with Ctrl-C. Send it a message yourself, from another terminal:

  %[1]s send --url %[2]s --from ACME --to HUB \
    --sign-cert %[3]s --sign-key %[4]s --encrypt-cert %[5]s --receipt-cert %[5]s %[6]s

and ask what became of it:

  export FIRSTCOPY_CONFIG=%[7]s
  %[1]s ledger show INV2026001
  %[1]s delivery list
  %[1]s drift list
  curl http://%[8]s/metrics

Or be acme and drop a file by SFTP: put it into %[9]s and see it taken.

  sftp -P %[10]s -i %[11]s %[12]s@%[13]s
  %[1]s sftp status
  %[1]s partner test acme --dry-run`,
		w.Binary, w.url, w.path("acme.crt"), w.path("acme.key"), w.path("hub.crt"), w.path("invoice.edi"),
		w.path("firstcopy.yaml"), w.gateway.operator, w.path("drop/in"), port, w.path("drop/ssh/client_key"), w.drops.user, host)
}
