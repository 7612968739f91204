package publish

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/iconedge/iconedge/icon/license"
	"github.com/iconedge/iconedge/icon/spelling"
)

const (
	packageFileName = "package.json"
	maxLicenceFile  = 1 << 20 // bytes that are read of a file with a licence
)

// descriptionOf returns the description of a pack: its pack.json, or else the draft that Init makes
// of its package.json. Without either, the description is missing.
func descriptionOf(t *tree, dir string) (about info, err error) {
	from := path.Join(dir, packFileName)
	var raw json.RawMessage
	switch err := readJSON(t, from, &raw); {
	case err == nil:
		if err := json.Unmarshal(raw, &about); err != nil {
			return about, fmt.Errorf("%w: %s: %w", ErrSource, t.fullPath(from), err)
		}
		about.raw, about.key, about.from = compactObject(raw), about.Key, t.fullPath(from)
		return about, nil
	case !errors.Is(err, os.ErrNotExist):
		return about, err
	}
	if !exists(t, path.Join(dir, packageFileName)) {
		return info{from: t.fullPath(from), missing: true}, nil
	}
	d, err := draftOf(t, dir)
	if err != nil {
		return about, err
	}
	if err := json.Unmarshal(d.Content, &about); err != nil {
		return about, fmt.Errorf("%w: %s: %w", ErrSource, t.fullPath(path.Join(dir, packageFileName)), err)
	}
	about.raw = compactObject(d.Content)
	about.key, about.from = d.key, t.fullPath(path.Join(dir, packageFileName))
	return about, nil
}

// A packageFile is a package.json of npm, as far as it describes icons. Its authors write some
// members in several forms.
type packageFile struct {
	Name         string          `json:"name"`
	Version      string          `json:"version"`
	Author       json.RawMessage `json:"author"`
	Contributors json.RawMessage `json:"contributors"`
	Maintainers  json.RawMessage `json:"maintainers"`
	License      json.RawMessage `json:"license"`
	Licence      json.RawMessage `json:"licence"`
	Licenses     json.RawMessage `json:"licenses"`
	Homepage     json.RawMessage `json:"homepage"`
}

// A draft is a pack.json with the facts that a folder's own files state.
type draft struct {
	Content []byte
	Review  []string // points that the operator has to check or to add

	key string // of the pack, from the name of the package; "" without a package.json
}

// draftOf makes the draft for a folder, from its package.json and its file with the licence.
func draftOf(t *tree, dir string) (*draft, error) {
	var p packageFile
	from := path.Join(dir, packageFileName)
	if exists(t, from) {
		if err := readJSON(t, from, &p); err != nil {
			return nil, err
		}
	}
	d := &draft{key: packageKey(p.Name)}
	text := licenceText(t, dir)
	spdx := p.license()
	if spdx == "" && p.leavesLicense() {
		spdx = license.Detect(text)
	}
	if spdx == "" {
		d.Review = append(d.Review, "license: neither package.json nor a LICENSE file names one that is known; "+
			"set it to an SPDX identifier such as MIT, or to LicenseRef-NAME for one of your own")
	}
	who := p.person()
	if who.Name == "" {
		if who.Name = copyrightHolder(text); who.Name != "" {
			d.Review = append(d.Review, "author: it is the holder of the copyright in the LICENSE file")
		} else {
			d.Review = append(d.Review, "author: neither package.json nor a LICENSE file names one")
		}
	}
	name := title(p.Name)
	if _, base, _ := strings.Cut(p.Name, "/"); base != "" && d.key == spelling.Mend(base) {
		name = title(base)
	}
	if name == "" {
		name = title(folderName(t, dir))
		d.Review = append(d.Review, "name: it is that of the folder")
	}
	var err error
	d.Content, err = json.MarshalIndent(struct {
		Key     string `json:"key,omitempty"`
		Name    string `json:"name"`
		Author  author `json:"author"`
		License string `json:"license"`
		Version string `json:"version,omitempty"`
	}{d.key, name, who, spdx, line(p.Version)}, "", "  ")
	return d, err
}

// license returns the licence of a package as an SPDX identifier or expression; "" if package.json
// has none.
func (p *packageFile) license() string {
	return cmp.Or(licencesIn(p.License), licencesIn(p.Licence), licencesIn(p.Licenses))
}

// leavesLicense reports whether package.json leaves it to a file with the licence to say which it
// is. A licence that it names, and that is not known, may not be the only one in that file.
func (p *packageFile) leavesLicense() bool {
	var named string
	for _, raw := range []json.RawMessage{p.License, p.Licence, p.Licenses} {
		if len(raw) > 0 && (json.Unmarshal(raw, &named) != nil || !strings.HasPrefix(strings.ToUpper(named), "SEE LICENSE")) {
			return false
		}
	}
	return true
}

// licencesIn returns the licence of one member, which may be a list. A list does not say whether
// the user may choose, so all of them count.
func licencesIn(raw json.RawMessage) string {
	var several []json.RawMessage
	if json.Unmarshal(raw, &several) != nil {
		return licenceIn(raw)
	}
	var all []string
	for _, one := range several {
		id := licenceIn(one)
		if id == "" {
			return ""
		}
		all = append(all, id)
	}
	return strings.Join(all, " AND ")
}

// licenceIn returns the licence of one member: a string, or an object of earlier versions of npm.
func licenceIn(raw json.RawMessage) string {
	var id string
	if json.Unmarshal(raw, &id) != nil {
		var object struct{ Type, Name string }
		if json.Unmarshal(raw, &object) != nil {
			return ""
		}
		id = cmp.Or(object.Type, object.Name)
	}
	return license.Identify(line(id))
}

// person returns the author of a package, or else its first contributor or maintainer.
func (p *packageFile) person() author {
	page := ""
	_ = json.Unmarshal(p.Homepage, &page) // some packages have an object there
	for _, raw := range []json.RawMessage{p.Author, p.Contributors, p.Maintainers} {
		var one author
		var several []author
		if json.Unmarshal(raw, &several) == nil && len(several) > 0 {
			one = several[0]
		} else if len(raw) == 0 || json.Unmarshal(raw, &one) != nil {
			continue
		}
		if one.Name = line(one.Name); one.Name != "" {
			return author{one.Name, cmp.Or(webAddress(one.URL), webAddress(page))}
		}
	}
	return author{URL: webAddress(page)}
}

// licenceFile matches the names of files with a licence.
var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|unlicense)([._-].*)?$`)

// licenceText returns the beginning of the file with the licence; "" if there is none.
func licenceText(t *tree, dir string) string {
	entries, err := t.ReadDir(dir)
	if err != nil {
		return ""
	}
	for _, e := range entries {
		if !licenceFile.MatchString(e.Name()) {
			continue
		}
		file, err := t.Open(path.Join(dir, e.Name()))
		if err != nil {
			continue
		}
		text := make([]byte, maxLicenceFile)
		n, _ := io.ReadFull(file, text) // a folder has no text
		file.Close()
		if n > 0 {
			return strings.ToValidUTF8(string(text[:n]), " ")
		}
	}
	return ""
}

var copyright = regexp.MustCompile(`(?im)^[ \t/*#-]*copyright[ \t]+(?:(?:\(c\)|©|&copy;)[ \t]*)?` +
	`(?:[0-9][0-9, \t–-]*(?:present)?[ \t,]*)?(?:by[ \t]+)?(\S[^\r\n]*)$`)

// noHolder matches the words after copyright where the text of a licence names no holder.
var noHolder = regexp.MustCompile(`^(notice|licen[cs]e|owner|holder|law|interest)|[\[\]{}]| (is|are) held by `)

// copyrightHolder returns the first holder of the copyright that a licence names; "" if it names
// none.
func copyrightHolder(text string) string {
	for _, m := range copyright.FindAllStringSubmatch(text, 8) {
		name, _, _ := strings.Cut(m[1], "<")
		name, _, _ = strings.Cut(name, "(http")
		name, _, _ = strings.Cut(name, "All rights reserved")
		name = strings.Trim(line(name), " .,")
		const longest = 80 // else it is a sentence
		if name != "" && len(name) <= longest && !noHolder.MatchString(name) {
			return name
		}
	}
	return ""
}

// madeOf has words for the content of a package, which do not tell one set of icons from another.
var madeOf = []string{"icon", "icons", "svg", "svgs", "core", "static", "assets", "package", "js", "font", "fonts", "lib"}

// packageKey returns the key of the pack in an npm package: the name without its scope, or the
// scope if each word of the name is in madeOf, because it names no author. lucide-static is
// lucide-static, @tabler/icons is tabler, @primer/octicons is octicons.
func packageKey(name string) string {
	scope, base, scoped := strings.Cut(strings.TrimPrefix(name, "@"), "/")
	if !scoped {
		return spelling.Mend(name)
	}
	key := spelling.Mend(base)
	for word := range strings.SplitSeq(key, "-") {
		if !slices.Contains(madeOf, word) {
			return key
		}
	}
	return cmp.Or(spelling.Mend(scope), key)
}

// withName returns a description with another name of the pack.
func withName(raw json.RawMessage, name string) json.RawMessage {
	members := map[string]json.RawMessage{}
	if json.Unmarshal(raw, &members) != nil {
		return raw
	}
	members["name"], _ = json.Marshal(name) // a string
	b, err := json.Marshal(members)
	if err != nil {
		return raw
	}
	return b
}
