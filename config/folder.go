package config

import (
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
)

// precompressed are the values of precompressed.
var precompressed = []string{"br", "gz", "zst"}

// folder checks an origin that is a folder. Whether the folder exists is checked where the file is
// compiled.
func (d *decoder) folder(path string, o Origin) {
	if !filepath.IsAbs(o.Dir) {
		d.wrong(path+".dir", fmt.Sprintf("%q is no absolute path; must be one, such as /srv/www", clip(o.Dir)))
	}
	if !reflect.DeepEqual(o, Origin{Folder: o.Folder}) {
		d.wrong(path, "has dir and keys of servers; must have dir with index, fallback, listing and precompressed, or urls")
	}
	for i, name := range o.Index {
		if !plainSegment(name) {
			d.wrong(fmt.Sprintf("%s.index[%d]", path, i),
				fmt.Sprintf("%q is no name of a file; must be one, such as index.html", clip(name)))
		}
	}
	if rest, ok := strings.CutPrefix(o.Fallback, "/"); o.Fallback != "" && (!ok || !plainPath(rest)) {
		d.wrong(path+".fallback", fmt.Sprintf("%q is no path of a file in the folder; must be one, such as /index.html", clip(o.Fallback)))
	}
	for i, end := range o.Precompressed {
		if !slices.Contains(precompressed, end) {
			d.wrong(fmt.Sprintf("%s.precompressed[%d]", path, i), fmt.Sprintf("%q is unknown%s", clip(end), nearest(end, precompressed)))
		}
	}
}

// plainPath reports whether each segment of a path is plain.
func plainPath(s string) bool {
	return !slices.ContainsFunc(strings.Split(s, "/"), func(segment string) bool { return !plainSegment(segment) })
}

// plainSegment reports whether s can be the name of a file that clients may read.
func plainSegment(s string) bool {
	return s != "" && s[0] != '.' && clean(s) && !strings.ContainsAny(s, `/\`)
}
