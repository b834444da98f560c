package demo

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// drop is a file that acme puts onto its own server, and how it should come out.
type drop struct {
	title     string
	file      string
	content   string
	verdict   string
	forwarded int
	answers   int // CONTRL files that lie at acme's server afterwards: one for each interchange
}

// sftpTerms are acme's, for the agreements file.
func (w *world) sftpTerms() string {
	host, port, _ := net.SplitHostPort(w.drops.address)
	return fmt.Sprintf(`    sftp:
      host: %s
      port: %s
      user: %q
      host_keys: [%q]
      auth: {keys: [{file: drop/ssh/client_key}]}
      folders: {in: %q, archive: %q, acknowledgement: %q}
      ready: {quiet: 200ms} # so that nobody waits; at a real partner's leave the default of 10s
      interval: 200ms
`, host, port, w.drops.user, w.drops.hostKey, w.path("drop/in"), w.path("drop/archive"), w.path("drop/answers"))
}

// playDrops has acme drop files, some of which have come by AS2 already, and prints a line for each.
func (w *world) playDrops(ctx context.Context, first int) error {
	bill, order := invoice("INV2026001", "1190.00"), purchaseOrders("ORD2026077")
	for i, d := range []drop{
		{"acme drops the same INVOIC by SFTP as well", "invoice.edi", bill, "duplicate", 0, 1},
		{"acme drops an ORDERS by SFTP", "orders.edi", order, "first", 1, 2},
		{"an overlapping cron drops the INVOIC again", "invoice.edi", bill, "duplicate", 0, 2},
		{"an overlapping cron drops the ORDERS again", "orders-copy.edi", order, "duplicate", 0, 2},
	} {
		if err := w.takeDrop(ctx, first+i, d); err != nil {
			return fmt.Errorf("step %d, %s: %w", first+i, d.title, err)
		}
	}
	return nil
}

// takeDrop writes one file as careful senders do, waits until it is archived, and prints the line.
func (w *world) takeDrop(ctx context.Context, number int, d drop) error {
	before, err := w.inbox("acme")
	if err != nil {
		return err
	}
	target := w.path("drop/in/" + d.file)
	if err := os.WriteFile(target+".tmp", []byte(d.content), 0o644); err != nil {
		return err
	}
	if err := os.Rename(target+".tmp", target); err != nil {
		return err
	}
	if err := w.gone(ctx, target); err != nil {
		return err
	}
	var verdict string
	if err := w.pool.QueryRow(ctx, `SELECT e.kind FROM ledger_event e JOIN delivery d USING (delivery_id)
		WHERE d.channel = 'sftp' AND d.file_name = $1 AND e.kind IN ('first', 'duplicate', 'drift', 'repeat') ORDER BY e.at DESC LIMIT 1`, d.file).Scan(&verdict); err != nil {
		return fmt.Errorf("looking for the verdict: %w", err)
	}
	if err := w.drain(ctx); err != nil {
		return err
	}
	after, err := w.inbox("acme")
	if err != nil {
		return err
	}
	answers, err := os.ReadDir(w.path("drop/answers"))
	if err != nil {
		return err
	}
	mark, went := "ok", "–"
	if after > before {
		went = fmt.Sprintf("%d to inbox/acme", after-before)
	}
	if verdict != d.verdict || after-before != d.forwarded || len(answers) != d.answers {
		mark = "!!"
		w.failed++
	}
	w.say("%s %2d %-46s  %-44s %-5s %-10s %s", mark, number, d.title, fmt.Sprintf("archived; CONTRL files there: %d", len(answers)), "–", verdict, went)
	return nil
}

// gone waits until a file has been taken away.
func (w *world) gone(ctx context.Context, path string) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		if _, err := os.Stat(path); os.IsNotExist(err) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s was not taken: %w", filepath.Base(path), ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// purchaseOrders is an EDIFACT interchange with one ORDERS.
func purchaseOrders(reference string) string {
	return strings.NewReplacer("REF", reference).Replace("UNB+UNOC:3+4012345000009:14+5412345000013:14+261201:1020+REF'\r\n" +
		"UNH+1+ORDERS:D:96A:UN:EAN008'\r\nBGM+220+PO-REF+9'\r\nDTM+137:20261201:102'\r\nLIN+1++4000862141404:EN'\r\n" +
		"QTY+21:24'\r\nUNS+S'\r\nUNT+7+1'\r\nUNZ+1+REF'\r\n")
}
