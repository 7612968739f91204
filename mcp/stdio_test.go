package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	client "github.com/iconedge/iconedge/clients/go"
)

// raw runs a session of plain lines to its end. It returns the answers by id.
func raw(t *testing.T, cfg Config, in string) map[string]map[string]any {
	t.Helper()
	var out bytes.Buffer
	cfg.In, cfg.Out = strings.NewReader(in), &out
	if err := Run(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	answers := map[string]map[string]any{}
	for line := range strings.Lines(out.String()) {
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil || m["jsonrpc"] != "2.0" {
			t.Fatalf("a line that is not a message: %q", line)
		}
		id, _ := json.Marshal(m["id"])
		answers[string(id)] = m
	}
	return answers
}

func initialize(version string) string {
	return `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"` + version +
		`","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}` + "\n" +
		`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"
}

// TestVersions: the server confirms each known protocol version, and offers a known one instead of
// an unknown (C3).
func TestVersions(t *testing.T) {
	for version, want := range map[string]string{"2024-11-05": "2024-11-05", "2025-03-26": "2025-03-26",
		"2025-06-18": "2025-06-18", "2025-11-25": "2025-11-25", "1999-01-01": "2025-11-25", "x": "2025-11-25"} {
		answers := raw(t, Config{}, initialize(version)+`{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n")
		if got := answers["0"]["result"].(map[string]any)["protocolVersion"]; got != want || answers["1"]["result"] == nil {
			t.Errorf("%s is answered with %v, ping with %v", version, got, answers["1"])
		}
	}
}

// TestStateless: 2026-07-28 needs no initialize (C3).
func TestStateless(t *testing.T) {
	a := newFakeAPI(t)
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"}}`
	answers := raw(t, Config{Config: client.Config{API: a.URL, Token: goodToken}}, `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{`+meta+`}}
{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{`+meta+`}}
{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"get_icon","arguments":{"pack":"mdi","name":"home"},`+meta+`}}
`)
	discovered, _ := json.Marshal(answers["1"])
	listed, _ := json.Marshal(answers["2"])
	called, _ := json.Marshal(answers["3"])
	if !bytes.Contains(discovered, []byte(`"2026-07-28"`)) || !bytes.Contains(listed, []byte(`"ttlMs":3600000`)) ||
		!bytes.Contains(listed, []byte(`"cacheScope":"public"`)) ||
		!bytes.Contains(called, []byte(`"commercial_use":true`)) {
		t.Errorf("%s\n%s\n%s", discovered, listed, called)
	}
}

// TestRawLines: a line that is not a message gets an error, and the session continues (JSON-RPC
// 2.0, section 5.1); so does a batch.
func TestRawLines(t *testing.T) {
	for line, want := range map[string]string{
		"nonsense":         "-32700",
		`{"jsonrpc":"2.0"`: "-32700",
		`[]`:               "-32600",
		`{"a":1}`:          "-32600",
		`7`:                "-32600",
		`{"jsonrpc":"2.0","id":"` + strings.Repeat("a", maxLine) + `","method":"ping"}`: "-32600",
	} {
		answers := raw(t, Config{}, initialize("2025-03-26")+line+"\r\n\n"+
			`[{"jsonrpc":"2.0","id":"a","method":"ping"},{"jsonrpc":"2.0","id":"b","method":"ping"}]`)
		refused, _ := json.Marshal(answers["null"])
		if !strings.Contains(string(refused), want) || answers[`"a"`] == nil || answers[`"b"`] == nil {
			t.Errorf("%.40q: %s, want %s; then %v", line, refused, want, answers)
		}
	}
}

// TestParting: open calls are answered after stdin closes; a call that takes too long does not
// block the end (C4).
func TestParting(t *testing.T) {
	t.Parallel() // waits until the slow call has had its time
	a := newFakeAPI(t)
	a.answer("/api/v1/icon/mdi/slow", func(http.ResponseWriter, *http.Request) { <-t.Context().Done() })
	ask := func(id, name string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"get_icon","arguments":{"pack":"mdi","name":"` +
			name + `"}}}` + "\n"
	}
	answers := raw(t, Config{Config: client.Config{API: a.URL, Token: goodToken}},
		initialize("2025-11-25")+ask("1", "slow")+ask("2", "home"))
	if answers["1"] != nil || answers["2"]["result"] == nil {
		t.Errorf("a slow call was waited for, or a quick one was not answered: %v", answers)
	}
}

// TestDrain: without open calls, drain returns at once; with a call that never ends, it returns
// when its time is over.
func TestDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for under, want := range map[int]time.Duration{0: 0, 1: drainTime} {
			c := &lineConn{out: io.Discard, closed: make(chan struct{}), idle: make(chan struct{}, 1), under: map[jsonrpc.ID]int{}}
			if under > 0 {
				c.under[jsonrpc.ID{}] = under
			}
			began := time.Now()
			c.drain(time.After(drainTime))
			if took := time.Since(began); took != want {
				t.Errorf("with %d open calls it took %s", under, took)
			}
		}
	})
}

// FuzzLines: whatever the input, each output line is one message.
func FuzzLines(f *testing.F) {
	f.Add(initialize("2025-11-25") + `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	f.Add("x\n[1,2]\n{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}\r\n")
	f.Fuzz(func(t *testing.T, in string) {
		var out bytes.Buffer
		c := &lineConn{out: &out, incoming: make(chan jsonrpc.Message), closed: make(chan struct{}),
			idle: make(chan struct{}, 1), under: map[jsonrpc.ID]int{}}
		close(c.closed) // nothing reads the messages
		c.read(bufio.NewReader(strings.NewReader(in)))
		for line := range strings.Lines(out.String()) {
			if !json.Valid([]byte(line)) || !strings.HasPrefix(line, `{"jsonrpc":"2.0"`) {
				t.Errorf("%q is answered with %q", in, line)
			}
		}
	})
}
