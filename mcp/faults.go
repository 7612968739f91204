package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"mime"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/problem"
)

// unreachable explains a missing response as far as the caller can act on it.
func unreachable(err error) error {
	var slow net.Error
	if errors.Is(err, context.DeadlineExceeded) || errors.As(err, &slow) && slow.Timeout() {
		return &refusal{"The icon service did not answer in time; try again.", err}
	}
	return &refusal{"The icon service could not be reached; check ICONEDGE_API, or try again later.", err}
}

// fault turns a response that is not 200 into a refusal. It repeats only names of icons and packs
// from the body.
func (u *upstream) fault(resp *http.Response, body []byte, what string) error {
	switch resp.StatusCode {
	case http.StatusNotFound:
		return refusef("%s was not found.%s", what, suggestions(resp, body))
	case http.StatusTooManyRequests:
		return refusef("The icon service's rate limit is reached; retry %s.", wait(resp.Header))
	case http.StatusUnauthorized, http.StatusForbidden:
		return refusef("The icon service did not accept the license token in ICONEDGE_LICENSE_TOKEN.")
	case http.StatusBadRequest:
		return refusef("The icon service does not take these arguments; change them.")
	}
	return refusef("The icon service failed with status %d; try again later.", resp.StatusCode)
}

// wait returns the time of Retry-After as a phrase (RFC 9110, section 10.2.3).
func wait(h http.Header) string {
	if seconds, err := strconv.ParseUint(h.Get("Retry-After"), 10, 16); err == nil && seconds > 0 {
		return "in " + strconv.FormatUint(seconds, 10) + " seconds"
	}
	return "in a minute"
}

// suggestions lists the similar names of a problem (RFC 9457, section 3.2); it ignores strings that
// are not names.
func suggestions(resp *http.Response, body []byte) string {
	var p problem.Problem
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if kind != problem.ContentType || json.Unmarshal(body, &p) != nil {
		return ""
	}
	names := slices.DeleteFunc(p.Suggestions, func(s string) bool {
		pack, name, both := strings.Cut(s, "/")
		return !icon.ValidKey(pack) || both && !icon.ValidKey(name)
	})
	if len(names) == 0 {
		return ""
	}
	return " Close names: " + strings.Join(names[:min(len(names), 5)], ", ") + "."
}
