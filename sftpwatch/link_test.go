package sftpwatch

import (
	"testing"

	"firstcopy/internal/sftptest"
)

// A sign of life asked for while a folder is listed, or a listing begun while one is awaited, is no folder with too many entries.
func TestPingBesideAListing(t *testing.T) {
	t.Parallel()
	for held, call := range map[sftptest.Kind]func(*link) error{
		sftptest.Readdir:  func(l *link) error { return l.ping(t.Context()) },
		sftptest.Realpath: func(l *link) error { _, err := l.list(t.Context(), "in"); return err },
	} {
		asked, answer := make(chan struct{}), make(chan struct{})
		server := sftptest.StartScripted(t, sftptest.Script{Twists: []sftptest.Twist{sftptest.Times(1,
			func(_ *sftptest.Request, next func() sftptest.Reply) sftptest.Reply {
				close(asked)
				<-answer
				return next()
			}, held)}})
		server.Files.Put("in/a", "x")
		l := dialled(t, scriptedTerms(t, server))
		first, second := make(chan error, 1), make(chan error, 1)
		go func() {
			if held == sftptest.Realpath {
				first <- l.ping(t.Context())
				return
			}
			_, err := l.list(t.Context(), "in")
			first <- err
		}()
		<-asked
		if n := l.calls.Load(); n != 1 {
			t.Errorf("%d calls are under way", n)
		}
		go func() { second <- call(l) }()
		if held == sftptest.Readdir {
			if err := <-second; err != nil { // at once: it asks nothing
				t.Error(err)
			}
			second <- nil
		}
		close(answer)
		if err := <-first; err != nil {
			t.Error(err)
		}
		if err := <-second; err != nil {
			t.Error(err)
		}
		if n := l.calls.Load(); n != 0 || l.ended() != nil {
			t.Errorf("%d calls are under way, %v", n, l.ended())
		}
	}
}
