package bag

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/icon/license"
)

// Licenses returns LICENSES.md: the packs of the items by obligation, then each pack with its
// licence, its credit and its icons.
func Licenses(items []Item) []byte {
	packs, icons := packsOf(items)
	return licenses(len(items), packs, icons)
}

// licenses returns LICENSES.md for so many icons. A pack without names of icons is complete.
func licenses(count int, packs []*icon.Pack, icons map[string][]string) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "# Licences\n\n%s of %s. This page is a summary and no legal advice: the text of each licence "+
		"decides.\n\n## By obligation\n",
		plural(count, "icon"), plural(len(packs), "pack"))
	for o := range license.All().Each {
		group(&b, o.Heading(), o.Text(), slices.DeleteFunc(slices.Clone(packs), func(p *icon.Pack) bool {
			duties, _ := p.Obligations()
			return !duties.Has(o)
		}), o == license.Attribution)
	}
	group(&b, license.NoConditions, license.FreeText, slices.DeleteFunc(slices.Clone(packs), func(p *icon.Pack) bool {
		duties, known := p.Obligations()
		return duties != 0 || !known
	}), false)
	group(&b, license.Unknown, license.UnknownText, slices.DeleteFunc(slices.Clone(packs), func(p *icon.Pack) bool {
		_, known := p.Obligations()
		return known
	}), false)
	b.WriteString("\n## By pack\n")
	for _, p := range packs {
		about(&b, p, icons[p.Key])
	}
	return []byte(b.String())
}

// packsOf returns the packs of the items, and the names of the icons of each.
func packsOf(items []Item) (packs []*icon.Pack, icons map[string][]string) {
	icons = map[string][]string{}
	for _, i := range items {
		if icons[i.Ref.Pack] == nil {
			packs = append(packs, i.Pack)
		}
		icons[i.Ref.Pack] = append(icons[i.Ref.Pack], i.Ref.Name)
	}
	return packs, icons
}

// group writes the section of one obligation, if any pack has it.
func group(b *strings.Builder, title, text string, packs []*icon.Pack, credits bool) {
	if len(packs) == 0 {
		return
	}
	fmt.Fprintf(b, "\n### %s\n\n%s\n\n", title, text)
	for _, p := range packs {
		if credits {
			fmt.Fprintf(b, "- `%s`: %s\n", p.Key, credit(p))
		} else {
			fmt.Fprintf(b, "- `%s`: %s, %s\n", p.Key, escaped(p.Name), escaped(p.License))
		}
	}
}

// about writes the section of a pack.
func about(b *strings.Builder, p *icon.Pack, names []string) {
	fmt.Fprintf(b, "\n### %s (`%s`)\n\n- Licence: %s, %s%s\n- Credit: %s\n", escaped(p.Name), p.Key,
		escaped(p.LicenseTitle), escaped(p.License), link(p.LicenseURL), credit(p))
	if !p.CommercialUse {
		b.WriteString("- Non-commercial: no commercial use\n")
	}
	duties, known := p.Obligations()
	switch {
	case !known:
		b.WriteString("- Obligations: unknown; read the licence\n")
	default:
		fmt.Fprintf(b, "- Obligations: %s\n", duties)
	}
	if len(names) == 0 {
		b.WriteString("- Icons: all of the pack\n")
		return
	}
	b.WriteString("- Icons:")
	for i, name := range names {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(" `" + name + "`")
	}
	b.WriteByte('\n')
}

// credit returns the credit of a pack in Markdown.
func credit(p *icon.Pack) string {
	s := escaped(p.Name)
	if p.Author != "" {
		s += " by " + escaped(p.Author) + link(p.AuthorURL)
	}
	return s + ", " + escaped(p.License) + link(p.LicenseURL)
}

// link returns an address in parentheses; "" if it is no address of the web.
func link(url string) string {
	if !strings.HasPrefix(url, "https://") && !strings.HasPrefix(url, "http://") || strings.ContainsFunc(url, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || r == '<' || r == '>'
	}) {
		return ""
	}
	return " (<" + url + ">)"
}

// escaped returns text that Markdown shows as it is. Names come from publishers.
func escaped(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case strings.ContainsRune("\\`*_[]<>#|~&!", r):
			b.WriteByte('\\')
			b.WriteRune(r)
		case unicode.IsControl(r), r == 0xfffe, r == 0xffff:
			b.WriteByte(' ')
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// plain returns text without control characters, for one line.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == 0x2028 || r == 0x2029 {
			return ' '
		}
		return r
	}, s)
}

func plural(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}
