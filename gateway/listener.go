package gateway

import (
	"net"
	"sync"
)

// limited accepts so many connections at once; more wait with the system until one ends. Idle ones count: they cost a
// descriptor each, and end by the listener's deadlines.
type limited struct {
	net.Listener
	places chan struct{}
	closed chan struct{}
	once   sync.Once
}

func limit(l net.Listener, connections int) net.Listener {
	if connections == 0 {
		return l
	}
	return &limited{Listener: l, places: make(chan struct{}, connections), closed: make(chan struct{})}
}

func (l *limited) Accept() (net.Conn, error) {
	select {
	case l.places <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.places
		return nil, err
	}
	return &counted{Conn: c, places: l.places}, nil
}

func (l *limited) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// counted gives its place back when it is closed.
type counted struct {
	net.Conn
	places chan struct{}
	once   sync.Once
}

func (c *counted) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() { <-c.places })
	return err
}
