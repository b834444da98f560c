package as2client_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"

	"firstcopy/internal/as2client"
)

// phase2 and OpenAS2 keep a connection open after the answer and close it when
// the next message arrives, or a moment before.
func TestPostOnConnectionThatIsClosed(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go answerOnce(conn)
		}
	}()
	p := partner("http://" + listener.Addr().String() + "/")
	p.Receipt.Wanted = false
	client := as2client.Client{HTTP: as2client.NewHTTP(1)}
	for i := range 3 {
		if a := post(t, client, prepare(t, p, invoice)); !a.Positive() {
			t.Errorf("message %d: %v", i, a.Err())
		}
	}
}

// answerOnce answers the first request and hangs up on the second.
func answerOnce(conn net.Conn) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	request, err := http.ReadRequest(in)
	if err != nil {
		return
	}
	_, _ = io.Copy(io.Discard, request.Body)
	fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
	_, _ = in.Peek(1)
}
