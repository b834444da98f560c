package sftpwatch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/crypto/ssh"

	"firstcopy/partners"
)

// Examination is what a look at a partner's server has shown.
type Examination struct {
	Server  Server
	Folders []FolderState
	Listed  int           // entries of the folder for files
	Files   []Plan        // that the agreement means, oldest first; nil without a dry run
	Passed  int           // entries that it does not mean
	Took    time.Duration // the listing
}

// FolderState is one agreed folder.
type FolderState struct {
	Use  string // "in", "archive", …
	Path string
	Err  error // nil when it is there
}

// Plan is what a poll would do with a file.
type Plan struct {
	Name     string // made displayable
	Size     int64
	Modified time.Time
	What     string
}

// Examine dials a partner's server over a connection of its own, lists the folder, and looks for the others. With dryRun it
// says what a poll would do with each file; it reads none and changes nothing.
func Examine(ctx context.Context, pool *pgxpool.Pool, a *partners.Agreement, dryRun bool) (x Examination, err error) {
	l, err := dial(ctx, a.SFTP)
	if err != nil {
		return x, err
	}
	defer l.end()
	x.Server = l.server
	start := time.Now()
	listing, err := l.list(ctx, a.SFTP.Folders.In)
	x.Took, x.Listed = time.Since(start), len(listing)
	x.Folders = append(x.Folders, FolderState{"in", a.SFTP.Folders.In, err})
	for _, f := range []FolderState{{"archive", a.SFTP.Folders.Archive, nil}, {"error", a.SFTP.Folders.Error, nil},
		{"acknowledgement", a.SFTP.Folders.Acknowledgement, nil}} {
		if f.Path != "" {
			f.Err = l.folder(ctx, f.Path)
			x.Folders = append(x.Folders, f)
		}
	}
	if err != nil || !dryRun {
		return x, err
	}
	files, _ := pick(listing, a.SFTP)
	x.Passed = len(listing) - len(files)
	rows, err := (&store{pool: pool}).known(ctx, a.ID)
	if err != nil {
		return x, err
	}
	for i, f := range files {
		x.Files = append(x.Files, Plan{shown(f.name), f.size, time.Unix(f.mtime, 0), plan(f, rows[f.name], a, i)})
	}
	return x, nil
}

func (l *link) folder(ctx context.Context, path string) error {
	var isFolder bool
	err := l.request(ctx, "looking at "+shown(path), func() error {
		info, err := l.sftp.Stat(path)
		isFolder = err == nil && info.IsDir()
		return err
	})
	if err == nil && !isFolder {
		return errors.New("not a folder")
	}
	return err
}

// plan is what a poll would do with a file, in words.
func plan(f entry, k known, a *partners.Agreement, rank int) string {
	terms := a.SFTP
	same := k.version == f.version()
	switch {
	case k.state != "" && same && k.held:
		return "being taken now"
	case k.state == taken && same, k.state == stuck && same:
		return "taken already; " + string(terms.After) + " is still due"
	case k.state == kept && same:
		return "taken already, and kept"
	case k.state == refused && same:
		if goes := refusedGoes(f.size, terms); goes != "" {
			return "refused (" + k.why + "); " + goes
		}
		return "refused (" + k.why + "); no error folder is agreed: it lies there until it changes"
	case k.state == incomplete && same:
		left := max(0, terms.Ready.Grace.Duration()-k.since)
		return fmt.Sprintf("incomplete (%s); it waits for the rest, another %s at most", k.why, left.Round(time.Second))
	case f.size == 0:
		return "empty: " + string(terms.Empty)
	case f.size > int64(a.Limits.Payload):
		return "larger than agreed: it would be refused"
	case f.size < int64(terms.MinSize):
		return "smaller than agreed: it waits"
	case terms.Ready.Done != "" && f.done == "":
		return "waits for its done file " + shown(doneName(terms.Ready.Done, f.name))
	case rank >= terms.MaxFiles:
		return "left for a later poll"
	case terms.Ready.Done != "":
		return "take, if its envelope is whole"
	}
	return fmt.Sprintf("take, if it has not changed for %s and over two polls, and its envelope is whole", terms.Ready.Quiet)
}

// Explain says in plain words what is wrong, and what to do about it.
func Explain(err error) (what, hint string) {
	var key *HostKeyError
	var offers *ssh.AlgorithmNegotiationError
	var locked *ssh.PassphraseMissingError
	switch {
	case errors.As(err, &locked):
		return err.Error(), "name its passphrase_file in auth.keys"
	case errors.Is(err, errNoKey):
		return err.Error(), "is it the .pub file? auth.keys names the private one beside it"
	case errors.As(err, &key):
		return err.Error(), "if the partner confirms that key, add it to host_keys beside the old one; if not, somebody else answers there"
	case errors.As(err, &offers):
		return fmt.Sprintf("there is no common algorithm for %s:\n  we offer      %s\n  the server    %s", offers.What,
			strings.Join(offers.SupportedAlgorithms, ", "), strings.Join(offers.RequestedAlgorithms, ", ")), algorithmHint(offers)
	}
	return err.Error(), hints[kindOf(err)]
}

var hints = map[Kind]string{
	KindReach:      "check host and port, name resolution, firewalls on both sides, and the route (jump host, proxy)",
	KindSecret:     "the files that the agreement names must be readable on every node",
	KindLogin:      "check user, keys and password with the partner; each attempt counts with the server, so do not repeat it often",
	KindProtocol:   "the server accepts the login but does not speak SFTP for this user; ask the partner what its login prints or runs",
	KindTimeout:    "the server, or something on the way to it, swallows what we send",
	KindLost:       "the server hung up; it may limit connections per user or address",
	KindPermission: "the partner has to allow that for our user",
	KindMissing:    "check the folder's name; a path without a slash in front begins at the user's home",
	KindCrowded:    "have the partner clear the folder, or raise max_entries",
}

// algorithmHint names what of the server's offer could be agreed on.
func algorithmHint(offers *ssh.AlgorithmNegotiationError) string {
	hostKey := strings.Contains(offers.What, "host key")
	if hostKey && !slices.Contains(offers.SupportedAlgorithms, ssh.KeyAlgoRSASHA512) {
		return "the server has no key of a pinned type; ask the partner for its host keys"
	}
	known, where := ssh.InsecureAlgorithms(), ""
	var usable []string
	for _, set := range []struct {
		key   string
		names []string
	}{{"key_exchanges", known.KeyExchanges}, {"ciphers", known.Ciphers}, {"macs", known.MACs}, {"host_keys", known.HostKeys}} {
		for _, name := range set.names {
			for _, offered := range offers.RequestedAlgorithms {
				if name == offered {
					where, usable = set.key, append(usable, name)
				}
			}
		}
	}
	if len(usable) > 0 {
		return fmt.Sprintf("the server is old; ask the partner to renew it, or agree on weak algorithms: algorithms: {%s: [%s]}",
			where, strings.Join(usable, ", "))
	}
	if hostKey {
		return "the server has no key of a pinned type; ask the partner for its host keys"
	}
	return "nothing that the server offers can be agreed on; ask the partner to renew it"
}
