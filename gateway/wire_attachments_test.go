package gateway_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"firstcopy/internal/as2client"
	"firstcopy/internal/as2test"
	"firstcopy/mdn"
)

// RFC 6362, F4: the documents of one message are registered and forwarded by themselves, each under its own name and to the
// octet; one that has come before is not forwarded again.
func TestAttachmentsAreForwardedApart(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{})
	acme := hub.Agree("acme", nil)
	invoice, order, picture := as2test.Invoice("ATT1", "1"), as2test.Orders("ATT2", "ATT3"), "\x89PNG\r\n\x00\x01 of the goods"
	post := func(id, order string) {
		t.Helper()
		part := "Content-Type: multipart/related; type=\"application/EDIFACT\"; boundary=\"m\"\r\n\r\n" +
			"--m\r\nContent-Type: application/EDIFACT\r\nContent-Disposition: attachment; filename=\"invoice.edi\"\r\n\r\n" + invoice +
			"\r\n--m\r\nContent-Type: application/EDIFACT; name=orders.edi\r\n\r\n" + order +
			"\r\n--m\r\nContent-Type: image/png\r\nContent-Disposition: attachment; filename=\"../goods.png\"\r\n\r\n" + picture + "\r\n--m--\r\n"
		m := enveloped(t, acme, id, signedEntity(t, *acme.SignKey, []byte(part), []byte(part)))
		r := exchange(t, hub, raw(m).octets())
		checkSigned(t, hub, r.answers(t, mdn.Processed, m.MessageID))
	}
	post("<att-1@acme>", order)
	files := inbox(t, filepath.Join(hub.Inbox, "acme"), 4)
	for name, content := range map[string]string{"invoice.edi": invoice, "goods.png": picture} {
		if len(files[name]) != 1 || !bytes.Equal(files[name][0], []byte(content)) {
			t.Errorf("%s: %q", name, files[name])
		}
	}
	if orders := files["orders.edi"]; len(orders) != 2 || len(orders[0])+len(orders[1]) != len(order) {
		t.Errorf("orders: %q", orders)
	}
	post("<att-2@acme>", as2test.Orders("ATT4")) // invoice and picture are known
	inbox(t, filepath.Join(hub.Inbox, "acme"), 5)
}

// inbox waits until a folder has so many documents, and returns their octets by the file names they were sent under.
func inbox(t *testing.T, dir string, want int) (files map[string][][]byte) {
	t.Helper()
	as2test.Eventually(t, strconv.Itoa(want)+" documents in "+dir, func() bool {
		files = map[string][][]byte{}
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, e := range entries {
			_, name, ok := strings.Cut(e.Name(), "_")
			if !ok || strings.HasPrefix(e.Name(), ".") || strings.HasSuffix(name, ".json") {
				continue
			}
			octets, err := os.ReadFile(filepath.Join(dir, e.Name()))
			if err != nil {
				t.Fatal(err)
			}
			files[name] = append(files[name], octets)
			n++
		}
		if n > want {
			t.Fatalf("%d documents in %v, want %d", n, entries, want)
		}
		return n == want
	})
	return files
}

// A message that is compressed, in either order, is taken like any other.
func TestCompressedMessages(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{})
	acme := hub.Agree("acme", nil)
	for i, name := range []string{"before", "after"} {
		acme.Compress++ // before signing, then after it
		m := as2test.Prepare(t, acme, as2test.Invoice("ZIP-"+name, "1"), as2client.Options{})
		checkSigned(t, hub, exchange(t, hub, raw(m).octets()).answers(t, mdn.Processed, m.MessageID))
		inbox(t, filepath.Join(hub.Inbox, "acme"), i+1)
	}
}
