package edge

import (
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/test/sequential"
)

// corpusLeads are the requests that precede a case on its connection, with the method and target
// that the origin receives.
var corpusLeads = []struct {
	name, request, method, target string
	together                      bool // sent in one write with the case
}{
	{name: "first"},
	{"after a hit", "GET /mdi/first.svg HTTP/1.1\r\nHost: edge.test\r\n\r\n", "GET", "/mdi/first.svg", false},
	{"pipelined after a hit", "GET /mdi/first.svg HTTP/1.1\r\nHost: edge.test\r\n\r\n", "GET", "/mdi/first.svg", true},
	{"pipelined after a body", "POST /first HTTP/1.1\r\nHost: edge.test\r\nContent-Length: 2\r\n\r\nhi", "POST", "/first", true},
}

// A corpusRun is a way to run a case: with its response stored or not, after the lead with that
// index.
type corpusRun struct {
	warm bool
	lead int
}

// corpusRuns are the runs of each case, by whether the edge forwards unknown paths. If it does not,
// fewer runs suffice.
var corpusRuns = map[bool][]corpusRun{
	true:  {{false, 0}, {false, 1}, {false, 2}, {false, 3}, {true, 0}, {true, 2}},
	false: {{false, 0}, {false, 3}, {true, 2}},
}

// runsOf returns the runs of a case. With -short it is every third one, and each case begins with
// another.
func runsOf(n int, proxyAll bool) []corpusRun {
	all := corpusRuns[proxyAll]
	if !testing.Short() {
		return all
	}
	var part []corpusRun
	for i := n % 3; i < len(all); i += 3 {
		part = append(part, all[i])
	}
	return part
}

// Each request of the corpus is one request or none, wherever it comes: first on its connection or
// after another, with its response stored or not. A request that is hidden in it is never answered
// and never reaches the origin. With -short each case runs in three of its nine ways.
func TestHostileClients(t *testing.T) {
	sequential.Test(t)
	t.Parallel()
	corpus := readCorpus(t, "client")
	if len(corpus) < 1240 {
		t.Fatalf("%d cases, want 1240 or more", len(corpus))
	}
	for _, proxyAll := range []bool{true, false} {
		t.Run(fmt.Sprint("proxy all ", proxyAll), func(t *testing.T) {
			t.Parallel()
			w := newRawEdge(t, proxyAll)
			for n, c := range corpus {
				t.Run(c.file+"/"+c.name, func(t *testing.T) {
					for _, run := range runsOf(n, proxyAll) {
						if w.runCase(t, c, run.warm, run.lead); t.Failed() {
							return
						}
					}
				})
			}
		})
	}
}

// runCase runs a case once and checks its outcome.
func (w *rawEdge) runCase(t *testing.T, c corpusCase, warm bool, lead int) {
	t.Helper()
	answers, end := c.outcome(t, w.proxyAll)
	if w.proxyAll && strings.Contains(c.name, "to the origin") {
		warm = false // an upgrade reaches the origin although a response is stored
	}
	w.library.Negative.Clear()
	for _, a := range answers {
		w.cache.Purge(cache.Purge{Keys: []string{a.target}, Tags: []string{cache.TargetTag(a.target)}}, w.ages.now())
		if warm && (a.method == "GET" || a.method == "HEAD") && !strings.Contains(a.target, "missing") {
			w.warm(t, a.target)
		}
	}
	w.warm(t, "/mdi/first.svg", "/mdi/last.svg")
	w.origin.take()
	before := corpusLeads[lead]
	run := fmt.Sprintf("%s, stored %v", before.name, warm)
	all := answers
	if before.request != "" {
		all = append([]wanted{readWanted(t, before.method+" "+before.target+bodyPart(before.request), w.proxyAll)}, answers...)
	}
	if err := w.converse(t, before.request, before.together, c, all, end); err != nil {
		t.Errorf("%s: %v", run, err)
	}
	w.reached(t, run, all, warm)
}

func bodyPart(request string) string {
	if _, body, _ := strings.Cut(request, "\r\n\r\n"); body != "" {
		return " " + body
	}
	return ""
}

// warm requests each target until its response is stored. On forwarded paths a request of HTTP/1.0
// without a Host has an entry of its own.
func (w *rawEdge) warm(t *testing.T, targets ...string) {
	t.Helper()
	for _, target := range targets {
		for tries := 0; w.stored(target) == nil; tries++ {
			if w.ask(t, target); tries > 3 {
				t.Fatalf("%s is not stored", target)
			}
		}
		for tries := 0; w.cache.Get(target) == nil && w.cache.Get("http://"+target) == nil; tries++ {
			if w.tell(t, "GET "+target+" HTTP/1.0\r\n\r\n"); tries > 3 {
				t.Fatalf("%s is not stored for requests without a Host", target)
			}
		}
	}
}

// converse sends the lead and the case and reads the wanted responses. It then expects the end of
// the connection, or the response to one more request.
func (w *rawEdge) converse(t *testing.T, lead string, together bool, c corpusCase, all []wanted, end string) error {
	conn := w.call(t)
	defer conn.Close()
	if lead != "" && !together {
		conn.send(lead)
		if err := conn.expect(all[0], false); err != nil {
			return fmt.Errorf("before the case: %w", err)
		}
		lead, all = "", all[1:]
	}
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		io.WriteString(conn, lead+c.client)
		if end == "cut" {
			conn.Conn.(*net.TCPConn).CloseWrite()
		}
	}()
	for i, want := range all {
		if err := conn.expect(want, strings.Contains(c.client, "100-continue") && !strings.Contains(c.client, "HTTP/1.0")); err != nil {
			return fmt.Errorf("response %d of %d: %w", i+1, len(all), err)
		}
	}
	if end == "open" {
		<-sent
		conn.send("GET /mdi/last.svg HTTP/1.1\r\nHost: edge.test\r\nConnection: close\r\n\r\n")
		if err := conn.expect(wanted{200, "GET", "/mdi/last.svg", ""}, false); err != nil {
			return fmt.Errorf("after the case: %w", err)
		}
	}
	return conn.ended()
}

// expect reads one response and compares it with the wanted one.
func (c *caller) expect(want wanted, expects bool) error {
	method := want.method
	if method == "" {
		method = want.target // the request reaches no origin
	}
	m, err := c.answer(method, expects)
	switch {
	case err != nil:
		return fmt.Errorf("%w, want %s", err, want)
	case m.status() != want.status:
		return fmt.Errorf("%s %.100q, want %s", m.line, m.body, want)
	case strings.Contains(m.body, "hidden") && !strings.Contains(want.body, "hidden"):
		return fmt.Errorf("a hidden request was answered: %.100q", m.body)
	case want.status >= 400 && want.method == "" && method != "HEAD" && !strings.Contains(m.body, `"status":`):
		return fmt.Errorf("%.100q is not a problem document", m.body)
	case want.method != "" && method != "HEAD" && want.status/100 == 2 && m.body != echoed(want.method, want.target, want.body):
		return fmt.Errorf("body %.100q, want that of %s", m.body, want)
	}
	return nil
}

// ended checks that the connection ends without further bytes.
func (c *caller) ended() error {
	b, err := io.ReadAll(io.LimitReader(c.r, 200))
	if len(b) > 0 {
		return fmt.Errorf("one response too many: %.100q", b)
	}
	if err != nil && !errors.Is(err, syscall.ECONNRESET) {
		return fmt.Errorf("the connection stays open: %w", err)
	}
	return nil
}

// reached compares the requests that the origin received with the wanted ones.
func (w *rawEdge) reached(t *testing.T, run string, all []wanted, warm bool) {
	t.Helper()
	var want []string
	for _, a := range all {
		method := a.method
		reading := method == "GET" || method == "HEAD"
		own := strings.HasPrefix(a.target, "/mdi/")
		if method == "" || a.target == "/mdi/first.svg" || reading && warm && a.body == "" && !strings.Contains(a.target, "missing") {
			continue
		}
		if own {
			method = "GET"
		}
		want = append(want, fmt.Sprintf("%s %s %.100q", method, a.target, a.body))
	}
	seen, wrong := w.origin.take()
	var got []string
	for _, m := range seen {
		method, target := m.asks()
		if target == "/mdi/last.svg" {
			continue
		}
		got = append(got, fmt.Sprintf("%s %s %.100q", method, target, m.body))
		for name := range m.trailer {
			if !slices.Contains([]string{"x", "z", "x-trailer"}, name) {
				t.Errorf("%s: the origin received %s as a trailer field", run, name)
			}
		}
		if strings.Contains(m.line, "hidden") {
			t.Errorf("%s: a hidden request reached the origin: %s", run, m.line)
		}
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") || len(wrong) > 0 {
		t.Errorf("%s: the origin received %q, want %q; malformed: %q", run, got, want, wrong)
	}
}
