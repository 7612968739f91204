package api

import (
	"net/http"
	"strings"
	"time"
)

// A verdict is the result of a request's conditions (RFC 9110, section 13.2.2).
type verdict int

const (
	whole   verdict = iota // send the answer
	same                   // 304: the client has the current version
	changed                // 412: the client expects another version
)

// evaluate evaluates the conditions of a GET or HEAD for the answer's entity tag (with its
// quotation marks) and time.
func evaluate(h http.Header, etag string, modified time.Time) verdict {
	if list, ok := entityTags(h.Values("If-Match")); ok {
		if !list.match(etag, strongly) {
			return changed
		}
	} else if t, ok := httpTime(h, "If-Unmodified-Since"); ok && !modified.IsZero() && modified.After(t) {
		return changed
	}
	if list, ok := entityTags(h.Values("If-None-Match")); ok {
		if list.match(etag, weakly) {
			return same
		}
		return whole // section 13.1.3: If-Modified-Since is ignored
	}
	if t, ok := httpTime(h, "If-Modified-Since"); ok && !modified.IsZero() && !modified.After(t) {
		return same
	}
	return whole
}

func httpTime(h http.Header, field string) (time.Time, bool) {
	values := h.Values(field)
	if len(values) != 1 {
		return time.Time{}, false
	}
	t, err := http.ParseTime(values[0])
	return t, err == nil
}

// tags is a list of entity tags in the form of the field, or "*" alone.
type tags []string

// Comparison functions of entity tags (section 8.8.3.2).
const (
	strongly = true
	weakly   = false
)

func (l tags) match(etag string, strong bool) bool {
	for _, t := range l {
		if t == "*" || t == etag || !strong && t == "W/"+etag {
			return true
		}
	}
	return false
}

// entityTags reads the lines of a field as one list of entity tags (section 8.8.3). For a malformed
// list, ok is false and there is no condition.
func entityTags(lines []string) (l tags, ok bool) {
	if len(lines) == 1 && strings.TrimSpace(lines[0]) == "*" {
		return tags{"*"}, true
	}
	rest := strings.Join(lines, ",")
	for {
		rest = strings.TrimLeft(rest, " \t,")
		if rest == "" {
			return l, len(l) > 0
		}
		n := entityTag(rest)
		if n == 0 {
			return nil, false
		}
		l = append(l, rest[:n])
		rest = strings.TrimLeft(rest[n:], " \t")
		if rest != "" && rest[0] != ',' {
			return nil, false
		}
	}
}

// entityTag returns the length of the entity tag at the start of s, or 0 if there is none.
func entityTag(s string) int {
	quoted := strings.TrimPrefix(s, "W/")
	if !strings.HasPrefix(quoted, `"`) {
		return 0
	}
	for i := 1; i < len(quoted); i++ {
		switch c := quoted[i]; {
		case c == '"':
			return len(s) - len(quoted) + i + 1
		case c < 0x21 || c == 0x7f:
			return 0
		}
	}
	return 0
}
