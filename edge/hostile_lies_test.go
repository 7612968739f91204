package edge

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/iconedge/iconedge/test/sequential"
)

// The edge passes on each response of the corpus in one clean form, or nothing of it: on a new
// connection to the origin and on a used one, with a stale response to fall back on and without.
// The responses after it are not affected. With -short each case runs in three of its seven ways.
func TestHostileOrigins(t *testing.T) {
	sequential.Test(t)
	t.Parallel()
	corpus := readCorpus(t, "origin")
	if len(corpus) < 510 {
		t.Fatalf("%d cases, want 510 or more", len(corpus))
	}
	quiet(t)
	for _, proxyAll := range []bool{true, false} {
		t.Run(fmt.Sprint("proxy all ", proxyAll), func(t *testing.T) {
			t.Parallel()
			l := &liar{rawEdge: newRawEdge(t, proxyAll)}
			for n, c := range corpus {
				t.Run(c.file+"/"+c.name, func(t *testing.T) { l.all(t, c, n) })
			}
		})
	}
}

// quiet discards net/http's log of unsolicited bytes, because these tests send them on purpose.
func quiet(t *testing.T) {
	t.Helper()
	log.SetOutput(io.Discard)
	t.Cleanup(func() { log.SetOutput(os.Stderr) })
}

// A liar is an edge whose origin answers each case at a new path.
type liar struct {
	*rawEdge
	n int
}

// all runs case n of the corpus in all ways; with -short, in one of three for each kind of path.
func (l *liar) all(t *testing.T, c corpusCase, n int) {
	for _, pattern := range []string{"/lie/%d", "/mdi/lie-%d.svg"} {
		if !l.proxyAll && pattern[1] == 'l' {
			continue
		}
		if pattern[1] == 'm' && c.own != "" {
			c.want = c.own
		}
		for i, how := range l.ways() {
			if testing.Short() && l.proxyAll && i != n%3 {
				continue
			}
			l.n++
			target := fmt.Sprintf(pattern, l.n)
			if err := l.run(t, c, target, how.stale, how.used); err != nil {
				t.Fatalf("%s, %+v: %v", target, how, err)
			}
		}
	}
}

// A way is the state before a case: whether a stale response is stored, and whether the connection
// to the origin has been used.
type way struct{ stale, used bool }

func (l *liar) ways() []way {
	if !l.proxyAll {
		return []way{{used: true}} // the rest is the same as with --proxy-all
	}
	return []way{{}, {used: true}, {used: true, stale: true}}
}

func (l *liar) run(t *testing.T, c corpusCase, target string, stale, used bool) error {
	t.Helper()
	if stale {
		l.ask(t, target)
		l.age(t, target, 1000*time.Second)
	}
	if used {
		l.ask(t, fmt.Sprintf("/mdi/before-%d.svg", l.n))
	} else {
		l.upstream.Close()
	}
	l.lie(target, &c)
	defer l.lie(target, nil)
	conn := l.call(t)
	defer conn.Close()
	conn.send("GET " + target + " HTTP/1.1\r\nHost: edge.test\r\n\r\n")
	m, err := conn.answer("GET", false)
	for err == nil && m.status() < http.StatusOK { // interim responses reach the client
		m, err = conn.answer("GET", false)
	}
	honest := echoed("GET", target, "")
	if wrong := c.checkResponse(m, err, honest, stale); wrong != nil {
		return wrong
	}
	if strings.Contains(m.body+fmt.Sprint(m.fields), "evil") && err == nil {
		return fmt.Errorf("evil is passed on: %.200q %.200q", m.fields, m.body)
	}
	if err := l.checkStored(c, target, honest); err != nil {
		return err
	}
	return l.after(t, conn, err == nil)
}

// lie makes the origin answer a target with a case, or honestly again if the case is nil.
func (l *liar) lie(target string, c *corpusCase) {
	l.origin.mu.Lock()
	defer l.origin.mu.Unlock()
	if c == nil {
		delete(l.origin.lies, target)
		return
	}
	l.origin.lies[target] = *c
}

// checkResponse returns an error if the client's response is not the outcome of the case.
func (c corpusCase) checkResponse(m message, err error, honest string, stale bool) error {
	want, _, _ := strings.Cut(c.want, "; ")
	code, body, passed := strings.Cut(want, " ")
	switch {
	case want == "cut" && (err != nil || m.status() == http.StatusBadGateway):
		return nil
	case err != nil:
		return err
	case !passed && stale: // only the stored response can be served
		code, body, passed = "200", honest, true
	case !passed:
		code = "502"
	}
	if strconv.Itoa(m.status()) != code || passed && m.body != body {
		return fmt.Errorf("%s %.100q, want %s %.100q", m.line, m.body, code, body)
	}
	for name, value := range c.with {
		if got := strings.Join(m.fields[name], ","); m.body != honest && got != value {
			return fmt.Errorf("%s: %q, want %q", name, got, value)
		}
	}
	return nil
}

// checkStored returns an error if a refused response is stored after a case, or one that is for a
// single client.
func (l *liar) checkStored(c corpusCase, target, honest string) error {
	e := l.stored(target)
	passed := strings.HasPrefix(c.want, "2") && !strings.HasSuffix(c.want, "; unshared")
	if e == nil || passed || string(e.Identity().Body) == honest {
		return nil
	}
	return fmt.Errorf("%.100q is stored", e.Identity().Body)
}

// after requests other targets, on the client's connection if it is open, and on another one.
func (l *liar) after(t *testing.T, conn *caller, open bool) error {
	for i := range 2 {
		target := fmt.Sprintf("/mdi/after-%d-%d.svg", l.n, i)
		if !open || i == 1 {
			conn = l.call(t)
			defer conn.Close()
		}
		conn.send("GET " + target + " HTTP/1.1\r\nHost: edge.test\r\n\r\n")
		if err := conn.expect(wanted{200, "GET", target, ""}, false); err != nil {
			return fmt.Errorf("after the case, %s: %w", target, err)
		}
	}
	return nil
}
