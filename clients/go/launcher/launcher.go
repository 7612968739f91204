// Package launcher lets people find and copy icons in the launchers of their desktops: rofi,
// Alfred, GNOME's search and KRunner. It decides the rows that each of them shows, which files it
// stores, and how a text reaches the clipboard.
//
// A launcher may start a process for each key, so searches, the times of searches and of 429s, and
// icons are stored in a folder, at most 32 MB. folder.go has it; the other files have a launcher
// each.
package launcher

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	client "github.com/iconedge/iconedge/clients/go"
	"github.com/iconedge/iconedge/clients/go/output"
	"github.com/iconedge/iconedge/clients/go/react"
	"github.com/iconedge/iconedge/icon"
)

const (
	shortest  = 2               // characters of a search
	atOnce    = 8               // icons that are fetched at the same time
	picturing = 3 * time.Second // for the icons of all rows

	// neutral is the colour of monochrome icons in rows, visible on light and dark.
	neutral = "#808080"
)

// Config is the configuration of a launcher.
type Config struct {
	Client         client.Config
	Folder         string // for files; empty: iconedge in the user's cache folder
	InsertAs       string // form of the copied text; auto is the name
	Variant        client.Variant
	Packs          []string // only these; empty: all
	CommercialOnly bool
	Credit         bool

	// Copy replaces the clipboard.
	Copy func(ctx context.Context, c Clip) error
}

// A launcher finds icons for a user.
type launcher struct {
	cfg    Config
	client *client.Client
	folder folder
	log    *slog.Logger
}

func newLauncher(cfg Config) *launcher {
	if cfg.Folder == "" {
		cfg.Folder = cacheFolder()
	}
	cfg.Client.Plugin, cfg.Client.Folder = true, cfg.Folder
	if cfg.Copy == nil {
		cfg.Copy = Copy
	}
	cfg.Client = cfg.Client.Filled()
	return &launcher{cfg, client.New(cfg.Client), folder(cfg.Folder), cfg.Client.Log}
}

// A row is an icon that was found. Picture is a file, empty if it could not be fetched in time.
type row struct {
	icon.Result
	Picture string
}

func (r row) ref() icon.Ref { return icon.Ref{Pack: r.Pack, Name: r.Name} }

// licence returns the licence in words.
func (r row) licence() string {
	if r.CommercialUse {
		return r.License
	}
	return r.License + ", non-commercial"
}

// errShort means that the text has too few characters, or too many, for a search.
var errShort = &client.Error{Sentence: "Type at least two letters."}

// search returns the icons for a text. After a failure it returns those of the last search, with
// the error. A search that was made within five minutes makes no request.
func (l *launcher) search(ctx context.Context, text string, limit int) ([]icon.Result, error) {
	text = client.Line(text)
	if n := utf8.RuneCountInString(text); n < shortest || n > icon.MaxText || !utf8.ValidString(text) {
		return nil, errShort
	}
	q := client.Query{Text: text, Limit: icon.MaxLimit, Commercial: l.cfg.CommercialOnly}
	if len(l.cfg.Packs) == 1 {
		q.Pack = l.cfg.Packs[0]
	}
	key := l.cfg.Client.API + "\n" + q.Pack + "\n" + q.Text
	if q.Commercial {
		key += "\ncommercial"
	}
	body, err := l.folder.search(key, time.Now()), error(nil)
	if body == nil {
		if body, err = l.request(ctx, q); err == nil {
			l.folder.storeSearch(key, body)
		} else {
			body = l.folder.lastSearch()
		}
	}
	var answer icon.SearchAnswer
	if json.Unmarshal(body, &answer) != nil {
		return nil, err
	}
	hits := client.Hits(&answer, l.cfg.Packs, l.cfg.CommercialOnly)
	if len(hits) > 0 {
		l.client.Note(icon.Ref{Pack: hits[0].Pack, Name: hits[0].Name}, hits[0].URL)
	}
	return hits[:min(len(hits), limit)], err
}

func (l *launcher) request(ctx context.Context, q client.Query) ([]byte, error) {
	if wait := l.folder.takeTurn(time.Now()); wait > 0 {
		return nil, &client.Error{Sentence: "There are too many searches at present; try again in a few seconds."}
	}
	return l.client.SearchJSON(ctx, q)
}

// pictures adds files with the icons to results, as far as they can be fetched in time.
func (l *launcher) pictures(ctx context.Context, hits []icon.Result) []row {
	ctx, cancel := context.WithTimeout(ctx, picturing)
	defer cancel()
	rows := make([]row, len(hits))
	slots := make(chan struct{}, atOnce)
	var group sync.WaitGroup
	for n, h := range hits {
		rows[n].Result = h
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			rows[n].Picture, _ = l.picture(ctx, h)
		})
	}
	group.Wait()
	l.folder.prune()
	return rows
}

// picture returns the file with an icon as rows show it.
func (l *launcher) picture(ctx context.Context, h icon.Result) (string, error) {
	color := icon.Color(neutral)
	if l.cfg.Variant.Color != "" {
		color = l.cfg.Variant.Color
	}
	name := h.Pack + "/" + h.Name + strings.ReplaceAll(string(color), "#", "-") + ".svg"
	if file := l.folder.fresh(name, time.Now()); file != "" {
		return file, nil
	}
	svg, err := l.svg(ctx, icon.Ref{Pack: h.Pack, Name: h.Name}, 0)
	if err != nil {
		return l.folder.stored(name), err
	}
	if h.Monochrome && (h.Color == nil || l.cfg.Variant.Color != "") {
		svg = string(icon.Recolour([]byte(svg), color))
	}
	return l.folder.store(name, []byte(svg))
}

// svg returns an icon from the CDN, if it is harmless.
func (l *launcher) svg(ctx context.Context, ref icon.Ref, size int) (string, error) {
	svg, err := l.client.SVG(ctx, ref, size)
	if err != nil {
		return "", err
	}
	if err := react.Check(svg); err != nil {
		return "", &client.Error{Sentence: "The icon service returned an SVG for " + ref.String() + " that is not safe to use.", Err: err}
	}
	return svg, nil
}

// text returns an icon in a form, with its credit.
func (l *launcher) text(ctx context.Context, h icon.Result, form string) (string, error) {
	i := output.Icon{Ref: icon.Ref{Pack: h.Pack, Name: h.Name}, Credit: client.CreditOf(h.License, h.Attribution, h.CommercialUse),
		Monochrome: h.Monochrome, Color: output.ColorOf(h.Color), Recolored: h.Monochrome && l.cfg.Variant.Color != "",
		Width: h.Width, Height: h.Height}
	if l.cfg.Variant.Height > 0 && h.Height > 0 {
		i.Width, i.Height = h.Width*float64(l.cfg.Variant.Height)/h.Height, float64(l.cfg.Variant.Height)
	}
	form = output.Choose(form, "")
	if form == "svg" || form == "react" || form == "datauri" {
		svg, err := l.svg(ctx, i.Ref, l.cfg.Variant.Height)
		if err != nil {
			return "", err
		}
		if i.SVG = svg; i.Recolored {
			i.SVG = string(icon.Recolour([]byte(svg), l.cfg.Variant.Color))
		}
	}
	return output.Insert(form, "", i, l.options(), l.cfg.Credit)
}

// clip returns the content for the clipboard of an icon in a form: the picture itself, or a text.
func (l *launcher) clip(ctx context.Context, h icon.Result, form string) (Clip, error) {
	if form == output.PNG {
		picture, err := l.client.Picture(ctx, icon.Ref{Pack: h.Pack, Name: h.Name}, l.cfg.Variant)
		return Clip{typePNG, picture}, err
	}
	text, err := l.text(ctx, h, form)
	return Clip{Data: []byte(text)}, err
}

func (l *launcher) options() output.Options {
	return output.Options{CDN: l.client.CDN(), Variant: l.cfg.Variant}
}

// find returns an icon by its name, for copying.
func (l *launcher) find(ctx context.Context, ref icon.Ref) (icon.Result, error) {
	a, err := l.client.Icon(ctx, ref, client.Variant{})
	if err != nil {
		return icon.Result{}, err
	}
	m := a.Metadata
	c := client.CreditOf(a.License, m.Attribution, m.CommercialUse)
	return icon.Result{Pack: ref.Pack, Name: ref.Name, License: c.License, Attribution: c.Attribution, CommercialUse: c.CommercialUse,
		PackName: client.Line(m.PackName), Monochrome: m.Monochrome, Color: m.Color, Width: m.Width, Height: m.Height}, nil
}

// sentence returns the text of an error for the user.
func sentence(err error) string {
	if e, ok := errors.AsType[*client.Error](err); ok {
		return e.Sentence
	}
	return client.Line(err.Error())
}
