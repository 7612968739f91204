package config

import (
	"bytes"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// hidden stands for a secret.
const hidden = "***"

// Redacted returns the text of the file without secrets: variables and files are not expanded,
// secrets and the passwords of URLs are left out, and so are comments.
func (f *File) Redacted() []byte {
	root, _, err := parse(f.Text)
	if err != nil || root == nil {
		return nil
	}
	redact(root, "", "")
	var out bytes.Buffer
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	if e.Encode(root) != nil {
		return nil
	}
	return out.Bytes()
}

// userInfo matches the user and password in a URL.
var userInfo = regexp.MustCompile(`//[^/]*@`)

// hideUser hides the user and password in a URL.
func hideUser(text string) string { return userInfo.ReplaceAllString(text, "//"+hidden+"@") }

// external matches a value that is in a variable or a file as a whole.
var external = regexp.MustCompile(`^\$\{(file:[^}]*|\w+)\}$`)

// redact replaces the secrets in a node. key is the name of its field, and of is the name of the
// mapping in which that field is.
func redact(n *yaml.Node, key, of string) {
	n.HeadComment, n.LineComment, n.FootComment = "", "", ""
	if n.Kind == yaml.ScalarNode && !external.MatchString(n.Value) {
		switch {
		case isSecret(key), isHeader(of) && carriesSecret(key):
			n.Value, n.Style, n.Tag = hidden, 0, "!!str"
		case strings.Contains(n.Value, "@"):
			// A text with a part of a password from a variable is no URL.
			if u, err := url.Parse(n.Value); err != nil || u.User != nil {
				n.Value = hideUser(n.Value)
			}
		}
	}
	for i, one := range n.Content {
		name, within := key, of
		if n.Kind == yaml.MappingNode {
			if i%2 == 0 {
				one.HeadComment, one.LineComment, one.FootComment = "", "", ""
				continue
			}
			name, within = n.Content[i-1].Value, key
		}
		redact(one, name, within)
	}
}

// isHeader reports whether the entries of a mapping are header fields.
func isHeader(key string) bool { return key == "set" || key == "add" || key == "header" }

// carriesSecret reports whether the value of a header field may be a secret.
func carriesSecret(field string) bool {
	field = strings.ToLower(field)
	return strings.Contains(field, "auth") || strings.Contains(field, "cookie") ||
		strings.Contains(field, "signature") || strings.Contains(field, "credential")
}

// isSecret reports whether the values of a field are secrets, such as signed.secret, or a header
// field that carries credentials.
func isSecret(key string) bool {
	key = strings.ToLower(key)
	if strings.HasSuffix(key, "_file") || namesCookies.MatchString(key) {
		return false
	}
	contained := func(word string) bool { return strings.Contains(key, word) }
	return slices.ContainsFunc([]string{"secret", "password", "token", "authorization", "cookie", "api-key", "apikey"}, contained)
}

// namesCookies matches fields whose values are names of cookies, such as bypass_cookies.
var namesCookies = regexp.MustCompile(`^(.*_)?cookies?$`)
