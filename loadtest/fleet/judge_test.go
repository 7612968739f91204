//go:build linux

package fleet

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"net/http"
	"testing"
	"time"
)

const target = "/mdi/home.svg"

// knowing returns a judge that knows one target in two releases.
func knowing(allowed ...string) *judge {
	return &judge{
		changing: []string{target}, tags: map[string]sum256{}, allowed: allowed,
		right: map[string]map[string]fact{target: {"one": {sha256.Sum256([]byte("1")), `"a"`}, "two": {sha256.Sum256([]byte("2")), `"b"`}}},
	}
}

// edgeOf returns an edge of a region.
func edgeOf(name string) *edge {
	return &edge{node: node{process: &process{name: name + "-1"}}, region: &region{name: name}}
}

func told(status int, body string, fields ...string) answer {
	a := answer{status: status, body: []byte(body), header: http.Header{}}
	for i := 0; i < len(fields); i += 2 {
		a.header.Set(fields[i], fields[i+1])
	}
	return a
}

func zipped(s string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write([]byte(s))
	w.Close()
	return b.String()
}

func TestJudge(t *testing.T) {
	icon, conditional := question{kind: ofIcon, target: target}, question{ofConditional, target, `"a"`}
	for _, row := range []struct {
		name    string
		q       question
		a       answer
		verdict verdict
	}{
		{"the origin's body", icon, told(200, "1", "ETag", `"a"`), right},
		{"in a coding, with an ETag of its own", icon, told(200, zipped("1"), "ETag", `"a-gzip"`, "Content-Encoding", "gzip"), right},
		{"another body", icon, told(200, "3", "ETag", `"a"`), wrong},
		{"the body of a release that is over", icon, told(200, "2", "ETag", `"b"`), wrong},
		{"the body with another ETag", icon, told(200, "1", "ETag", `"b"`), wrong},
		{"no ETag", icon, told(200, "1"), wrong},
		{"a coding that is none", icon, told(200, "1", "ETag", `"a"`, "Content-Encoding", "gzip"), wrong},
		{"not there", icon, told(404, ""), wrong},
		{"has it", conditional, told(304, "", "ETag", `"a"`), right},
		{"has it no more", question{ofConditional, target, `"b"`}, told(304, "", "ETag", `"b"`), wrong},
		{"has it, it is said with another ETag", conditional, told(304, "", "ETag", `"b"`), wrong},
		{"a 304 that nobody asked for", icon, told(304, "", "ETag", `"a"`), wrong},
		{"no such name", question{kind: ofMissing}, told(404, "{}"), right},
		{"a name that must not be", question{kind: ofMissing}, told(200, "{}"), wrong},
		{"bad gateway", icon, told(502, ""), failed},
		{"over a limit that was kept to", icon, told(429, ""), failed},
		{"no response", icon, answer{err: errors.New("reset")}, failed},
	} {
		if v, why := knowing("one").see(newTally(), row.q, row.a); v != row.verdict || (v == right) != (why == "") {
			t.Errorf("%s: %d (%s), want %d", row.name, v, why, row.verdict)
		}
	}
}

// TestJudgeKnowsETags: an ETag always identifies the same bytes (RFC 9110, section 8.8.1), at every
// edge.
func TestJudgeKnowsETags(t *testing.T) {
	j, q := knowing("one", "two"), question{kind: ofIcon, target: target}
	for _, row := range []struct {
		body, etag string
		verdict    verdict
	}{{zipped("1"), `"x"`, right}, {zipped("1"), `"x"`, right}, {zipped("2"), `"x"`, wrong}} {
		if v, why := j.see(newTally(), q, told(200, row.body, "ETag", row.etag, "Content-Encoding", "gzip")); v != row.verdict {
			t.Errorf("%s: %d (%s), want %d", row.etag, v, why, row.verdict)
		}
	}
}

// TestRollback: answers of a known earlier release may arrive before the judge allows it.
func TestRollback(t *testing.T) {
	j, y := knowing("two"), newTally()
	j.prepare()
	q, a := question{kind: ofIcon, target: target}, told(200, "1", "ETag", `"a"`)
	a.edge = edgeOf("eu")
	if v, why := j.see(y, q, a); v != later {
		t.Errorf("an edge with the release before the judge knows it: %d (%s), want a later verdict", v, why)
	}
	j.allow("two", "one")
	j.finish("one")
	if cached, _, _ := y.counts(); cached != (Count{Answers: 1}) {
		t.Errorf("at the end: %+v, want one right answer", cached)
	}
}

// TestExchange: during an exchange, answers of an unknown release are judged later, and an icon
// that returns to its old SVG is reported.
func TestExchange(t *testing.T) {
	j, y := knowing("one"), newTally()
	known := j.right[target]["two"]
	delete(j.right[target], "two")
	if before := j.prepare(); before != "one" {
		t.Fatalf("the release before is %q", before)
	}
	eu, us := edgeOf("eu"), edgeOf("us")
	t0 := time.Now()
	see := func(e *edge, began, ended time.Duration, body, etag string) {
		a := told(200, body, "ETag", etag)
		a.edge, a.began, a.ended = e, t0.Add(began), t0.Add(ended)
		j.count(y, question{kind: ofIcon, target: target}, a)
	}
	see(eu, 0, 1, "1", `"a"`)
	see(eu, 2, 4, "2", `"b"`) // the first answer with the new release
	see(eu, 3, 9, "1", `"a"`) // requested before it
	see(us, 8, 9, "1", `"a"`)
	see(us, 10, 11, "3", `"c"`) // of no release
	if cached, _, _ := y.counts(); cached != (Count{Answers: 3}) {
		t.Errorf("before the release is known: %+v, want 3 answers", cached)
	}
	j.right[target]["two"] = known
	j.allow("one", "two")
	if edges, icons := j.first("two"); len(edges) != 1 || len(icons) != 1 || !edges[eu].Equal(t0.Add(4)) {
		t.Errorf("first served: %v, %v, want eu's after 4", edges, icons)
	}
	if at := j.watched("two"); len(at) != 1 || !at[eu].Equal(t0.Add(4)) {
		t.Errorf("the icon that is watched was first served: %v, want eu's after 4", at)
	}
	if m := j.mixed("two"); m != (mixture{of: 5}) {
		t.Errorf("%+v, want no mixture in 5 answers", m)
	}
	see(eu, 5, 6, "1", `"a"`)
	if m := j.mixed("two"); m != (mixture{6, 1, 1}) {
		t.Errorf("%+v, want one old answer in 6, 1 late", m)
	}
	j.finish("two")
	if cached, _, _ := y.counts(); cached != (Count{Answers: 6, Wrong: 1}) {
		t.Errorf("at the end: %+v, want 6 answers of which 1 is wrong", cached)
	}
	see(us, 20, 21, "1", `"a"`)
	if cached, _, _ := y.counts(); cached.Wrong != 2 {
		t.Error("after the exchange the old SVG counts as right")
	}
}
