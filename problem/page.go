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
<form class="filters" role="search" action="/search"><label for="q">Search icons</label> <input id="q" type="search" name="q" maxlength="200"> <button type="submit">Search</button></form>
</header>
<main>
<h1>{{.Title}}</h1>
<p>{{.Sentence}}.</p>
<p><a href="/">Home</a> · <a href="/packs">All packs</a></p>
</main>
</body>
</html>
`))

// Page returns the answer as an HTML page, for a person with a browser. It needs no other file:
// where the style sheet of the site is missing, because the origin is down, the page is plain.
func (p *Problem) Page() []byte {
	var b bytes.Buffer
	if err := page.Execute(&b, p); err != nil { // texts into memory: can't happen
		panic(err)
	}
	return b.Bytes()
}

// Sentence returns the detail with a capital, as pages show it.
func (p *Problem) Sentence() string {
	first, size := utf8.DecodeRuneInString(p.Detail)
	return string(unicode.ToUpper(first)) + p.Detail[size:]
}

// WantsPage reports whether a client with that Accept field asks for a page, as browsers do when a
// person opens an address. A client that takes anything gets the problem as JSON.
func WantsPage(accept string) bool {
	for media := range strings.SplitSeq(accept, ",") {
		kind, parameters, _ := strings.Cut(media, ";")
		if !strings.EqualFold(strings.TrimSpace(kind), "text/html") {
			continue
		}
		weight, given := strings.CutPrefix(strings.TrimSpace(parameters), "q=")
		q, err := strconv.ParseFloat(weight, 32)
		return !given || err != nil || q > 0
	}
	return false
}
