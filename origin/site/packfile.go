package site

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/internal/problem"
	"github.com/iconedge/iconedge/origin/bag"
	"github.com/iconedge/iconedge/origin/bundle"
	"github.com/iconedge/iconedge/origin/catalog"
)

// A Stream is the body of a page that is too large for the memory.
type Stream struct {
	Tag  string // the entity tag without quotation marks; it is known before the body is made
	Open func() *bundle.File
}

// A packFile is a link to an archive of a pack.
type packFile struct{ Path, File, Label string }

// kindLabels say what the archives of packs contain.
var kindLabels = map[bag.Kind]string{bag.SVGs: "SVG", bag.React: "React", bag.Symbol: "Sprite"}

// Files returns the links to the archives of a pack.
func (v packView) Files() (list []packFile) {
	for _, kind := range bag.Kinds {
		path := "/-/pack/" + v.Pack.Key + "/" + string(kind) + ".zip"
		list = append(list, packFile{path, archiveName(v.Pack.Key, kind), kindLabels[kind]})
	}
	return list
}

// archiveName returns the name under which browsers save an archive of a pack.
func archiveName(pack string, kind bag.Kind) string { return pack + "-" + string(kind) + ".zip" }

// packArchive answers with an archive of all icons that the page of a pack shows.
func (s *Site) packArchive(ctx context.Context, q *Request) (*Page, error) {
	name, isZip := strings.CutSuffix(q.File, ".zip")
	kind := bag.Kind(name)
	if !isZip || !slices.Contains(bag.Kinds, kind) {
		return nil, problem.NotFound("there is no such archive of a pack: there are svg.zip, react.zip and sprite.zip")
	}
	p, err := packOf(ctx, q)
	if err != nil {
		return nil, err
	}
	tag, err := s.archiveTag(p, kind)
	if err != nil {
		return nil, err
	}
	return &Page{
		Status: http.StatusOK, MediaType: "application/zip", CacheControl: pagesCached, Keys: pagesKey + " pack/" + p.Key,
		Header: [][2]string{{"Content-Disposition", `attachment; filename="` + archiveName(p.Key, kind) + `"`}},
		Stream: &Stream{tag, func() *bundle.File {
			q.Release.Hold() // the archive is made to its end, also if the client leaves
			return s.bundles.Open(tag, bundle.Source{
				Write: func(w io.Writer) error {
					whole, err := s.whole(q.Release, p)
					if err != nil {
						return err
					}
					return whole.Write(w, kind)
				},
				Done: q.Release.Done,
			})
		}},
	}, nil
}

// archiveTag returns the entity tag of an archive: it changes with the icons, with what the archive
// says about the pack, and with the program.
func (s *Site) archiveTag(p *catalog.Pack, kind bag.Kind) (string, error) {
	about, err := json.Marshal(p.Pack)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{s.version, string(kind), p.Content(), string(about)}, "\x00")))
	return hex.EncodeToString(sum[:16]), nil
}

// whole returns a pack with its icons. The caller holds the release until it has written them.
func (s *Site) whole(r *catalog.Release, p *catalog.Pack) (bag.Whole, error) {
	icons, err := s.lists.icons(context.Background(), r, p)
	return bag.Whole{Pack: p.Pack, Count: len(icons), Icons: func(yield func(bag.Item, error) bool) {
		for _, i := range icons {
			ic, err := r.Icon(context.Background(), icon.Ref{Pack: p.Key, Name: i.name})
			var item bag.Item
			if err == nil {
				item, err = itemOf(ic)
			}
			if !yield(item, err) || err != nil {
				return
			}
		}
	}}, err
}

// itemOf reads an icon for an archive.
func itemOf(ic catalog.Icon) (item bag.Item, err error) {
	member, err := ic.Member()
	if err != nil {
		return item, err
	}
	item = bag.Item{Ref: ic.Ref, Pack: ic.Pack.Pack, Deflated: member.Deflated()}
	item.SVG, err = member.Inflate()
	return item, err
}
