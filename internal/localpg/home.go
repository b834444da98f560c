package localpg

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// What lies in a home folder.
const (
	dataName     = "data"         // the cluster
	newDataName  = "data.new"     // a cluster in the making
	passwordName = "password"     // the superuser's, one line
	logName      = "postgres.log" // appended to by every run
	lockName     = "lock"         // held by the owner of a temporary home
)

// tempPattern names temporary homes, see [os.MkdirTemp].
const tempPattern = "firstcopy-pg-*"

// home is the folder of one cluster: its data and what belongs to them.
type home struct {
	dir  string
	acct account
	lock *os.File // held while a temporary home is in use; nil for a lasting one
}

// openHome makes the folder ready: a temporary one when dir is empty.
func openHome(dir string, acct account) (*home, error) {
	if dir == "" {
		return tempHome(acct)
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the data folder: %w", err)
	}
	if err := refuseForeign(dir); err != nil {
		return nil, err
	}
	h := &home{dir: dir, acct: acct}
	return h, h.handOver()
}

func tempHome(acct account) (*home, error) {
	removeAbandoned()
	dir, err := os.MkdirTemp("", tempPattern)
	if err != nil {
		return nil, fmt.Errorf("making a temporary data folder: %w", err)
	}
	h := &home{dir: dir, acct: acct}
	if h.lock, err = takeLock(dir); err == nil {
		err = h.handOver()
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return h, nil
}

// removeAbandoned removes the temporary homes of processes that ended without
// Stop. It does what it can: a leftover that cannot be removed harms nobody.
func removeAbandoned() {
	homes, _ := filepath.Glob(filepath.Join(os.TempDir(), tempPattern))
	for _, dir := range homes {
		if abandoned(dir) {
			_ = os.RemoveAll(dir)
		}
	}
}

// refuseForeign keeps Start from taking over a folder that holds other things.
func refuseForeign(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("reading the data folder: %w", err)
	}
	for _, e := range entries {
		switch e.Name() {
		case dataName, newDataName, passwordName, logName:
		default:
			return fmt.Errorf("%s is not a data folder of firstcopy: it holds %q", dir, e.Name())
		}
	}
	return nil
}

// handOver gives the folder to the account the server runs as.
func (h *home) handOver() error {
	if err := h.acct.own(h.dir); err != nil {
		return fmt.Errorf("giving the data folder to user %s: %w", h.acct.name, err)
	}
	return h.acct.openWay(h.dir)
}

// discard removes a temporary home and leaves a lasting one alone.
func (h *home) discard() error {
	if h.lock == nil {
		return nil
	}
	err := os.RemoveAll(h.dir)
	return errors.Join(err, h.lock.Close())
}

func (h *home) path(name string) string { return filepath.Join(h.dir, name) }

// major returns the PostgreSQL release of the cluster, 0 when there is none.
func (h *home) major() (int, error) {
	b, err := os.ReadFile(filepath.Join(h.path(dataName), "PG_VERSION"))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("reading the cluster's version: %w", err)
	}
	major, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return 0, fmt.Errorf("reading the cluster's version: %w", err)
	}
	return major, nil
}

func (h *home) password() (string, error) {
	b, err := os.ReadFile(h.path(passwordName))
	if err != nil {
		return "", fmt.Errorf("reading the cluster's password: %w", err)
	}
	return strings.TrimSpace(string(b)), nil
}

// newPassword writes a random password where initdb and later starts read it.
func (h *home) newPassword() error {
	var b [16]byte
	rand.Read(b[:]) // never fails, see crypto/rand
	path := h.path(passwordName)
	if err := os.WriteFile(path, []byte(hex.EncodeToString(b[:])+"\n"), 0o600); err != nil {
		return fmt.Errorf("writing the cluster's password: %w", err)
	}
	return h.acct.own(path)
}
