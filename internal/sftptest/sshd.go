package sftptest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// Variable names the environment variable with the path of the sshd to use, where the search is not to decide.
const Variable = "FIRSTCOPY_TEST_SSHD"

// patience bounds whatever has to happen for a test to go on.
const patience = time.Minute

// program is the server's executable and what it needs to run from where it is.
type program struct {
	path        string
	environment []string // beside the process's own
	settings    []string // lines of sshd_config
}

// usualPlaces of sshd are not on most users' search path.
var usualPlaces = []string{
	"/usr/sbin/sshd", "/usr/local/sbin/sshd", "/usr/bin/sshd", "/opt/homebrew/sbin/sshd", "/opt/local/sbin/sshd",
}

// sshd finds the server, or fetches it, at most once a process.
var sshd = sync.OnceValues(func() (program, error) {
	if path := os.Getenv(Variable); path != "" {
		return program{path: path}, nil
	}
	if path, err := exec.LookPath("sshd"); err == nil {
		path, err = filepath.Abs(path) // it insists on one, to start itself anew
		return program{path: path}, err
	}
	if i := slices.IndexFunc(usualPlaces, executable); i >= 0 {
		return program{path: usualPlaces[i]}, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*patience)
	defer cancel()
	p, err := fetch(ctx)
	if err != nil {
		return program{}, fmt.Errorf("OpenSSH's server is not installed and could not be fetched (%w); "+
			"install it with: apt-get install openssh-server; or name it in %s", err, Variable)
	}
	return p, nil
})

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// errNoPackages tells that this is no system whose packages fetch knows.
var errNoPackages = errors.New("this is not a Debian system")
