package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/internal/problem"
)

// An Error is a failure that the user can act on. The user sees the sentence; only the log gets
// Err.
type Error struct {
	Sentence string
	Status   int           // of the response; 0: there was none, or it was not valid
	Wait     time.Duration // after a 429: the time until the next request may be made
	Close    []string      // after a 404: similar names of the same pack, or of packs; at most 5
	Err      error
}

func (e *Error) Error() string { return e.Sentence }

func (e *Error) Unwrap() error { return e.Err }

func refusef(format string, args ...any) *Error {
	return &Error{Sentence: fmt.Sprintf(format, args...)}
}

// unreachable explains a missing response as far as the user can act on it.
func unreachable(err error) error {
	var slow net.Error
	if errors.Is(err, context.DeadlineExceeded) || errors.As(err, &slow) && slow.Timeout() {
		return &Error{Sentence: "The icon service did not answer in time; try again.", Err: err}
	}
	return &Error{Sentence: "The icon service could not be reached; check ICONEDGE_API, or try again later.", Err: err}
}

// fault turns a response that is not 200 into an Error. It repeats only names of icons and packs
// from the body.
func fault(resp *http.Response, body []byte, what string) *Error {
	e := &Error{Status: resp.StatusCode}
	switch resp.StatusCode {
	case http.StatusNotFound:
		e.Close = suggestions(resp, body)
		e.Sentence = what + " was not found."
		if len(e.Close) > 0 {
			e.Sentence += " Close names: " + strings.Join(e.Close, ", ") + "."
		}
	case http.StatusGone:
		e.Sentence = what + " is withdrawn: the operator of the icon service no longer offers it."
	case http.StatusTooManyRequests:
		e.Wait = wait(resp.Header)
		e.Sentence = "The icon service's rate limit is reached; retry " + phrase(resp.Header) + "."
	case http.StatusUnauthorized, http.StatusForbidden:
		e.Sentence = "The icon service did not accept the license token; check ICONEDGE_LICENSE_TOKEN or ICONEDGE_LICENSE_TOKEN_FILE."
	case http.StatusUnprocessableEntity:
		e.Sentence = what + " can't be drawn as a picture; use its SVG."
	case http.StatusBadRequest:
		e.Sentence = "The icon service does not take these arguments; change them."
	default:
		e.Sentence = fmt.Sprintf("The icon service failed with status %d; try again later.", resp.StatusCode)
	}
	return e
}

// wait returns the time of Retry-After (RFC 9110, section 10.2.3); without one, a minute, which is
// the window of the service's limits.
func wait(h http.Header) time.Duration {
	if seconds, err := strconv.ParseUint(h.Get("Retry-After"), 10, 32); err == nil && seconds > 0 {
		return time.Duration(seconds) * time.Second
	}
	if date, err := http.ParseTime(h.Get("Retry-After")); err == nil && time.Until(date) > 0 {
		return time.Until(date)
	}
	return time.Minute
}

// phrase returns the time of Retry-After in words.
func phrase(h http.Header) string {
	if seconds, err := strconv.ParseUint(h.Get("Retry-After"), 10, 16); err == nil && seconds > 0 {
		return "in " + strconv.FormatUint(seconds, 10) + " seconds"
	}
	return "in a minute"
}

// suggestions lists the similar names of a problem (RFC 9457, section 3.2); it ignores strings that
// are not names.
func suggestions(resp *http.Response, body []byte) []string {
	var p problem.Problem
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if kind != problem.ContentType || json.Unmarshal(body, &p) != nil {
		return nil
	}
	names := slices.DeleteFunc(p.Suggestions, func(s string) bool {
		pack, name, both := strings.Cut(s, "/")
		return !icon.ValidKey(pack) || both && !icon.ValidKey(name)
	})
	return names[:min(len(names), 5)]
}
