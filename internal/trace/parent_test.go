package trace

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
)

const sound = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

func TestRead(t *testing.T) {
	for _, row := range []struct {
		name                string
		parent, state       []string
		wantParent, wantFor string
	}{
		{"one", []string{sound}, []string{"a=1,b=2"}, sound, "a=1,b=2"},
		{"state in two lines", []string{sound}, []string{"a=1", "b=2"}, sound, "a=1,b=2"},
		{"a future version with more fields", []string{strings.Replace(sound, "00", "cc", 1) + "-more"}, nil,
			strings.Replace(sound, "00", "cc", 1) + "-more", ""},
		{"none", nil, []string{"a=1"}, "", ""},
		{"two", []string{sound, sound}, []string{"a=1"}, "", ""},
		{"no trace", []string{"00-00000000000000000000000000000000-00f067aa0ba902b7-01"}, nil, "", ""},
		{"no span", []string{"00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01"}, nil, "", ""},
		{"capitals", []string{strings.ToUpper(sound)}, nil, "", ""},
		{"the forbidden version ff", []string{strings.Replace(sound, "00", "ff", 1)}, nil, "", ""},
		{"version 00 with another field", []string{sound + "-more"}, nil, "", ""},
		{"two in one line", []string{sound + "," + sound}, nil, "", ""},
		{"too short", []string{sound[:54]}, nil, "", ""},
		{"a malformed state", []string{sound}, []string{"a"}, sound, ""},
	} {
		h := http.Header{FieldParent: {"before"}, FieldState: {"before"}}
		Read(row.parent, row.state).Put(h)
		if h.Get(FieldParent) != row.wantParent || h.Get(FieldState) != row.wantFor {
			t.Errorf("%s: %v", row.name, h)
		}
	}
}

func TestUnsampled(t *testing.T) {
	h := http.Header{}
	p := Read([]string{sound}, []string{"a=1"})
	p.Unsampled().Put(h)
	if got := h.Get(FieldParent); got != sound[:53]+"00" || h.Get(FieldState) != "a=1" || !p.Sampled() || p.Unsampled().Sampled() {
		t.Errorf("%v", h)
	}
	p.Unsampled().Unsampled().Put(h)
	if got := h.Get(FieldParent); got != sound[:53]+"00" {
		t.Errorf("twice: %v", h)
	}
	h = http.Header{}
	if p := (&Tracer{}).Untraced(); p.Sampled() || !p.Valid() {
		t.Errorf("%+v", p)
	} else if p.Put(h); !Read(h[FieldParent], nil).Valid() || p.traceparent == (&Tracer{}).Untraced().traceparent {
		t.Errorf("%v", h)
	}
	if (Parent{}).Unsampled().Valid() {
		t.Error("Unsampled of an empty Parent has a trace context")
	}
}

// FuzzRead checks that every accepted traceparent follows the grammar of section 3.2.2 strictly and
// is passed on unchanged, and that Unsampled changes only the flag.
func FuzzRead(f *testing.F) {
	f.Add(sound, "a=1")
	f.Add("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-09-x", "a=1,b@c=2")
	grammar := regexp.MustCompile(`^(00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}|[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(-.*)?)$`)
	f.Fuzz(func(t *testing.T, parent, state string) {
		p := Read([]string{parent}, []string{state})
		h := http.Header{}
		p.Put(h)
		if !p.Valid() {
			if len(h) > 0 {
				t.Fatalf("Read(%q, %q) has no context, but Put sets %v", parent, state, h)
			}
			return
		}
		if !grammar.MatchString(parent) || strings.HasPrefix(parent, "ff") || h.Get(FieldParent) != parent ||
			h.Get(FieldState) != "" && h.Get(FieldState) != state {
			t.Fatalf("%q, %q is passed on as %v", parent, state, h)
		}
		again := p.Unsampled()
		if again.Sampled() || again.span.TraceID() != p.span.TraceID() || again.span.SpanID() != p.span.SpanID() ||
			again.tracestate != p.tracestate {
			t.Fatalf("Unsampled of %+v is %+v", p, again)
		}
	})
}
