package forward

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"firstcopy/dedup"
)

// webSink posts documents with CloudEvents 1.0 headers in HTTP binary mode, an Idempotency-Key, and, where the agreement
// names a secret, a Standard Webhooks signature. Any 2xx answer takes the document over.
type webSink struct {
	url    string
	secret []byte
	client *webClient
}

// webClient is one connection pool for all sinks. It follows no redirects: an address is part of an agreement.
type webClient struct{ http.Client }

func newWebClient() *webClient {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 16
	transport.Proxy = nil
	return &webClient{http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

func (w webSink) Deliver(ctx context.Context, s Shipment) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, io.NopCloser(s.Open(ctx)))
	if err != nil {
		return "", err
	}
	req.ContentLength = s.Size
	req.Header.Set("Content-Type", firstNonEmpty(s.ContentType, "application/octet-stream"))
	req.Header.Set("Idempotency-Key", s.ID.String())
	req.Header.Set("User-Agent", "firstcopy")
	setCloudEvent(req.Header, s)
	if w.secret != nil {
		if err := w.sign(ctx, req.Header, s); err != nil {
			return "", err
		}
	}
	resp, err := w.client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	said, _ := io.ReadAll(io.LimitReader(resp.Body, 512))
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return "", fmt.Errorf("sink answered %s: %s", resp.Status, strings.TrimSpace(string(said)))
	}
	return w.url, nil
}

// setCloudEvent writes the context attributes as headers (CloudEvents HTTP binding 1.0 §3.1.3).
func setCloudEvent(h http.Header, s Shipment) {
	set := func(name, value string) {
		if value != "" {
			h.Set("ce-"+name, percentEncode(value))
		}
	}
	set("specversion", "1.0")
	set("id", s.ID.String())
	set("source", "firstcopy/"+s.Partner)
	set("type", "firstcopy.document."+s.Verdict)
	set("subject", s.Reference)
	set("time", s.CreatedAt.UTC().Format(time.RFC3339Nano))
	set("partner", s.Partner)
	set("channel", s.Channel)
	set("standard", s.Standard)
	set("sender", s.Sender)
	set("recipient", s.Recipient)
	set("controlreference", s.Reference)
	set("messagetypes", strings.Join(distinct(s.MessageTypes), ","))
	set("test", strconv.FormatBool(s.Test))
	set("sha256", hex.EncodeToString(s.Raw))
	set("epoch", strconv.Itoa(s.Epoch))
	set("filename", s.FileName)
	if l := s.Lineage; l != nil {
		set("supersedes", strings.Join(each(l.Supersedes, func(d dedup.Superseded) string { return d.Document.String() }), ","))
		set("supersedesnumbers", strings.Join(each(l.Supersedes, func(d dedup.Superseded) string { return listed(d.Number) }), ","))
		set("stalenumbers", strings.Join(each(l.Stale, listed), ","))
		set("flags", strings.Join(each(l.Flags, func(f dedup.Flag) string { return string(f) }), ","))
	}
}

// each writes a list's entries, as many as a header holds; the sidecar and "firstcopy document show" have them all.
func each[T any](list []T, text func(T) string) []string {
	list = list[:min(len(list), maxListed)]
	texts := make([]string, len(list))
	for i, entry := range list {
		texts[i] = text(entry)
	}
	return texts
}

const maxListed = 64

// listed is a document number in a list with commas.
func listed(number string) string { return strings.NewReplacer("%", "%25", ",", "%2C").Replace(number) }

// percentEncode encodes what a header may not carry (CloudEvents HTTP binding 1.0 §3.1.3.2).
func percentEncode(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		if c <= ' ' || c > '~' || c == '"' || c == '%' {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// sign adds the Standard Webhooks headers: HMAC-SHA256 over "id.timestamp.body". The octets are read once for the
// signature and once for the post, so that they need not be held.
func (w webSink) sign(ctx context.Context, h http.Header, s Shipment) error {
	stamp := strconv.FormatInt(s.At.Unix(), 10)
	mac := hmac.New(sha256.New, w.secret)
	io.WriteString(mac, s.ID.String()+"."+stamp+".")
	if _, err := io.Copy(mac, s.Open(ctx)); err != nil {
		return err
	}
	h.Set("webhook-id", s.ID.String())
	h.Set("webhook-timestamp", stamp)
	h.Set("webhook-signature", "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	return nil
}

// webhookSecret reads a secret file: "whsec_" and base64, as Standard Webhooks writes secrets, or the octets themselves.
func webhookSecret(file []byte) ([]byte, error) {
	text := strings.TrimSpace(string(file))
	if text == "" {
		return nil, errors.New("the file is empty")
	}
	encoded, ok := strings.CutPrefix(text, "whsec_")
	if !ok {
		return []byte(text), nil
	}
	secret, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return nil, errors.New("what follows whsec_ is not base64")
	}
	return secret, nil
}

// distinct keeps a header short, whatever number of messages an interchange has.
func distinct(types []string) []string {
	sorted := slices.Compact(slices.Sorted(slices.Values(types)))
	return sorted[:min(len(sorted), maxListed)]
}

func firstNonEmpty(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
