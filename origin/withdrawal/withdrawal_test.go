package withdrawal

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/objectstore"
)

var t0 = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// load returns the items and the set in a store.
func load(t *testing.T, b objectstore.Bucket) ([]Item, *Set) {
	t.Helper()
	body, err := Read(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	if body == nil {
		return nil, nil
	}
	items, set, err := Parse(body)
	if err != nil {
		t.Fatal(err)
	}
	return items, set
}

func TestWithdraw(t *testing.T) {
	b, home := objectstore.Dir(t.TempDir()), icon.Ref{Pack: "mdi", Name: "home"}
	if items, set := load(t, b); items != nil || set.Sum() != "" || set.Icon(home) || set.Pack("mdi") {
		t.Errorf("an empty store has %v", items)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(Withdraw(t.Context(), b, "mdi/home", "request 17", "ann", t0))
	must(Withdraw(t.Context(), b, "fa", "", "bob", t0.Add(time.Second)))
	_, first := load(t, b)
	if !first.Icon(home) || first.Icon(icon.Ref{Pack: "mdi", Name: "house"}) ||
		!first.Icon(icon.Ref{Pack: "fa", Name: "any"}) || first.Pack("mdi") || !first.Pack("fa") || len(first.Sum()) != 16 {
		t.Errorf("the set is %+v", first)
	}
	if err := Withdraw(t.Context(), b, "fa", "again", "cid", t0); !errors.Is(err, ErrAlready) {
		t.Errorf("a second withdrawal: %v", err)
	}
	must(Undo(t.Context(), b, "mdi/home", "dan", t0.Add(time.Minute)))
	if err := Undo(t.Context(), b, "mdi/home", "dan", t0); !errors.Is(err, ErrAlready) {
		t.Errorf("a second undoing: %v", err)
	}
	items, second := load(t, b)
	if second.Icon(home) || second.Sum() == first.Sum() || len(items) != 2 {
		t.Errorf("after the undoing: %+v", items)
	}
	if i := items[0]; i.By != "ann" || i.Reason != "request 17" || !i.At.Equal(t0) || i.UndoneBy != "dan" ||
		!i.UndoneAt.Equal(t0.Add(time.Minute)) {
		t.Errorf("the record is %+v", i)
	}
	if got := Changed(first, second); len(got) != 1 || got[0] != "mdi" {
		t.Errorf("changed packs: %v", got)
	}
	must(Withdraw(t.Context(), b, "mdi/home", "", "eve", t0))
	if _, third := load(t, b); third.Sum() != first.Sum() {
		t.Error("the same set has another sum")
	}
}

// TestTargets: a target that no icon can have is refused before the store is read.
func TestTargets(t *testing.T) {
	b := objectstore.Dir(t.TempDir())
	for _, target := range []string{"", "/", "mdi/", "/home", "mdi/home/x", "MDI", "mdi/home.svg", "a\x00b", "..",
		"mdi/..", strings.Repeat("a", 200)} {
		if err := errors.Join(Withdraw(t.Context(), b, target, "", "", t0)); !errors.Is(err, ErrTarget) {
			t.Errorf("%q: %v", target, err)
		}
	}
}

// TestConcurrentWithdrawals: no withdrawal is lost when several people act at once.
func TestConcurrentWithdrawals(t *testing.T) {
	b := objectstore.Dir(t.TempDir())
	var all sync.WaitGroup
	var mu sync.Mutex
	done := 0
	for i := range 4 {
		all.Go(func() {
			for n := range 5 {
				target := fmt.Sprintf("pack-%d/icon-%d", i, n)
				for { // as a person would, after an error
					if err := Withdraw(context.Background(), b, target, "", "x", t0); err == nil {
						break
					} else if !errors.Is(err, objectstore.ErrChanged) {
						t.Error(err)
						return
					}
				}
				mu.Lock()
				done++
				mu.Unlock()
			}
		})
	}
	all.Wait()
	if items, _ := load(t, b); len(items) != 20 || done != 20 {
		t.Errorf("%d items after %d withdrawals", len(items), done)
	}
}

// TestFull: a withdrawal for which the list has no room fails, and the list stays readable.
func TestFull(t *testing.T) {
	b := objectstore.Dir(t.TempDir())
	reason := strings.Repeat("x", maxList/2)
	var err error
	for i := 0; i < 3 && err == nil; i++ {
		err = Withdraw(t.Context(), b, fmt.Sprintf("mdi/icon-%d", i), reason, "ann", t0)
	}
	if err == nil || !strings.Contains(err.Error(), "no room") {
		t.Errorf("no withdrawal failed as one without room: %v", err)
	}
	if items, _ := load(t, b); len(items) != 1 {
		t.Errorf("%d withdrawals are left, want 1", len(items))
	}
}

// FuzzParse: any content gives a list or ErrDamaged, and a list names only possible icons.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"items":[{"pack":"mdi","name":"home","by":"a","at":"2026-11-22T12:00:00Z"}]}`))
	f.Add([]byte(`{"items":[{"pack":"../x"}]}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, body []byte) {
		items, set, err := Parse(body)
		if err != nil {
			if !errors.Is(err, ErrDamaged) {
				t.Fatal(err)
			}
			return
		}
		for _, i := range items {
			if i.UndoneAt == nil && !set.Icon(icon.Ref{Pack: i.Pack, Name: i.Name}) && !set.Pack(i.Pack) {
				t.Fatalf("%+v is not in the set", i)
			}
		}
	})
}
