//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package localpg

import (
	"errors"
	"os"
)

func takeLock(string) (*os.File, error) { return nil, errors.ErrUnsupported }

func abandoned(string) bool { return false }
