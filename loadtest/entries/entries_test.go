//go:build linux

package entries

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// The origin answers several requests on a connection, each with its body and surrogate keys.
func TestOrigin(t *testing.T) {
	o, err := startOrigin(1000, 7)
	if err != nil {
		t.Fatal(err)
	}
	defer o.close()
	conn, err := net.Dial("tcp", o.address().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	in := bufio.NewReader(conn)
	for _, row := range []struct {
		path string
		n    uint64
		keys string
	}{{"/stored/7.svg", 7, "stored some"}, {"/stored/8.svg", 8, "stored"}, {"/others/7.svg", 7, "others"}, {"/api", 0, ""}} {
		if _, err := io.WriteString(conn, "GET "+row.path+" HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		r, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r.Body)
		want, status := body(row.n, 1000), 200
		if row.n == 0 {
			want, status = nil, 404
		}
		if err != nil || r.StatusCode != status || string(got) != string(want) || r.Header.Get("Surrogate-Key") != row.keys {
			t.Errorf("%s: %d, %d bytes, %v, %v", row.path, r.StatusCode, len(got), r.Header, err)
		}
	}
	if n := o.answers.Load(); n != 3 {
		t.Errorf("%d icons are counted, want 3", n)
	}
	if string(body(1, 1000)) == string(body(2, 1000)) || len(body(123456, 4)) != 4 {
		t.Error("bodies are equal, or have another length")
	}
}

func TestParseCollection(t *testing.T) {
	began := time.Now()
	c, ok := parseCollection("gc 7 @2.5s 1%: 0.5+11+1.5 ms clock, 0.02+0.1/2/5+0.03 ms cpu, 16->17->9 MB, 18 MB goal, 0 MB stacks, "+
		"0 MB globals, 1 P\n", began)
	if !ok || c.from.Sub(began) != 2500*time.Millisecond || c.to.Sub(c.from) != 13*time.Millisecond || c.pauses != 2*time.Millisecond {
		t.Errorf("%+v, %v", c, ok)
	}
	for _, line := range []string{"", "listening address=127.0.0.1:80", "scvg: 0 MB released", "gc 7 @2.5s 1%: 0.5+11+1.5 ms"} {
		if c, ok := parseCollection(strings.TrimSpace(line), began); ok {
			t.Errorf("%q is read as %+v", line, c)
		}
	}
}
