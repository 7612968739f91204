package convert

import (
	"regexp"
	"strconv"
	"strings"
)

// condition returns the match of the condition of an if. host is the host that it names. It is not
// ok if no match means the same.
func condition(args []string) (match any, host string, ok bool) {
	text := append([]string(nil), args...)
	if len(text) == 0 || !strings.HasPrefix(text[0], "(") || !strings.HasSuffix(text[len(text)-1], ")") {
		return nil, "", false
	}
	text[0] = text[0][1:]
	last := len(text) - 1
	text[last] = text[last][:len(text[last])-1]
	var words []string
	for i, one := range text { // a parenthesis may stand alone
		if one != "" || 0 < i && i < last {
			words = append(words, one)
		}
	}
	if len(words) == 2 && (words[1] == "=" || words[1] == "!=") {
		words = append(words, "")
	}
	name, isVariable := strings.CutPrefix(first(words), "$")
	name = strings.Trim(name, "{}")
	switch {
	case !isVariable:
		return nil, "", false
	case len(words) == 1:
		match, ok = present(name)
		return match, "", ok
	case len(words) != 3 || !literal(words[2]) && !strings.Contains(words[1], "~"):
		return nil, "", false
	}
	op, value := words[1], words[2]
	bare, negated := strings.CutPrefix(op, "!")
	switch bare {
	case "=":
		match, ok = equals(name, value)
	case "~", "~*":
		match, ok = searches(name, value, bare == "~*")
	}
	if !ok {
		return nil, "", false
	}
	if negated {
		return not(match), "", true
	}
	if bare == "=" && (name == "host" || name == "http_host") {
		host = strings.ToLower(value)
	}
	return match, host, true
}

func first(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return words[0]
}

// source returns the entry of matches for a variable that has a value by a name: a field, a cookie
// or a parameter.
func source(name string) (entry, key string) {
	switch {
	case strings.HasPrefix(name, "http_"):
		return "header", field(name[len("http_"):])
	case strings.HasPrefix(name, "cookie_"):
		return "cookie", name[len("cookie_"):]
	case strings.HasPrefix(name, "arg_"):
		return "query", name[len("arg_"):]
	}
	return "", ""
}

// field returns the name of a field by that of its variable.
func field(s string) string {
	parts := strings.Split(s, "_")
	for i, part := range parts {
		if part != "" {
			parts[i] = strings.ToUpper(part[:1]) + part[1:]
		}
	}
	return strings.Join(parts, "-")
}

// present returns the match of a variable that is neither empty nor 0.
func present(name string) (match any, ok bool) {
	if name == "args" || name == "query_string" || name == "is_args" {
		return object{{"query", "*"}}, true
	}
	entry, key := source(name)
	if entry == "" {
		return nil, false
	}
	return object{{entry, object{{key, "/[^0]|../"}}}}, true
}

// equals returns the match of a variable with a value.
func equals(name, value string) (match any, ok bool) {
	switch name {
	case "request_method":
		return object{{"method", value}}, value != ""
	case "host", "http_host":
		return object{{"host", strings.ToLower(value)}}, value != "" && !strings.ContainsAny(value, "*:")
	case "scheme":
		if value == "https" {
			return object{{"not", insecure}}, true
		}
		return insecure, value == "http"
	case "https":
		if value == "on" {
			return object{{"not", insecure}}, true
		}
		return insecure, value == ""
	case "uri", "document_uri":
		return object{{"path", value}}, strings.HasPrefix(value, "/") && !strings.Contains(value, "*")
	case "remote_addr":
		return object{{"client", value}}, value != ""
	case "args", "query_string":
		return not(object{{"query", "*"}}), value == ""
	}
	entry, key := source(name)
	if entry == "" || strings.Contains(value, "*") {
		return nil, false
	}
	if value == "" {
		return not(object{{entry, object{{key, "/./"}}}}), true
	}
	return object{{entry, object{{key, "/^" + regexp.QuoteMeta(value) + "$/"}}}}, true
}

// searches returns the match of a variable in which a regular expression is found.
func searches(name, text string, fold bool) (match any, ok bool) {
	re, err := compile(text, fold)
	if err != nil || strings.Contains(text, "${") {
		return nil, false
	}
	switch name {
	case "uri", "document_uri":
		return object{{"path_regex", whole(text, fold)}}, true
	case "request_method":
		if list, ok := strings.CutPrefix(text, "^("); ok && !fold {
			if list, ok = strings.CutSuffix(list, ")$"); ok && strings.Trim(list, "ABCDEFGHIJKLMNOPQRSTUVWXYZ|") == "" {
				return object{{"method", strings.Split(list, "|")}}, true
			}
		}
		return "request.method.matches(" + strconv.Quote(prefixed(text, fold)) + ")", true
	case "host":
		return nil, false
	}
	entry, key := source(name)
	if entry == "" || re.MatchString("") { // a variable without a value is an empty text
		return nil, false
	}
	return object{{entry, object{{key, "/" + prefixed(text, fold) + "/"}}}}, true
}
