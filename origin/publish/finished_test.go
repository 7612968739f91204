package publish

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/iconedge/iconedge/objectstore"
)

// cleaned counts icons as they are cleaned, and may end the publication when the next step begins.
type cleaned struct {
	silent
	mu    sync.Mutex
	icons int
	stop  func()
}

func (c *cleaned) Step(name string, _ int64) {
	if name == "building the search index" && c.stop != nil {
		c.stop()
	}
}

func (c *cleaned) Add(_ int64, icons int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.icons += icons
}

// interrupted publishes the sources until all packs are finished.
func interrupted(t *testing.T, opt Options) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	c := &cleaned{stop: stop}
	opt.Progress = c
	if _, err := Publish(ctx, opt); !errors.Is(err, context.Canceled) || c.icons == 0 {
		t.Fatalf("%v after %d icons, want an interruption after some", err, c.icons)
	}
}

// TestResumed checks that a publication takes over the packs of an interrupted one, if sources
// and release are the same and their files are whole, and that it makes the release of an
// uninterrupted one.
func TestResumed(t *testing.T) {
	whole := &cleaned{}
	fresh, err := Publish(t.Context(), Options{Sources: all, Tags: noTags, Store: objectstore.Dir(t.TempDir()), Now: t0,
		Work: t.TempDir(), Progress: whole})
	if err != nil {
		t.Fatal(err)
	}
	one := func(t *testing.T, work, pattern string) string {
		found, err := filepath.Glob(filepath.Join(work, workPattern, pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("%v: no %s is kept", err, pattern)
		}
		return found[0]
	}
	for _, tt := range []struct {
		name   string
		change func(t *testing.T, opt *Options)
		some   bool // some packs are cleaned again
		every  bool // all are
	}{
		{name: "the same", change: func(*testing.T, *Options) {}},
		{name: "after a dry run", change: func(t *testing.T, opt *Options) {
			dry := *opt
			dry.DryRun = true
			if _, err := Publish(t.Context(), dry); err != nil {
				t.Fatal(err)
			}
		}},
		{name: "others may write the folder", every: true, change: func(t *testing.T, opt *Options) {
			if err := os.Chmod(filepath.Dir(one(t, opt.Work, lockName)), 0o755); err != nil {
				t.Fatal(err)
			}
		}},
		{name: "the store can't be written", change: func(t *testing.T, opt *Options) {
			broken := *opt
			broken.Store = &failing{Bucket: opt.Store}
			if _, err := Publish(t.Context(), broken); !errors.Is(err, errFull) || !errors.Is(err, ErrKept) {
				t.Fatalf("%v, want errFull and ErrKept", err)
			}
		}},
		{name: "an archive is cut off", some: true, change: func(t *testing.T, opt *Options) {
			if err := os.Truncate(one(t, opt.Work, "*"+archiveSuffix), 100); err != nil {
				t.Fatal(err)
			}
		}},
		{name: "docs are lost", some: true, change: func(t *testing.T, opt *Options) { os.Remove(one(t, opt.Work, "*"+docsSuffix)) }},
		{name: "another publication runs", every: true, change: func(t *testing.T, opt *Options) {
			other, err := openWork(opt.Work, t0)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { other.close(true) })
		}},
		{name: "a day later", every: true, change: func(t *testing.T, opt *Options) { opt.Now = time.Now().Add(25 * time.Hour) }},
		{name: "another release is current", some: true, change: func(t *testing.T, opt *Options) {
			mustPublish(t, opt.Store, t0.Add(-time.Hour), "testdata/folder")
			opt.AllowRemoval = true
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			opt := Options{Sources: all, Tags: noTags, Store: objectstore.Dir(t.TempDir()), Now: t0, Work: t.TempDir()}
			interrupted(t, opt)
			tt.change(t, &opt)
			c := &cleaned{}
			opt.Progress = c
			sum, err := Publish(t.Context(), opt)
			if err != nil {
				t.Fatal(err)
			}
			if again := c.icons > 0; again != (tt.some || tt.every) {
				t.Errorf("%d icons were cleaned again", c.icons)
			}
			if tt.every != (c.icons == whole.icons) {
				t.Errorf("%d icons of %d were cleaned again", c.icons, whole.icons)
			}
			if tt.name != "another release is current" && (sum.Release != fresh.Release || sum.Icons != fresh.Icons ||
				len(sum.LeftOut) != len(fresh.LeftOut) || sum.Colors != fresh.Colors) {
				t.Errorf("the summary is %+v, want %+v", sum, fresh)
			}
		})
	}
}
