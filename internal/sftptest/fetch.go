package sftptest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// fetch unpacks the distribution's openssh-server, and what it lacks of libraries, into a cache folder. Nothing is
// installed: no service is started, no account is made, and no root is needed but for a first `apt-get update`.
func fetch(ctx context.Context) (program, error) {
	cache, err := cacheFolder()
	if err != nil {
		return program{}, err
	}
	kept := filepath.Join(cache, "openssh-server")
	if p, err := unpacked(kept); err == nil {
		return p, nil
	}
	for _, tool := range []string{"apt-get", "dpkg-deb"} {
		if _, err := exec.LookPath(tool); err != nil {
			return program{}, errNoPackages
		}
	}
	fmt.Fprintln(os.Stderr, "sftptest: fetching OpenSSH's server into", kept)
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return program{}, err
	}
	if err := download(ctx, cache, kept); err != nil {
		return program{}, err
	}
	return unpacked(kept)
}

// cacheFolder is the user's. Root's is closed to the account that the server runs as, so the system's takes its place.
func cacheFolder() (string, error) {
	if os.Geteuid() == 0 {
		return "/var/cache/firstcopy", nil
	}
	dir, err := os.UserCacheDir()
	return filepath.Join(dir, "firstcopy"), err
}

// download works aside and renames: of several processes that do so at once, the first one's folder is kept.
func download(ctx context.Context, cache, kept string) (err error) {
	work, err := os.MkdirTemp(cache, "fetch-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	packages, err := missing(ctx)
	if err != nil {
		return err
	}
	if _, err := run(ctx, work, "apt-get", append([]string{"download", "-qq"}, packages...)...); err != nil {
		return err
	}
	archives, _ := filepath.Glob(filepath.Join(work, "*.deb")) // the pattern is well formed
	tree := filepath.Join(work, "tree")
	for _, archive := range archives {
		if _, err := run(ctx, work, "dpkg-deb", "-x", archive, tree); err != nil {
			return err
		}
	}
	if err := os.Chmod(tree, 0o755); err != nil {
		return err
	}
	if err := os.Rename(tree, kept); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return nil
}

// missing are the packages that installing openssh-server would bring: itself and libraries that are not there. Root
// gets the lists of packages first where a fresh machine has none.
func missing(ctx context.Context) ([]string, error) {
	list := []string{"install", "--print-uris", "-qq", "--no-install-recommends", "openssh-server"}
	out, err := run(ctx, "", "apt-get", list...)
	if err != nil && os.Geteuid() == 0 {
		if _, err := run(ctx, "", "apt-get", "update", "-qq"); err != nil {
			return nil, err
		}
		out, err = run(ctx, "", "apt-get", list...)
	}
	if err != nil {
		return nil, err
	}
	var packages []string
	for line := range strings.Lines(out) { // 'URL' name_version_architecture.deb size checksum
		if fields := strings.Fields(line); len(fields) > 1 {
			name, _, _ := strings.Cut(fields[1], "_")
			packages = append(packages, name)
		}
	}
	if len(packages) == 0 {
		return nil, fmt.Errorf("apt-get names no packages for openssh-server: %q", out)
	}
	return packages, nil
}

func run(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", name, args[0], err, strings.TrimSpace(errs.String()))
	}
	return string(out), nil
}

// unpacked is the program in a tree that packages were unpacked into. Since release 9.8 the server starts helpers, whose
// places have to be told when they are not the usual ones.
func unpacked(tree string) (program, error) {
	p := program{path: filepath.Join(tree, "usr/sbin/sshd")}
	if !executable(p.path) {
		return program{}, fmt.Errorf("%s is not there", p.path)
	}
	var libraries []string
	for _, pattern := range []string{"usr/lib/*-linux-*", "lib/*-linux-*"} {
		dirs, _ := filepath.Glob(filepath.Join(tree, pattern)) // the patterns are well formed
		libraries = append(libraries, dirs...)
	}
	p.environment = []string{"LD_LIBRARY_PATH=" + strings.Join(libraries, ":")}
	for keyword, helper := range map[string]string{"SshdSessionPath": "sshd-session", "SshdAuthPath": "sshd-auth"} {
		if path := filepath.Join(tree, "usr/lib/openssh", helper); executable(path) {
			p.settings = append(p.settings, keyword+" "+path)
		}
	}
	return p, nil
}
