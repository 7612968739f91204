package publish

import (
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/icon/license"
)

// An info describes a pack: IconifyInfo of @iconify/types, and a pack.json.
type info struct {
	Name     string   `json:"name"`
	Author   author   `json:"author"`
	License  licence  `json:"license"`
	Version  string   `json:"version"`
	Category string   `json:"category"`
	Samples  []string `json:"samples"`
	Height   heights  `json:"height"`
	Palette  palette  `json:"palette"`
	Hidden   bool     `json:"hidden"`
	Key      string   `json:"key,omitempty"`     // of the pack; "": the name of its folder
	Folders  string   `json:"folders,omitempty"` // one of Layouts

	raw   json.RawMessage // the whole description as in its source
	order int             // position among all packs of the sources

	key     string // of the pack
	from    string // the file that this was read from, for messages
	missing bool   // the file does not exist
}

// ErrNoPackFile means that a folder of SVG files has no description. It wraps ErrNoLicense, because
// publish could add the licence to no response.
var ErrNoPackFile = fmt.Errorf("%w: a folder has no %s", ErrNoLicense, packFileName)

// PackFileExample is a whole description of a pack.
const PackFileExample = `{
  "name": "Our icons",
  "author": "Ada Lovelace (https://example.org)",
  "license": "MIT"
}
`

// An author is an object, or a string as in package.json: "Ada Lovelace <ada@example.org>
// (https://example.org)".
type author struct {
	Name string `json:"name"`
	URL  string `json:"url"`
}

func (a *author) UnmarshalJSON(b []byte) error {
	var person string
	if json.Unmarshal(b, &person) != nil {
		type object author
		return json.Unmarshal(b, (*object)(a))
	}
	name, rest, _ := strings.Cut(person, "(")
	a.URL, _, _ = strings.Cut(rest, ")")
	name, _, _ = strings.Cut(name, "<")
	a.Name = strings.TrimSpace(name)
	return nil
}

// A licence is an object, or a string with the SPDX identifier.
type licence struct {
	Title string `json:"title"`
	SPDX  string `json:"spdx"`
	URL   string `json:"url"`
}

func (l *licence) UnmarshalJSON(b []byte) error {
	if json.Unmarshal(b, &l.SPDX) == nil {
		return nil
	}
	type object licence
	return json.Unmarshal(b, (*object)(l))
}

// heights is a number or a list of numbers in JSON.
type heights []float64

func (h *heights) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '[' {
		return json.Unmarshal(b, (*[]float64)(h))
	}
	var one float64
	if err := json.Unmarshal(b, &one); err != nil {
		return err
	}
	if one != 0 {
		*h = heights{one}
	}
	return nil
}

// check returns an error for an invalid key, and for a missing or invalid licence.
func (in *info) check() error {
	if err := validKey(in.key, in.from); err != nil {
		return err
	}
	if in.missing {
		return fmt.Errorf("%w: the pack %s needs the file %s; %s", ErrNoPackFile, in.key, in.from, adviseInit(filepath.Dir(in.from)))
	}
	if strings.TrimSpace(in.License.SPDX) == "" {
		if filepath.Base(in.from) == packageFileName {
			return fmt.Errorf("%w: of the pack %s: %s names none that is known; %s, in which you set \"license\"", ErrNoLicense, in.key,
				in.from, adviseInit(filepath.Dir(in.from)))
		}
		return fmt.Errorf("%w: of the pack %s: set \"license\" in %s to an SPDX identifier such as MIT", ErrNoLicense, in.key, in.from)
	}
	if !license.Valid(in.License.SPDX) {
		return fmt.Errorf("%w: of the pack %s: the license in %s is not an SPDX identifier such as MIT, or an expression such as "+
			"(CC-BY-4.0 AND MIT)", ErrNoLicense, in.key, in.from)
	}
	return nil
}

// pack returns the description of the pack, without the fields that its icons determine.
func (in *info) pack() icon.Pack {
	p := icon.Pack{
		Key:        in.key,
		Name:       line(in.Name),
		Author:     line(in.Author.Name),
		AuthorURL:  webAddress(in.Author.URL),
		Version:    line(in.Version),
		Category:   line(in.Category),
		Categories: []icon.Category{},
		Samples:    []string{},
		Height:     []float64{},
	}
	if p.Name == "" {
		p.Name = in.key
	}
	for _, h := range in.Height {
		if h > 0 {
			p.Height = append(p.Height, h)
		}
	}
	slices.Sort(p.Height)
	p.Height = slices.Compact(p.Height)
	id := in.License.SPDX
	p.SetLicense(icon.License{SPDX: id, Title: licenseTitle(id, line(in.License.Title)), URL: licenseURL(id, webAddress(in.License.URL))})
	return p
}

// webAddress returns s as a URL for a Link field (RFC 8288), or "" if it is not an http or https
// URL.
func webAddress(s string) string {
	u, err := url.Parse(strings.TrimSpace(s))
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return ""
	}
	var b strings.Builder
	for _, c := range []byte(u.String()) { // which leaves a query as it is
		if c <= ' ' || c >= 0x7f || c == '<' || c == '>' || c == '"' {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// line returns s as one line of printable characters.
func line(s string) string {
	return strings.Join(strings.FieldsFunc(strings.ToValidUTF8(s, "\uFFFD"), func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsGraphic(r)
	}), " ")
}

// printable returns s, quoted if it has characters that could control a terminal. Names of files
// may have any.
func printable(s string) string {
	if utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return s
	}
	return strconv.QuoteToASCII(s)
}
