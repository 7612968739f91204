package mcp

import (
	"context"
	"fmt"
	"strings"

	client "github.com/iconedge/iconedge/clients/go"
	"github.com/iconedge/iconedge/icon"
)

type searched struct {
	Query       string   `json:"query"`
	Total       int      `json:"total"`
	Results     []hit    `json:"results"`
	Suggestions []string `json:"suggestions"`
	License     string   `json:"license"`
	Attribution string   `json:"attribution"`
}

type hit struct {
	Pack string `json:"pack"`
	Name string `json:"name"`
	client.Credit
	Monochrome bool        `json:"monochrome"`
	Color      *icon.Color `json:"color,omitempty"`
}

const eachResult = "see each result"

func searchIcons(l *library, args arguments) (func(context.Context) (result, error), error) {
	query, err := args.query()
	if err != nil {
		return nil, err
	}
	limit, err := args.whole("limit", icon.DefaultLimit, icon.MaxLimit)
	if err != nil {
		return nil, err
	}
	pack := ""
	if _, given := args["pack"]; given {
		if pack, err = args.key("pack", "lucide"); err != nil {
			return nil, err
		}
	}
	return func(ctx context.Context) (result, error) {
		a, err := l.client.Search(ctx, client.Query{Text: query, Limit: limit, Pack: pack})
		if err != nil {
			return result{}, err
		}
		found := searchedOf(a, query, limit)
		return result{texts: []string{found.words()}, structured: found}, nil
	}, nil
}

func searchedOf(a *icon.SearchAnswer, query string, limit int) searched {
	s := searched{Query: query, Total: a.Total, Results: []hit{}, Suggestions: append([]string{}, a.Suggestions...),
		License: eachResult, Attribution: eachResult}
	for _, r := range a.Results[:min(limit, len(a.Results))] {
		credit := client.CreditOf(r.License, r.Attribution, r.CommercialUse)
		s.Results = append(s.Results, hit{r.Pack, r.Name, credit, r.Monochrome, r.Color})
	}
	return s
}

// words names every hit, then the credit of each pack.
func (s searched) words() string {
	var b, credits strings.Builder
	if len(s.Results) == 0 {
		b.WriteString("No icons found; nothing to license. Try other words, or leave the pack out.")
		if len(s.Suggestions) > 0 {
			b.WriteString(" Near: " + client.Line(strings.Join(s.Suggestions, ", ")) + ".")
		}
		return b.String()
	}
	fmt.Fprintf(&b, "%d of %d icons, best first:\n", len(s.Results), max(s.Total, len(s.Results)))
	said := map[string]bool{}
	for _, r := range s.Results {
		fmt.Fprintf(&b, "- %s/%s\n", client.Line(r.Pack), client.Line(r.Name))
		if !said[r.Pack] {
			said[r.Pack] = true
			fmt.Fprintf(&credits, "- %s: %s\n", client.Line(r.Pack), r.Credit)
		}
	}
	return b.String() + "License and attribution, by pack:\n" + credits.String()
}
