package certs

import (
	"crypto/tls"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/iconedge/iconedge/internal/certs/certstest"
)

const (
	ticketSecret = "a-secret-of-session-tickets-0123456789"
	otherSecret  = "another-secret-of-session-tickets-0123"
)

func keysAt(t *testing.T, at time.Time, secrets ...string) [][32]byte {
	t.Helper()
	keys, err := ticketKeys(secrets, at)
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// TestTicketKeys checks which keys are in use around midnight in UTC. Edges of different versions
// must agree on them, so one is written out.
func TestTicketKeys(t *testing.T) {
	midnight := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	before, after := keysAt(t, midnight.Add(-time.Nanosecond), ticketSecret), keysAt(t, midnight, ticketSecret)
	const today, yesterday, tomorrow = 0, 1, 2
	if len(before) != 3 || len(after) != 3 {
		t.Fatalf("%d keys before midnight, %d after, want 3", len(before), len(after))
	}
	if before[today] == after[today] {
		t.Error("the key that encrypts is the same after midnight")
	}
	if after[yesterday] != before[today] || after[today] != before[tomorrow] {
		t.Error("the keys of the two days do not decrypt each other's tickets")
	}
	if slices.Contains(after, before[yesterday]) {
		t.Error("a key is in use two days after its own")
	}
	for name, same := range map[string]time.Time{
		"the end of the day": midnight.Add(24*time.Hour - time.Nanosecond), "another time zone": midnight.In(time.FixedZone("", -5*3600)),
	} {
		if !slices.Equal(keysAt(t, same, ticketSecret), after) {
			t.Errorf("%s has other keys", name)
		}
	}
	if got, want := hex.EncodeToString(after[today][:]), "bd0c1f4e77050d6c08374795017131a85094a1f2cb6d5e8f093a19b00d183fed"; got != want {
		t.Errorf("the key of 2026-12-01 is %s, want %s", got, want)
	}
}

// TestTicketKeysOfTwoSecrets checks that the first secret encrypts, and that both decrypt.
func TestTicketKeysOfTwoSecrets(t *testing.T) {
	first, second := keysAt(t, now, ticketSecret), keysAt(t, now, otherSecret)
	if both := keysAt(t, now, otherSecret, ticketSecret); !slices.Equal(both, slices.Concat(second, first)) {
		t.Error("two secrets do not have the keys of each, those of the first before the others")
	}
	for _, key := range first {
		if slices.Contains(second, key) {
			t.Error("two secrets have a key in common")
		}
	}
}

// A ticketEdge is a server with a file of secrets and a clock that a test sets.
type ticketEdge struct {
	*Tickets
	config *tls.Config
	at     atomic.Pointer[time.Time]
}

func newTicketEdge(t *testing.T, cert tls.Certificate, secrets string) *ticketEdge {
	t.Helper()
	e := &ticketEdge{config: &tls.Config{Certificates: []tls.Certificate{cert}}}
	e.set(now)
	path := filepath.Join(t.TempDir(), "secret")
	writeText(t, path, secrets)
	var err error
	if e.Tickets, err = OpenTickets(path, func() time.Time { return *e.at.Load() }); err != nil {
		t.Fatal(err)
	}
	e.Use(e.config)
	return e
}

func (e *ticketEdge) set(at time.Time) { e.at.Store(&at) }

// replace replaces the secrets, and reports whether the edge takes the new ones.
func (e *ticketEdge) replace(t *testing.T, secrets string) error {
	t.Helper()
	writeText(t, e.path, secrets)
	return e.Reload(now)
}

func writeText(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func ticketPair(t *testing.T) tls.Certificate {
	t.Helper()
	dir := t.TempDir()
	cert, err := tls.LoadX509KeyPair(certstest.Pair(t, dir, "edge", "edge", "127.0.0.1"))
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

// visit connects a client to a server, and checks that the connection works and whether it resumes
// a session.
func visit(t *testing.T, what string, e *ticketEdge, client *tls.Config, want bool) {
	t.Helper()
	if _, resumed, err := shake(t, e.config, client); err != nil || resumed != want {
		t.Errorf("%s: resumed %v, want %v (%v)", what, resumed, want, err)
	}
}

func visitor(version uint16) *tls.Config {
	return &tls.Config{InsecureSkipVerify: true, MaxVersion: version, ClientSessionCache: oneSession{tls.NewLRUClientSessionCache(1)}}
}

// oneSession keeps the sessions of all servers under one name, as they have one in a fleet.
type oneSession struct{ tls.ClientSessionCache }

func (s oneSession) Get(string) (*tls.ClientSessionState, bool) { return s.ClientSessionCache.Get("") }

func (s oneSession) Put(_ string, state *tls.ClientSessionState) { s.ClientSessionCache.Put("", state) }

// TestTicketsOfTwoEdges checks that edges with one secret resume each other's sessions, and that
// with another secret the client gets a full handshake.
func TestTicketsOfTwoEdges(t *testing.T) {
	cert := ticketPair(t)
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		first, second, stranger := newTicketEdge(t, cert, ticketSecret), newTicketEdge(t, cert, ticketSecret+"\n"),
			newTicketEdge(t, cert, otherSecret)
		client, name := visitor(version), tls.VersionName(version)
		visit(t, name+", first visit", first, client, false)
		visit(t, name+", another edge", second, client, true)
		visit(t, name+", back again", first, client, true)
		visit(t, name+", an edge with another secret", stranger, client, false)
		visit(t, name+", the ticket of the other secret", first, client, false)
	}
}

// TestTicketsNextDay checks that the keys change with the clock alone, and that a ticket is
// accepted on the next day, but no more on the day after.
func TestTicketsNextDay(t *testing.T) {
	cert, day := ticketPair(t), 24*time.Hour
	for _, row := range []struct {
		name    string
		later   time.Duration
		resumed bool
	}{
		{"the same day", time.Hour, true}, {"the next day", day, true}, {"two days later", 2 * day, false},
		{"an edge whose clock is a day behind", -day, true}, {"two days behind", -2 * day, false},
	} {
		e, client := newTicketEdge(t, cert, ticketSecret), visitor(tls.VersionTLS13)
		visit(t, "first visit", e, client, false)
		e.set(now.Add(row.later))
		visit(t, row.name, e, client, row.resumed)
		e.set(now.Add(row.later + day))
		visit(t, row.name+", with a new ticket", e, client, true)
	}
}

// TestTicketSecretIsReplaced follows an operator who replaces the secret on two edges, step by
// step. Sessions are resumed at each of them, and no longer when the secret of their ticket is
// gone. A file that can't be used changes nothing.
func TestTicketSecretIsReplaced(t *testing.T) {
	cert := ticketPair(t)
	edges := []*ticketEdge{newTicketEdge(t, cert, ticketSecret), newTicketEdge(t, cert, ticketSecret)}
	client, old := visitor(tls.VersionTLS13), visitor(tls.VersionTLS13)
	visit(t, "first visit", edges[0], client, false)
	visit(t, "first visit of another client", edges[0], old, false)
	for _, secrets := range []string{ticketSecret + "\n" + otherSecret, otherSecret + "\n" + ticketSecret, otherSecret} {
		for i, e := range edges {
			if err := e.replace(t, secrets); err != nil {
				t.Fatal(err)
			}
			visit(t, "the edge with the new file", e, client, true)
			visit(t, "the other edge", edges[1-i], client, true)
		}
	}
	visit(t, "a ticket of the secret that is gone", edges[0], old, false)
	if err := edges[0].replace(t, "short"); err == nil {
		t.Error("a short secret was accepted")
	}
	visit(t, "after a file that can't be used", edges[0], client, true)
}

// TestTicketFiles checks that an unusable file is an error with its name and the reason.
func TestTicketFiles(t *testing.T) {
	for name, row := range map[string]struct{ text, wrong string }{
		"empty":     {"\n", "there is no secret in it"},
		"too short": {strings.Repeat("x", 31), "at least 32 bytes"},
		"too many":  {strings.Repeat(ticketSecret+"\n", 3), "more than two lines"},
	} {
		path := filepath.Join(t.TempDir(), "secret")
		writeText(t, path, row.text)
		if _, err := OpenTickets(path, time.Now); err == nil || !strings.Contains(err.Error(), path) ||
			!strings.Contains(err.Error(), row.wrong) {
			t.Errorf("%s: %v, want %q", name, err, row.wrong)
		}
	}
}

// TestTicketsWithClientCertificate checks that a session with a client certificate is resumed only
// where that certificate is trusted: not at an edge with other authorities, nor after the authority
// was removed, nor as a trusted one at an edge that asks for no certificates.
func TestTicketsWithClientCertificate(t *testing.T) {
	dir := t.TempDir()
	ours, theirs := certstest.NewAuthority(t, dir, "ours"), certstest.NewAuthority(t, dir, "theirs")
	shown, err := tls.LoadX509KeyPair(ours.Pair(t, dir, "client", "127.0.0.1"))
	if err != nil {
		t.Fatal(err)
	}
	cert := ticketPair(t)
	asking := func(file string) (*ticketEdge, *Authorities) {
		a, err := OpenAuthorities(file, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		e := newTicketEdge(t, cert, ticketSecret)
		a.Ask(e.config, tls.VerifyClientCertIfGiven)
		return e, a
	}
	known := func() *tls.Config { // a client that has a session
		t.Helper()
		e, _ := asking(ours.File)
		c := visitor(tls.VersionTLS13)
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &shown, nil }
		if trusted, _, err := shake(t, e.config, c); !trusted || err != nil {
			t.Fatalf("first visit: trusted %v, %v", trusted, err)
		}
		return c
	}
	same, authorities := asking(ours.File)
	if trusted, resumed, err := shake(t, same.config, known()); !trusted || !resumed || err != nil {
		t.Errorf("an edge with the same authorities: trusted %v, resumed %v, %v", trusted, resumed, err)
	}
	other, _ := asking(theirs.File)
	if trusted, resumed, err := shake(t, other.config, known()); trusted || resumed || err == nil {
		t.Errorf("an edge with other authorities: trusted %v, resumed %v, %v", trusted, resumed, err)
	}
	if trusted, resumed, err := shake(t, newTicketEdge(t, cert, ticketSecret).config, known()); trusted || resumed || err != nil {
		t.Errorf("an edge that asks for no certificate: trusted %v, resumed %v, %v", trusted, resumed, err)
	}
	client := known()
	text, err := os.ReadFile(theirs.File)
	if err != nil {
		t.Fatal(err)
	}
	writeText(t, ours.File, string(text))
	if err := authorities.Reload(time.Now()); err != nil {
		t.Fatal(err)
	}
	if trusted, resumed, err := shake(t, same.config, client); trusted || resumed || err == nil {
		t.Errorf("after the authority was removed: trusted %v, resumed %v, %v", trusted, resumed, err)
	}
}
