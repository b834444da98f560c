package sftptest

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
)

// OpenSSH is a running sshd that serves SFTP, to one user by public key.
type OpenSSH struct {
	Address string // host:port, the same one after a restart
	User    string
	Root    string // the folder that clients start in; there is no chroot: paths from / are the machine's
	KeyFile string // the user's private key
	Key     Key    // the same

	// HostKeys are those of the server, one a type, in the order in which OpenSSH prefers them.
	HostKeys []ssh.PublicKey

	tb      testing.TB
	dir     string
	account account
	program program
	wanted  Options

	mu  sync.Mutex
	run *serverRun
}

// Options says how the server is set up. The zero value is an ordinary one.
type Options struct {
	// Settings are lines for the beginning of sshd_config, where the first one of a keyword wins.
	Settings []string

	// SFTP are arguments of internal-sftp: "-R" serves read-only, "-P remove,rename" denies requests.
	SFTP string

	// HostCertificate, if set, is shown beside the host keys: made for the Ed25519 one by [Certify].
	HostCertificate func(host Key) ssh.Signer
}

// StartOpenSSH starts a server, which is stopped when the test ends.
func StartOpenSSH(tb testing.TB, o Options) *OpenSSH {
	tb.Helper()
	s := &OpenSSH{tb: tb, wanted: o, Key: NewKey(tb, ssh.KeyAlgoED25519, "partner")}
	var err error
	if s.program, err = sshd(); err != nil {
		tb.Fatalf("sftptest: %v", err)
	}
	if s.account, err = serverAccount(); err != nil {
		tb.Fatalf("sftptest: %v", err)
	}
	s.User = s.account.name
	// Not the test's own temporary folder, since that is closed to the account.
	if s.dir, err = os.MkdirTemp("", "firstcopy-sshd-*"); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if tb.Failed() {
			tb.Logf("the end of the log of sshd:\n%s", strings.Join(s.Log(), "\n"))
		}
		s.Stop()
		if err := os.RemoveAll(s.dir); err != nil {
			tb.Error(err)
		}
	})
	s.Root, s.KeyFile = filepath.Join(s.dir, "root"), filepath.Join(s.dir, "client", "key")
	s.must(os.Chmod(s.dir, 0o755), os.Mkdir(s.Root, 0o755), s.account.own(s.Root),
		os.Mkdir(filepath.Dir(s.KeyFile), 0o700), os.WriteFile(s.KeyFile, s.Key.PEM, 0o600))
	s.writeSetup()
	s.Restart()
	return s
}

// writeSetup writes all that sshd reads except for its port.
func (s *OpenSSH) writeSetup() {
	s.tb.Helper()
	settings := append([]string{}, s.wanted.Settings...)
	settings = append(settings, s.program.settings...)
	for _, algorithm := range []string{ssh.KeyAlgoED25519, ssh.KeyAlgoECDSA256, ssh.KeyAlgoRSA} {
		key := NewKey(s.tb, algorithm, "host")
		s.HostKeys = append(s.HostKeys, key.PublicKey())
		settings = append(settings, "HostKey "+s.own("host_"+algorithm, key.PEM))
		if algorithm == ssh.KeyAlgoED25519 && s.wanted.HostCertificate != nil {
			certificate := ssh.MarshalAuthorizedKey(s.wanted.HostCertificate(key).PublicKey())
			settings = append(settings, "HostCertificate "+s.own("host_certificate.pub", certificate))
		}
	}
	settings = append(settings,
		"AuthorizedKeysFile "+s.own("authorized_keys", ssh.MarshalAuthorizedKey(s.Key.PublicKey())),
		"Subsystem sftp internal-sftp -d "+s.Root+" "+s.wanted.SFTP,
		"StrictModes no", "PasswordAuthentication no", "KbdInteractiveAuthentication no", "UsePAM no", "UseDNS no",
		"PermitTTY no", "AllowTcpForwarding no", "X11Forwarding no", "PrintMotd no", "PidFile none",
		"MaxStartups 200", "MaxSessions 32", "LogLevel INFO")
	s.own("sshd_config", []byte(strings.Join(settings, "\n")+"\n"))
}

// own writes a file that only the server's account may read.
func (s *OpenSSH) own(name string, content []byte) (path string) {
	s.tb.Helper()
	path = filepath.Join(s.dir, name)
	s.must(os.WriteFile(path, content, 0o600), s.account.own(path))
	return path
}

func (s *OpenSSH) must(errs ...error) {
	s.tb.Helper()
	for _, err := range errs {
		if err != nil {
			s.tb.Fatalf("sftptest: %v", err)
		}
	}
}

// serverRun is one life of the server.
type serverRun struct {
	cmd    *exec.Cmd
	exited chan struct{}

	mu   sync.Mutex
	last []string // lines of its log
}

// Ports are taken from below the range that outgoing connections are numbered from, so that none of those keeps a server
// from coming back.
const (
	firstPort = 20000
	endPort   = 32000
)

// Restart starts the server again under the same address. It must not be running.
func (s *OpenSSH) Restart() {
	s.tb.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for attempt := 0; ; attempt++ {
		address := s.Address
		if address == "" {
			address = net.JoinHostPort("127.0.0.1", strconv.Itoa(firstPort+rand.IntN(endPort-firstPort)))
		}
		run, err := s.launch(address)
		if err == nil {
			s.Address, s.run = address, run
			return
		}
		if attempt == 10 || !strings.Contains(err.Error(), "Address already in use") {
			s.tb.Fatalf("sftptest: %v", err)
		}
	}
}

func (s *OpenSSH) launch(address string) (*serverRun, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(s.program.path, "-D", "-e", "-f", filepath.Join(s.dir, "sshd_config"), "-p", port, "-o", "ListenAddress="+host)
	cmd.Env = append(os.Environ(), s.program.environment...)
	cmd.Dir, cmd.SysProcAttr = s.dir, s.account.attributes()
	output, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	r := &serverRun{cmd: cmd, exited: make(chan struct{})}
	started, listening := make(chan error, 1), make(chan struct{})
	go func() {
		// Linux ties the parent-death signal to the thread that forked.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		r.follow(output, listening)
		_ = cmd.Wait() // the log says why it ended
		close(r.exited)
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("starting %s: %w", cmd.Path, err)
	}
	select {
	case <-listening:
		return r, nil
	case <-r.exited:
		return nil, fmt.Errorf("sshd ended by itself: %s", strings.Join(r.log(), "\n"))
	case <-time.After(patience):
		r.kill()
		return nil, fmt.Errorf("sshd does not start: %s", strings.Join(r.log(), "\n"))
	}
}

// follow keeps the end of the log and notices when the server can be reached.
func (r *serverRun) follow(output io.Reader, listening chan struct{}) {
	for lines := bufio.NewScanner(output); lines.Scan(); {
		r.mu.Lock()
		r.last = append(r.last, lines.Text())
		r.last = r.last[max(0, len(r.last)-40):]
		r.mu.Unlock()
		if strings.HasPrefix(lines.Text(), "Server listening on ") {
			close(listening)
		}
	}
}

func (r *serverRun) log() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string{}, r.last...)
}

// Log returns the last lines that the running server has logged.
func (s *OpenSSH) Log() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run == nil {
		return nil
	}
	return s.run.log()
}

// Stop ends the server and all its sessions at once. It may be stopped already.
func (s *OpenSSH) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run != nil {
		s.run.kill()
		s.run = nil
	}
}

// Disconnect ends the sessions and leaves the server.
func (s *OpenSSH) Disconnect() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run != nil {
		endChildren(s.run.cmd.Process.Pid)
	}
}

func (r *serverRun) kill() {
	hold(r.cmd.Process) // or it could take another connection until its children are gone
	endChildren(r.cmd.Process.Pid)
	_ = r.cmd.Process.Kill()
	<-r.exited
}

// endChildren kills what a process has started, as Linux tells it. Elsewhere sessions end with their connections.
func endChildren(pid int) {
	list, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	for _, field := range strings.Fields(string(list)) {
		child, err := strconv.Atoi(field)
		if err != nil {
			continue
		}
		endChildren(child)
		if p, err := os.FindProcess(child); err == nil {
			_ = p.Kill()
		}
	}
}
