package edge

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/iconedge/iconedge/edge/access"
	"github.com/iconedge/iconedge/edge/library"
	"github.com/iconedge/iconedge/edge/own/owntest"
	"github.com/iconedge/iconedge/edge/ratelimit"
	"github.com/iconedge/iconedge/edge/routes"
	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/internal/certs/certstest"
	"github.com/iconedge/iconedge/internal/logtest"
	"github.com/iconedge/iconedge/internal/tier"
)

const tierSecret = "a-secret-between-tiers-0123"

func secretFile(t testing.TB, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "secret")
	must(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

// A proof is a way in which a client proves, or tries to prove, that it is an edge of ours.
type proof struct {
	name        string
	fields      []string
	certificate bool // a trusted one
	proves      bool
}

// proofsBy returns the proofs to try over one way in. Certificates need TLS.
func proofsBy(w wayIn) []proof {
	all := []proof{
		{name: "nothing"},
		{name: "the secret", fields: []string{tier.Field, tierSecret}, proves: true},
		{name: "the old secret", fields: []string{tier.Field, "the-secret-before-0123"}, proves: true},
		{name: "another secret", fields: []string{tier.Field, "a-secret-of-nobodys-0123"}},
		{name: "the secret twice", fields: []string{tier.Field, tierSecret, tier.Field, tierSecret}},
		{name: "two secrets in a line", fields: []string{tier.Field, tierSecret + ", " + tierSecret}},
		{name: "an empty secret", fields: []string{tier.Field, ""}},
	}
	if w.secure {
		all = append(all, proof{name: "a certificate", certificate: true, proves: true})
	}
	return all
}

// newShield starts an edge that accepts every kind of proof, and returns a certificate that it
// trusts.
func newShield(t *testing.T, origin http.Handler, change ...func(*Config)) (*securedTest, tls.Certificate) {
	t.Helper()
	dir := t.TempDir()
	authority := certstest.NewAuthority(t, dir, "authority")
	cert, err := tls.LoadX509KeyPair(authority.Pair(t, dir, "edge", "edge.test"))
	must(t, err)
	return newSecured(t, origin, append([]func(*Config){func(c *Config) {
		c.TierSecretFile, c.TLSClientCA = secretFile(t, tierSecret+"\nthe-secret-before-0123\n"), authority.File
	}}, change...)...), cert
}

// showing returns a copy of s whose clients present a certificate.
func (s *securedTest) showing(c tls.Certificate) *securedTest {
	other := *s
	other.shows = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &c, nil }
	return &other
}

// An authenticated edge is not limited, denied or asked for a token, over any protocol, and may
// read the release. Other clients may not.
func TestTierByEveryProtocol(t *testing.T) {
	t.Parallel()
	for way, w := range wayOf {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			s, cert := newShield(t, namedLibrary{owntest.NewOrigin()}, append(w.changes(), func(c *Config) {
				c.Limits = access.Limits{"cdn": ratelimit.Limit{N: 1, Window: time.Hour}}
				c.RequireToken = true
			})...)
			for _, p := range proofsBy(w) {
				t.Run(p.name, func(t *testing.T) {
					from := s
					if p.certificate {
						from = s.showing(cert)
					}
					checkProof(t, from.by(t, way), p)
				})
			}
		})
	}
}

func checkProof(t *testing.T, s *securedTest, p proof) {
	t.Helper()
	client := append([]string{"X-Forwarded-For", fmt.Sprintf("192.0.2.%d", strangers.Add(1))}, p.fields...)
	before := s.tiers.Requests.Load()
	limited := 0
	for range 4 { // the first fetches the icon, the others could hit on the hit path
		a := s.get(t, "/mdi/home.svg", client...)
		if a.StatusCode == http.StatusTooManyRequests {
			limited++
		}
		if hasLimit := a.Header.Get("RateLimit") != ""; hasLimit == p.proves {
			t.Errorf("%d, RateLimit: %q", a.StatusCode, a.Header.Get("RateLimit"))
		}
		inside := a.Header.Get(icon.FieldRelease) + a.Header.Get(icon.FieldMonochrome)
		if want := map[bool]string{true: owntest.ReleaseA + "?1"}[p.proves]; inside != want {
			t.Errorf("%d has %q in the fields between tiers, want %q", a.StatusCode, inside, want)
		}
		if a.Header.Get(tier.Field) != "" || strings.Contains(a.body, tierSecret) {
			t.Error("the response contains the secret")
		}
	}
	if want := map[bool]int{false: 3}[p.proves]; limited != want {
		t.Errorf("%d of four calls were over a limit of one, want %d", limited, want)
	}
	for target, want := range map[string]int{"/api/v1/packs": 401, "/-/release": 403, "/-/names?release=" + owntest.ReleaseA: 403} {
		if p.proves {
			want = 200
		}
		for range 2 {
			a := s.get(t, target, client...)
			if wanted := a.Header.Get(tier.FieldWanted) == "?1"; a.StatusCode != want || wanted != (want == 403) {
				t.Errorf("%s: %d %s, want %d; it requests a proof: %v", target, a.StatusCode, a.body, want, wanted)
			}
		}
	}
	if counted := s.tiers.Requests.Load() - before; counted != map[bool]int64{true: 10}[p.proves] {
		t.Errorf("%d requests counted as requests of a tier", counted)
	}
}

// An authenticated edge does not get a response that was prebuilt for clients, and clients do not
// get one that was prebuilt for an edge.
func TestTierOnTheHitPath(t *testing.T) {
	t.Parallel()
	for way, w := range wayOf {
		t.Run(way, func(t *testing.T) {
			s, cert := newShield(t, namedLibrary{owntest.NewOrigin()}, append(w.changes(), func(c *Config) {
				c.Limits = access.Limits{"cdn": ratelimit.Limit{N: 1000, Window: time.Hour}}
			})...)
			names := "/-/names?release=" + owntest.ReleaseA
			for range 3 { // the first fills the cache, the others could hit on the hit path
				for _, p := range proofsBy(w) {
					from := s
					if p.certificate {
						from = s.showing(cert)
					}
					client := from.by(t, way)
					a := client.get(t, "/mdi/home.svg", p.fields...)
					if hasLimit, inside := a.Header.Get("RateLimit") != "",
						a.Header.Get(icon.FieldRelease) != ""; a.StatusCode != 200 || hasLimit == p.proves || inside != p.proves {
						t.Errorf("%s: %d, has RateLimit: %v, has a release: %v", p.name, a.StatusCode, hasLimit, inside)
					}
					if a := client.get(t, names, p.fields...); a.StatusCode != map[bool]int{true: 200, false: 403}[p.proves] {
						t.Errorf("%s: names: %d", p.name, a.StatusCode)
					}
				}
			}
		})
	}
}

var strangers atomic.Int64

// A namedLibrary is an origin that also has a list of names for each release.
type namedLibrary struct{ *owntest.Origin }

func (l namedLibrary) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == routes.NamesPath {
		w.Header().Set("Cache-Control", "public, max-age=3600")
		w.Header().Set("Content-Type", "text/plain")
		w.Write([]byte("names"))
		return
	}
	l.Origin.ServeHTTP(w, r)
}

// The deny list does not apply to authenticated edges. A certificate of another authority
// authenticates nobody.
func TestTierIsNotDenied(t *testing.T) {
	deny := filepath.Join(t.TempDir(), "deny")
	must(t, os.WriteFile(deny, []byte("127.0.0.0/8\n0.0.0.0/8\n"), 0o600))
	s, cert := newShield(t, owntest.NewOrigin(), func(c *Config) { c.DenyFile = deny })
	for _, way := range []string{"h1 over TLS", "h2", "h3"} {
		for range 2 {
			if a := s.by(t, way).get(t, "/mdi/home.svg"); a.StatusCode != 403 {
				t.Errorf("%s: a client on the deny list got %d", way, a.StatusCode)
			}
			if a := s.showing(cert).by(t, way).get(t, "/mdi/home.svg"); a.StatusCode != 200 {
				t.Errorf("%s: an edge by certificate got %d", way, a.StatusCode)
			}
			if a := s.by(t, way).get(t, "/mdi/home.svg", tier.Field, tierSecret); a.StatusCode != 200 {
				t.Errorf("%s: an edge by secret got %d", way, a.StatusCode)
			}
		}
		other := certstest.NewAuthority(t, t.TempDir(), "other")
		foreign, err := tls.LoadX509KeyPair(other.Pair(t, t.TempDir(), "edge", "edge.test"))
		must(t, err)
		r, _ := http.NewRequest(http.MethodGet, "https://edge.test/mdi/home.svg", nil)
		if resp, err := s.showing(foreign).by(t, way).RoundTrip(r); err == nil {
			t.Errorf("%s: an untrusted certificate got %d", way, resp.StatusCode)
			resp.Body.Close()
		}
	}
}

// Without a secret or authorities, every client may read the release, and the secret's header field
// has no effect.
func TestNoTiers(t *testing.T) {
	e := newEdgeTest(t, owntest.NewOrigin(), func(c *Config) { c.Limits = access.Limits{"cdn": ratelimit.Limit{N: 1, Window: time.Hour}} })
	must(t, e.library.Poll())
	for i, want := range []int{200, 429} {
		if a := e.get(t, "/mdi/home.svg", tier.Field, tierSecret); a.StatusCode != want || a.Header.Get(icon.FieldRelease) != "" {
			t.Errorf("call %d: %d, release %q", i, a.StatusCode, a.Header.Get(icon.FieldRelease))
		}
	}
	if a := e.get(t, "/-/release"); a.StatusCode != 200 {
		t.Errorf("/-/release: %d", a.StatusCode)
	}
}

// A secret from a client reaches no origin, and the edge's own secret reaches no client, over any
// protocol and on forwarded paths too. The edge sends its secret only to origins that have reported
// a release.
func TestSecretStays(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		secret, sent string
		ours         bool
	}{{"", "", false}, {tierSecret, "", false}, {tierSecret, tierSecret, true}} {
		secret, ours := row.secret, row.ours
		var seen atomic.Pointer[http.Header]
		origin := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			h := r.Header.Clone()
			seen.Store(&h)
			w.Header()[tier.Field] = r.Header[tier.Field]
			w.Header().Set(tier.Field+"-X", "passed on")
			w.Header().Set("Cache-Control", "max-age=60")
			w.Header().Set("Vary", tier.Field)
		})
		s := newSecured(t, origin, func(c *Config) {
			if c.ProxyAll = true; secret != "" {
				c.TierSecretFile = secretFile(t, secret)
			}
		})
		if release := owntest.ReleaseA; ours {
			s.library.Restore(release)
		}
		for way := range wayOf {
			for i, sent := range []string{"forged-0123456789", tierSecret} {
				target := fmt.Sprintf("/some/%s/%d", strings.ReplaceAll(way, " ", "-"), i)
				a := s.by(t, way).get(t, target, tier.Field, sent, "Iconedge_Tier_Secret", sent)
				if a.StatusCode != 200 || a.Header.Get(tier.Field) != "" || a.Header.Get(tier.Field+"-X") == "" {
					t.Errorf("%s: %d %v", way, a.StatusCode, a.Header)
				}
				if got := strings.Join((*seen.Load())[tier.Field], "|"); got != row.sent {
					t.Errorf("%s: the origin was sent %q, want %q", way, got, row.sent)
				}
				if len((*seen.Load())["Iconedge_tier_secret"]) > 0 {
					t.Errorf("%s: a field with a similar name was forwarded", way)
				}
			}
		}
	}
}

// A foreign origin behind --proxy-all that echoes its request receives no secret, even on paths
// that look like our own.
func TestSecretIsNotEchoed(t *testing.T) {
	e := newEdgeTest(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "max-age=60")
		r.Header.Write(w)
	}), func(c *Config) { c.ProxyAll, c.TierSecretFile = true, secretFile(t, tierSecret) })
	e.library.Poll()
	for _, target := range []string{"/debug", "/mdi/home.svg", "/api/v1/search?q=a", "/api/v1/icon/a/b",
		"/api/v1/packs", "/-/names", "/-/release"} {
		if a := e.get(t, target); strings.Contains(a.body, tierSecret) {
			t.Errorf("%s: %s", target, a.body)
		}
	}
	if a := e.do(t, "POST", "/api/v1/auth/verify", "Content-Type", "application/json"); strings.Contains(a.body, tierSecret) {
		t.Errorf("verify: %s", a.body)
	}
}

// An edge reports to the edges behind it for which release a response is valid. A response that a
// new release has not changed is valid for the new release. A response of another release than the
// edge's belongs to that release.
func TestReleaseOfAResponse(t *testing.T) {
	l := owntest.NewOrigin()
	e := newEdgeTest(t, l, func(c *Config) { c.TierSecretFile = secretFile(t, tierSecret) })
	must(t, e.library.Poll())
	checkRelease := func(name, want string) {
		t.Helper()
		a := e.get(t, "/mdi/"+name+".svg", tier.Field, tierSecret)
		if got := a.Header.Get(icon.FieldRelease); a.StatusCode != 200 || got != want {
			t.Errorf("%s: %d, release %s, want %s", name, a.StatusCode, got, want)
		}
	}
	checkRelease("home", owntest.ReleaseA)
	checkRelease("account", owntest.ReleaseA)
	l.Set(func() { l.Release, l.Changed = owntest.ReleaseB, []string{"icon/mdi/account"} })
	must(t, e.library.Poll())
	checkRelease("home", owntest.ReleaseB)
	checkRelease("account", owntest.ReleaseB)
	if n := l.Count("/mdi/home.svg"); n != 1 {
		t.Errorf("an unchanged icon was fetched %d times", n)
	}
	l.Set(func() { l.Release = owntest.ReleaseA }) // like another origin that is late
	e.cache.InvalidateAll()
	checkRelease("home", owntest.ReleaseA)
}

// Cache-Status lists the caches nearer to the origin first, in every kind of response. The edge
// drops a Cache-Status that is not such a list.
func TestCacheStatusOfEachTier(t *testing.T) {
	t.Parallel()
	var before atomic.Pointer[[]string]
	origin := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "max-age=60")
		w.Header().Set("ETag", `"x"`)
		w.Header()["Cache-Status"] = *before.Load()
		w.Write([]byte("an icon"))
	})
	for i, row := range []struct {
		sent []string
		want []string
	}{
		{nil, nil},
		{[]string{"iconedge;hit;ttl=30"}, []string{"iconedge; hit; ttl=30"}},
		{[]string{`"far cache"; hit`, "iconedge; fwd=uri-miss"}, []string{`"far cache"; hit, iconedge; fwd=uri-miss`}},
		{[]string{"HIT from cache.example"}, nil},
	} {
		before.Store(&row.sent)
		s := newSecured(t, origin, func(c *Config) { c.ProxyAll = true })
		for way := range wayOf {
			client := s.by(t, way)
			for _, target := range []string{fmt.Sprintf("/mdi/a%d.svg", i), fmt.Sprintf("/other/%d/x", i)} {
				for call, fields := range [][]string{nil, nil, nil, {"If-None-Match", `"x"`}, {"Range", "bytes=0-1"}} {
					a := client.get(t, target, fields...)
					got := a.Header["Cache-Status"]
					if n := len(got); n == 0 || !slices.Equal(got[:n-1], row.want) || !strings.HasPrefix(got[n-1], "iconedge; ") {
						t.Errorf("%s, %s, call %d: %d, Cache-Status: %q, want %q before the edge's own", way, target,
							call, a.StatusCode, got, row.want)
					}
				}
			}
		}
		s.by(t, "h1")
	}
}

// Between our tiers, the age of a response is its Age, whatever the clock of its origin, and
// clients get a Date that agrees with it. For other origins, the Date counts (RFC 9111, section
// 4.2.3).
func TestClocksApart(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		off  time.Duration // of the origin's clock
		ours bool
		age  string
		want time.Duration // the edge's Age
		warn bool
	}{
		{name: "agree", ours: true},
		{name: "behind", off: -time.Hour, ours: true, warn: true},
		{name: "ahead", off: time.Hour, ours: true, warn: true},
		{name: "behind, and some time in a shield", off: -time.Hour, ours: true, age: "100", want: 100 * time.Second, warn: true},
		{name: "agree, and some time in a shield", off: -50 * time.Second, ours: true, age: "50", want: 50 * time.Second},
		{name: "a foreign origin", off: -time.Hour, want: time.Hour},
	} {
		t.Run(row.name, func(t *testing.T) {
			log, now := new(logtest.Log), newStoppedClock().now
			e := newEdgeTest(t, skewedLibrary{owntest.NewOrigin(), now().Add(row.off), row.age, row.ours},
				func(c *Config) { c.Log, c.Clock = log.Logger(), now })
			e.library.Poll()
			e.library.Poll()
			e.get(t, "/mdi/home.svg")
			a := e.get(t, "/mdi/home.svg")
			age, err := time.ParseDuration(a.Header.Get("Age") + "s")
			if err != nil || age != row.want {
				t.Errorf("Age: %s; want %v", a.Header.Get("Age"), row.want)
			}
			date, err := http.ParseTime(a.Header.Get("Date"))
			must(t, err)
			if off := now().Sub(date) - age; row.ours && off.Abs() > time.Minute {
				t.Errorf("Date and Age differ by %v", off)
			} else if !row.ours && off.Abs() > time.Minute {
				t.Errorf("the Date of a foreign origin was changed by %v", off)
			}
			if n := strings.Count(log.String(), "clocks"); n != map[bool]int{true: 1}[row.warn] {
				t.Errorf("%d warnings about clocks:\n%s", n, log.String())
			}
		})
	}
}

// A skewedLibrary is an origin whose clock is off.
type skewedLibrary struct {
	*owntest.Origin
	date time.Time
	age  string
	ours bool
}

func (l skewedLibrary) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Date", l.date.UTC().Format(http.TimeFormat))
	if l.age != "" && r.URL.Path != routes.ReleasePath {
		w.Header().Set("Age", l.age)
	}
	if !l.ours {
		if r.URL.Path == routes.ReleasePath {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Cache-Control", owntest.IconLife)
		w.Write([]byte("an icon"))
		return
	}
	l.Origin.ServeHTTP(w, r)
}

// To its own tiers an edge speaks TLS 1.3, whichever proof it has; to other origins TLS 1.2 is
// enough.
func TestTLSToOrigins(t *testing.T) {
	ca := certstest.NewAuthority(t, t.TempDir(), "ca")
	cert, key := ca.Pair(t, t.TempDir(), "edge")
	for _, row := range []struct {
		set    access.Tiers
		oldest uint16
	}{
		{access.Tiers{}, tls.VersionTLS12},
		{access.Tiers{OriginCA: ca.File}, tls.VersionTLS12},
		{access.Tiers{TierSecretFile: secretFile(t, tierSecret)}, tls.VersionTLS13},
		{access.Tiers{OriginCert: cert, OriginKey: key}, tls.VersionTLS13},
	} {
		tiers, err := row.set.Open(time.Now())
		must(t, err)
		c := tiers.ToOrigins()
		if c.MinVersion != row.oldest || (c.GetClientCertificate != nil) != (row.set.OriginCert != "") ||
			(c.RootCAs != nil) != (row.set.OriginCA != "") {
			t.Errorf("%+v: %+v", row.set, c)
		}
	}
}

// An edge that has reached no origin for a while logs that once, and that it is not ready.
func TestNoOriginAtStart(t *testing.T) {
	log := new(logtest.Log)
	e := newEdgeTest(t, owntest.NewOrigin(), func(c *Config) {
		c.Log = log.Logger()
		must(t, c.Origins.Set("http://127.0.0.1:1"))
	})
	for range 3 {
		e.library.Poll()
		e.library.Since = time.Now() // whatever time the poll took
	}
	if got := log.String(); !strings.Contains(got, "waiting for the origin") || strings.Contains(got, "level=WARN") {
		t.Errorf("at first: %s", got)
	}
	e.library.Since = time.Now().Add(-library.UnreachedFor)
	for range 3 {
		e.library.Poll()
	}
	if got := log.String(); strings.Count(got, "no origin reached yet") != 1 || !strings.Contains(got, "not ready") {
		t.Errorf("after a while: %s", got)
	}
}

// If the origin does not accept the edge as one of its own, the edge treats that as a failure of
// the origin. Clients do not get the origin's 403.
func TestNotTakenForATier(t *testing.T) {
	log := new(logtest.Log)
	e := newEdgeTest(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(tier.FieldWanted, "?1")
		w.WriteHeader(http.StatusForbidden)
	}), func(c *Config) {
		c.TierSecretFile, c.Log = secretFile(t, tierSecret), log.Logger()
	})
	if err := e.library.Poll(); err == nil || e.state.Reached() {
		t.Errorf("Poll = %v; reached: %v", err, e.state.Reached())
	}
	if a := e.get(t, "/mdi/home.svg"); a.StatusCode != http.StatusBadGateway || strings.Contains(a.body, "secret") {
		t.Errorf("%d %s", a.StatusCode, a.body)
	}
	if got := log.String(); !strings.Contains(got, "does not take this edge for one of its own") || strings.Contains(got, tierSecret) {
		t.Errorf("log is %s", got)
	}
}
