package edge

import (
	"context"
	"crypto/tls"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"

	"github.com/iconedge/iconedge/edge/own/owntest"
	"github.com/iconedge/iconedge/internal/certs"
	"github.com/iconedge/iconedge/internal/certs/certstest"
	"github.com/iconedge/iconedge/internal/logtest"
)

const (
	ticketSecret      = "a-secret-of-session-tickets-0123456789"
	otherTicketSecret = "another-secret-of-session-tickets-0123"
)

// A resumer is a client that keeps its last session, and offers it to any edge.
type resumer struct {
	*tls.Config
	kept chan struct{} // receives when a session has arrived
	last *tls.ClientSessionState
}

func newResumer(version uint16) *resumer {
	r := &resumer{Config: trusting.Clone(), kept: make(chan struct{}, 1)}
	r.MinVersion, r.MaxVersion, r.ClientSessionCache = version, version, r
	return r
}

func (r *resumer) Get(string) (*tls.ClientSessionState, bool) { return r.last, r.last != nil }

// Put keeps a session. crypto/tls removes an unusable session by putting nil in its place.
func (r *resumer) Put(_ string, s *tls.ClientSessionState) {
	r.last = s
	if s != nil {
		r.kept <- struct{}{}
	}
}

// A greeting connects to an edge, and waits for the session that the edge gives.
type greeting func(t *testing.T, address string, r *resumer) (tls.ConnectionState, error)

// greetings are all ways to connect over TLS.
var greetings = map[string]struct {
	version uint16
	greet   greeting
}{
	"TLS 1.2": {tls.VersionTLS12, greetTCP}, "TLS 1.3": {tls.VersionTLS13, greetTCP}, "QUIC": {tls.VersionTLS13, greetQUIC},
}

func greetTCP(_ *testing.T, address string, r *resumer) (tls.ConnectionState, error) {
	s := securedTest{tls: address}
	state, err := s.shake(r.Config)
	select {
	case <-r.kept:
	default: // TLS 1.2 has no new ticket for a session that is resumed
	}
	return state, err
}

func greetQUIC(t *testing.T, address string, r *resumer) (tls.ConnectionState, error) {
	c, err := quic.DialAddr(t.Context(), address, http3.ConfigureTLSConfig(r.Config), patientQUIC)
	if err != nil {
		return tls.ConnectionState{}, err
	}
	defer c.CloseWithError(0, "")
	state := c.ConnectionState().TLS
	select {
	case <-r.kept:
	case <-c.Context().Done(): // the edge refuses the client
		err = context.Cause(c.Context())
	}
	return state, err
}

// resumes checks whether an edge resumes the session of a client. The connection works in any case.
func resumes(t *testing.T, what string, greet greeting, address string, r *resumer, want bool) {
	t.Helper()
	if state, err := greet(t, address, r); err != nil || state.DidResume != want {
		t.Errorf("%s: resumed %v, want %v (%v)", what, state.DidResume, want, err)
	}
}

// ticketEdge starts an edge with a secret for its session tickets.
func ticketEdge(t *testing.T, secret string, change ...func(*Config)) *securedTest {
	t.Helper()
	file := secretFile(t, secret)
	return newSecured(t, owntest.NewOrigin(), append(change, func(c *Config) { c.TLSTicketSecretFile = file })...)
}

// Edges with the same secret resume each other's sessions, by every protocol. With another secret,
// or without one, the client gets a full handshake.
func TestTicketsOfAFleet(t *testing.T) {
	t.Parallel()
	first, second, stranger, alone := ticketEdge(t, ticketSecret), ticketEdge(t, ticketSecret+"\n"),
		ticketEdge(t, otherTicketSecret), newSecured(t, owntest.NewOrigin())
	for name, by := range greetings {
		t.Run(name, func(t *testing.T) {
			r := newResumer(by.version)
			resumes(t, "first visit", by.greet, first.tls, r, false)
			resumes(t, "another edge", by.greet, second.tls, r, true)
			resumes(t, "back again", by.greet, first.tls, r, true)
			resumes(t, "an edge with another secret", by.greet, stranger.tls, r, false)
			resumes(t, "the ticket of the other secret", by.greet, first.tls, r, false)
			resumes(t, "an edge without a secret", by.greet, alone.tls, r, false)
			resumes(t, "the edge without a secret again", by.greet, alone.tls, r, true)
		})
	}
}

// A client may offer a session of TCP over QUIC, and the reverse: it is answered either way.
func TestTicketsOfTheOtherProtocol(t *testing.T) {
	t.Parallel()
	s, r := ticketEdge(t, ticketSecret), newResumer(tls.VersionTLS13)
	for _, way := range []string{"TLS 1.3", "QUIC", "TLS 1.3"} {
		if _, err := greetings[way].greet(t, s.tls, r); err != nil {
			t.Errorf("%s: %v", way, err)
		}
	}
}

// The keys change at midnight, by the clock alone: an edge accepts tickets of the day before, and
// none that are older.
func TestTicketsOfYesterday(t *testing.T) {
	t.Parallel()
	s := ticketEdge(t, ticketSecret)
	for name, by := range greetings {
		t.Run(name, func(t *testing.T) {
			fresh, old := newResumer(by.version), newResumer(by.version)
			resumes(t, "first visit", by.greet, s.tls, fresh, false)
			resumes(t, "first visit of another client", by.greet, s.tls, old, false)
			s.ages.move(24 * time.Hour)
			resumes(t, "the next day", by.greet, s.tls, fresh, true)
			s.ages.move(24 * time.Hour)
			resumes(t, "two days later", by.greet, s.tls, old, false)
		})
	}
}

// A new secret is used at once after a signal, and a file that can't be used changes nothing. The
// log says both, and never has the secret.
func TestTicketSecretOfAnEdgeIsReplaced(t *testing.T) {
	t.Parallel()
	file, signals, log := secretFile(t, ticketSecret), make(chan os.Signal, 1), &logtest.Log{}
	s := newSecured(t, owntest.NewOrigin(), func(c *Config) {
		c.TLSTicketSecretFile, c.Reload, c.Log = file, signals, log.Logger()
	})
	replace := func(text, message string) {
		t.Helper()
		must(t, os.WriteFile(file, []byte(text), 0o600))
		before := strings.Count(log.String(), message)
		signals <- os.Interrupt // any signal will do
		settled(t, "the log has "+message, func() bool { return strings.Count(log.String(), message) > before })
	}
	clients := map[string]*resumer{}
	for name, by := range greetings {
		clients[name] = newResumer(by.version)
		resumes(t, name+", first visit", by.greet, s.tls, clients[name], false)
	}
	visits := func(what string, want bool) {
		t.Helper()
		for name, by := range greetings {
			resumes(t, name+", "+what, by.greet, s.tls, clients[name], want)
		}
	}
	replace(otherTicketSecret+"\n"+ticketSecret, "file read again")
	visits("with both secrets", true)
	replace("too-short", "invalid file; the previous content stays in use")
	visits("with a file that can't be used", true)
	replace("a-third-secret-of-session-tickets-0123", "file read again")
	visits("with a new secret alone", false)
	visits("with a ticket of the new secret", true)
	if text := log.String(); !strings.Contains(text, "--tls-ticket-secret-file") ||
		strings.Contains(text, "secret-of-session-tickets") || strings.Contains(text, "too-short") {
		t.Errorf("the log says %s", text)
	}
}

// A session with a client certificate is resumed only by edges that trust the certificate.
func TestTicketsWithClientCertificate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ours, theirs := certstest.NewAuthority(t, dir, "ours"), certstest.NewAuthority(t, dir, "theirs")
	shown, err := tls.LoadX509KeyPair(ours.Pair(t, dir, "client"))
	must(t, err)
	trust := func(a *certstest.Authority) *securedTest {
		return ticketEdge(t, ticketSecret, func(c *Config) { c.TLSClientCA = a.File })
	}
	first, same, other, open := trust(ours), trust(ours), trust(theirs), ticketEdge(t, ticketSecret)
	alone := newSecured(t, owntest.NewOrigin(), func(c *Config) { c.TLSClientCA = ours.File })
	for _, name := range []string{"TLS 1.3", "QUIC"} { // only they take client certificates
		t.Run(name, func(t *testing.T) {
			greet, r := greetings[name].greet, newResumer(tls.VersionTLS13)
			r.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &shown, nil }
			resumes(t, "first visit", greet, first.tls, r, false)
			resumes(t, "an edge that trusts the certificate", greet, same.tls, r, true)
			session := r.last
			if state, err := greet(t, other.tls, r); err == nil || state.DidResume {
				t.Errorf("an edge that does not trust it: resumed %v, %v, want an error", state.DidResume, err)
			}
			r.last = session
			resumes(t, "an edge that asks for none", greet, open.tls, r, false)
			resumes(t, "an edge without a secret", greet, alone.tls, r, false)
			resumes(t, "the edge without a secret again", greet, alone.tls, r, true)
		})
	}
}

// The edge accepts no early data, which could be replayed: not with its own tickets, nor with a
// ticket of the right key that allows early data.
func TestNoEarlyData(t *testing.T) {
	t.Parallel()
	s := ticketEdge(t, ticketSecret)
	early := func(address string, r *resumer) (used, resumed bool) {
		t.Helper()
		c, err := quic.DialAddrEarly(t.Context(), address, http3.ConfigureTLSConfig(r.Config), patientQUIC)
		must(t, err)
		defer c.CloseWithError(0, "")
		<-c.HandshakeComplete()
		state := c.ConnectionState()
		select {
		case <-r.kept:
		case <-c.Context().Done():
			t.Errorf("the connection ended: %v", context.Cause(c.Context()))
		}
		return state.Used0RTT, state.TLS.DidResume
	}
	r := newResumer(tls.VersionTLS13)
	for visit := range 2 {
		if used, resumed := early(s.tls, r); used || resumed != (visit > 0) {
			t.Errorf("visit %d: early data %v, resumed %v", visit, used, resumed)
		}
	}

	careless := serveEarly(t, s.cfg.TLSTicketSecretFile)
	early(careless, r) // gets a ticket for early data
	ticket := r.last
	if used, _ := early(careless, r); !used {
		t.Fatal("a server that accepts early data gets none of this client, so this test shows nothing")
	}
	r.last = ticket
	if used, resumed := early(s.tls, r); used || !resumed {
		t.Errorf("with a ticket for early data: early data %v, resumed %v", used, resumed)
	}
}

// serveEarly serves QUIC with the keys of a secret, accepts early data, and returns its address.
func serveEarly(t *testing.T, secret string) string {
	t.Helper()
	tickets, err := certs.OpenTickets(secret, time.Now)
	must(t, err)
	pair, err := tls.LoadX509KeyPair(pairIn(t, t.TempDir(), "early", "early", "edge.test"))
	must(t, err)
	config := &tls.Config{Certificates: []tls.Certificate{pair}}
	tickets.Use(config)
	socket, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	must(t, err)
	ln, err := quic.ListenEarly(socket, http3.ConfigureTLSConfig(config), &quic.Config{Allow0RTT: true})
	must(t, err)
	t.Cleanup(func() { ln.Close(); socket.Close() })
	go func() {
		for {
			if _, err := ln.Accept(context.Background()); err != nil {
				return
			}
		}
	}()
	return socket.LocalAddr().String()
}

// Clients that can use the hybrid of X25519 and ML-KEM-768 for the key exchange do, over TCP and
// QUIC. Others use X25519.
func TestKeyExchange(t *testing.T) {
	t.Parallel()
	s := newSecured(t, owntest.NewOrigin())
	for _, name := range []string{"TLS 1.3", "QUIC"} {
		for _, row := range []struct {
			client string
			offers []tls.CurveID
			want   tls.CurveID
		}{
			{"a default client", nil, tls.X25519MLKEM768},
			{"a client without ML-KEM", []tls.CurveID{tls.X25519, tls.CurveP256}, tls.X25519},
		} {
			r := newResumer(tls.VersionTLS13)
			r.CurvePreferences = row.offers
			if state, err := greetings[name].greet(t, s.tls, r); err != nil || state.CurveID != row.want {
				t.Errorf("%s, %s: %v, want %v (%v)", name, row.client, state.CurveID, row.want, err)
			}
		}
	}
}
