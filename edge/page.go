package edge

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"net/http"

	"github.com/iconedge/iconedge/edge/cache"
)

//go:embed page.html
var page []byte

// newPage returns the response at /, made once, in the form of a cache entry.
func newPage() *cache.Entry {
	sum := sha256.Sum256(page)
	e := &cache.Entry{
		Key: "/", Status: http.StatusOK, ContentType: []byte("text/html; charset=utf-8"),
		Fields: []cache.Field{
			field("Cache-Control", "public, max-age=300"),
			field("Content-Security-Policy", "default-src 'none'; img-src 'self'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"),
			field("Referrer-Policy", "no-referrer"),
		},
	}
	e.SetIdentity(page, `"`+hex.EncodeToString(sum[:16])+`"`)
	e.AddCodings()
	return e
}
