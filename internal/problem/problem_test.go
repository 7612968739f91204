package problem

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

type badParam struct{}

func (badParam) Error() string                  { return "bad" }
func (badParam) BadParameter() (string, string) { return "limit", "must be a whole number" }

func TestFrom(t *testing.T) {
	for _, row := range []struct {
		name         string
		err          error
		status       int
		parameter    string
		cacheControl string
	}{
		{"a problem in the chain", fmt.Errorf("serving: %w", NotFound("no such pack")), 404, "", "public, max-age=5"},
		{"an error that names a parameter", fmt.Errorf("reading: %w", badParam{}), 400, "limit", "public, max-age=5"},
		{"any other error reveals nothing", errors.New("secret path"), 500, "", "no-store"},
		{"over the limit", New(429, "slow down"), 429, "", "no-store"},
		{"no token", New(401, "a token"), 401, "", "no-store"},
		{"a method: caches reuse this for the same method only", MethodNotAllowed("POST"), 405, "", "public, max-age=5"},
		{"a condition, which other clients do not send", New(412, "changed"), 412, "", "no-store"},
		{"a body, which other clients do not send", New(413, "too large"), 413, "", "no-store"},
		{"a range, which other clients do not send", New(416, "outside"), 416, "", "no-store"},
		{"a host on the wrong connection", New(421, "not here"), 421, "", "no-store"},
		{"fields, which other clients do not send", New(431, "too many"), 431, "", "no-store"},
	} {
		p := From(row.err)
		var body map[string]any
		if err := json.Unmarshal(p.JSON(), &body); err != nil {
			t.Fatal(err)
		}
		if p.Status != row.status || p.Parameter != row.parameter || p.CacheControl() != row.cacheControl ||
			body["type"] != "about:blank" || body["title"] == "" {
			t.Errorf("%s: %+v", row.name, p)
		}
		if strings.Contains(string(p.JSON()), "secret") {
			t.Errorf("%s: the answer reveals the cause: %s", row.name, p.JSON())
		}
	}
	if p := MethodNotAllowed("GET, HEAD"); p.Header.Get("Allow") != "GET, HEAD" || p.Status != 405 {
		t.Errorf("%+v", p)
	}
}
