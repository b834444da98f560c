package configs

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"firstcopy/configs/strict"

	"github.com/jackc/pgx/v5/pgconn"
)

// maxFile bounds the files that a configuration names: keys, certificates,
// secrets.
const maxFile = 256 << 10

// loader checks a decoded configuration and reads the files it names.
type loader struct {
	dir string
	doc *strict.Document
}

// resolve makes a file name relative to the configuration's folder.
func (l *loader) resolve(file string) string {
	if file == "" || filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(l.dir, file)
}

// readSmall reads a regular file of at most limit octets: not a pipe, which
// could block for ever.
func readSmall(path string, limit int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("%s: larger than %d bytes", path, limit)
	}
	return data, nil
}

func (l *loader) database(d *Database, env string) {
	l.atLeast("database.pool", d.Pool, 2) // a migration or a claim must not wait for the only one
	path := "database.url"
	switch {
	case env != "":
		d.URL, d.URLFile = Secret(env), ""
	case d.URL != "" && d.URLFile != "":
		l.doc.Reportf("database.url_file", "given beside url: one of them")
		return
	case d.URLFile != "":
		path = "database.url_file"
		d.URLFile = l.resolve(d.URLFile)
		data, err := readSmall(d.URLFile, maxFile)
		if err != nil {
			l.doc.Report(path, err)
			return
		}
		d.URL = Secret(strings.TrimSpace(string(data)))
	}
	if d.URL == "" {
		l.doc.Reportf(path, "missing: give url, url_file or the environment variable %s", EnvDatabaseURL)
		return
	}
	// The parser's error would show the URL, with a password that it may not
	// recognise as one.
	if _, err := pgconn.ParseConfig(string(d.URL)); err != nil {
		l.doc.Reportf(path, "not a connection string like postgres://user@host:5432/database")
	}
}

func (l *loader) node(node *string) {
	if *node == "" {
		name, err := os.Hostname()
		if err != nil {
			l.doc.Reportf("node", "the host has no name: give one (%w)", err)
			return
		}
		*node = name
	}
	if len(*node) > 64 || strings.ContainsFunc(*node, func(r rune) bool { return r <= ' ' || r > '~' }) {
		l.doc.Reportf("node", "%q: 1 to 64 printable characters without spaces", *node)
	}
}

func (l *loader) listen(c *Listen) {
	l.address("listen.address", c.Address)
	if !strings.HasPrefix(c.Path, "/") || strings.HasPrefix(c.Path, "//") ||
		(strings.HasSuffix(c.Path, "/") && c.Path != "/") || strings.ContainsAny(c.Path, "?#% {}\\") {
		l.doc.Reportf("listen.path", "%q: a plain path like /as2, without a slash at its end", c.Path)
	}
	l.tls(&c.TLS)
	l.size("listen.header_limit", c.HeaderLimit, 4*strict.KiB)
	l.size("listen.body_limit", c.BodyLimit, strict.KiB)
	l.positive("listen.header_timeout", c.HeaderTimeout)
	l.positive("listen.body_timeout", c.BodyTimeout)
	l.positive("listen.body_idle_timeout", c.BodyIdleTimeout)
	l.positive("listen.idle_timeout", c.IdleTimeout)
	l.atLeast("listen.concurrent", c.Concurrent, 1)
	l.atLeast("listen.connections", c.Connections, c.Concurrent)
}

func (l *loader) tls(t *TLS) {
	if (t.CertFile == "") != (t.KeyFile == "") {
		l.doc.Report("listen.tls", errors.New("cert_file and key_file belong together"))
		return
	}
	if !t.Enabled() {
		return
	}
	t.CertFile, t.KeyFile = l.resolve(t.CertFile), l.resolve(t.KeyFile)
	if _, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile); err != nil {
		l.doc.Report("listen.tls", err)
	}
}

// address holds a listener to host:port. Port 0, any free one, is for tests.
func (l *loader) address(path, s string) {
	_, port, err := net.SplitHostPort(s)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		l.doc.Reportf(path, "%q is not host:port", s)
	}
}

func (l *loader) spool(s *Spool) {
	if s.Memory < 0 {
		l.doc.Reportf("spool.memory", "cannot be negative")
	}
	if s.Dir == "" {
		return
	}
	s.Dir = l.resolve(s.Dir)
	if info, err := os.Stat(s.Dir); err != nil {
		l.doc.Report("spool.dir", err)
	} else if !info.IsDir() {
		l.doc.Reportf("spool.dir", "%s is not a folder", s.Dir)
	}
}

func (l *loader) transaction(t Transaction) {
	for _, one := range []struct {
		path string
		d    time.Duration
	}{{"lock_timeout", t.LockTimeout}, {"statement_timeout", t.StatementTimeout}, {"idle_timeout", t.IdleTimeout}} {
		path := "transaction." + one.path
		l.positive(path, one.d)
		// The server must give up first: its error says what happened, ours
		// leaves the outcome unknown.
		if one.d >= t.Deadline {
			l.doc.Reportf(path, "must be shorter than transaction.deadline (%s)", t.Deadline)
		}
		if one.d > 0 && one.d < time.Millisecond {
			l.doc.Reportf(path, "less than 1ms, which the server would take for no limit")
		}
	}
	l.positive("transaction.deadline", t.Deadline)
}

func (l *loader) forward(f Forward) {
	l.atLeast("forward.workers", f.Workers, 1)
	l.atLeast("forward.attempts", f.Attempts, 1)
	l.positive("forward.backoff", f.Backoff)
	l.positive("forward.timeout", f.Timeout)
	if f.BackoffMax < f.Backoff {
		l.doc.Reportf("forward.backoff_max", "shorter than forward.backoff (%s)", f.Backoff)
	}
}

func (l *loader) sftp(s SFTP) {
	l.atLeast("sftp.partners", s.Partners, 1)
	if s.Lease < time.Second {
		l.doc.Reportf("sftp.lease", "shorter than 1s: nodes would take work from one another that is merely slow")
	}
}

func (l *loader) positive(path string, d time.Duration) {
	if d <= 0 {
		l.doc.Reportf(path, "must be longer than 0")
	}
}

func (l *loader) atLeast(path string, n, least int) {
	if n < least {
		l.doc.Reportf(path, "%d: at least %d", n, least)
	}
}

func (l *loader) size(path string, s, least strict.Size) {
	if s < least {
		l.doc.Reportf(path, "%s: at least %s", s, least)
	}
}
