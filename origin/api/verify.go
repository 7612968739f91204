package api

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"time"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/origin/token"
	"github.com/iconedge/iconedge/problem"
)

// A Verifier tells whether a licence token is valid at a time, and what it is for.
type Verifier interface {
	Verify(ctx context.Context, token string, now time.Time) (token.License, bool, error)
}

// maxVerify is the largest body of a call, in bytes.
const maxVerify = 4 << 10

// verify answers POST /api/v1/auth/verify. Nothing of the token goes to the log or into the answer.
func (a *API) verify(w http.ResponseWriter, c *call) (*answer, error) {
	tok, err := readToken(w, c.Request)
	if err != nil {
		return nil, err
	}
	l, valid, err := a.Tokens.Verify(c.Context(), tok, c.now)
	if err != nil {
		return nil, problem.New(http.StatusServiceUnavailable, "tokens can't be verified at the moment").Because(err).With("Retry-After", retryAfter)
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
	var call struct {
		Token *string `json:"token"`
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxVerify))
	if err == nil {
		err = json.Unmarshal(body, &call)
	}
	switch tooLarge := (*http.MaxBytesError)(nil); {
	case errors.As(err, &tooLarge):
		return "", problem.New(http.StatusRequestEntityTooLarge, "the body may have 4096 bytes")
	case err != nil:
		return "", problem.New(http.StatusBadRequest, `the body must be a JSON object such as {"token":"iel_..."}`)
	case call.Token == nil:
		return "", problem.BadParameter("token", "token is required: a string in the JSON object")
	}
	return *call.Token, nil
}
