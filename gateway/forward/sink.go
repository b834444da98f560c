package forward

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"time"
)

// Shipment is a document on its way to a sink: what a consumer may need to know, and its octets.
type Shipment struct {
	Document
	Partner string                          // the agreement's name
	Channel string                          // how it arrived
	Open    func(context.Context) io.Reader // may be opened several times
	Node    string
	Attempt int // from 1
	At      time.Time
}

// sink takes shipments. Deliver is called at least once for each; the same shipment always has the same ID, and a
// sink that has it already does nothing. It returns where the shipment now is.
type sink interface {
	Deliver(ctx context.Context, s Shipment) (where string, err error)
}

// openSink finds the sink for an agreement's address: dir:PATH, http://… or https://….
func openSink(address, secretFile string, client *webClient) (sink, error) {
	if path, ok := strings.CutPrefix(address, "dir:"); ok {
		return dirSink{path: path}, nil
	}
	u, err := url.Parse(address)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, fmt.Errorf("sink %q is neither dir:PATH nor an http(s) address", address)
	}
	var secret []byte
	if secretFile != "" {
		if secret, err = os.ReadFile(secretFile); err != nil {
			return nil, fmt.Errorf("reading the sink's secret: %w", err)
		}
		if secret, err = webhookSecret(secret); err != nil {
			return nil, fmt.Errorf("sink secret %s: %w", secretFile, err)
		}
	}
	return webSink{url: u.String(), secret: secret, client: client}, nil
}
