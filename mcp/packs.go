package mcp

import (
	"context"
	"fmt"
	"strings"

	client "github.com/iconedge/iconedge/clients/go"
	"github.com/iconedge/iconedge/icon"
)

type listed struct {
	Total       int          `json:"total"`
	Packs       []listedPack `json:"packs"`
	NextCursor  string       `json:"nextCursor,omitempty"`
	License     string       `json:"license"`
	Attribution string       `json:"attribution"`
}

type listedPack struct {
	Pack  string `json:"pack"`
	Name  string `json:"name"`
	Count int    `json:"count"`
	client.Credit
}

// packsPage is the number of characters on one page of packs, text and structured form together.
// With its envelope a page stays below maxContent. The real library fits on one page.
const packsPage = maxContent - 1000

func listPacks(l *library, args arguments) (func(context.Context) (result, error), error) {
	after, given, err := args.text("cursor")
	if err != nil || given && !icon.ValidKey(after) {
		return nil, refusef("cursor must be the nextCursor of an earlier result; omit it to start from the beginning.")
	}
	return func(ctx context.Context) (result, error) {
		a, err := l.client.Packs(ctx)
		if err != nil {
			return result{}, err
		}
		list, words := page(a.Packs, after)
		return result{texts: []string{words}, structured: list}, nil
	}, nil
}

// page lists packs after the one that the cursor names, as many as fit.
func page(packs []icon.Pack, after string) (listed, string) {
	list := listed{Total: len(packs), Packs: []listedPack{}, License: eachPack, Attribution: eachPack}
	var b strings.Builder
	fmt.Fprintf(&b, "%d icon packs, each with its license and attribution:\n", len(packs))
	size := 0
	for i, p := range from(packs, after) {
		one := listedPack{p.Key, client.Line(p.Name), p.Count, client.CreditOf(p.License, p.Attribution, p.CommercialUse)}
		words := fmt.Sprintf("- %s (%d icons): %s\n", p.Key, p.Count, one.Credit)
		if size += len(words) + len(marshal(one)) + 1; i > 0 && size > packsPage {
			list.NextCursor = list.Packs[len(list.Packs)-1].Pack
			fmt.Fprintf(&b, "There are more: call again with cursor %s.\n", list.NextCursor)
			break
		}
		list.Packs = append(list.Packs, one)
		b.WriteString(words)
	}
	return list, b.String()
}

const eachPack = "see each pack"

// from returns the packs that follow a pack; if that pack no longer exists, it returns all packs.
func from(packs []icon.Pack, after string) []icon.Pack {
	for i, p := range packs {
		if p.Key == after {
			return packs[i+1:]
		}
	}
	return packs
}

type packInfo struct {
	Pack       string          `json:"pack"`
	Name       string          `json:"name"`
	Count      int             `json:"count"`
	Categories []icon.Category `json:"categories"`
	Samples    []string        `json:"samples"`
	Monochrome bool            `json:"monochrome"`
	client.Credit
	LicenseTitle string `json:"license_title"`
	LicenseURL   string `json:"license_url"`
	Author       string `json:"author"`
	AuthorURL    string `json:"author_url"`
	Version      string `json:"version"`
}

func getPack(l *library, args arguments) (func(context.Context) (result, error), error) {
	key, err := args.key("pack", "lucide")
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (result, error) {
		a, err := l.client.Pack(ctx, key)
		if err != nil {
			return result{}, err
		}
		p := packInfo{a.Pack.Key, client.Line(a.Name), a.Count, append([]icon.Category{}, a.Categories...),
			append([]string{}, a.Samples...), a.Monochrome,
			client.CreditOf(a.License, a.Attribution, a.CommercialUse), client.Line(a.LicenseTitle),
			client.Line(a.LicenseURL), client.Line(a.Author), client.Line(a.AuthorURL), client.Line(a.Version)}
		return result{texts: []string{p.words()}, structured: p}, nil
	}, nil
}

func (p packInfo) words() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s), %d icons, version %s, by %s %s\n%s\nLicense text: %s %s\n", p.Pack, p.Name, p.Count,
		orUnknown(p.Version), orUnknown(p.Author), p.AuthorURL,
		p.Credit, p.LicenseTitle, p.LicenseURL)
	if p.Monochrome {
		b.WriteString("Every icon can be colored.\n")
	}
	if len(p.Samples) > 0 {
		b.WriteString("Samples: " + client.Line(strings.Join(p.Samples, ", ")) + "\n")
	}
	if len(p.Categories) > 0 {
		b.WriteString("Categories:")
		for _, c := range p.Categories {
			fmt.Fprintf(&b, " %s (%d);", client.Line(c.Name), c.Count)
		}
	}
	return b.String()
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}
