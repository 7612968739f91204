package jwt

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// algorithms are those that tokens may be signed with: no secrets, and never none.
var algorithms = []jose.SignatureAlgorithm{jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512,
	jose.ES256, jose.ES384, jose.ES512, jose.EdDSA}

// leeway is by how much the clocks of an issuer and of this machine may differ.
const leeway = 30 * time.Second

// The errors of tokens. ErrInvalid is in the chain of all but ErrClaims.
var (
	ErrInvalid = errors.New("the token is not valid")
	// ErrUnknownKey means that newer keys may have the one that signed the token.
	ErrUnknownKey = fmt.Errorf("%w: no key has signed it", ErrInvalid)
	// ErrClaims means that the token is valid, and that its claims are not those required.
	ErrClaims = errors.New("the token lacks a claim that is required")
)

// Required says which tokens are valid, besides signature and time.
type Required struct {
	Issuer   string              // empty: any
	Audience []string            // of which the token must name one; nil: any
	Claims   map[string][]string // values of which a claim must have one
}

// Claims are those of a valid token.
type Claims map[string]any

// Verify returns the claims of a valid token. A token must have an end, exp.
func Verify(token string, keys *Keys, r Required, now time.Time) (Claims, error) {
	signed, err := jose.ParseSignedCompact(token, algorithms)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	head := signed.Signatures[0].Protected // of one signature, which the compact form has
	payload, err := verifySignature(signed, keys, head.KeyID, head.Algorithm)
	if err != nil {
		return nil, err
	}
	var standard jwt.Claims
	var all Claims
	in := json.NewDecoder(bytes.NewReader(payload))
	in.UseNumber()
	if err := errors.Join(json.Unmarshal(payload, &standard), in.Decode(&all)); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if standard.Expiry == nil {
		return nil, fmt.Errorf("%w: it has no exp", ErrInvalid)
	}
	expected := jwt.Expected{Issuer: r.Issuer, AnyAudience: r.Audience, Time: now}
	if err := standard.ValidateWithLeeway(expected, leeway); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	for name, values := range r.Claims {
		if !slices.ContainsFunc(all.values(name), func(v string) bool { return slices.Contains(values, v) }) {
			return nil, fmt.Errorf("%w: %s", ErrClaims, name)
		}
	}
	return all, nil
}

func verifySignature(signed *jose.JSONWebSignature, keys *Keys, kid, alg string) ([]byte, error) {
	found := keys.find(kid, alg)
	for _, key := range found {
		if payload, err := signed.Verify(key); err == nil {
			return payload, nil
		}
	}
	if kid != "" && keys.knows(kid) {
		return nil, fmt.Errorf("%w: its signature is wrong", ErrInvalid)
	}
	return nil, ErrUnknownKey
}

// Text returns the value of a claim as one line; empty: the token has none, or it has no text. The
// values of a list are separated by commas, so those with a comma are left out: somebody who may
// choose the name of a group could pass for a member of two.
func (c Claims) Text(name string) string {
	values := c.values(name)
	if _, isText := c.find(name).(string); !isText {
		values = slices.DeleteFunc(values, func(v string) bool { return strings.Contains(v, ",") })
	}
	text := strings.Join(values, ",")
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return ""
	}
	return text
}

// values returns the values of a claim as texts. A name with dots is that of a claim within
// others, unless the token has a claim of the whole name. scope is a list (RFC 8693, section 4.2).
func (c Claims) values(name string) (all []string) {
	v := c.find(name)
	if text, ok := v.(string); ok && (name == "scope" || name == "scp") {
		return strings.Fields(text)
	}
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	for _, one := range list {
		switch one := one.(type) {
		case string:
			all = append(all, one)
		case bool, json.Number:
			all = append(all, fmt.Sprint(one))
		}
	}
	return all
}

func (c Claims) find(name string) any {
	if v, ok := c[name]; ok {
		return v
	}
	first, rest, dotted := strings.Cut(name, ".")
	if within, ok := c[first].(map[string]any); ok && dotted {
		return Claims(within).find(rest)
	}
	return nil
}
