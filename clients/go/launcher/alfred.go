package launcher

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"

	"github.com/iconedge/iconedge/clients/go/output"
)

// alfredRows is the largest number of rows: Alfred shows nine, and each costs a request to the CDN.
const alfredRows = 20

// alfredMods lists the forms that Alfred copies with a modifier key. They need no request.
var alfredMods = []struct{ key, form, subtitle string }{
	{"alt", "url", "Copy the address"},
	{"ctrl", output.PNG, "Copy the address of the PNG"},
	{"cmd", "name", "Copy the name"},
}

type alfredItem struct {
	UID      string               `json:"uid,omitempty"`
	Title    string               `json:"title"`
	Subtitle string               `json:"subtitle"`
	Arg      string               `json:"arg,omitempty"`
	Valid    bool                 `json:"valid"`
	Icon     *alfredIcon          `json:"icon,omitempty"`
	Mods     map[string]alfredMod `json:"mods,omitempty"`
}

type alfredIcon struct {
	Path string `json:"path"`
}

type alfredMod struct {
	Arg      string `json:"arg"`
	Subtitle string `json:"subtitle"`
	Valid    bool   `json:"valid"`
}

// Alfred writes the rows for a query as JSON of Alfred's script filters. A failure is a row that
// can't be chosen; the error is only that of a write.
func Alfred(ctx context.Context, cfg Config, query string, out io.Writer) error {
	l := newLauncher(cfg)
	hits, err := l.search(ctx, query, alfredRows)
	items := []alfredItem{}
	switch {
	case errors.Is(err, errShort):
		items = append(items, alfredItem{Title: errShort.Sentence, Subtitle: "The search begins with the second letter."})
	case err != nil:
		items = append(items, alfredItem{Title: sentence(err), Subtitle: "Below are the icons of the last search."})
	case len(hits) == 0:
		items = append(items, alfredItem{Title: "No icon was found", Subtitle: "Try other words."})
	}
	rows := l.pictures(ctx, hits)
	made := make([]alfredItem, len(rows))
	slots := make(chan struct{}, atOnce)
	var group sync.WaitGroup
	for n, r := range rows {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			made[n] = l.alfredItem(ctx, r)
		})
	}
	group.Wait()
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	return e.Encode(map[string]any{"items": append(items, made...)})
}

func (l *launcher) alfredItem(ctx context.Context, r row) alfredItem {
	item := alfredItem{UID: r.ref().String(), Title: r.ref().String(), Subtitle: r.licence() + " · " + r.PackName, Valid: true}
	if r.Picture != "" {
		item.Icon = &alfredIcon{r.Picture}
	}
	var err error
	if item.Arg, err = l.text(ctx, r.Result, l.cfg.InsertAs); err != nil {
		item.Valid, item.Subtitle = false, sentence(err)
	}
	item.Mods = map[string]alfredMod{}
	for _, m := range alfredMods {
		text, err := l.text(ctx, r.Result, m.form)
		item.Mods[m.key] = alfredMod{text, m.subtitle, err == nil}
	}
	return item
}
