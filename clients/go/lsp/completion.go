package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	client "github.com/iconedge/iconedge/clients/go"
	"github.com/iconedge/iconedge/clients/go/output"
	"github.com/iconedge/iconedge/clients/go/pace"
	"github.com/iconedge/iconedge/clients/go/reference"
	"github.com/iconedge/iconedge/icon"
)

const (
	kindValue = 12              // LSP 3.17, CompletionItemKind
	patience  = 2 * time.Second // the longest wait before a search
)

type completionList struct {
	IsIncomplete bool             `json:"isIncomplete"`
	Items        []completionItem `json:"items"`
}

type completionItem struct {
	Label      string    `json:"label"`
	Kind       int       `json:"kind"`
	Detail     string    `json:"detail"`
	SortText   string    `json:"sortText"`
	FilterText string    `json:"filterText"`
	TextEdit   *textEdit `json:"textEdit,omitempty"`
	Data       icon.Ref  `json:"data"`
}

type textEdit struct {
	Range   span   `json:"range"`
	NewText string `json:"newText"`
}

// A finder is the search field of an editor: it paces the searches, and remembers the last hits.
type finder struct {
	gate pace.Gate
	mu   sync.Mutex
	pack string
	hits []icon.Result
}

// search returns the hits for the name that is being typed. After a failure it returns the last
// hits of the same pack with the error.
func (f *finder) search(ctx context.Context, c *client.Client, p reference.Partial, set settings) ([]icon.Result, error) {
	key := p.Pack + " " + p.Typed
	if err := f.gate.Wait(ctx, key, patience); err != nil {
		return f.last(p.Pack), err
	}
	answer, err := c.Search(ctx, client.Query{Text: strings.TrimSuffix(p.Typed, "-"), Limit: icon.MaxLimit,
		Pack: p.Pack, Commercial: set.commercialOnly})
	if e, ok := errors.AsType[*client.Error](err); ok && e.Wait > 0 {
		f.gate.Limited(e.Wait)
	}
	if err != nil {
		return f.last(p.Pack), err
	}
	f.gate.Answered(key)
	hits := client.Hits(answer, set.packs, set.commercialOnly)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pack, f.hits = p.Pack, hits
	return hits, nil
}

func (f *finder) last(pack string) []icon.Result {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.pack != pack {
		return nil
	}
	return f.hits
}

func (s *server) completion(params json.RawMessage) (run, error) {
	d, offset, err := s.at(params)
	if err != nil || d == nil {
		return nil, err
	}
	set := s.settings
	return func(ctx context.Context) (any, error) { return s.complete(ctx, d, offset, set), nil }, nil
}

// complete returns the icons for the reference that is being typed. A failure is no error of the
// request, because editors show those at every key.
func (s *server) complete(ctx context.Context, d *document, offset int, set settings) completionList {
	none := completionList{Items: []completionItem{}}
	start, _ := d.line(d.position(offset).Line)
	if _, maybe := reference.Before(d.text[start:offset], reference.Any); !maybe {
		return s.completeComponent(ctx, d, offset, set)
	}
	packs, err := s.icons.packs(ctx)
	if err != nil {
		s.tell(err)
		return completionList{IsIncomplete: true, Items: []completionItem{}}
	}
	p, ok := reference.Before(d.text[start:offset], packs.has)
	if !ok || len(set.packs) > 0 && !slices.Contains(set.packs, p.Pack) {
		return none
	}
	hits, err := samples(packs.byKey[p.Pack], p.Typed), nil
	if len(strings.TrimSuffix(p.Typed, "-")) >= 2 {
		hits, err = s.icons.finder.search(ctx, s.icons.client, p, set)
	}
	switch {
	case errors.Is(err, pace.ErrTooMany):
		s.tell(&client.Error{Status: 1, Sentence: "There are too many searches at present; go on typing in a few seconds."})
	case err != nil:
		s.tell(err)
	default:
		s.succeeded()
	}
	list := completionList{IsIncomplete: true, Items: []completionItem{}}
	typed := typedReference{Partial: p, document: d, at: d.span(start+p.Start, offset), text: d.text[start+p.Start : offset]}
	for n, h := range hits {
		list.Items = append(list.Items, s.item(typed, h, n, set))
	}
	return list
}

// samples returns the samples of a pack whose names begin with typed, without a request.
func samples(p icon.Pack, typed string) (hits []icon.Result) {
	c := client.CreditOf(p.License, p.Attribution, p.CommercialUse)
	for _, name := range p.Samples {
		if icon.ValidKey(name) && strings.HasPrefix(name, typed) {
			hits = append(hits, icon.Result{Pack: p.Key, Name: name, License: c.License, Attribution: c.Attribution,
				CommercialUse: c.CommercialUse, Monochrome: p.Monochrome && !p.Palette})
		}
	}
	return hits
}

// A typedReference is the beginning of a reference, where the user types.
type typedReference struct {
	reference.Partial
	document *document
	at       span
	text     string
}

// item returns the item of rank n.
func (s *server) item(typed typedReference, h icon.Result, n int, set settings) completionItem {
	ref := icon.Ref{Pack: h.Pack, Name: h.Name}
	label := typed.Prefix + h.Pack + typed.Separator + h.Name
	detail := h.License
	if !h.CommercialUse {
		detail += " (non-commercial)"
	}
	text := label
	if slices.Contains([]string{"url", "css", output.PNG}, set.insertAs) { // need no SVG
		i := output.Icon{Ref: ref, Credit: client.CreditOf(h.License, h.Attribution, h.CommercialUse), Monochrome: h.Monochrome,
			Color: output.ColorOf(h.Color), Recolored: h.Monochrome && set.variant.Color != "", Width: h.Width, Height: h.Height}
		o := output.Options{CDN: s.icons.client.CDN(), Variant: set.variant}
		if made, err := output.Insert(set.insertAs, typed.document.language, i, o, set.credit); err == nil {
			text = made
		}
	}
	return completionItem{Label: label, Kind: kindValue, Detail: detail, SortText: fmt.Sprintf("%02d", n),
		FilterText: typed.text, TextEdit: &textEdit{typed.at, text}, Data: ref}
}

// resolve adds the icon and its credit to an item that the editor highlights.
func (s *server) resolve(params json.RawMessage) (run, error) {
	var item map[string]json.RawMessage
	var data icon.Ref
	if json.Unmarshal(params, &item) != nil || json.Unmarshal(item["data"], &data) != nil {
		return nil, invalid()
	}
	ref, err := icon.ParseRef(data.String())
	if err != nil {
		return nil, invalid()
	}
	variant := s.settings.variant
	return func(ctx context.Context) (any, error) {
		answer, err := s.icons.get(ctx, ref, variant)
		if err != nil {
			s.tell(err)
			return item, nil
		}
		text, err := describe(ref, answer, s.icons.client.CDN(), true)
		if err == nil {
			item["documentation"] = encode(map[string]string{"kind": "markdown", "value": text})
		}
		return item, nil
	}, nil
}
