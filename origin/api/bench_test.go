package api

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/iconedge/iconedge/origin/catalog"
	"github.com/iconedge/iconedge/origin/catalog/catalogtest"
	"github.com/iconedge/iconedge/origin/token"
)

// A discard is a ResponseWriter that writes nowhere.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(p []byte) (int, error) { return len(p), nil }
func (d discard) WriteHeader(int)             {}

// BenchmarkIcon measures an icon, without the server.
func BenchmarkIcon(b *testing.B) {
	library, err := catalogtest.Read("testdata/library")
	if err != nil {
		b.Fatal(err)
	}
	p := catalogtest.Dir(b.TempDir())
	if _, err := p.Publish(b.Context(), library, time.Now()); err != nil {
		b.Fatal(err)
	}
	c, err := catalog.New(catalog.Options{Store: p.Store, Mirror: b.TempDir(), Prepare: Prepare})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	if err := c.Start(b.Context()); err != nil {
		b.Fatal(err)
	}
	a := New(Options{Catalog: c, Tokens: token.NewVerifier(p.Store), CDNURL: "http://cdn.example.org",
		CacheControl: "public, max-age=86400"})
	for name, coding := range map[string]string{"gzip": "gzip", "identity": "identity"} {
		b.Run(name, func(b *testing.B) {
			r := httptest.NewRequest("GET", "/mdi/home.svg", nil)
			r.Header.Set("Accept-Encoding", coding)
			b.ReportAllocs()
			for b.Loop() {
				a.ServeHTTP(discard{http.Header{}}, r)
			}
		})
	}
}
