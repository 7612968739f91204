package codec

import (
	"slices"
	"testing"
	"time"

	"github.com/iconedge/iconedge/cachepolicy"
)

var t0 = time.Date(2026, 11, 21, 12, 0, 0, 7, time.UTC)

// write writes a value of every kind.
func write(w *Encoder) {
	w.Uint(1 << 40)
	w.Int(-3)
	w.Bool(true)
	w.String("text")
	w.Bytes([]byte{0, 0xff})
	w.Strings([]string{"a", ""})
	w.Time(t0)
	w.Time(time.Time{})
	w.Policy(&cachepolicy.Entry{Stored: t0, Lifetime: time.Hour, NoCache: true})
}

// read reads what write wrote, and reports whether every value is the same.
func read(r *Decoder) bool {
	n, i, b, s, p, list := r.Uint(), r.Int(), r.Bool(), r.String(), r.Part(), r.Strings()
	t, zero, policy := r.Time(), r.Time(), r.Policy()
	return n == 1<<40 && i == -3 && b && s == "text" && slices.Equal(p, []byte{0, 0xff}) && slices.Equal(list, []string{"a", ""}) &&
		t.Equal(t0) && zero.IsZero() && policy.Stored.Equal(t0) && policy.Lifetime == time.Hour && policy.NoCache && !policy.Heuristic
}

func TestDecoder(t *testing.T) {
	var w Encoder
	write(&w)
	if r := (&Decoder{Rest: w.Out}); !read(r) || !r.Ended() {
		t.Errorf("the values are not read as they were written; Ended() = %v", r.Ended())
	}
	for n := range w.Out {
		r := &Decoder{Rest: w.Out[:n]}
		if read(r); !r.Bad || r.Ended() || r.Uint() != 0 || r.String() != "" || r.Strings() != nil || !r.Time().IsZero() {
			t.Errorf("the first %d of %d bytes are not malformed, or a later value is not zero", n, len(w.Out))
		}
	}
	longer := append(slices.Clone(w.Out), 0)
	if r := (&Decoder{Rest: longer}); !read(r) || r.Ended() {
		t.Error("a byte after the last value is ignored")
	}
}

// A count that exceeds the input is malformed before anything is allocated.
func TestCountIsBounded(t *testing.T) {
	var w Encoder
	w.Uint(1 << 60)
	for name, read := range map[string]func(*Decoder){
		"Part":    func(r *Decoder) { r.Part() },
		"Strings": func(r *Decoder) { r.Strings() },
		"Texts":   func(r *Decoder) { r.AppendTexts(nil) },
	} {
		r := &Decoder{Rest: w.Out}
		if read(r); !r.Bad {
			t.Errorf("%s accepts a count of 1<<60", name)
		}
	}
}
