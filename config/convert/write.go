package convert

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// An object is a mapping with its keys in order. Its values are texts, numbers, truth values,
// lists of texts, lists of matches (of any), and objects.
type object []member

type member struct {
	key   string
	value any
}

func (o object) get(key string) any {
	for _, m := range o {
		if m.key == key {
			return m.value
		}
	}
	return nil
}

func (o object) with(key string, value any) object {
	return append(o[:len(o):len(o)], member{key, value})
}

// A rule is a rule of a site.
type rule struct {
	comment string
	match   any // an object, a list or an expression; nil: every request
	actions object
	stop    bool
}

// A site is a site of the file.
type site struct {
	name     string
	comments []string
	hosts    []string
	tls      object
	origins  []member // by name
	settings object
	rules    []rule
}

// bare matches texts that YAML reads as texts without quotes.
var bare = regexp.MustCompile(`^[A-Za-z_/][A-Za-z0-9_./-]*$`)

// words are texts that YAML 1.1 reads as other values.
var words = map[string]bool{"true": true, "false": true, "yes": true, "no": true, "on": true, "off": true, "null": true, "y": true,
	"n": true}

// flow returns a value in one line.
func flow(v any) string {
	switch v := v.(type) {
	case string:
		if bare.MatchString(v) && !words[strings.ToLower(v)] {
			return v
		}
		var b bytes.Buffer
		out := json.NewEncoder(&b)
		out.SetEscapeHTML(false)
		out.Encode(v) // a string has no form that JSON lacks
		return strings.TrimSuffix(b.String(), "\n")
	case int:
		return strconv.Itoa(v)
	case bool:
		return strconv.FormatBool(v)
	case []string:
		return flowList(v)
	case []any:
		return flowList(v)
	case object:
		all := make([]string, len(v))
		for i, m := range v {
			all[i] = flow(m.key) + ": " + flow(m.value)
		}
		return "{" + strings.Join(all, ", ") + "}"
	}
	panic(fmt.Sprintf("convert: %T has no form in a file", v))
}

func flowList[T any](list []T) string {
	all := make([]string, len(list))
	for i, one := range list {
		all[i] = flow(one)
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// write returns the file.
func write(comments []string, listen object, sites []*site) []byte {
	var b bytes.Buffer
	for _, line := range comments {
		fmt.Fprintf(&b, "# %s\n", line)
	}
	b.WriteString("version: 1\n")
	if len(listen) > 0 {
		fmt.Fprintf(&b, "listen: %s\n", flow(listen))
	}
	b.WriteString("sites:\n")
	for _, s := range sites {
		for _, line := range s.comments {
			fmt.Fprintf(&b, "  # %s\n", line)
		}
		fmt.Fprintf(&b, "  - name: %s\n    hosts: %s\n", flow(s.name), flow(s.hosts))
		if len(s.tls) > 0 {
			fmt.Fprintf(&b, "    tls: %s\n", flow(s.tls))
		}
		b.WriteString("    origins:\n")
		for _, o := range s.origins {
			fmt.Fprintf(&b, "      %s: %s\n", flow(o.key), flow(o.value))
		}
		fmt.Fprintf(&b, "    origin: %s\n", flow(s.origins[0].key))
		for _, m := range s.settings {
			fmt.Fprintf(&b, "    %s: %s\n", m.key, flow(m.value))
		}
		if len(s.rules) > 0 {
			b.WriteString("    rules:\n")
		}
		for _, r := range s.rules {
			r.write(&b)
		}
	}
	return b.Bytes()
}

func (r *rule) write(b *bytes.Buffer) {
	if r.comment != "" {
		fmt.Fprintf(b, "      # %s\n", r.comment)
	}
	lines := r.actions
	if r.match != nil {
		lines = append(object{{"match", r.match}}, lines...)
	}
	if r.stop {
		lines = append(lines, member{"stop", true})
	}
	for i, m := range lines {
		begin := "        "
		if i == 0 {
			begin = "      - "
		}
		fmt.Fprintf(b, "%s%s: %s\n", begin, m.key, flow(m.value))
	}
}
