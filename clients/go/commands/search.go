package commands

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	client "github.com/iconedge/iconedge/clients/go"
	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/internal/cli"
)

const searchHelp = `
Searches icons and prints one line for each, best first: pack/name, licence and name of the pack, with tabs between them. Icons
that may not be used commercially have a fourth column, "non-commercial".

  iconedge search trash can --pack lucide
  iconedge search home | fzf | cut -f1 | xargs iconedge get`

func (s *Set) search(ctx context.Context, std cli.Streams, args []string) error {
	f, cfg := s.flags("search", "WORDS…", searchHelp)
	q := client.Query{}
	f.StringVar(&q.Pack, "pack", "", "`key` of the pack to search in, such as lucide (default all)")
	f.IntVar(&q.Limit, "limit", icon.DefaultLimit, "`number` of icons, 1 to 50")
	f.BoolVar(&q.Commercial, "commercial", false, "only icons that may be used commercially")
	whole := f.Bool("json", false, "print the response of the API")
	if err := parse(f, cfg, std, args); err != nil {
		return err
	}
	q.Text = strings.TrimSpace(strings.Join(f.Args(), " "))
	switch {
	case q.Text == "":
		return cli.Usage("search takes words, such as home")
	case utf8.RuneCountInString(q.Text) > icon.MaxText || !utf8.ValidString(q.Text):
		return cli.Usage(fmt.Sprintf("the words must be UTF-8, and at most %d characters", icon.MaxText))
	case q.Limit < 1 || q.Limit > icon.MaxLimit:
		return cli.Usage(fmt.Sprintf("--limit must be a whole number from 1 to %d", icon.MaxLimit))
	case q.Pack != "" && !icon.ValidKey(q.Pack):
		return cli.Usage("--pack must be the key of a pack, such as lucide")
	}
	c := client.New(*cfg)
	if *whole {
		body, err := c.SearchJSON(ctx, q)
		if err == nil {
			_, err = std.Out.Write(append(bytes.TrimRight(body, "\n"), '\n'))
		}
		return interrupted(ctx, err)
	}
	answer, err := c.Search(ctx, q)
	if err != nil {
		return interrupted(ctx, err)
	}
	return printHits(std, answer)
}

func printHits(std cli.Streams, answer *icon.SearchAnswer) error {
	hits := client.Hits(answer, nil, false)
	if len(hits) == 0 {
		near := ""
		if len(answer.Suggestions) > 0 {
			near = "; try " + client.Line(strings.Join(answer.Suggestions, ", "))
		}
		fmt.Fprintln(std.Err, "no icon was found"+near)
		return nil
	}
	for _, h := range hits {
		line := h.Pack + "/" + h.Name + "\t" + h.License + "\t" + h.PackName
		if !h.CommercialUse {
			line += "\tnon-commercial"
		}
		if _, err := fmt.Fprintln(std.Out, line); err != nil {
			return err
		}
	}
	return nil
}
