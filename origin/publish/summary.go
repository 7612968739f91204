package publish

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/iconedge/iconedge/origin/release"
)

// A Summary is the result of a publication.
type Summary struct {
	Release   string // id of the release
	Unchanged bool   // the release was the current one already
	DryRun    bool   // nothing was written
	Refused   bool   // it needs --allow-removal, so nothing was published

	Packs, HiddenPacks int
	VisibleIcons       int // in visible packs, without aliases, as the API counts them
	Icons, Aliases     int // all, including hidden ones
	Built, TakenOver   int // archives: new ones, and those of the previous release
	Uploads            int // archives, docs, index and sets that the store did not have
	UploadedBytes      int64

	Colors   release.Colors // of all icons
	Looks    []Look         // of the folders of SVG files that were built
	Verbose  bool           // Write names them also without DryRun
	Changes  Changes
	LeftOut  []LeftOut
	Notes    []Note   // how the folders of SVGs became packs
	Failed   Failures // packs that can't be published
	Removed  []Removed
	Skipped  []string // keys of packs that have no icons
	Pruned   []string // ids of deleted releases
	Warnings []string
}

// A Note is one line about a source: its kind, such as "folders", and the text.
type Note struct{ Kind, Text string }

func (p *publication) notef(kind, format string, args ...any) {
	p.sum.Notes = append(p.sum.Notes, Note{kind, fmt.Sprintf(format, args...)})
}

// A Look lists the icons of a pack by the change that publishing makes to their looks.
type Look struct {
	Pack      string
	Recolored []string // drawn in black, which becomes the colour of the text
	Many      []string // of several colours, or kept as they are by the palette of the pack
	Cleaned   []string // the cleaner has removed something that may draw
}

// LeftOut is an icon or alias of a source that is not in the release.
type LeftOut struct {
	Pack string
	release.Omission
}

// Removed is an icon of which the cleaner has removed parts: scripts, references to other files and
// the like. Archives of the previous release are not cleaned again, so their icons are not among
// them.
type Removed struct {
	Pack, Name string
	Parts      []string
}

func (p *publication) summarise(m *release.Manifest, packs []*pack) {
	s := &p.sum
	s.Release, s.DryRun, s.Unchanged = m.ID, p.DryRun, m.ID == p.prev.current.Release
	s.Changes = p.changes(m, packs)
	for _, k := range packs {
		if k.entry.Hidden {
			s.HiddenPacks++
		} else {
			s.Packs++
			s.VisibleIcons += k.entry.Count
		}
		s.Icons += k.entry.Icons
		s.Aliases += k.entry.Aliases
		s.Colors.Add(k.entry.Colors)
		if _, ok := k.source.(*folder); ok && !k.unchanged {
			k.looks.Pack = k.entry.Pack.Key
			s.Looks = append(s.Looks, k.looks)
		}
		if k.unchanged {
			s.TakenOver++
		} else {
			s.Built++
		}
		for _, o := range k.entry.LeftOut {
			s.LeftOut = append(s.LeftOut, LeftOut{k.entry.Pack.Key, o})
		}
		s.Removed = append(s.Removed, k.removed...)
	}
}

// Write writes the summary for people to read: first every icon that was left out, with its reason,
// then the changes, then the figures.
func (s *Summary) Write(w io.Writer) error {
	var b strings.Builder
	for _, l := range s.LeftOut {
		fmt.Fprintf(&b, "left out %s/%s: %s\n", l.Pack, l.Name, l.Reason)
	}
	for _, f := range s.Failed {
		fmt.Fprintf(&b, "failed    %s: %s\n", printable(f.Name), strings.ReplaceAll(f.Err.Error(), "\n", "; "))
	}
	for _, n := range s.Notes {
		fmt.Fprintf(&b, "%-9s %s\n", n.Kind, n.Text)
	}
	s.writeRemoved(&b)
	for _, key := range s.Skipped {
		fmt.Fprintf(&b, "skipped %s: it has no icons\n", key)
	}
	for _, warning := range s.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", warning)
	}
	if s.DryRun || s.Verbose {
		for _, l := range s.Looks {
			l.write(&b)
		}
	}
	s.Changes.write(&b)
	fmt.Fprintf(&b, "packs     %s, and %s hidden\n", grouped(s.Packs), grouped(s.HiddenPacks))
	fmt.Fprintf(&b, "icons     %s visible; in all %s, and %s aliases\n", grouped(s.VisibleIcons), grouped(s.Icons), grouped(s.Aliases))
	c := s.Colors
	fmt.Fprintf(&b, "colours   %s take the colour of the text (%s drawn in black), %s keep one of their own unless asked for another, "+
		"%s multicoloured\n", grouped(c.Text), grouped(c.Recolored), grouped(c.Own), grouped(c.Many))
	if c.Cleaned > 0 {
		fmt.Fprintf(&b, "cleaned   %s changed: something that may draw was removed\n", grouped(c.Cleaned))
	}
	if len(s.LeftOut) > 0 {
		fmt.Fprintf(&b, "left out  %s\n", grouped(len(s.LeftOut)))
	}
	fmt.Fprintf(&b, "archives  %s built, %s unchanged\n", grouped(s.Built), grouped(s.TakenOver))
	verb := "uploaded "
	if s.DryRun {
		verb = "to upload"
	}
	fmt.Fprintf(&b, "%s %s objects, %s\n", verb, grouped(s.Uploads), megabytes(s.UploadedBytes))
	if len(s.Pruned) > 0 {
		fmt.Fprintf(&b, "pruned    %s\n", strings.Join(s.Pruned, " "))
	}
	fmt.Fprintf(&b, "release   %s, %s\n", s.Release, s.verdict())
	_, err := io.WriteString(w, b.String())
	return err
}

func (l *Look) write(b *strings.Builder) {
	for _, list := range []struct {
		what  string
		names []string
	}{{"recoloured", l.Recolored}, {"multicoloured", l.Many}, {"cleaned", l.Cleaned}} {
		if len(list.names) > 0 {
			fmt.Fprintf(b, "%s %s: %s\n", list.what, l.Pack, strings.Join(list.names, " "))
		}
	}
}

// namedRemoved is the number of icons that the summary of a publication names for each kind of
// removed part. A dry run names all.
const namedRemoved = 5

// writeRemoved writes which parts the cleaner has removed, and of which icons.
func (s *Summary) writeRemoved(b *strings.Builder) {
	icons := map[string][]string{}
	for _, r := range s.Removed {
		for _, part := range r.Parts {
			icons[part] = append(icons[part], r.Pack+"/"+r.Name)
		}
	}
	for _, part := range slices.Sorted(maps.Keys(icons)) {
		names, more := icons[part], ""
		if n := len(names) - namedRemoved; n > 0 && !s.DryRun {
			names, more = names[:namedRemoved], fmt.Sprintf(" and %s more", grouped(n))
		}
		fmt.Fprintf(b, "removed %s from %s%s\n", part, strings.Join(names, ", "), more)
	}
}

func (s *Summary) verdict() string {
	switch {
	case s.Unchanged:
		return "unchanged"
	case s.DryRun:
		return "not published (dry run)"
	case s.Refused:
		return "not published"
	}
	return "now current"
}

// grouped writes 390629 as 390,629.
func grouped(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }
