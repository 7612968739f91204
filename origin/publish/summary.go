package publish

import (
	"fmt"
	"io"
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
	Uploads            int // archives and index that the store did not have
	UploadedBytes      int64

	Changes  Changes
	LeftOut  []LeftOut
	Skipped  []string // keys of packs that have no icons
	Pruned   []string // ids of deleted releases
	Warnings []string
}

// LeftOut is an icon or alias of a source that is not in the release.
type LeftOut struct {
	Pack string
	release.Omission
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
		if k.unchanged {
			s.TakenOver++
		} else {
			s.Built++
		}
		for _, o := range k.entry.LeftOut {
			s.LeftOut = append(s.LeftOut, LeftOut{k.entry.Pack.Key, o})
		}
	}
}

// Write writes the summary for people to read: first every icon that was left out, with its reason,
// then the changes, then the figures.
func (s *Summary) Write(w io.Writer) error {
	var b strings.Builder
	for _, l := range s.LeftOut {
		fmt.Fprintf(&b, "left out %s/%s: %s\n", l.Pack, l.Name, l.Reason)
	}
	for _, key := range s.Skipped {
		fmt.Fprintf(&b, "skipped %s: it has no icons\n", key)
	}
	for _, warning := range s.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", warning)
	}
	s.Changes.write(&b)
	fmt.Fprintf(&b, "packs     %s, and %s hidden\n", grouped(s.Packs), grouped(s.HiddenPacks))
	fmt.Fprintf(&b, "icons     %s visible; in all %s, and %s aliases\n", grouped(s.VisibleIcons), grouped(s.Icons), grouped(s.Aliases))
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
