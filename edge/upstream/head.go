package upstream

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// checkHead refuses responses that net/http accepts but no origin may send: with another protocol
// version (HTTP/9.9), with a status outside of 200 to 999 (such as an unexpected 101), a 206 or 416
// without a Range or a partNumber and a 304 without a condition in the request, and with a field
// name that is no token or a value with control characters.
func checkHead(resp *http.Response, req *http.Request, http2 bool) error {
	if err := checkStatus(resp, req, http2); err != nil {
		return err
	}
	return checkFields(resp)
}

// checkStatus is the part of checkHead that concerns the status.
func checkStatus(resp *http.Response, req *http.Request, http2 bool) error {
	switch status := resp.StatusCode; {
	case !http2 && (resp.ProtoMajor != 1 || resp.ProtoMinor > 1):
		return fmt.Errorf("%w: not HTTP/1", ErrResponse)
	case status == http.StatusSwitchingProtocols && switches(resp, req):
	case status < 200 || status > 999:
		return fmt.Errorf("%w: status %d", ErrResponse, status)
	case (status == http.StatusPartialContent || status == http.StatusRequestedRangeNotSatisfiable) &&
		req.Header.Get("Range") == "" && !byPart(req.URL):
		return fmt.Errorf("%w: %d without a Range", ErrResponse, status)
	case status == http.StatusNotModified && !conditional(req.Header):
		return fmt.Errorf("%w: 304 without a condition", ErrResponse)
	}
	return nil
}

// checkFields reports a field that is malformed.
func checkFields(resp *http.Response) error {
	for name, lines := range resp.Header {
		if !httpguts.ValidHeaderFieldName(name) {
			return fmt.Errorf("%w: a field name is not a token", ErrResponse)
		}
		if !cleanLines(lines) {
			return fmt.Errorf("%w: a control character in %s", ErrResponse, name)
		}
	}
	return nil
}

// byPart reports whether a request asks for a part of an object by its number, as S3 clients do.
// The response is a 206 or 416, which is never stored.
func byPart(u *url.URL) bool {
	for parameter := range strings.SplitSeq(u.RawQuery, "&") {
		if number, ok := strings.CutPrefix(parameter, "partNumber="); ok && number != "" {
			return true
		}
	}
	return false
}

func conditional(h http.Header) bool {
	return h.Get("If-None-Match") != "" || h.Get("If-Modified-Since") != ""
}

// cleanLines reports whether a field's values have no control characters other than tabs (RFC 9110,
// section 5.5).
func cleanLines(lines []string) bool {
	return !slices.ContainsFunc(lines, func(s string) bool { return !httpguts.ValidHeaderFieldValue(s) })
}
