// Package frameworks lists the request fields that web frameworks read for themselves, and decides
// what an edge does with them. It has the only list; docs/reference/caching.md is made from it.
//
// Such a field changes the response, or the meaning of the request, and is part of no cache key. A
// client that sends one could make the edge store a response that others get.
package frameworks

import (
	"net/http"
	"slices"
	"strings"
)

// A Field is a request field that a framework reads. Only the end of a name may be an asterisk.
type Field struct {
	Name      string
	Framework string
	Versions  string // that read it, as far as they are known
	Effect    string
	Source    string // URL or file that says so
	// OfScripts: scripts in browsers send it. Otherwise only a front end or the framework does.
	OfScripts bool
}

const (
	nextFilter  = "https://github.com/vercel/next.js/blob/canary/packages/next/src/server/lib/server-ipc/internal-headers.ts"
	nextScripts = "https://github.com/vercel/next.js/blob/canary/packages/next/src/client/components/app-router-headers.ts"
	nextConst   = "https://github.com/vercel/next.js/blob/canary/packages/next/src/lib/constants.ts"
	nextRouter  = "https://github.com/vercel/next.js/blob/v15.2.3/packages/next/src/shared/lib/router/router.ts"
	nextServer  = "https://github.com/vercel/next.js/blob/v13.5.6/packages/next/src/server/base-server.ts"
	astroVercel = "https://github.com/withastro/astro/blob/main/packages/integrations/vercel/src/index.ts"
	kit         = "https://github.com/sveltejs/kit/blob/main/packages/kit/src/runtime/server/respond.js"
	aspNet      = "https://learn.microsoft.com/en-us/aspnet/core/host-and-deploy/iis/web-config"
)

// Fields has all fields: first those that are dropped, then those of scripts.
var Fields = []Field{
	{"X-Middleware-Subrequest", "Next.js", "11.1.4 to 15.2.2", "skips middleware, and with it authorisation",
		"https://github.com/advisories/GHSA-f82v-jwr5-mffw", false},
	{"X-Middleware-Subrequest-Id", "Next.js", "15.2.3 and later",
		"proves that X-Middleware-Subrequest is Next.js's own", "https://github.com/advisories/GHSA-223j-4rm8-mrmf", false},
	{"X-Middleware-Invoke", "Next.js", "13 and 14", "runs middleware alone", nextServer, false},
	{"X-Middleware-Rewrite", "Next.js", "12 and later", "a decision of middleware: another path", nextFilter, false},
	{"X-Middleware-Redirect", "Next.js", "12 and later", "a decision of middleware: a redirect", nextFilter, false},
	{"X-Middleware-Next", "Next.js", "12 and later", "a decision of middleware: go on", nextFilter, false},
	{"X-Middleware-Skip", "Next.js", "12 and later", "a decision of middleware: an empty response", nextFilter, false},
	{"X-Middleware-Set-Cookie", "Next.js", "13 and later", "cookies of middleware", nextFilter, false},
	{"X-Middleware-Override-Headers", "Next.js", "13 and later", "replaces the fields of the request", nextFilter, false},
	{"X-Middleware-Request-*", "Next.js", "13 and later", "the values of replaced fields", nextFilter, false},
	{"X-Invoke-Path", "Next.js", "13 and 14", "renders another path", nextServer, false},
	{"X-Invoke-Query", "Next.js", "13 and 14", "replaces the query", nextServer, false},
	{"X-Invoke-Output", "Next.js", "13 and 14", "renders another page", nextServer, false},
	{"X-Invoke-Status", "Next.js", "13 and 14", "renders an error page with this status", nextServer, false},
	{"X-Invoke-Error", "Next.js", "13 and 14", "renders an error page with this error", nextServer, false},
	{"X-Now-Route-Matches", "Next.js on Vercel", "9 and later",
		"replaces the parameters of the path, and makes pages look static", "https://github.com/advisories/GHSA-qpjv-v59x-3qc4", false},
	{"X-Matched-Path", "Next.js on Vercel", "9 and later", "replaces the path", nextFilter, false},
	{"X-Next-Resume-State-Length", "Next.js", "16", "the state of a page that is rendered in two parts", nextFilter, false},
	{"Next-Resume", "Next.js", "15 and later", "renders the dynamic part of a page alone", nextFilter, false},
	{"X-Prerender-Revalidate", "Next.js", "12 and later", "renders a static page again, with the secret of the build", nextConst, false},
	{"X-Prerender-Revalidate-If-Generated", "Next.js", "12 and later", "as X-Prerender-Revalidate, for known pages", nextConst, false},
	{"X-Next-Revalidated-Tags", "Next.js", "13 and later", "marks stored data as stale", nextConst, false},
	{"X-Next-Revalidate-Tag-Token", "Next.js", "13 and later", "the secret for X-Next-Revalidated-Tags", nextConst, false},
	{"X-Vercel-IP-*", "Next.js and others on Vercel", "12 to 14, and @vercel/functions",
		"the country and city of the client", "https://vercel.com/docs/headers/request-headers", false},
	{"X-Vercel-Forwarded-For", "frameworks on Vercel", "all", "the address of the client",
		"https://vercel.com/docs/headers/request-headers", false},
	{"X-NF-Client-Connection-IP", "frameworks on Netlify", "all", "the address of the client",
		"https://docs.netlify.com/build/functions/api/", false},
	{"X-React-Router-SPA-Mode", "React Router", "7.2.0 to 7.5.1", "a page without its data, or an error",
		"https://github.com/advisories/GHSA-f46r-rw29-r322", false},
	{"X-React-Router-Prerender-Data", "React Router", "7.0 to 7.5.1", "replaces the data of a page",
		"https://github.com/advisories/GHSA-cpj6-fhp6-mr6j", false},
	{"X-Remix-Response", "Remix, React Router", "2 and later", "marks responses for the scripts of the framework",
		"https://github.com/remix-run/react-router/blob/main/packages/react-router/lib/server-runtime/single-fetch.ts", false},
	{"X-Nuxt-No-SSR", "Nuxt", "3 and later", "an empty page without its content",
		"https://github.com/nuxt/nuxt/blob/main/packages/nitro-server/src/runtime/middleware/no-ssr.ts", false},
	{"X-Sveltekit-Error", "SvelteKit", "1 and later", "a bare error page, as while an error page fails",
		"https://github.com/sveltejs/kit/blob/main/packages/kit/src/runtime/server/page/respond_with_error.js", false},
	{"X-Astro-Path", "Astro on Vercel", "@astrojs/vercel before 10.0.2", "replaces the path",
		"https://github.com/advisories/GHSA-mr6q-rp88-fx84", false},
	{"X-Astro-Locals", "Astro on Vercel and Netlify", "all", "replaces what middleware has decided", astroVercel, false},
	{"X-Astro-Middleware-Secret", "Astro on Vercel and Netlify", "all", "proves that X-Astro-Locals is Astro's own", astroVercel, false},
	{"X-Sendfile-Type", "Rack (Rails), Symfony, Laravel", "Rack before 2.2.20, 3.1.18 and 3.2.3",
		"a path in place of a file", "https://github.com/advisories/GHSA-r657-rxjc-j557", false},
	{"X-Accel-Mapping", "Rack (Rails), Symfony, Laravel", "Rack before 2.2.20, 3.1.18 and 3.2.3",
		"the path that is sent in place of a file", "https://github.com/advisories/GHSA-r657-rxjc-j557", false},
	{"X-PHP-Ob-Level", "Symfony", "2.3 and later", "ends buffers of output",
		"https://github.com/symfony/symfony/blob/7.3/src/Symfony/Component/HttpKernel/HttpKernel.php", false},
	{"MS-ASPNETCORE-*", "ASP.NET Core behind IIS", "all", "the user, the certificate and the events of IIS", aspNet, false},
	{"X-ARR-ClientCert", "ASP.NET Core on Azure", "all", "the certificate of the client",
		"https://learn.microsoft.com/en-us/azure/app-service/app-service-web-configure-tls-mutual-auth", false},

	{"RSC", "Next.js, React Router", "13 and later", "the data of a page in place of the page", nextScripts, true},
	{"Next-Router-*", "Next.js", "13 and later", "a part of that data", nextScripts, true},
	{"Next-URL", "Next.js", "13 and later", "which page an intercepted path is shown in", nextScripts, true},
	{"Next-Action", "Next.js", "13 and later", "calls a function of the server", nextScripts, true},
	{"Next-HMR-Refresh", "Next.js", "15 and later", "fresh data, while developing", nextScripts, true},
	{"X-Nextjs-Data", "Next.js", "12 and later", "JSON in place of a redirect or a page", nextRouter, true},
	{"X-Middleware-Prefetch", "Next.js", "12 and later", "empty JSON, without the data of a page", nextRouter, true},
	{"RSC-Action-ID", "React Router", "7.7 and later", "calls a function of the server",
		"https://github.com/remix-run/react-router/blob/main/packages/react-router/lib/rsc/server.rsc.ts", true},
	{"X-Sveltekit-Pathname", "SvelteKit", "2.27 and later", "the page that a remote function is called from", kit, true},
	{"X-Sveltekit-Search", "SvelteKit", "2.27 and later", "the query of that page", kit, true},
	{"X-Sveltekit-Action", "SvelteKit", "1 and later", "JSON in place of a page, after a form",
		"https://github.com/sveltejs/kit/blob/main/packages/kit/src/runtime/server/endpoint.js", true},
	{"X-Inertia", "Inertia (Laravel, Rails, Django)", "all", "JSON in place of a page", "https://inertiajs.com/the-protocol", true},
	{"X-Inertia-*", "Inertia (Laravel, Rails, Django)", "all", "a part of that JSON", "https://inertiajs.com/the-protocol", true},
	{"X-Livewire", "Livewire (Laravel)", "2 and later", "a component in place of a page",
		"https://github.com/livewire/livewire/blob/main/src/Mechanisms/HandleRequests/HandleRequests.php", true},
	{"X-Livewire-*", "Livewire (Laravel)", "3 and later", "a page for a navigation by script",
		"https://github.com/livewire/livewire/blob/main/js/plugins/navigate/fetch.js", true},
	{"X-Requested-With", "Rails, Django, Laravel, Symfony, ASP.NET and many more", "all",
		"a fragment or JSON in place of a page; asked for as request.xhr?, ajax() or isXmlHttpRequest()",
		"https://api.jquery.com/jQuery.ajax/", true},
	{"Turbo-Frame", "Turbo (Rails)", "7 and later", "a frame in place of a page", "https://turbo.hotwired.dev/reference/frames", true},
	{"Turbolinks-Referrer", "Turbolinks (Rails)", "5", "a script in place of a redirect", "https://github.com/turbolinks/turbolinks", true},
	{"X-PJAX", "PJAX (Rails, Yii, Django)", "all", "a fragment in place of a page", "https://github.com/defunkt/jquery-pjax", true},
	{"X-PJAX-*", "PJAX (Rails, Yii, Django)", "all", "which fragment", "https://github.com/defunkt/jquery-pjax", true},
	{"HX-*", "htmx", "all", "a fragment in place of a page", "https://htmx.org/reference/#request_headers", true},
	{"X-Up-*", "Unpoly", "all", "a fragment in place of a page", "https://unpoly.com/up.protocol", true},
	{"X-Alpine-*", "Alpine AJAX", "all", "a fragment in place of a page", "https://alpine-ajax.js.org/reference/", true},
	{"Datastar-Request", "Datastar", "1", "events in place of a page", "https://data-star.dev/reference/actions", true},
	{"X-WP-Nonce", "WordPress", "4.4 and later", "data of the logged-in user",
		"https://developer.wordpress.org/rest-api/using-the-rest-api/authentication/", true},
	{"X-CSRF-Token", "SAP Gateway, Drupal, Rails", "all", "with the value fetch, a token in the response",
		"https://help.sap.com/docs/ABAP_PLATFORM_NEW/68bf513362174d54b58cddec28794093/b35c22518bc72214e10000000a44176d.html", true},
	{"Trpc-Accept", "tRPC", "11", "a stream of JSON in place of JSON", "https://trpc.io/docs/client/links/httpBatchStreamLink", true},
	{"Faces-Request", "Jakarta Faces", "2 and later", "a part of a page as XML", "https://jakarta.ee/specifications/faces/4.0/", true},
	{"Wicket-Ajax", "Apache Wicket", "all", "a part of a page as XML",
		"https://github.com/apache/wicket/blob/master/wicket-core/src/main/java/org/apache/wicket/ajax/res/js/wicket-ajax-jquery.js", true},
	{"Wicket-Ajax-*", "Apache Wicket", "all", "the address of that page",
		"https://github.com/apache/wicket/blob/master/wicket-core/src/main/java/org/apache/wicket/ajax/res/js/wicket-ajax-jquery.js", true},
	{"X-MicrosoftAjax", "ASP.NET Web Forms", "3.5 and later", "a part of a page",
		"https://learn.microsoft.com/en-us/previous-versions/aspnet/bb386454(v=vs.100)", true},
}

// A set finds fields by their names in the form of http.CanonicalHeaderKey.
type set struct {
	names    map[string]bool
	prefixes []string
}

func setOf(ofScripts bool) (s set) {
	s.names = map[string]bool{}
	for _, f := range Fields {
		if f.OfScripts != ofScripts {
			continue
		}
		name := http.CanonicalHeaderKey(f.Name)
		if stem, ok := strings.CutSuffix(name, "*"); ok {
			s.prefixes = append(s.prefixes, stem)
			continue
		}
		s.names[name] = true
	}
	return s
}

func (s *set) has(name string) bool {
	return s.names[name] || slices.ContainsFunc(s.prefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}

var internal, scripts = setOf(false), setOf(true)

// Internal reports whether only a front end or a framework itself sets a field, so that a client
// has no reason to. The name is in the form of http.CanonicalHeaderKey.
func Internal(name string) bool { return internal.has(name) }

// OfScripts reports whether scripts in browsers set a field. The name is as for Internal.
func OfScripts(name string) bool { return scripts.has(name) }
