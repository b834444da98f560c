package partners

import (
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
)

// faults are all that is wrong with terms whose defaults are filled in.
func (s *SFTP) faults() []fault {
	var f faults
	s.Hop.check(&f, "", 0)
	s.checkFolders(&f)
	f.add("after", oneOf(s.After, AfterArchive, AfterDelete, AfterKeep))
	f.add("empty", oneOf(s.Empty, EmptyWait, EmptyIgnore, EmptyDelete))
	f.addf(s.Interval.Duration() < 100*time.Millisecond, "interval", "at least 100ms")
	f.addf(s.MaxFiles < 1, "max_files", "at least 1")
	f.addf(s.MaxEntries < 1, "max_entries", "at least 1")
	f.addf(s.MinSize < 0, "min_size", "not negative")
	for i, q := range s.Quirks {
		f.add(fmt.Sprintf("quirks[%d]", i), oneOf(q, QuirkSmallPackets, QuirkOneHandle, QuirkNoStatAfterOpen, QuirkNoRename))
	}
	for name, list := range map[string][]string{"include": s.Select.Include, "exclude": s.Select.Exclude} {
		for i, pattern := range list {
			f.addf(pattern == "" || strings.ContainsAny(pattern, "/\x00"), fmt.Sprintf("select.%s[%d]", name, i),
				"%q: a pattern is a file's name with * and ?, without a folder", pattern)
		}
	}
	f.add("ready.done_file", checkDone(s.Ready.Done))
	for name, d := range map[string]Period{"connect": s.Timeouts.Connect, "request": s.Timeouts.Request, "list": s.Timeouts.List, "file": s.Timeouts.File} {
		f.addf(d <= 0, "timeouts."+name, "must be positive")
	}
	f.add("expect", s.Expect.check())
	return f
}

// check looks at one hop and those in front of it.
func (h *Hop) check(f *faults, path string, depth int) {
	f.addf(h.Host == "" || strings.ContainsAny(h.Host, " /@\x00"), path+"host", "%q is not a host's name or address", h.Host)
	if host, port, err := net.SplitHostPort(h.Host); err == nil && host != "" {
		f.addf(true, path+"host", "%q: the port goes into port: %s", h.Host, port)
	}
	f.addf(h.Port < 1 || h.Port > 65535, path+"port", "%d: 1 to 65535", h.Port)
	f.addf(h.User == "" || strings.ContainsRune(h.User, 0), path+"user", "missing")
	f.addf(len(h.HostKeys)+len(h.HostAuthorities) == 0, path+"host_keys",
		"missing: a server is trusted for its key only (ssh-keyscan shows it; compare with what the partner says)")
	for i, k := range h.HostAuthorities {
		f.addf(strings.Contains(k, " SHA256:"), fmt.Sprintf("%shost_authorities[%d]", path, i), "an authority's whole key is needed, not its fingerprint")
	}
	for name, list := range map[string][]string{"host_keys": h.HostKeys, "host_authorities": h.HostAuthorities, "revoked_keys": h.RevokedKeys} {
		for i, k := range list {
			_, err := canonicalKey(k)
			f.add(fmt.Sprintf("%s%s[%d]", path, name, i), err)
		}
	}
	h.Auth.check(f, path+"auth")
	h.Algorithms.check(f, path+"algorithms.")
	for _, file := range h.files() {
		f.addf(*file != "" && !filepath.IsAbs(*file), path+"auth", "%q: an absolute path is needed, since every node reads it", *file)
	}
	h.Route.check(f, path+"route", depth)
}

func (a *Auth) check(f *faults, path string) {
	f.addf(a.PasswordFile == "" && len(a.Keys) == 0 && a.AgentSocket == "", path, "missing: password_file, keys or agent_socket")
	f.addf(a.KeyboardInteractive && a.PasswordFile == "", path+".keyboard_interactive", "needs password_file, to answer with")
	for i, k := range a.Keys {
		f.addf(k.File == "", fmt.Sprintf("%s.keys[%d].file", path, i), "missing")
	}
}

// maxJumps bounds the hosts in front of the partner's.
const maxJumps = 4

func (r *Route) check(f *faults, path string, depth int) {
	ways := 0
	for _, given := range []bool{r.Jump != nil, r.SOCKS5 != "", r.HTTPConnect != ""} {
		if given {
			ways++
		}
	}
	f.addf(ways > 1, path, "one of jump, socks5 and http_connect")
	for name, address := range map[string]string{".socks5": r.SOCKS5, ".http_connect": r.HTTPConnect} {
		if address != "" {
			host, port, err := net.SplitHostPort(address)
			n, _ := strconv.Atoi(port)
			f.addf(err != nil || host == "" || n < 1 || n > 65535, path+name, "%q is not host:port", address)
		}
	}
	f.addf(r.ProxyPasswordFile != "" && r.ProxyUser == "", path+".proxy_user", "missing beside proxy_password_file")
	f.addf(len(r.ProxyUser) > 255, path+".proxy_user", "at most 255 octets")
	if r.Jump == nil {
		return
	}
	f.addf(depth+1 > maxJumps, path+".jump", "at most %d hosts in a row", maxJumps)
	if depth < maxJumps {
		r.Jump.check(f, path+".jump.", depth+1)
	}
}

func (s *SFTP) checkFolders(f *faults) {
	d := s.Folders
	f.addf(d.In == "", "folders.in", "missing")
	f.addf(s.After == AfterArchive && d.Archive == "", "folders.archive", "missing, with after: archive")
	seen := map[string]string{}
	for _, one := range []struct{ name, path string }{{"in", d.In}, {"archive", d.Archive}, {"error", d.Error}, {"acknowledgement", d.Acknowledgement}} {
		if one.path == "" {
			continue
		}
		at := "folders." + one.name
		f.add(at, remotePath(one.path))
		clean := strings.TrimRight(one.path, "/")
		other, taken := seen[clean]
		// Acknowledgements may lie where others do, but nowhere may what we put be what we fetch.
		f.addf(taken && (other == "in" || one.name != "acknowledgement"), at, "the same folder as %s", other)
		seen[clean] = one.name
	}
}

// checkDone: a done file's name is made of the file's own.
func checkDone(pattern string) error {
	if pattern == "" {
		return nil
	}
	rest, n := pattern, 0
	for _, part := range []string{"{name}", "{stem}"} {
		n += strings.Count(rest, part)
		rest = strings.ReplaceAll(rest, part, "")
	}
	switch {
	case strings.ContainsAny(pattern, "/\x00"):
		return fmt.Errorf("%q: done files lie beside the files", pattern)
	case n != 1 || strings.ContainsAny(rest, "{}*?"):
		return fmt.Errorf("%q: {name} or {stem}, once, such as {name}.done", pattern)
	case rest == "":
		return fmt.Errorf("%q would make every file its own done file", pattern)
	}
	return nil
}

var weekdays = []string{"mon", "tue", "wed", "thu", "fri", "sat", "sun"}

func (e *Expect) check() error {
	if e.By == "" {
		if len(e.Days) > 0 || e.Zone != "" {
			return errors.New("by is missing")
		}
		return nil
	}
	if _, err := time.Parse("15:04", e.By); err != nil {
		return fmt.Errorf("%q is not a time like 06:30", e.By)
	}
	for _, day := range e.Days {
		if err := oneOf(day, weekdays...); err != nil {
			return err
		}
	}
	if _, err := time.LoadLocation(e.Zone); err != nil || e.Zone == "Local" {
		return fmt.Errorf("%q is not a time zone like Europe/Berlin", e.Zone)
	}
	return nil
}

// check refuses names that the SSH library does not know: they would do
// nothing.
func (a *Algorithms) check(f *faults, path string) {
	good, weak := ssh.SupportedAlgorithms(), ssh.InsecureAlgorithms()
	for _, list := range []struct {
		name         string
		given, known []string
	}{
		{"key_exchanges", a.KeyExchanges, slices.Concat(good.KeyExchanges, weak.KeyExchanges)},
		{"ciphers", a.Ciphers, slices.Concat(good.Ciphers, weak.Ciphers)},
		{"macs", a.MACs, slices.Concat(good.MACs, weak.MACs)},
		{"host_keys", a.HostKeys, slices.Concat(good.HostKeys, weak.HostKeys)},
	} {
		for i, name := range list.given {
			f.add(fmt.Sprintf("%s%s[%d]", path, list.name, i), oneOf(name, list.known...))
		}
	}
}

// insecure names the weak algorithms that are allowed, on all hops.
func (s *SFTP) insecure() []string {
	weak := ssh.InsecureAlgorithms()
	all := slices.Concat(weak.KeyExchanges, weak.Ciphers, weak.MACs, weak.HostKeys)
	var found []string
	for hop := &s.Hop; hop != nil; hop = hop.Route.Jump {
		a := &hop.Algorithms
		for _, name := range slices.Concat(a.KeyExchanges, a.Ciphers, a.MACs, a.HostKeys) {
			if slices.Contains(all, name) {
				found = append(found, name)
			}
		}
	}
	return found
}
