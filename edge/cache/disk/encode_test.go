package disk

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/cache/entrytest"
	"github.com/iconedge/iconedge/edge/cache/invalidation"
)

// Every field of an entry is written and read back, except Head, which is made again, and Ended,
// because a soft purge is written separately. The test fails for a new field that is not set here.
func TestEncodingIsComplete(t *testing.T) {
	e := entrytest.Full()
	e.Object = entry.Object{ID: 1, Length: 2}
	for _, v := range []reflect.Value{reflect.ValueOf(e).Elem(), reflect.ValueOf(&e.Policy).Elem()} {
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && f.Name != "Head" && f.Name != "SoftPurged" && v.Field(i).IsZero() {
				t.Errorf("%s is not set in the entry that this test writes", f.Name)
			}
		}
	}
	head, body := encodeEntry(e, []string{"alias"})
	got, aliases, err := decodeEntry(head, bytes.Join(body, nil))
	if err != nil || !entrytest.Same(got, e) || !slices.Equal(aliases, []string{"alias"}) {
		t.Errorf("%+v is read as %+v with aliases %q and the error %v", e, got, aliases, err)
	}
	if got != nil && got.Hit() != 2 {
		t.Error("the count of hits is lost")
	}
	e.DisableCodings()
	e.Expire(entrytest.T0.Add(time.Hour), 1)
	head, body = encodeEntry(e, nil)
	if got, _, _ = decodeEntry(head, bytes.Join(body, nil)); got == nil || !got.Plain ||
		got.Freshness().Lifetime != time.Hour+1 || !got.Freshness().SoftPurged {
		t.Errorf("%+v with a soft purge is read as %+v", e, got)
	}
}

// A decoded entry is equal after it was encoded and decoded again.
func FuzzDecodeEntry(f *testing.F) {
	for _, e := range []*entry.Entry{entrytest.New("/a", "body"), entrytest.Variant("/page", "en", "body", "tag"), entrytest.Full()} {
		head, body := encodeEntry(e, []string{"alias"})
		f.Add(head, bytes.Join(body, nil))
	}
	f.Fuzz(func(t *testing.T, head, body []byte) {
		e, aliases, err := decodeEntry(head, body)
		if err != nil {
			return
		}
		seenBefore, parts := encodeEntry(e, aliases)
		got, names, err := decodeEntry(seenBefore, bytes.Join(parts, nil))
		if err != nil || !entrytest.Same(got, e) || !slices.Equal(names, aliases) || got.Generation != e.Generation ||
			got.Freshness() != e.Freshness() {
			t.Fatalf("%+v is read as %+v with the error %v", e, got, err)
		}
	})
}

func FuzzDecodePurge(f *testing.F) {
	for _, p := range []invalidation.Purge{
		{}, {Keys: []string{"/a", "/b"}}, {Prefixes: []string{"/mdi/"}, Soft: true},
		{Keys: []string{"/a"}, Tags: []string{"tag", "other"}}, {All: true},
	} {
		f.Add(encodePurge(&p, 7, entrytest.T0))
	}
	f.Fuzz(func(t *testing.T, head []byte) {
		p, generation, now, err := decodePurge(head)
		if err != nil {
			return
		}
		got, at, when, err := decodePurge(encodePurge(&p, generation, now))
		if err != nil || at != generation || !when.Equal(now) || fmt.Sprint(got) != fmt.Sprint(p) {
			t.Fatalf("%+v at %d, %v is read as %+v at %d, %v with the error %v", p, generation, now, got, at, when, err)
		}
	})
}

func TestReusable(t *testing.T) {
	policy := cachepolicy.Entry{Stored: entrytest.T0, Lifetime: time.Minute}
	stale := policy
	stale.StaleWhenLost = time.Hour
	for _, row := range []struct {
		name string
		e    *entry.Entry
		at   time.Duration
		want bool
	}{
		{"fresh", &entry.Entry{Policy: policy}, 59 * time.Second, true},
		{"stale", &entry.Entry{Policy: policy}, time.Minute, false},
		{"stale, origin lost", &entry.Entry{Policy: stale}, time.Hour, true},
		{"too stale", &entry.Entry{Policy: stale}, 2 * time.Hour, false},
		{"stale, with an entity tag", &entry.Entry{Policy: policy, Validator: `"x"`}, time.Hour, true},
		{"stale, with a date", &entry.Entry{Policy: policy, LastModified: entrytest.T0}, time.Hour, true},
	} {
		if got := reusable(row.e, entrytest.T0.Add(row.at)); got != row.want {
			t.Errorf("%s: reusable %v, want %v", row.name, got, row.want)
		}
	}
}

func TestReplaceFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "label")
	for _, content := range []string{"first", "second", ""} {
		if err := replaceFile(path, content); err != nil {
			t.Fatal(err)
		}
		if b, err := os.ReadFile(path); err != nil || string(b) != content {
			t.Errorf("the file contains %q, error %v; want %q", b, err, content)
		}
	}
	if err := replaceFile(filepath.Join(path, "below a file"), "x"); err == nil || errors.Is(err, os.ErrNotExist) {
		t.Errorf("writing below a file: error %v", err)
	}
}
