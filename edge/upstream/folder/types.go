package folder

import (
	"path"
	"strings"
)

// types are the media types by the ends of names. The package mime reads files of the machine, so
// that two edges could send different types.
var types = map[string]string{}

const (
	textPlain = "text/plain"
	bytesType = "application/octet-stream" // of every other file
)

func init() {
	for of, ends := range map[string]string{
		"text/html": "html htm", "text/css": "css", "text/javascript": "js mjs", "text/csv": "csv",
		textPlain:       "txt text log conf ini md yaml yml toml asc sig sh py go rs c h java ts tsx jsx",
		"text/calendar": "ics", "text/vcard": "vcf", "text/vtt": "vtt", "text/xml": "xml xsl",
		"application/json": "json map", "application/ld+json": "jsonld", "application/geo+json": "geojson",
		"application/manifest+json": "webmanifest", "application/atom+xml": "atom", "application/rss+xml": "rss",
		"application/xhtml+xml": "xhtml", "application/wasm": "wasm", "application/pdf": "pdf", "application/rtf": "rtf",
		"application/zip": "zip", "application/gzip": "gz tgz", "application/x-bzip2": "bz2", "application/x-xz": "xz txz",
		"application/zstd": "zst", "application/x-tar": "tar", "application/x-7z-compressed": "7z", "application/vnd.rar": "rar",
		"application/java-archive": "jar war", "application/vnd.android.package-archive": "apk",
		"application/vnd.debian.binary-package": "deb", "application/x-rpm": "rpm", "application/epub+zip": "epub",
		"application/msword": "doc", "application/vnd.ms-excel": "xls", "application/vnd.ms-powerpoint": "ppt",
		"application/vnd.openxmlformats-officedocument.wordprocessingml.document":   "docx",
		"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet":         "xlsx",
		"application/vnd.openxmlformats-officedocument.presentationml.presentation": "pptx",
		"application/vnd.oasis.opendocument.text":                                   "odt",
		"application/vnd.oasis.opendocument.spreadsheet":                            "ods",
		"application/vnd.apple.mpegurl":                                             "m3u8", "application/dash+xml": "mpd",
		"image/png": "png", "image/apng": "apng", "image/jpeg": "jpg jpeg jfif", "image/gif": "gif", "image/webp": "webp",
		"image/avif": "avif", "image/heic": "heic", "image/svg+xml": "svg", "image/x-icon": "ico", "image/bmp": "bmp",
		"image/tiff": "tif tiff", "image/jxl": "jxl", "font/woff": "woff", "font/woff2": "woff2", "font/ttf": "ttf",
		"font/otf": "otf", "application/vnd.ms-fontobject": "eot", "video/mp4": "mp4 m4v", "video/webm": "webm",
		"video/quicktime": "mov", "video/ogg": "ogv", "video/mp2t": "m2ts", "video/x-msvideo": "avi",
		"video/x-matroska": "mkv", "video/mpeg": "mpg mpeg", "video/iso.segment": "m4s", "audio/mpeg": "mp3",
		"audio/mp4": "m4a", "audio/aac": "aac", "audio/ogg": "ogg oga opus", "audio/wav": "wav", "audio/flac": "flac",
		"audio/webm": "weba", "audio/midi": "mid midi", "model/gltf-binary": "glb", "model/gltf+json": "gltf",
	} {
		if strings.HasPrefix(of, "text/") || of == "application/json" {
			of += "; charset=utf-8"
		}
		for end := range strings.FieldsSeq(ends) {
			types[end] = of
		}
	}
}

// typeOf returns the media type of a file.
func typeOf(name string) string {
	if of := types[strings.ToLower(strings.TrimPrefix(path.Ext(name), "."))]; of != "" {
		return of
	}
	return bytesType
}

// isText reports whether a body of a media type may become shorter in a content coding.
func isText(of string) bool {
	return strings.HasPrefix(of, "text/") || strings.Contains(of, "json") || strings.Contains(of, "xml") || of == "application/wasm"
}
