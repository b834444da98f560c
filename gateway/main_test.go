package gateway_test

import (
	"os"
	"testing"

	"firstcopy/internal/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }
