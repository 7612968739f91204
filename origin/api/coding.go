package api

import (
	"net/http"
	"strconv"
	"strings"
)

// gzipWanted reports whether to choose gzip over identity (RFC 9110, section 12.5.3): it is
// acceptable, and identity does not have a higher weight. A client that accepts neither gets
// identity, because a 406 would help it less.
func gzipWanted(h http.Header) bool {
	gzip, identity, other := -1.0, -1.0, -1.0
	for _, line := range h.Values("Accept-Encoding") {
		for item := range strings.SplitSeq(line, ",") {
			coding, q := weighted(item)
			switch coding {
			case "gzip", "x-gzip": // section 8.4.1.3
				gzip = max(gzip, q)
			case "identity":
				identity = q
			case "*":
				other = q
			}
		}
	}
	if gzip < 0 {
		gzip = other
	}
	return gzip > 0 && gzip >= identity
}

// weighted reads "coding;q=0.5" (section 12.4.2). An invalid weight counts as 0, so that the client
// does not get a coding that it may not want.
func weighted(item string) (coding string, q float64) {
	coding, params, _ := strings.Cut(item, ";")
	coding = strings.ToLower(strings.TrimSpace(coding))
	name, value, given := strings.Cut(strings.TrimSpace(params), "=")
	if params == "" {
		return coding, 1
	}
	q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	if !given || !strings.EqualFold(strings.TrimSpace(name), "q") || err != nil || !(q >= 0 && q <= 1) {
		return coding, 0
	}
	return coding, q
}
