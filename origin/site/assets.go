package site

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strings"
	"sync"

	"github.com/iconedge/iconedge/internal/problem"
	pictures "github.com/iconedge/iconedge/origin/picture"
)

// files holds the script and the style sheet, which `make site` builds from the folder site/ of the
// repository. They are in the repository, so that the program builds without Node; a test compares
// them with their sources.
//
//go:embed assets
var files embed.FS

// An embedded file has an address with a hash of its content, so that browsers cache it for good.
type embedded struct {
	Address   string
	mediaType string
	body      []byte
}

// assets are the files that pages load.
type assets struct {
	Style, Docs, Theme, Script, Card *embedded
	worker                           []byte
	byName                           map[string]*embedded // by the name without its hash
}

var theAssets = loadAssets()

func loadAssets() *assets {
	a := &assets{byName: map[string]*embedded{}, worker: file("sw.js")}
	a.Style = a.add("style.css", "text/css; charset=utf-8")
	a.Docs = a.add("docs.css", "text/css; charset=utf-8")
	a.Theme = a.add("theme.js", "text/javascript; charset=utf-8")
	a.Script = a.add("app.js", "text/javascript; charset=utf-8")
	a.Card = a.add("card.png", "image/png")
	return a
}

func (a *assets) add(name, mediaType string) *embedded {
	body := file(name)
	sum := sha256.Sum256(body)
	stem, ext, _ := strings.Cut(name, ".")
	e := &embedded{"/-/site/" + stem + "." + hex.EncodeToString(sum[:5]) + "." + ext, mediaType, body}
	a.byName[name] = e
	return e
}

func file(name string) []byte {
	body, err := files.ReadFile("assets/" + name)
	if err != nil { // the file is part of the program
		panic(err)
	}
	return body
}

// asset answers with a script, a style sheet or the card. A page that a cache stored before the
// program was updated names an earlier hash, and a refusal names none: they get the present file,
// for a short time.
func (s *Site) asset(_ context.Context, q *Request) (*Page, error) {
	e := s.assets.byName[q.File]
	if stem, rest, _ := strings.Cut(q.File, "."); e == nil {
		hash, ext, _ := strings.Cut(rest, ".")
		if e = s.assets.byName[stem+"."+ext]; e == nil || len(hash) != 10 {
			return nil, problem.NotFound("there is no such file")
		}
	}
	p := &Page{Status: http.StatusOK, MediaType: e.mediaType, Body: e.body, CacheControl: forever, Keys: pagesKey}
	if e.Address != "/-/site/"+q.File {
		p.CacheControl = brief
	}
	return p, nil
}

// worker answers with the service worker. Browsers ask for it anew each hour at the latest.
func (s *Site) worker(context.Context, *Request) (*Page, error) {
	return s.text("text/javascript; charset=utf-8", string(s.assets.worker)), nil
}

// text makes a small file of the site.
func (s *Site) text(mediaType, body string) *Page {
	return &Page{Status: http.StatusOK, MediaType: mediaType, Body: []byte(body), CacheControl: listsCached, Keys: pagesKey}
}

func (s *Site) manifest(context.Context, *Request) (*Page, error) {
	type image struct {
		Src   string `json:"src"`
		Sizes string `json:"sizes"`
		Type  string `json:"type"`
	}
	b, err := json.Marshal(struct {
		Name       string  `json:"name"`
		ShortName  string  `json:"short_name"`
		Start      string  `json:"start_url"`
		ID         string  `json:"id"`
		Display    string  `json:"display"`
		Background string  `json:"background_color"`
		Theme      string  `json:"theme_color"`
		Icons      []image `json:"icons"`
	}{"iconedge", "iconedge", "/", "/", "standalone", "#ffffff", "#ffffff", []image{{"/favicon.svg", "any", "image/svg+xml"},
		{"/apple-touch-icon.png", "180x180", "image/png"}}})
	if err != nil {
		return nil, err
	}
	return s.text("application/manifest+json", string(b)), nil
}

// tiles are the sign of the site: four tiles, one of them turned, in a square of 24.
const tiles = `<g fill="#4f5bd5"><rect x="2" y="2" width="9" height="9" rx="2.5"/><rect x="2" y="13" width="9" height="9" rx="2.5"/><rect x="13" y="13" width="9" height="9" rx="2.5"/><path d="M17.5 1.2l5.3 5.3-5.3 5.3-5.3-5.3z"/></g></svg>`

// The logo, and the logo for the home screens of phones, which show transparent parts in black and
// cut the corners: with a ground and a margin.
const (
	logo      = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" width="24" height="24">` + tiles
	touchLogo = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="-5 -5 34 34"><path fill="#fff" d="M-5-5h34v34H-5z"/>` + tiles
)

func (s *Site) favicon(context.Context, *Request) (*Page, error) {
	return s.text("image/svg+xml", logo), nil
}

// logoFiles are the logo in pixels, for programs that take no SVG. They are drawn for the first
// request.
var logoFiles = sync.OnceValues(func() (files struct{ ico, touch []byte }, err error) {
	const side, note = 180, "iconedge, Apache-2.0"
	painter := pictures.NewPainter()
	if files.touch, err = painter.PNG(context.Background(), []byte(touchLogo), side, side, note); err != nil {
		return files, err
	}
	files.ico, err = painter.ICO(context.Background(), []byte(logo), note)
	return files, err
})

func (s *Site) faviconFile(context.Context, *Request) (*Page, error) {
	files, err := logoFiles()
	return s.text("image/x-icon", string(files.ico)), err
}

func (s *Site) touchIcon(context.Context, *Request) (*Page, error) {
	files, err := logoFiles()
	return s.text("image/png", string(files.touch)), err
}
