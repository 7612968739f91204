package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/internal/problem"
	"github.com/iconedge/iconedge/origin/token"
)

// A Verifier reports whether a licence token is valid at a time, and returns its licence.
type Verifier interface {
	Verify(ctx context.Context, token string, now time.Time) (token.License, bool, error)
}

// maxVerify is the largest body of a call, in bytes.
const maxVerify = 4 << 10

// verify answers POST /api/v1/auth/verify. It puts nothing of the token into the log or the answer.
func (a *API) verify(w http.ResponseWriter, c *call) (*answer, error) {
	tok, err := readToken(w, c.Request)
	if err != nil {
		return nil, err
	}
	l, valid, err := a.Tokens.Verify(c.Context(), tok, c.now)
	if err != nil {
		return nil, problem.New(http.StatusServiceUnavailable,
			"tokens can't be verified at the moment").Because(err).With("Retry-After", retryAfter)
	}
	ans := icon.VerifyAnswer{Valid: valid}
	if valid {
		ans.Plan, ans.Since = l.Plan, l.Since.UTC().Format(time.RFC3339)
	}
	return &answer{entity: newEntity(ans), cacheControl: noStore}, nil
}

func readToken(w http.ResponseWriter, r *http.Request) (string, error) {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || media != typeJSON || len(r.Header.Values("Content-Encoding")) > 0 {
		return "", problem.New(http.StatusUnsupportedMediaType, "the body must be application/json, not encoded").With("Accept", typeJSON)
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxVerify))
	if errors.As(err, new(*http.MaxBytesError)) {
		return "", problem.New(http.StatusRequestEntityTooLarge, "the body must not exceed 4096 bytes")
	}
	if err != nil {
		return "", noToken().Because(err)
	}
	return parseToken(body)
}

// parseToken reads {"token":"..."} strictly. encoding/json alone would ignore the case of the name
// and accept the last of two tokens, where other parsers of the same bytes may see another token or
// none (RFC 8259, sections 4 and 8.1).
func parseToken(body []byte) (string, error) {
	d := json.NewDecoder(bytes.NewReader(body))
	if open, err := d.Token(); err != nil || open != json.Delim('{') || !utf8.Valid(body) || !json.Valid(body) {
		return "", noToken()
	}
	var found *string
	for seen := false; d.More(); {
		name, _ := d.Token()
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return "", noToken()
		}
		if name != "token" {
			continue
		}
		if err := json.Unmarshal(value, &found); err != nil || seen {
			return "", noToken()
		}
		seen = true
	}
	if found == nil {
		return "", problem.BadParameter("token", "token is required: a string in the JSON object")
	}
	return *found, nil
}

// noToken is the 400 for a body without a readable token.
func noToken() *problem.Problem {
	return problem.New(http.StatusBadRequest, `the body must be a JSON object such as {"token":"iel_..."}, in UTF-8 and with one token`)
}
