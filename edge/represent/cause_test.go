package represent

import "testing"

// A request is foreign if a page of another site caused it, or one of another host may have. Of a
// response that all clients share, hosts of the same site get codings too.
func TestForeign(t *testing.T) {
	type of uint8 // responses for which a request is foreign
	const (
		never  of = iota
		forOne    // those for one client
		always
	)
	for _, row := range []struct {
		name  string
		cause Cause
		want  of
	}{
		{"typed in", Cause{}, never},
		{"by a bookmark", Cause{FetchSite: "none"}, never},
		{"by a page of the host", Cause{FetchSite: "same-origin", Origin: "https://edge.test", Referer: "https://edge.test/a"}, never},
		{"by the host in other letters", Cause{Referer: "https://EDGE.test/a?b#c"}, never},
		{"by the host with its port", Cause{Origin: "https://edge.test:443"}, never},
		{"by another site", Cause{FetchSite: "cross-site"}, always},
		{"by another site, which hides its page", Cause{FetchSite: "cross-site", Referer: ""}, always},
		{"by another host of the site", Cause{FetchSite: "same-site", Referer: "https://www.edge.test/"}, forOne},
		{"by another host of the site, without Referer", Cause{FetchSite: "same-site"}, forOne},
		{"by another origin", Cause{Origin: "https://evil.test"}, always},
		{"by a page without an origin", Cause{Origin: "null"}, always},
		{"by another page", Cause{Referer: "https://evil.test/edge.test"}, always},
		{"by another port", Cause{Referer: "http://edge.test:8080/"}, always},
		{"by a page with the host in its query", Cause{Referer: "https://evil.test?https://edge.test/"}, always},
		{"by a page with the host as its user", Cause{Referer: "https://edge.test@evil.test/"}, always},
		{"by an application", Cause{Referer: "android-app://com.example/"}, always},
		{"by something else", Cause{Referer: "about:blank"}, always},
	} {
		if got := row.cause.IsForeign("edge.test", false); got != (row.want >= forOne) {
			t.Errorf("%s: %v", row.name, got)
		}
		if got := row.cause.IsForeign("edge.test", true); got != (row.want == always) {
			t.Errorf("%s, of a response for all: %v", row.name, got)
		}
	}
}
