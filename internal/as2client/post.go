package as2client

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"time"
)

// maxAnswer bounds what is read of an answer; receipts have a few kilobytes.
const maxAnswer = 4 << 20

// Client posts messages. The zero Client is ready to use.
type Client struct {
	// HTTP is the client to use; nil means one that all zero Clients share. Its
	// CheckRedirect is not used: redirects are never followed.
	HTTP *http.Client
}

var shared = NewHTTP(16)

// NewHTTP makes an HTTP client fit for AS2 that keeps up to so many idle
// connections to a host: HTTP/1.1, for the sake of header names spelled in mixed
// case, and without content encoding, which AS2 receivers do not expect.
// Deadlines come with each request's context.
func NewHTTP(connections int) *http.Client {
	return &http.Client{Transport: &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		MaxIdleConns:        connections,
		MaxIdleConnsPerHost: connections,
		IdleConnTimeout:     30 * time.Second,
		TLSHandshakeTimeout: 15 * time.Second,
		DisableCompression:  true,
	}}
}

// Post posts the message once and judges the answer. The error is that of the
// exchange alone: no connection, a deadline, an answer that breaks off. Whatever
// a complete answer says is in the Answer.
func (c Client) Post(ctx context.Context, p Prepared) (Answer, error) {
	start := time.Now()
	response, err := c.send(ctx, p)
	if err != nil {
		return Answer{}, fmt.Errorf("posting the message: %w", err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	took := time.Since(start)
	if err != nil {
		return Answer{}, fmt.Errorf("reading the answer: %w", err)
	}
	if len(body) > maxAnswer {
		return Answer{}, fmt.Errorf("reading the answer: it has more than %d octets", maxAnswer)
	}
	a := p.judge(response.StatusCode, response.Header, body)
	a.Duration = took
	return a, nil
}

// send sends again if an idle connection broke before an answer: phase2 and
// OpenAS2 close theirs without saying so in the answer before. That is no second
// message: a repeat under the same Message-ID is one (RFC 4130 §5.5).
func (c Client) send(ctx context.Context, p Prepared) (*http.Response, error) {
	client := c.client()
	for {
		idle := false
		traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
			GotConn: func(i httptrace.GotConnInfo) { idle = i.Reused },
		})
		content := p.content()
		body, err := content.Open()
		if err != nil {
			return nil, err
		}
		request, err := http.NewRequestWithContext(traced, http.MethodPost, p.URL, body)
		if err != nil {
			return nil, err
		}
		request.ContentLength = content.Size()
		request.GetBody = func() (io.ReadCloser, error) {
			again, err := content.Open()
			return io.NopCloser(again), err
		}
		for _, f := range p.Header {
			request.Header[f.Name] = []string{f.Value} // not Set, which would write "As2-From" and "Message-Id"
		}
		request.Header.Set("User-Agent", "firstcopy")
		response, err := client.Do(request)
		if err == nil || !idle || ctx.Err() != nil {
			return response, err
		}
	}
}

func (c Client) client() *http.Client {
	client := *shared
	if c.HTTP != nil {
		client = *c.HTTP
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &client
}
