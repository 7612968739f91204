package cachepolicy

// A Request has the parts of a request that decide whether its response is stored, reused or
// shared, and which targets its response invalidates.
type Request struct {
	Method     string
	Target     string     // path and query
	Host       string     // the authority that the client requested; may be empty
	Directives Directives // of ParseRequest; zero on routes that ignore the client's directives
	Authorized bool       // the request has Authorization
	Cookie     bool       // the request has Cookie
	// CookieKeyed: all of its cookies are in the cache key.
	CookieKeyed bool
	// Scripted lists the fields of the request by which frameworks change responses although their
	// Vary may not say so, in the form of http.CanonicalHeaderKey. A response is only stored if its
	// Vary names them all. Fields that are in the cache key are not listed.
	Scripted []string
	// ContentKeyed: the content of the request is in the cache key, as that of a QUERY must be (RFC
	// 10008, section 2.7). The method counts as safe, and as cacheable as GET.
	ContentKeyed bool
	Policy       Policy // the policy of the request's route
}

// ParseRequest returns the cache directives of a request: those of Cache-Control, or no-cache from
// Pragma if it has no Cache-Control at all (RFC 9111, section 5.4). In a request no-cache applies
// to the whole response, whatever its argument.
func ParseRequest(cacheControl, pragma []string) Directives {
	if len(cacheControl) == 0 {
		d := ParseCacheControl(pragma...)
		return Directives{NoCache: d.NoCache || len(d.NoCacheFields) > 0}
	}
	d := ParseCacheControl(cacheControl...)
	d.NoCache, d.NoCacheFields = d.NoCache || len(d.NoCacheFields) > 0, nil
	return d
}
