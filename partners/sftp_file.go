package partners

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

// sftp fills in what the file does not say, makes file names absolute, and
// reports what is wrong.
func (r *reader) sftp(path string, a *Agreement, s *SFTP) {
	s.setDefaults()
	r.hop(path, &s.Hop)
	for _, fault := range s.faults() {
		r.doc.Report(path+"."+fault.path, fault.err)
	}
	for _, name := range s.insecure() {
		r.warn(path+".algorithms", a.Name, name+" is weak: it is offered to this server because the agreement says so")
	}
	if s.Ready.Quiet.Duration() < 2*time.Second && s.After != AfterKeep {
		r.warn(path+".ready.quiet", a.Name, "quiet below 2s: SFTP's dates are whole seconds, and a file that replaces another within one may pass for it")
	}
	if s.After == AfterKeep {
		r.warn(path+".after", a.Name, "after: keep: the folder only grows, and is listed whole at every poll")
	}
	a.SFTP = s
}

// setDefaults completes terms as they come from a file.
func (s *SFTP) setDefaults() {
	s.After = cmp.Or(s.After, AfterArchive)
	s.Empty = cmp.Or(s.Empty, EmptyWait)
	s.Interval = cmp.Or(s.Interval, DefaultInterval)
	s.Jitter = cmp.Or(s.Jitter, s.Interval/10)
	s.MaxFiles = cmp.Or(s.MaxFiles, DefaultMaxFiles)
	s.MaxEntries = cmp.Or(s.MaxEntries, DefaultMaxEntries)
	s.Ready.Quiet = cmp.Or(s.Ready.Quiet, DefaultQuiet)
	s.Ready.Grace = cmp.Or(s.Ready.Grace, DefaultGrace)
	t, d := &s.Timeouts, DefaultTimeouts
	*t = Timeouts{cmp.Or(t.Connect, d.Connect), cmp.Or(t.Request, d.Request), cmp.Or(t.List, d.List), cmp.Or(t.File, d.File)}
	for hop := &s.Hop; hop != nil; hop = hop.Route.Jump {
		hop.Port = cmp.Or(hop.Port, DefaultPort)
	}
}

// hop resolves the files that a hop names, and puts its keys into one spelling.
func (r *reader) hop(path string, h *Hop) {
	for _, file := range h.files() {
		if *file != "" && !filepath.IsAbs(*file) {
			*file = filepath.Join(r.dir, *file)
			if absolute, err := filepath.Abs(*file); err == nil {
				*file = absolute
			}
		}
	}
	for _, list := range []struct {
		name  string
		items []string
	}{{"host_keys", h.HostKeys}, {"host_authorities", h.HostAuthorities}, {"revoked_keys", h.RevokedKeys}} {
		for i, text := range list.items {
			key, err := canonicalKey(text)
			r.check(fmt.Sprintf("%s.%s[%d]", path, list.name, i), err)
			list.items[i] = key
		}
	}
	if h.Route.Jump != nil {
		r.hop(path+".route.jump", h.Route.Jump)
	}
}

// files are all that a hop names, for whoever has to resolve or look for them.
func (h *Hop) files() []*string {
	all := []*string{&h.Auth.PasswordFile, &h.Auth.AgentSocket, &h.Route.ProxyPasswordFile}
	for i := range h.Auth.Keys {
		k := &h.Auth.Keys[i]
		all = append(all, &k.File, &k.PassphraseFile, &k.CertificateFile)
	}
	return all
}

// Files are the keys and passwords that a node must be able to read, of all
// hops. An agent's socket is not among them.
func (s *SFTP) Files() []string {
	var all []string
	for hop := &s.Hop; hop != nil; hop = hop.Route.Jump {
		for _, file := range hop.files() {
			if *file != "" && file != &hop.Auth.AgentSocket {
				all = append(all, *file)
			}
		}
	}
	return all
}

// fault is something wrong in terms, placed by its key.
type fault struct {
	path string
	err  error
}

type faults []fault

func (f *faults) add(path string, err error) {
	if err != nil {
		*f = append(*f, fault{path, err})
	}
}

func (f *faults) addf(wrong bool, path, format string, args ...any) {
	if wrong {
		*f = append(*f, fault{path, fmt.Errorf(format, args...)})
	}
}

// remotePath refuses what no server can mean by a folder of its own.
func remotePath(s string) error {
	if strings.ContainsRune(s, 0) || len(s) > 1024 {
		return fmt.Errorf("%q is not a folder's name", s)
	}
	for part := range strings.SplitSeq(s, "/") {
		if part == ".." {
			return fmt.Errorf("%q climbs out: write the folder's own name", s)
		}
	}
	return nil
}
