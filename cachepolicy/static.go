package cachepolicy

import (
	"slices"
	"strings"
)

// static lists the media types of the files of a page, by the ends of their paths. It has no type
// in which applications give answers to one user, such as text/html, application/json or
// application/pdf: their content shows nothing about the end of the path. The package mime reads
// its table from files of the machine, so that two edges could decide differently.
var static = map[string][]string{}

func init() {
	script := []string{"text/javascript", "application/javascript", "application/x-javascript", "application/ecmascript", "text/ecmascript"}
	font := []string{"font/*", "application/font-woff", "application/font-woff2", "application/x-font-woff",
		"application/x-font-ttf", "application/x-font-truetype",
		"application/x-font-otf", "application/x-font-opentype", "application/font-sfnt", "application/vnd.ms-fontobject"}
	for ends, types := range map[string][]string{
		"css":    {"text/css"},
		"js mjs": script,
		"wasm":   {"application/wasm"},
		"png apng jpg jpeg jpe jfif gif webp avif heic heif svg svgz ico cur bmp tif tiff jxl jp2": {"image/*"},
		"woff woff2 ttf otf eot":                 font,
		"mp4 m4v webm mov ogv avi mkv mpg mpeg":  {"video/*"},
		"mp3 m4a aac ogg oga opus wav flac weba": {"audio/*", "video/ogg", "application/ogg"},
	} {
		for end := range strings.FieldsSeq(ends) {
			static[end] = types
		}
	}
}

// StaticTypes returns the media types that belong to the end of a path, such as text/css or
// image/*; nil: no type does. The path is as a client sent it, and nothing is decoded: a path that
// needs it has no end.
func StaticTypes(path string) []string {
	name := path[strings.LastIndexByte(path, '/')+1:]
	at := strings.LastIndexByte(name, '.')
	if at < 0 {
		return nil
	}
	return static[lower(name[at+1:])]
}

// Belongs reports whether a Content-Type belongs to the end of a path, as text/css does to .css.
func Belongs(contentType, path string) bool {
	kind, _, _ := strings.Cut(contentType, ";")
	group, sub, ok := strings.Cut(lower(trim(kind)), "/")
	if !ok || !isToken(group) || !isToken(sub) {
		return false
	}
	types := StaticTypes(path)
	return slices.Contains(types, group+"/"+sub) || slices.Contains(types, group+"/*")
}
