package lsp

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	client "github.com/iconedge/iconedge/clients/go"
)

const homeSVG = `<svg xmlns="http://www.w3.org/2000/svg" width="24" height="24" viewBox="0 0 24 24"><path fill="currentColor" d="M10 20v-6h4v6h5v-8h3L12 3L2 12h3v8z"/></svg>`

// A fakeAPI answers as the real API does, and counts its requests.
type fakeAPI struct {
	*httptest.Server
	mu     sync.Mutex
	asked  []string
	broken http.HandlerFunc // replaces every response
}

func newFakeAPI(t *testing.T) *fakeAPI {
	a := &fakeAPI{}
	a.Server = httptest.NewServer(a)
	t.Cleanup(a.Close)
	return a
}

func (a *fakeAPI) fail(h http.HandlerFunc) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.broken = h
}

// count returns the number of requests whose target contains part.
func (a *fakeAPI) count(part string) (n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, target := range a.asked {
		if strings.Contains(target, part) {
			n++
		}
	}
	return n
}

func (a *fakeAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	a.asked = append(a.asked, r.URL.RequestURI())
	broken := a.broken
	a.mu.Unlock()
	if broken != nil {
		broken(w, r)
		return
	}
	result := func(pack, name, spdx string, commercial bool) string {
		return fmt.Sprintf(`{"pack":%q,"name":%q,"license":%q,"commercial_use":%v,"attribution":"%s by A, %s","monochrome":true,"width":24,"height":24}`, pack, name, spdx, commercial, pack, spdx)
	}
	one := func(pack, name, spdx, alias string, commercial bool) string {
		svg := homeSVG
		if id := map[string]string{"sun": "a", "moon": "b"}[name]; id != "" {
			svg = strings.Replace(homeSVG, "<path", `<path id="`+r.FormValue("id")+id+`"`, 1)
		}
		return fmt.Sprintf(`{"pack":%q,"name":%q,"svg":%q,"license":%q,"metadata":{"commercial_use":%v,"attribution":"%s *by* A, %s","monochrome":true,"alias_of":%s,"width":24,"height":24}}`,
			pack, name, svg, spdx, commercial, pack, spdx, alias)
	}
	pack := func(key, spdx string, commercial bool) string {
		return fmt.Sprintf(`{"pack":%q,"name":"P","license":%q,"commercial_use":%v,"attribution":"A","samples":["home","account"]}`, key,
			spdx, commercial)
	}
	body, ok := map[string]string{
		"/api/v1/packs": `{"packs":[` + pack("mdi", "Apache-2.0", true) + `,` +
			pack("mdi-light", "Apache-2.0", true) + `,` + pack("nc", "CC-BY-NC-4.0", false) + `]}`,
		"/api/v1/search": `{"results":[` + result("mdi", "delete", "Apache-2.0", true) + `,` +
			result("mdi", "trash-can", "Apache-2.0", true) + `,` + result("mdi", "<b>", "MIT", true) + `]}`,
		"/api/v1/icon/mdi/home":         one("mdi", "home", "Apache-2.0", "null", true),
		"/api/v1/icon/mdi/house":        one("mdi", "house", "Apache-2.0", `"home"`, true),
		"/api/v1/icon/mdi/light-switch": one("mdi", "light-switch", "Apache-2.0", "null", true),
		"/api/v1/icon/mdi/sun":          one("mdi", "sun", "Apache-2.0", "null", true),
		"/api/v1/icon/mdi/moon":         one("mdi", "moon", "Apache-2.0", "null", true),
		"/api/v1/icon/nc/home":          one("nc", "home", "CC-BY-NC-4.0", "null", false),
	}[r.URL.Path]
	switch {
	case strings.HasSuffix(r.URL.Path, "/gone"):
		http.Error(w, `{"status":410}`, http.StatusGone)
	case !ok:
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, `{"title":"Not Found","status":404,"suggestions":["home","mdi-light/home","<b>"]}`)
	default:
		w.Header().Set("Cache-Control", "max-age=300")
		io.WriteString(w, body)
	}
}

// A session is an editor with a server.
type session struct {
	t       *testing.T
	in      io.WriteCloser
	out     *bufio.Reader
	ended   chan error
	last    int
	waiting []message // that were received while another one was expected
}

func start(t *testing.T, a *fakeAPI, options string) *session {
	t.Helper()
	s := raw(t, a)
	s.request("initialize", `{"capabilities":{"workspace":{"workspaceEdit":{"documentChanges":true}}},"initializationOptions":`+options+`}`)
	s.notify("initialized", `{}`)
	return s
}

// raw starts a server without initialize.
func raw(t *testing.T, a *fakeAPI) *session {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	s := &session{t: t, in: inW, out: bufio.NewReader(outR), ended: make(chan error, 1)}
	go func() {
		err := Run(t.Context(), Config{Client: client.Config{API: a.URL, CDN: a.URL, Plugin: true}, In: inR, Out: outW, Version: "1"})
		outW.Close()
		s.ended <- err
	}()
	// A message that never comes fails the test.
	late := time.AfterFunc(time.Minute, func() { outR.Close() })
	t.Cleanup(func() {
		late.Stop()
		inW.Close()
		outR.Close()
	})
	return s
}

func (s *session) send(content string) {
	s.t.Helper()
	if err := writeMessage(s.in, []byte(content)); err != nil {
		s.t.Fatal(err)
	}
}

func (s *session) notify(method, params string) {
	s.send(`{"jsonrpc":"2.0","method":"` + method + `","params":` + params + `}`)
}

// expect returns the next message that fits.
func (s *session) expect(what string, fits func(message) bool) message {
	s.t.Helper()
	if i := slices.IndexFunc(s.waiting, fits); i >= 0 {
		m := s.waiting[i]
		s.waiting = slices.Delete(s.waiting, i, i+1)
		return m
	}
	for {
		content, err := readMessage(s.out)
		if err != nil {
			s.t.Fatalf("no %s: %v; received %+v", what, err, s.waiting)
		}
		var m message
		if err := json.Unmarshal(content, &m); err != nil {
			s.t.Fatal(err)
		}
		if fits(m) {
			return m
		}
		s.waiting = append(s.waiting, m)
	}
}

// begin sends a request, and returns its id.
func (s *session) begin(method, params string) string {
	s.last++
	id := fmt.Sprint(s.last)
	s.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":` + params + `}`)
	return id
}

func (s *session) response(id string) message {
	s.t.Helper()
	return s.expect("response "+id, func(m message) bool { return m.Method == "" && string(m.ID) == id })
}

func (s *session) request(method, params string) message {
	s.t.Helper()
	return s.response(s.begin(method, params))
}

func (s *session) open(language, text string) {
	s.notify("textDocument/didOpen", `{"textDocument":{"uri":"file:///a","languageId":"`+language+
		`","version":1,"text":`+string(encode(text))+`}}`)
}

func at(line, character int) string {
	return fmt.Sprintf(`{"textDocument":{"uri":"file:///a"},"position":{"line":%d,"character":%d}}`, line, character)
}

func (s *session) diagnostics() []diagnostic {
	s.t.Helper()
	var p struct{ Diagnostics []diagnostic }
	m := s.expect("diagnostics", func(m message) bool { return m.Method == "textDocument/publishDiagnostics" })
	if err := json.Unmarshal(m.Params, &p); err != nil {
		s.t.Fatal(err)
	}
	return p.Diagnostics
}

// TestLifecycle: requests in the wrong order are refused; the exit status is 0 after shutdown and
// at the end of stdin, else 1; a malformed message gets an error, and the session goes on.
func TestLifecycle(t *testing.T) {
	a := newFakeAPI(t)
	s := raw(t, a)
	if m := s.request("textDocument/hover", at(0, 0)); m.Error == nil || m.Error.Code != codeNotInitialized {
		t.Errorf("before initialize: %+v", m)
	}
	s.send(`{"jsonrpc":`)
	if m := s.response("null"); m.Error == nil || m.Error.Code != codeParse {
		t.Errorf("half a JSON: %+v", m.Error)
	}
	s.send(`[1]`)
	if m := s.response("null"); m.Error == nil || m.Error.Code != codeInvalidRequest {
		t.Errorf("no object: %+v", m.Error)
	}
	m := s.request("initialize", `{"capabilities":{}}`)
	for _, part := range []string{`"positionEncoding":"utf-16"`, `"name":"iconedge"`, `"iconedge.insert"`, `"resolveProvider":true`} {
		if !strings.Contains(string(m.Result), part) {
			t.Errorf("initialize: no %s in %s", part, m.Result)
		}
	}
	if m := s.request("initialize", `{}`); m.Error == nil {
		t.Error("a second initialize succeeded")
	}
	if m := s.request("textDocument/nonsense", `{}`); m.Error == nil || m.Error.Code != codeNoMethod {
		t.Errorf("an unknown method: %+v", m.Error)
	}
	if m := s.request("textDocument/hover", `[]`); m.Error == nil || m.Error.Code != codeInvalidParams {
		t.Errorf("wrong parameters: %+v", m.Error)
	}
	s.notify("$/setTrace", `{"value":"off"}`)
	if m := s.request("textDocument/hover", at(3, 3)); m.Error != nil || string(m.Result) != "null" {
		t.Errorf("a document that is not open: %s, %+v", m.Result, m.Error)
	}
	if m := s.request("shutdown", `null`); m.Error != nil || string(m.Result) != "null" {
		t.Errorf("shutdown: %+v", m)
	}
	if m := s.request("textDocument/hover", at(0, 0)); m.Error == nil {
		t.Error("a request after shutdown succeeded")
	}
	s.notify("exit", `null`)
	if err := <-s.ended; err != nil {
		t.Errorf("exit after shutdown: %v", err)
	}
	s = start(t, a, "null")
	s.notify("exit", `null`)
	if err := <-s.ended; !errors.Is(err, ErrExit) {
		t.Errorf("exit without shutdown: %v", err)
	}
	s = start(t, a, "null")
	s.in.Close()
	if err := <-s.ended; err != nil {
		t.Errorf("the end of stdin: %v", err)
	}
	if len(a.asked) != 0 {
		t.Errorf("without a reference there were requests: %q", a.asked)
	}
}

// TestPositions: UTF-16, unless UTF-8 is offered first.
func TestPositions(t *testing.T) {
	for encodings, want := range map[string]string{`[]`: "utf-16", `["utf-16","utf-8"]`: "utf-16", `["utf-8","utf-16"]`: "utf-8"} {
		s := raw(t, newFakeAPI(t))
		m := s.request("initialize", `{"capabilities":{"general":{"positionEncodings":`+encodings+`}}}`)
		if !strings.Contains(string(m.Result), `"positionEncoding":"`+want+`"`) {
			t.Errorf("%s: %s", encodings, m.Result)
		}
		s.open("html", "x\r\n“😀” mdi:home")
		start := map[string]int{"utf-16": 5, "utf-8": 11}[want]
		m = s.request("textDocument/hover", at(1, start+8))
		if want := fmt.Sprintf(`"range":{"start":{"line":1,"character":%d},"end":{"line":1,"character":%d}}`, start,
			start+8); !strings.Contains(string(m.Result), want) {
			t.Errorf("%s: %s, want %s", encodings, m.Result, want)
		}
		if m = s.request("textDocument/hover", at(1, start-1)); string(m.Result) != "null" {
			t.Errorf("%s: before the reference: %s", encodings, m.Result)
		}
	}
}

// TestCompletion: the API's hits in its order, even if they do not begin with the typed text; a
// repeated text makes no request; after a failure the last hits stay.
func TestCompletion(t *testing.T) {
	a := newFakeAPI(t)
	s := start(t, a, "null")
	s.open("html", `<x icon="mdi:tra"> text/ht mdi: http://mdi/ho`)
	complete := func(character int) (list completionList) {
		t.Helper()
		m := s.request("textDocument/completion", at(0, character))
		if err := json.Unmarshal(m.Result, &list); err != nil {
			t.Fatalf("%s %+v: %v", m.Result, m.Error, err)
		}
		return list
	}
	for range 2 {
		list := complete(16)
		if !list.IsIncomplete || len(list.Items) != 2 {
			t.Fatalf("%+v", list)
		}
		for n, name := range []string{"mdi:delete", "mdi:trash-can"} {
			i := list.Items[n]
			if i.Label != name || i.FilterText != "mdi:tra" || i.SortText != fmt.Sprintf("%02d", n) ||
				i.Detail != "Apache-2.0" || *i.TextEdit != (textEdit{span{position{0, 9}, position{0, 16}}, name}) {
				t.Errorf("item %d: %+v %+v", n, i, i.TextEdit)
			}
		}
	}
	if a.count("/search?") != 1 || a.count("/search?limit=50&pack=mdi&q=tra") != 1 {
		t.Errorf("searches: %q", a.asked)
	}
	if list := complete(26); len(list.Items) != 0 {
		t.Errorf("text/ht: %+v", list)
	}
	if list := complete(31); len(list.Items) != 2 || list.Items[0].Label != "mdi:home" || a.count("/search?") != 1 {
		t.Errorf("mdi: without a name gives the samples of the pack, without a search: %+v", list)
	}
	if list := complete(45); len(list.Items) != 0 {
		t.Errorf("an address: %+v", list)
	}
	a.fail(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "40")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	s.notify("textDocument/didChange",
		`{"textDocument":{"uri":"file:///a","version":2},"contentChanges":[{"range":{"start":{"line":0,"character":16},"end":{"line":0,"character":16}},"text":"s"}]}`)
	if list := complete(17); len(list.Items) != 2 || list.Items[0].FilterText != "mdi:tras" {
		t.Errorf("after a 429: %+v", list)
	}
	if m := s.expect("message", func(m message) bool { return m.Method == "window/showMessage" }); !strings.Contains(
		string(m.Params), "retry in 40 seconds") {
		t.Errorf("after a 429: %s", m.Params)
	}
	searches := a.count("/search?")
	complete(17)
	if a.count("/search?") != searches {
		t.Error("there was a search before Retry-After had passed")
	}
}

func TestResolve(t *testing.T) {
	s := start(t, newFakeAPI(t), "null")
	m := s.request("completionItem/resolve", `{"label":"nc:home","x":[1],"data":{"Pack":"nc","Name":"home"}}`)
	for _, part := range []string{`"x":[1]`, "data:image/svg+xml;base64,", "CC-BY-NC-4.0, non-commercial", `nc \\*by\\* A`} {
		if !strings.Contains(string(m.Result), part) {
			t.Errorf("no %s in %s %+v", part, m.Result, m.Error)
		}
	}
	if m := s.request("completionItem/resolve", `{"label":"x","data":{"Pack":"..","Name":"home"}}`); m.Error == nil {
		t.Errorf("a hostile item: %s", m.Result)
	}
}

// TestHover: icon, licence, credit, also of aliases; unknown names are explained; a class names the
// icon of the longest pack that has it.
func TestHover(t *testing.T) {
	s := start(t, newFakeAPI(t), "null")
	s.open("html", "mdi:home\nmdi/house\nnc:home\nmdi:nope\ni-mdi-light-switch\nmdi:gone\nnode:fs")
	for line, want := range []string{"data:image/svg+xml", "alias of home", "non-commercial",
		"Icon mdi/nope was not found", "mdi/light-switch", "withdrawn", "null"} {
		if m := s.request("textDocument/hover", at(line, 5)); !strings.Contains(string(m.Result), want) {
			t.Errorf("line %d: %s, want %s", line, m.Result, want)
		}
	}
}

// TestCode: names in code are read as their libraries write them, and nothing is said about others.
func TestCode(t *testing.T) {
	a := newFakeAPI(t)
	s := start(t, a, "null")
	s.open("typescriptreact", "import { Home } from '@mdi/react';\nconst a = <Home />;\nmdiHouse\n"+
		"<i class=\"mdi mdi-home\"/>\nmdiNone\nmodified")
	for line, want := range []string{"mdi/home", "mdi/home", "mdi/house", "mdi/home", "null", "null"} {
		column := []int{10, 12, 3, 15, 3, 3}[line]
		if m := s.request("textDocument/hover", at(line, column)); !strings.Contains(string(m.Result), want) {
			t.Errorf("line %d: %s, want %s", line, m.Result, want)
		}
	}
	s.open("typescriptreact", "mdiDel")
	m := s.request("textDocument/completion", at(0, 6))
	var list completionList
	if err := json.Unmarshal(m.Result, &list); err != nil || len(list.Items) < 2 || list.Items[0].Label != "mdiDelete" ||
		list.Items[1].TextEdit.NewText != "mdiTrashCan" {
		t.Errorf("completion of mdiDel: %s", m.Result)
	}
}

// TestDiagnostics: only a 404 and a 410 are warnings; a name is requested once in ten edits; a
// quick fix for each close name.
func TestDiagnostics(t *testing.T) {
	a := newFakeAPI(t)
	s := start(t, a, "null")
	s.open("html", "😀 mdi:nope mdi:home mdi:gone text/html mdi:nope")
	list := s.diagnostics()
	if len(list) != 3 || list[0].Range != (span{position{0, 3}, position{0, 11}}) || list[0].Code != "unknown-icon" ||
		list[0].Source != "iconedge" || list[0].Severity != 2 ||
		!strings.Contains(list[0].Message, "mdi/nope was not found") || !strings.Contains(list[1].Message, "withdrawn") {
		t.Errorf("%+v", list)
	}
	for version := range 10 {
		s.notify("textDocument/didChange", fmt.Sprintf(
			`{"textDocument":{"uri":"file:///a","version":%d},"contentChanges":[{"range":{"start":{"line":0,"character":2},"end":{"line":0,"character":2}},"text":" "}]}`, version+2))
	}
	for list = s.diagnostics(); list[0].Range.Start.Character != 13; list = s.diagnostics() {
	}
	for _, name := range []string{"mdi/nope", "mdi/home", "mdi/gone", "/packs"} {
		if n := a.count(name); n != 1 {
			t.Errorf("%s was requested %d times", name, n)
		}
	}
	var actions []struct {
		Title, Kind string
		Edit        struct {
			DocumentChanges []struct {
				TextDocument struct{ Version int }
				Edits        []textEdit
			}
		}
	}
	m := s.request("textDocument/codeAction",
		`{"textDocument":{"uri":"file:///a"},"range":{"start":{"line":0,"character":14},"end":{"line":0,"character":14}},"context":{"diagnostics":[]}}`)
	if err := json.Unmarshal(m.Result, &actions); err != nil || len(actions) != 2 ||
		actions[0].Title != "Replace by mdi:home" || actions[1].Title != "Replace by mdi-light:home" ||
		actions[0].Edit.DocumentChanges[0].TextDocument.Version != 11 || actions[0].Edit.DocumentChanges[0].Edits[0].NewText != "mdi:home" {
		t.Errorf("%v: %s", err, m.Result)
	}
	s.notify("textDocument/didClose", `{"textDocument":{"uri":"file:///a"}}`)
	if list := s.diagnostics(); len(list) != 0 {
		t.Errorf("after close: %+v", list)
	}
}

// TestFailures: a service that fails is one sentence in the editor, and no warning about a name;
// the next edit tries again.
func TestFailures(t *testing.T) {
	for about, broken := range map[string]http.HandlerFunc{
		"500":         func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) },
		"HTML":        func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>") },
		"half a JSON": func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{"packs":[{"pa`) },
		"hung up":     func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		a := newFakeAPI(t)
		a.fail(broken)
		s := start(t, a, "null")
		s.open("html", "mdi:nope")
		m := s.expect("message", func(m message) bool { return m.Method == "window/showMessage" })
		if !strings.Contains(string(m.Params), "The icon service") {
			t.Errorf("%s: %s", about, m.Params)
		}
		a.fail(nil)
		s.notify("textDocument/didChange", `{"textDocument":{"uri":"file:///a","version":2},"contentChanges":[{"text":"mdi:nope "}]}`)
		if list := s.diagnostics(); len(list) != 1 {
			t.Errorf("%s: %+v", about, list)
		}
		for _, m := range s.waiting {
			if m.Method == "textDocument/publishDiagnostics" {
				t.Errorf("%s: %s", about, m.Params)
			}
		}
	}
}

// TestManyNames: a document with more names than the limit allows is checked on the CDN.
func TestManyNames(t *testing.T) {
	a := newFakeAPI(t)
	s := start(t, a, "null")
	var text strings.Builder
	for i := range 200 {
		fmt.Fprintf(&text, "mdi:n%d ", i)
	}
	s.open("html", text.String())
	if list := s.diagnostics(); len(list) != checks {
		t.Errorf("%d warnings, want those of %d names that the API was asked about", len(list), checks)
	}
	if n := a.count("/api/v1/icon/"); n != checks || a.count("/mdi/n1") < checks/2 {
		t.Errorf("%d requests for icons", n)
	}
}

// TestInsert: the command inserts an icon through the editor, in the form of the document, with its
// credit; a non-commercial one is confirmed once.
func TestInsert(t *testing.T) {
	a := newFakeAPI(t)
	s := start(t, a, `{"iconedge":{"size":48}}`)
	s.open("css", "a {\n}\n")
	insert := func(args, result string) message {
		t.Helper()
		id := s.begin("workspace/executeCommand", `{"command":"iconedge.insert","arguments":[`+args+`]}`)
		m := s.expect("request", func(m message) bool { return m.Method != "" && len(m.ID) > 0 || string(m.ID) == id })
		if m.Method == "" {
			return m
		}
		s.send(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":` + result + `}`)
		if strings.Contains(result, "title") || result == "null" {
			if m = s.expect("request", func(m message) bool {
				return m.Method == "workspace/applyEdit" ||
					string(m.ID) == id
			}); m.Method == "" {
				return m
			}
			s.send(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{"applied":true}}`)
		}
		if r := s.response(id); (r.Error == nil) != !strings.Contains(result, "false") {
			t.Errorf("%s, %s: %+v", args, result, r.Error)
		}
		return m
	}
	const here = `"file:///a",{"line":1,"character":0},`
	m := insert(here+`"mdi:home","auto"`, `{"applied":true}`)
	for _, part := range []string{`"version":1`, `/* mdi/home: license Apache-2.0;`,
		`mask: url(\"` + a.URL + `/mdi/home.svg\")`, `height: 48px`, `"start":{"line":1,"character":0}`} {
		if m.Method != "workspace/applyEdit" || !strings.Contains(string(m.Params), part) {
			t.Errorf("no %s in %s", part, m.Params)
		}
	}
	if m := insert(`{"uri":"file:///a","position":{"line":0,"character":1},"ref":"mdi/home","form":"svg"}`,
		`{"applied":false}`); !strings.Contains(string(m.Params), `<!-- mdi/home`) {
		t.Errorf("%s", m.Params)
	}
	s.open("html", `<svg><path id="a"/></svg><svg><path id="c2_a"/></svg>`)
	for ref, id := range map[string]string{"mdi:sun": "c3_a", "mdi:moon": "b"} {
		if m := insert(here+`"`+ref+`","auto"`, `{"applied":true}`); !strings.Contains(string(m.Params), `\"`+id+`\"`) {
			t.Errorf("%s has not the id %s: %s", ref, id, m.Params)
		}
	}
	if m := insert(here+`"nc:home","name"`, `null`); m.Error == nil || !strings.Contains(m.Error.Message, "non-commercial") {
		t.Errorf("refused by the user: %+v", m)
	}
	if m := insert(here+`"nc:home","name"`, `{"title":"Insert"}`); !strings.Contains(string(m.Params), `"newText":"nc/home"`) {
		t.Errorf("accepted by the user: %s", m.Params)
	}
	if m := insert(here+`"nc:home","url"`, `{"applied":true}`); m.Method != "workspace/applyEdit" {
		t.Errorf("the second time: %+v", m)
	}
	requests := len(a.asked)
	for _, args := range []string{``, `1,2,3`, here + `"mdi:../x"`, here + `"mdi:home","gif"`,
		`"file:///b",{"line":0,"character":0},"mdi:home"`, here + `"mdi:home?x","svg"`} {
		if m := insert(args, `null`); m.Error == nil || m.Error.Code != codeInvalidParams {
			t.Errorf("%s: %+v", args, m)
		}
	}
	if len(a.asked) != requests {
		t.Errorf("wrong arguments caused requests: %q", a.asked[requests:])
	}
	if m := insert(here+`"mdi:nope"`, `null`); m.Error == nil || !strings.Contains(m.Error.Message, "was not found") {
		t.Errorf("an unknown icon: %+v", m)
	}
}

// TestLinks: each reference leads to the CDN.
func TestLinks(t *testing.T) {
	a := newFakeAPI(t)
	s := start(t, a, "null")
	s.open("html", "mdi:home text/html\ni-nc-home")
	m := s.request("textDocument/documentLink", `{"textDocument":{"uri":"file:///a"}}`)
	for _, part := range []string{`"target":"` + a.URL + `/mdi/home.svg"`, `"target":"` + a.URL + `/nc/home.svg"`,
		`"start":{"line":1,"character":0}`} {
		if !strings.Contains(string(m.Result), part) || strings.Contains(string(m.Result), "text/html") {
			t.Errorf("no %s in %s", part, m.Result)
		}
	}
}

// TestSettings: a project can't set the address or the token; wrong settings are named.
func TestSettings(t *testing.T) {
	evil := newFakeAPI(t)
	s := start(t, newFakeAPI(t), `{"baseUrl":"`+evil.URL+`","token":"x","insertAs":"gif","color":"red","size":0.5}`)
	for _, want := range []string{"baseUrl and token are ignored", "insertAs must be", "color must be", "wrong type"} {
		s.expect(want, func(m message) bool {
			return m.Method == "window/logMessage" && strings.Contains(string(m.Params), want)
		})
	}
	s.open("html", "mdi:nope")
	s.diagnostics()
	if len(evil.asked) != 0 {
		t.Errorf("requests to the address of a project: %q", evil.asked)
	}
	s.notify("workspace/didChangeConfiguration", `{"settings":{"iconedge":{"insertAs":"url","packs":["mdi"]}}}`)
	s.notify("textDocument/didChange", `{"textDocument":{"uri":"file:///a","version":2},"contentChanges":[{"text":"nc:hom mdi:tra"}]}`)
	if m := s.request("textDocument/completion", at(0, 6)); strings.Contains(string(m.Result), "label") {
		t.Errorf("a pack that is not in the setting packs: %s", m.Result)
	}
	if m := s.request("textDocument/completion", at(0, 14)); !strings.Contains(string(m.Result), `/mdi/delete.svg"`) {
		t.Errorf("insertAs url: %s", m.Result)
	}
}

// TestCancel: a request that the editor cancels is answered at once.
func TestCancel(t *testing.T) {
	t.Parallel() // waits until the open request has had its time
	a := newFakeAPI(t)
	release := make(chan struct{})
	a.fail(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	t.Cleanup(func() { close(release) })
	s := start(t, a, "null")
	s.open("html", "mdi:home")
	id := s.begin("textDocument/hover", at(0, 3))
	s.notify("$/cancelRequest", `{"id":`+id+`}`)
	if m := s.response(id); m.Error == nil || m.Error.Code != codeCancelled {
		t.Errorf("%+v", m)
	}
	s.begin("textDocument/hover", at(0, 3))
	s.in.Close()
	select {
	case err := <-s.ended:
		if err != nil {
			t.Errorf("the end of stdin with an open request: %v", err)
		}
	case <-time.After(time.Minute):
		t.Error("the end of stdin with an open request does not end the server")
	}
}
