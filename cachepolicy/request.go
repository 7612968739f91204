package cachepolicy

// A Request is what of a request counts for storing its answer, and for what its answer makes invalid.
type Request struct {
	Method     string
	Target     string     // path and query
	Host       string     // the authority that the client asked; may be empty
	Directives Directives // ParseRequest's; zero on routes where a client's have no say
	Authorized bool       // it had Authorization
	Cookie     bool       // it had Cookie
	Policy     Policy     // that its route follows
}

// ParseRequest reads what a request says to caches: Cache-Control, or Pragma: no-cache where it has no Cache-Control at all
// (RFC 9111, section 5.4). In a request no-cache takes no fields: it is about the whole answer, whatever its argument.
func ParseRequest(cacheControl, pragma []string) Directives {
	if len(cacheControl) == 0 {
		d := ParseCacheControl(pragma...)
		return Directives{NoCache: d.NoCache || len(d.NoCacheFields) > 0}
	}
	d := ParseCacheControl(cacheControl...)
	d.NoCache, d.NoCacheFields = d.NoCache || len(d.NoCacheFields) > 0, nil
	return d
}
