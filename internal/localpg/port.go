package localpg

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// loopback is the only address a private server listens on.
const loopback = "127.0.0.1"

// Ports are taken from below the ranges from which Linux (32768 up) and the
// BSDs (49152 up) number outgoing connections. Otherwise a client that tries to
// reach a crashed server could be given the server's own port and keep Restart
// from binding it.
const (
	firstPort = 20000
	endPort   = 32000
)

// freePort returns a port nobody listens on at the moment.
func freePort() (int, error) {
	var last error
	for range 100 {
		port := firstPort + rand.IntN(endPort-firstPort)
		l, err := net.Listen("tcp", net.JoinHostPort(loopback, strconv.Itoa(port)))
		if err != nil {
			last = err
			continue
		}
		if err := l.Close(); err != nil {
			return 0, fmt.Errorf("looking for a free port: %w", err)
		}
		return port, nil
	}
	return 0, fmt.Errorf("looking for a free port: %w", last)
}
