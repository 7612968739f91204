package folder

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"html/template"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/upstream"
)

// maxListed is the number of names in the page of a folder.
const maxListed = 10_000

// An item is a file or a folder in the page of a folder.
type item struct {
	Name string // with a slash, if it is a folder
	Link string
	Size string
	Time string
}

var page = template.Must(template.New("").Parse(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>{{.Title}}</title>
<style>
body { font: 1rem/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem }
table { border-collapse: collapse; width: 100% }
th { text-align: left }
td { padding: .1rem .5rem .1rem 0; overflow-wrap: anywhere }
td + td, th + th { text-align: right; white-space: nowrap }
</style>
</head>
<body>
<h1>{{.Title}}</h1>
<table>
<tr><th>Name</th><th>Bytes</th><th>Changed (UTC)</th></tr>
{{if .Above}}<tr><td><a href="../">../</a></td><td></td><td></td></tr>
{{end}}{{range .Items}}<tr><td><a href="{{.Link}}">{{.Name}}</a></td><td>{{.Size}}</td><td>{{.Time}}</td></tr>
{{end}}</table>
{{if .More}}<p>There are more names than this page has.</p>
{{end}}</body>
</html>
`))

// list returns the page of a folder: its names without those that no client may read.
func (f *Folder) list(r *upstream.Request, root *os.Root, name string) (*upstream.Response, error) {
	items, more, err := readItems(root, name)
	if err != nil {
		got, err := failed(err)
		if err != nil || got.kind != forbidden {
			return refusal(r, notFound()), err
		}
		return refusal(r, unreadableFile()), nil
	}
	title := "/"
	if name != "." {
		title += name + "/"
	}
	var b bytes.Buffer
	err = page.Execute(&b, map[string]any{"Title": title, "Above": name != ".", "Items": items, "More": more})
	if err != nil {
		return nil, &unreadable{err}
	}
	sum := sha256.Sum256(b.Bytes())
	etag := `"` + hex.EncodeToString(sum[:12]) + `"`
	a := newResponse(http.StatusOK)
	a.Header.Set("Content-Type", typeOf("x.html"))
	a.Header.Set("Etag", etag)
	if cachepolicy.NotModified(etag, time.Time{}, strings.Join(r.Header["If-None-Match"], ", "), "") {
		a.Status = http.StatusNotModified
		return a, nil
	}
	a.Header.Set("Content-Length", strconv.Itoa(b.Len()))
	if r.Method != http.MethodHead {
		a.Body, a.Length = upstream.Received(b.Bytes()), int64(b.Len())
	}
	return a, nil
}

// readItems returns the names of a folder, folders first. more says that there are others.
func readItems(root *os.Root, name string) (items []item, more bool, err error) {
	in, err := root.OpenFile(name, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, false, err
	}
	defer in.Close()
	entries, err := in.ReadDir(maxListed + 1)
	if len(entries) == 0 {
		return nil, false, nil // empty, or no longer a folder
	}
	if more = len(entries) > maxListed; more {
		entries = entries[:maxListed]
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	var files []item
	for _, entry := range entries {
		if hidden(entry.Name()) {
			continue
		}
		info, err := root.Stat(path.Join(name, entry.Name())) // follows links within the root
		if err != nil {
			continue
		}
		one := item{Name: entry.Name(), Link: "./" + url.PathEscape(entry.Name()), Time: info.ModTime().UTC().Format(time.DateTime)}
		switch {
		case info.IsDir():
			one.Name, one.Link = one.Name+"/", one.Link+"/"
			items = append(items, one)
		case info.Mode().IsRegular():
			one.Size = strconv.FormatInt(info.Size(), 10)
			files = append(files, one)
		}
	}
	return append(items, files...), more, nil
}
