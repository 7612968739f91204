package token

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/objectstore"
)

var t0 = time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)

func at(d time.Duration) *time.Time { t := t0.Add(d); return &t }

func issue(t *testing.T, b objectstore.Bucket, plan string, until *time.Time) string {
	t.Helper()
	token, err := Issue(t.Context(), b, plan, until, t0)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func records(t *testing.T, b objectstore.Bucket) (out []Record) {
	t.Helper()
	for r, err := range List(t.Context(), b) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

// put stores raw bytes as the licence of a token.
func put(t *testing.T, b objectstore.Bucket, token, body string) {
	t.Helper()
	if err := b.Put(t.Context(), "licenses/"+Hash(token)+".json", strings.NewReader(body), int64(len(body))); err != nil {
		t.Fatal(err)
	}
}

// TestIssue checks the stored form, which other programs may read, and that it does not contain the
// token.
func TestIssue(t *testing.T) {
	b := objectstore.Dir(t.TempDir())
	local := time.Date(2026, 11, 21, 1, 0, 0, 999, time.FixedZone("", 3600))
	token, err := Issue(t.Context(), b, "lifetime", nil, local)
	if err != nil || !icon.WellFormedToken(token) {
		t.Fatalf("Issue = %q, %v", token, err)
	}
	got, err := objectstore.ReadAll(t.Context(), b, "licenses/"+Hash(token)+".json", 1000)
	if want := `{"plan":"lifetime","since":"2026-11-21T00:00:00Z","until":null,"revoked":null}` + "\n"; err != nil || string(got) != want {
		t.Errorf("stored: %s (%v), want %s", got, err, want)
	}
	for info, err := range b.List(t.Context(), "") {
		if err != nil || info.Key != "licenses/"+Hash(token)+".json" {
			t.Errorf("List yields %v (%v), which contains the token", info.Key, err)
		}
	}
	issue(t, b, "team-2", at(time.Hour))
	if got := records(t, b); len(got) != 2 {
		t.Errorf("%d licences, want 2", len(got))
	}
}

func TestIssueRefuses(t *testing.T) {
	b := objectstore.Dir(t.TempDir())
	for _, c := range []struct {
		plan  string
		until *time.Time
		want  error
	}{
		{"", nil, ErrPlan},
		{"Lifetime", nil, ErrPlan},
		{"life time", nil, ErrPlan},
		{"a:b", nil, ErrPlan}, // --limit lifetime:search=600/1m
		{"-a", nil, ErrPlan},
		{"a--b", nil, ErrPlan},
		{"é", nil, ErrPlan},
		{strings.Repeat("a", 65), nil, ErrPlan},
		{"lifetime", at(-time.Second), ErrUntil},
		{"lifetime", at(0), ErrUntil},
	} {
		if token, err := Issue(t.Context(), b, c.plan, c.until, t0); !errors.Is(err, c.want) || token != "" {
			t.Errorf("Issue(%q, %v) = %q, %v, want %v", c.plan, c.until, token, err, c.want)
		}
	}
	if got := records(t, b); got != nil {
		t.Errorf("stored: %v", got)
	}
}

func TestRevoke(t *testing.T) {
	b := objectstore.Dir(t.TempDir())
	first, second, third := issue(t, b, "lifetime", nil), issue(t, b, "lifetime", at(time.Hour)), issue(t, b, "trial", nil)
	for _, c := range []struct {
		what string
		now  time.Duration
		want error
	}{
		{first, time.Minute, nil},
		{first, time.Hour, nil}, // again: the first time stays
		{strings.ToUpper(Hash(second)), time.Minute, nil},
		{" " + Hash(second) + "\n", time.Hour, nil},
		{generate(), 0, ErrUnknown},
		{Hash("other"), 0, ErrUnknown},
		{"", 0, ErrForm},
		{"iel_nonsense", 0, ErrForm},
		{"../current", 0, ErrForm},
		{Hash(third)[:63], 0, ErrForm},
		{Hash(third)[:63] + "g", 0, ErrForm},
	} {
		if err := Revoke(t.Context(), b, c.what, t0.Add(c.now)); !errors.Is(err, c.want) {
			t.Errorf("Revoke(%q): %v, want %v", c.what, err, c.want)
		} else if err != nil && c.what != "" && strings.Contains(err.Error(), c.what) {
			t.Errorf("Revoke(%q): %v: repeats a possible token", c.what, err)
		}
	}
	want := []Record{
		{Hash(first), License{Plan: "lifetime", Since: t0, Revoked: at(time.Minute)}},
		{Hash(second), License{Plan: "lifetime", Since: t0, Until: at(time.Hour), Revoked: at(time.Minute)}},
		{Hash(third), License{Plan: "trial", Since: t0}},
	}
	slices.SortFunc(want, func(a, b Record) int { return strings.Compare(a.Hash, b.Hash) })
	got, _ := json.Marshal(records(t, b))
	wanted, _ := json.Marshal(want)
	if string(got) != string(wanted) {
		t.Errorf("List = %s\nwant   %s", got, wanted)
	}
}

// TestRevokeMeetsAnotherWrite checks that a concurrent write of the same licence does not undo a
// revocation.
func TestRevokeMeetsAnotherWrite(t *testing.T) {
	dir := objectstore.Dir(t.TempDir())
	token := issue(t, dir, "lifetime", nil)
	b := &meddled{Bucket: dir, then: func() {
		put(t, dir, token, `{"plan":"team","since":"2026-11-21T00:00:00Z"}`)
	}}
	if err := Revoke(t.Context(), b, token, t0); err != nil {
		t.Fatal(err)
	}
	if got := records(t, dir); len(got) != 1 || got[0].Plan != "team" || got[0].Revoked == nil {
		t.Errorf("List = %+v, want the plan of the concurrent write, revoked", got)
	}
}

// meddled is a store with a concurrent write between the first read and the first write.
type meddled struct {
	objectstore.Bucket
	then func()
}

func (m *meddled) Stat(ctx context.Context, key string) (objectstore.Info, error) {
	info, err := m.Bucket.Stat(ctx, key)
	if m.then != nil {
		m.then()
		m.then = nil
	}
	return info, err
}

func TestListDamaged(t *testing.T) {
	b := objectstore.Dir(t.TempDir())
	token := issue(t, b, "lifetime", nil)
	put(t, b, "damaged", "{")
	for _, key := range []string{"licenses/readme.txt", "licenses/x.json", "licenses/" + strings.Repeat("A", 64) + ".json", "other"} {
		if err := b.Put(t.Context(), key, strings.NewReader("x"), 1); err != nil {
			t.Fatal(err)
		}
	}
	got := map[string]error{}
	for r, err := range List(t.Context(), b) {
		got[r.Hash] = err
	}
	if len(got) != 2 || got[Hash(token)] != nil || !errors.Is(got[Hash("damaged")], ErrDamaged) {
		t.Errorf("List = %v, want the licence, and the damaged one with ErrDamaged", got)
	}
	if err := Revoke(t.Context(), b, Hash("damaged"), t0); !errors.Is(err, ErrDamaged) {
		t.Errorf("Revoke of a damaged licence: %v, want ErrDamaged", err)
	}
}

// FuzzParse checks that an accepted licence is encoded in the same form, and has a plan and a date.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"plan":"lifetime","since":"2026-11-21T00:00:00Z","until":null,"revoked":null}`))
	f.Add([]byte(`{"plan":"a","since":"2026-11-21T00:00:00+02:00","until":"9999-12-31T23:59:59Z","x":1}`))
	f.Add([]byte(`[]`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, body []byte) {
		l, err := parse(body)
		if err != nil {
			if !errors.Is(err, ErrDamaged) || l != (License{}) {
				t.Fatalf("parse(%q) = %+v, %v, want ErrDamaged", body, l, err)
			}
			return
		}
		if !icon.ValidPlan(l.Plan) || l.Since.IsZero() {
			t.Fatalf("parse(%q) = %+v", body, l)
		}
		once, err := json.Marshal(l)
		if err != nil {
			t.Fatalf("the result of parse(%q) can't be encoded: %v", body, err)
		}
		again, err := parse(once)
		if twice, _ := json.Marshal(again); err != nil || string(twice) != string(once) {
			t.Fatalf("%s, parsed and encoded again, is %s (%v)", once, twice, err)
		}
	})
}
