package jwt

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// t0 is the time of the tests.
var t0 = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

// A pair is a key with its name in a set.
type pair struct {
	kid, alg, use string
	private       crypto.Signer
}

func (p pair) public() jose.JSONWebKey {
	return jose.JSONWebKey{Key: p.private.Public(), KeyID: p.kid, Algorithm: p.alg, Use: p.use}
}

// set returns the set of public keys.
func set(t testing.TB, all ...pair) *Keys {
	t.Helper()
	var s jose.JSONWebKeySet
	for _, p := range all {
		s.Keys = append(s.Keys, p.public())
	}
	text, err := json.Marshal(s)
	must(t, err)
	k, err := ParseKeys(text, false)
	must(t, err)
	return k
}

// sign makes a token.
func sign(t testing.TB, alg jose.SignatureAlgorithm, key any, kid string, claims map[string]any) string {
	t.Helper()
	o := &jose.SignerOptions{}
	if kid != "" {
		o = o.WithHeader("kid", kid)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: key}, o)
	must(t, err)
	payload, err := json.Marshal(claims)
	must(t, err)
	signed, err := signer.Sign(payload)
	must(t, err)
	text, err := signed.CompactSerialize()
	must(t, err)
	return text
}

// claims returns those of a valid token, with others in pairs of name and value.
func claims(other ...any) map[string]any {
	c := map[string]any{"iss": "https://login.test", "aud": "app", "sub": "ann", "exp": t0.Add(time.Hour).Unix()}
	for i := 0; i < len(other); i += 2 {
		if c[other[i].(string)] = other[i+1]; other[i+1] == nil {
			delete(c, other[i].(string))
		}
	}
	return c
}

func newKeys(t testing.TB) (rsaKey, ec, ed pair) {
	t.Helper()
	r, err := rsa.GenerateKey(rand.Reader, minRSA)
	must(t, err)
	e, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	_, d, err := ed25519.GenerateKey(rand.Reader)
	must(t, err)
	return pair{"r", "", "sig", r}, pair{"e", "ES256", "", e}, pair{"d", "", "", d}
}

var required = Required{Issuer: "https://login.test", Audience: []string{"app", "api"}}

// Tokens of all algorithms are valid by their own key alone.
func TestAlgorithms(t *testing.T) {
	r, e, d := newKeys(t)
	keys := set(t, r, e, d)
	secret, err := x509.MarshalPKIXPublicKey(r.private.Public())
	must(t, err)
	none := func(alg string) string {
		part := func(v any) string { b, _ := json.Marshal(v); return base64.RawURLEncoding.EncodeToString(b) }
		return part(map[string]string{"alg": alg}) + "." + part(claims()) + "."
	}
	valid := sign(t, jose.ES256, e.private, "e", claims())
	bob := sign(t, jose.ES256, e.private, "e", claims("sub", "bob"))
	for name, row := range map[string]struct {
		token string
		want  error
	}{
		"RS256":                    {sign(t, jose.RS256, r.private, "r", claims()), nil},
		"ES256":                    {valid, nil},
		"EdDSA":                    {sign(t, jose.EdDSA, d.private, "d", claims()), nil},
		"without a name":           {sign(t, jose.EdDSA, d.private, "", claims()), nil},
		"none":                     {none("none"), ErrInvalid},
		"None":                     {none("None"), ErrInvalid},
		"no algorithm":             {none(""), ErrInvalid},
		"a public key as secret":   {sign(t, jose.HS256, secret, "r", claims()), ErrInvalid},
		"another key's name":       {sign(t, jose.EdDSA, d.private, "e", claims()), ErrInvalid},
		"an unknown name":          {sign(t, jose.EdDSA, d.private, "x", claims()), ErrUnknownKey},
		"without its signature":    {valid[:strings.LastIndex(valid, ".")+1], ErrInvalid},
		"with another's":           {valid[:strings.LastIndex(valid, ".")] + bob[strings.LastIndex(bob, "."):], ErrInvalid},
		"empty":                    {"", ErrInvalid},
		"two dots":                 {"..", ErrInvalid},
		"long":                     {strings.Repeat("a.", 10_000), ErrInvalid},
		"in JSON":                  {`{"payload":"e30","signatures":[]}`, ErrInvalid},
		"encrypted":                {"a.b.c.d.e", ErrInvalid},
		"a payload that is a list": {sign(t, jose.EdDSA, d.private, "d", nil), ErrInvalid},
	} {
		if _, err := Verify(row.token, keys, required, t0); !errors.Is(err, row.want) {
			t.Errorf("%s: %v, want %v", name, err, row.want)
		}
	}
}

// A key is used for what it is for: a set may have others, of which a file may have none.
func TestMixedKeys(t *testing.T) {
	r, e, d := newKeys(t)
	weak, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil { // the standard library refuses it too
		weak = nil
	}
	oct := jose.JSONWebKey{Key: []byte("0123456789abcdef0123456789abcdef"), KeyID: "o"}
	private := jose.JSONWebKey{Key: d.private, KeyID: "p"}
	enc := r.public()
	enc.Use, enc.KeyID = "enc", "enc"
	bad := map[string]jose.JSONWebKey{"a secret": oct, "a private key": private, "a key for encryption": enc}
	if weak != nil {
		bad["a short key"] = jose.JSONWebKey{Key: weak.Public(), KeyID: "w"}
	}
	for name, one := range bad {
		text, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{one, e.public()}})
		must(t, err)
		if _, err := ParseKeys(text, true); err == nil {
			t.Errorf("%s: a file may have it", name)
		}
		k, err := ParseKeys(text, false)
		must(t, err)
		if len(k.all) != 1 {
			t.Errorf("%s: %d keys", name, len(k.all))
		}
		if _, err := Verify(sign(t, jose.HS256, oct.Key, "o", claims()), k, required, t0); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// The algorithm that a key names is the only one.
	r.alg = "RS512"
	if _, err := Verify(sign(t, jose.RS256, r.private, "r", claims()), set(t, r), required, t0); !errors.Is(err, ErrInvalid) {
		t.Error(err)
	}
	for _, text := range []string{"", "{}", `{"keys":[]}`, `{"keys":[{"kty":"new"}]}`, "-----BEGIN RUBBISH-----\n-----END RUBBISH-----\n"} {
		if _, err := ParseKeys([]byte(text), false); err == nil {
			t.Errorf("%q has keys", text)
		}
	}
	der, err := x509.MarshalPKIXPublicKey(e.private.Public())
	must(t, err)
	k, err := ParseKeys(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), true)
	must(t, err)
	if _, err := Verify(sign(t, jose.ES256, e.private, "any", claims()), k, required, t0); err != nil {
		t.Error(err)
	}
}

// A token is valid within its time, for its audience, and with the claims that are required.
func TestClaims(t *testing.T) {
	_, _, d := newKeys(t)
	keys := set(t, d)
	at := func(d time.Duration) int64 { return t0.Add(d).Unix() }
	for name, row := range map[string]struct {
		claims   map[string]any
		required map[string][]string
		want     error
	}{
		"valid":                   {claims(), nil, nil},
		"no end":                  {claims("exp", nil), nil, ErrInvalid},
		"ended a moment ago":      {claims("exp", at(-20*time.Second)), nil, nil},
		"ended":                   {claims("exp", at(-40*time.Second)), nil, ErrInvalid},
		"begins in a moment":      {claims("nbf", at(20*time.Second)), nil, nil},
		"begins later":            {claims("nbf", at(40*time.Second)), nil, ErrInvalid},
		"made later":              {claims("iat", at(time.Hour)), nil, ErrInvalid},
		"an end that is no time":  {claims("exp", "never"), nil, ErrInvalid},
		"another issuer":          {claims("iss", "https://evil.test"), nil, ErrInvalid},
		"no issuer":               {claims("iss", nil), nil, ErrInvalid},
		"another audience":        {claims("aud", "other"), nil, ErrInvalid},
		"no audience":             {claims("aud", nil), nil, ErrInvalid},
		"several audiences":       {claims("aud", []string{"other", "api"}), nil, nil},
		"a group":                 {claims("groups", []string{"a", "staff"}), map[string][]string{"groups": {"staff", "admin"}}, nil},
		"no such group":           {claims("groups", []string{"a"}), map[string][]string{"groups": {"staff"}}, ErrClaims},
		"a part of a group":       {claims("groups", "staffing"), map[string][]string{"groups": {"staff"}}, ErrClaims},
		"no groups":               {claims(), map[string][]string{"groups": {"staff"}}, ErrClaims},
		"a scope":                 {claims("scope", "read write"), map[string][]string{"scope": {"write"}}, nil},
		"no such scope":           {claims("scope", "read"), map[string][]string{"scope": {"write"}}, ErrClaims},
		"true":                    {claims("email_verified", true), map[string][]string{"email_verified": {"true"}}, nil},
		"false":                   {claims("email_verified", false), map[string][]string{"email_verified": {"true"}}, ErrClaims},
		"a long number":           {claims("id", json.Number("9007199254740993")), map[string][]string{"id": {"9007199254740993"}}, nil},
		"within":                  {claims("realm", map[string]any{"r": []string{"x"}}), map[string][]string{"realm.r": {"x"}}, nil},
		"a name with a dot":       {claims("realm.roles", "x"), map[string][]string{"realm.roles": {"x"}}, nil},
		"one of two claims":       {claims("a", "1"), map[string][]string{"a": {"1"}, "b": {"2"}}, ErrClaims},
		"a claim that is a map":   {claims("a", map[string]any{"b": "c"}), map[string][]string{"a": {"c"}}, ErrClaims},
		"valid, but for no claim": {claims("exp", at(-time.Hour)), map[string][]string{"b": {"2"}}, ErrInvalid},
	} {
		need := required
		need.Claims = row.required
		_, err := Verify(sign(t, jose.EdDSA, d.private, "d", row.claims), keys, need, t0)
		if !errors.Is(err, row.want) || row.want == nil && err != nil {
			t.Errorf("%s: %v, want %v", name, err, row.want)
		}
	}
}

// The text of a claim can be the value of one field, and no value of a list passes for two.
func TestText(t *testing.T) {
	c := Claims{"name": "Doe, Jane", "groups": []any{"a", "b,admin", "c"}, "evil": "a\r\nX-Admin: 1", "n": json.Number("7"),
		"m": map[string]any{}}
	for name, want := range map[string]string{"name": "Doe, Jane", "groups": "a,c", "evil": "", "n": "7", "m": "", "none": ""} {
		if got := c.Text(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// FuzzVerify: no text is a valid token but those that the key has signed.
func FuzzVerify(f *testing.F) {
	_, _, d := newKeys(f)
	keys, known := set(f, d), sign(f, jose.EdDSA, d.private, "d", claims())
	f.Add(known)
	f.Add(known + ".")
	f.Add("e30.e30.e30")
	f.Fuzz(func(t *testing.T, token string) {
		if c, err := Verify(token, keys, required, t0); err == nil && c.Text("sub") != "ann" {
			t.Fatalf("%q is valid, for %q", token, c.Text("sub"))
		}
	})
}
