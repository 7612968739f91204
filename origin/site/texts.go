package site

import (
	"context"
	"encoding/xml"
	"strings"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/internal/problem"
)

// robots keeps crawlers out of archives, and of the pages whose number has no end. It names the
// sitemap of packs, and that of the documents, which is not part of the former because a pack may
// be called docs.
func (s *Site) robots(context.Context, *Request) (*Page, error) {
	return s.text("text/plain; charset=utf-8",
		"User-agent: *\nDisallow: /search\nDisallow: /bag\nDisallow: /-/bag\nDisallow: /-/pack\n\nSitemap: "+s.site+
			"/sitemap.xml\nSitemap: "+s.site+"/docs/sitemap.xml\n"), nil
}

func (s *Site) opensearch(context.Context, *Request) (*Page, error) {
	return s.text("application/opensearchdescription+xml",
		xml.Header+`<OpenSearchDescription xmlns="http://a9.com/-/spec/opensearch/1.1/">`+
			`<ShortName>iconedge</ShortName><Description>Search open-source icons</Description><InputEncoding>UTF-8</InputEncoding>`+
			`<Image width="16" height="16" type="image/svg+xml">`+escape(s.site)+`/favicon.svg</Image>`+
			`<Image width="16" height="16" type="image/x-icon">`+escape(s.site)+`/favicon.ico</Image>`+
			`<Url type="text/html" template="`+escape(s.site)+`/search?q={searchTerms}"/></OpenSearchDescription>`+"\n"), nil
}

// escape returns s as text of an XML document.
func escape(s string) string {
	var b strings.Builder
	xml.EscapeText(&b, []byte(s)) // a write into memory can't fail
	return b.String()
}

const sitemapSpace = ` xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">`

// sitemap lists the sitemaps of all packs.
func (s *Site) sitemap(_ context.Context, q *Request) (*Page, error) {
	var b strings.Builder
	b.WriteString(xml.Header + "<sitemapindex" + sitemapSpace + "\n")
	for _, p := range visiblePacks(q.Release) {
		b.WriteString("<sitemap><loc>" + escape(s.site+"/sitemap/"+p.Key+".xml") + "</loc></sitemap>\n")
	}
	b.WriteString("</sitemapindex>\n")
	page := s.text("application/xml", b.String())
	page.Keys += " " + icon.LibraryKey
	return page, nil
}

// packSitemap lists the pages of a pack and its icons, without aliases.
func (s *Site) packSitemap(ctx context.Context, q *Request) (*Page, error) {
	key, ok := strings.CutSuffix(q.File, ".xml")
	p, known := q.Release.Pack(key)
	switch {
	case q.Release.IsWithdrawn(key):
		return nil, problem.Withdrawn()
	case !ok || !known || p.Hidden:
		return nil, problem.NotFound("there is no sitemap of such a pack")
	}
	icons, err := p.Open(ctx)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	b.WriteString(xml.Header + "<urlset" + sitemapSpace + "\n")
	add := func(path string) { b.WriteString("<url><loc>" + escape(s.site+path) + "</loc></url>\n") }
	add("/pack/" + key)
	for m := range icons.Icons {
		if !m.Hidden && m.AliasOf == "" {
			add("/icon/" + key + "/" + m.Name)
		}
	}
	b.WriteString("</urlset>\n")
	page := s.text("application/xml", b.String())
	page.Keys += " " + icon.LibraryKey + " pack/" + key
	return page, nil
}
