package migrations

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// file is one migration of ours.
type file struct {
	version  int
	name     string // without ".sql"
	sql      string
	checksum []byte // SHA-256 of the octets
}

var fileName = regexp.MustCompile(`^([0-9]{4})_[a-z0-9_]+\.sql$`)

// readFiles takes every .sql file of fsys's root, sorted by number.
func readFiles(fsys fs.FS) ([]file, error) {
	names, err := fs.Glob(fsys, "*.sql")
	if err != nil {
		return nil, fmt.Errorf("listing migrations: %w", err)
	}
	var all []file
	for _, name := range names {
		m := fileName.FindStringSubmatch(name)
		if m == nil {
			return nil, fmt.Errorf("migration %s: the name is not NNNN_name.sql", name)
		}
		sql, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, fmt.Errorf("reading migration: %w", err)
		}
		version, _ := strconv.Atoi(m[1]) // four digits
		sum := sha256.Sum256(sql)
		all = append(all, file{version, strings.TrimSuffix(name, ".sql"), string(sql), sum[:]})
	}
	slices.SortFunc(all, func(a, b file) int { return cmp.Compare(a.version, b.version) })
	for i := 1; i < len(all); i++ {
		if all[i].version == all[i-1].version {
			return nil, fmt.Errorf("migrations %s and %s have the same number", all[i-1].name, all[i].name)
		}
	}
	return all, nil
}
