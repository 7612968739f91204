package entry

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

func example(key, body string, tags ...string) *Entry {
	e := &Entry{Key: key, Status: 200, ContentType: []byte("image/svg+xml"), Tags: tags, Validator: `"tag"`}
	e.SetIdentity([]byte(body), `"tag"`)
	return e
}

func TestConfirmed(t *testing.T) {
	e := example("/a", "body", "tag")
	e.Secondary, e.Vary = "en", []string{"Accept-Language"}
	e.Date, e.LastModified, e.Validator, e.Monochrome, e.Release = []byte("today"), time.Unix(1, 0), `"tag"`, "?1", "r"
	e.Fields, e.FieldsWithBody, e.Policy.Lifetime = []Field{{}}, []Field{{}}, time.Hour
	e.Expire(time.Unix(10, 0), 1)
	if n := e.Hit(); n != 1 {
		t.Errorf("Hit() = %d, want 1", n)
	}
	n := e.CopyConfirmed()
	if hits := n.Hit(); hits != 2 {
		t.Errorf("Hit() of the copy = %d, want 2", hits)
	}
	if n.Freshness() != e.Policy {
		t.Error("the purge of the old entry made the confirmed one stale")
	}
	exported := reflect.ValueOf(e).Elem()
	for i := range exported.NumField() {
		if f := exported.Type().Field(i); f.IsExported() && f.Name != "State" &&
			!reflect.DeepEqual(exported.Field(i).Interface(), reflect.ValueOf(n).Elem().Field(i).Interface()) {
			t.Errorf("%s is not copied", f.Name)
		}
	}
	if n.Identity() != e.Identity() {
		t.Error("the body is not shared")
	}
}

func TestCostCountsEverything(t *testing.T) {
	long := strings.Repeat("x", 10_000)
	base := example("/a", "").Cost()
	for name, fill := range map[string]func(e *Entry){
		"Key": func(e *Entry) { e.Key = long }, "Secondary": func(e *Entry) { e.Secondary = long },
		"Vary": func(e *Entry) { e.Vary = []string{long} }, "ContentType": func(e *Entry) { e.ContentType = []byte(long) },
		"Date": func(e *Entry) { e.Date = []byte(long) }, "Fields": func(e *Entry) { e.Fields = []Field{{Value: []byte(long)}} },
		"Missing": func(e *Entry) { e.FieldsWithBody = []Field{{Name: []byte(long)}} }, "Tags": func(e *Entry) { e.Tags = []string{long} },
		"Validator": func(e *Entry) { e.Validator = long }, "Monochrome": func(e *Entry) { e.Monochrome = long },
		"Release": func(e *Entry) { e.Release = long }, "body": func(e *Entry) { e.SetIdentity([]byte(long), "") },
		"entity tag": func(e *Entry) { e.SetIdentity(nil, long) },
	} {
		e := example("/a", "")
		if fill(e); e.Cost() < base+9_900 {
			t.Errorf("%s of %d bytes costs %d", name, len(long), e.Cost()-base)
		}
	}
}
