package problem

import (
	"bytes"
	"html/template"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// PagePolicy is the Content-Security-Policy of a page that Page makes: it loads a style sheet.
const PagePolicy = "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

var page = template.Must(template.New("problem").Parse(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<meta name="color-scheme" content="light dark">
<title>{{.Title}}</title>
<link rel="stylesheet" href="/-/site/style.css">
</head>
<body>
<header class="bar">
<form class="filters" role="search" action="/search"><label for="q">Search icons</label> <input id="q" type="search" name="q" value="{{.Words}}" maxlength="200"> <button type="submit">Search</button></form>
</header>
<main>
<h1>{{.Title}}</h1>
<p>{{.Sentence}}.</p>
<p><a href="/">Home</a> · <a href="/packs">All packs</a></p>
</main>
</body>
</html>
`))

// Page returns the answer as an HTML page, for a person with a browser, with words in its search.
// It needs no other file: where the style sheet of the site is missing, because the origin is down,
// the page is plain.
func (p *Problem) Page(words string) []byte {
	var b bytes.Buffer
	if err := page.Execute(&b, struct {
		*Problem
		Words string
	}{p, words}); err != nil { // texts into memory: can't happen
		panic(err)
	}
	return b.Bytes()
}

// Sentence returns the detail with a capital, as pages show it.
func (p *Problem) Sentence() string {
	first, size := utf8.DecodeRuneInString(p.Detail)
	return string(unicode.ToUpper(first)) + p.Detail[size:]
}

// VaryOfPages is the Vary of answers of which a browser gets a page where a person opens the
// address.
const VaryOfPages = "Accept, Sec-Fetch-Dest"

// Navigates reports whether a request with these fields is that of a browser in which a person
// opens the address. An image, a frame or a script that loads it is none.
func Navigates(accept, dest string) bool {
	return (dest == "" || dest == "document") && WantsPage(accept)
}

// WantsPage reports whether a client with that Accept field prefers a page, as browsers do when a
// person opens an address. A client that takes anything gets the problem as JSON, and so does one
// that prefers another kind.
func WantsPage(accept string) bool {
	page, other := 0.0, 0.0
	for media := range strings.SplitSeq(accept, ",") {
		kind, parameters, _ := strings.Cut(media, ";")
		q := weight(parameters)
		if strings.EqualFold(strings.TrimSpace(kind), "text/html") {
			page = max(page, q)
		} else {
			other = max(other, q)
		}
	}
	return page > 0 && page >= other
}

// weight returns the q of a media range; 1, if it has none (RFC 9110, section 12.4.2).
func weight(parameters string) float64 {
	for p := range strings.SplitSeq(parameters, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(p), "=")
		if !strings.EqualFold(name, "q") {
			continue
		}
		if q, err := strconv.ParseFloat(value, 64); err == nil && q >= 0 && q <= 1 {
			return q
		}
		return 0 // malformed
	}
	return 1
}
