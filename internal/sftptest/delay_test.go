package sftptest_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"firstcopy/internal/sftptest"
)

// echo is a server that sends back what it gets.
func echo(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.Copy(c, c)
			}()
		}
	}()
	return l.Addr().String()
}

func through(t *testing.T, d *sftptest.Delay) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", d.Address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func TestDelay(t *testing.T) {
	t.Parallel()
	const roundTrip = 40 * time.Millisecond
	d := sftptest.StartDelay(t, echo(t), roundTrip)
	c := through(t, d)
	exchange := func(size int) time.Duration {
		t.Helper()
		begin := time.Now()
		sent, got := bytes.Repeat([]byte("x"), size), make([]byte, size)
		go func() { _, _ = c.Write(sent) }()
		if _, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got, sent) {
			t.Fatalf("the echo differs: %v", err)
		}
		return time.Since(begin)
	}
	if took := exchange(1); took < 2*roundTrip {
		t.Errorf("connecting and the first octet took %s", took)
	}
	if took := exchange(1); took < roundTrip {
		t.Errorf("an octet took %s", took)
	}
	// 16 MiB in pieces of 64 KiB would take seconds if each had to wait for the one before.
	if took := exchange(16 << 20); took > 5*time.Second {
		t.Errorf("16 MiB took %s", took)
	}
	d.Set(0)
	if d.Passed() < 32<<20 {
		t.Errorf("only %d octets are counted", d.Passed())
	}
}

func TestDelayFreezesAndCuts(t *testing.T) {
	t.Parallel()
	d := sftptest.StartDelay(t, echo(t), 0)
	c := through(t, d)
	d.Freeze()
	octet := make([]byte, 1)
	if _, err := c.Write(octet); err != nil {
		t.Fatal(err)
	}
	if err := c.SetReadDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(octet); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a frozen line: %v", err)
	}
	d.Thaw()
	if err := c.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(octet); err != nil {
		t.Errorf("a line that goes again: %v", err)
	}
	d.Cut()
	if _, err := c.Read(octet); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a cut line: %v", err)
	}
}
