package storetest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/iconedge/iconedge/objectstore"
)

// blob returns n bytes without repetitions. Callers must not change them.
func blob(n int) []byte { return noise()[:n:n] }

var noise = sync.OnceValue(func() []byte {
	b := make([]byte, 33<<20) // three requests to S3
	rand.NewChaCha8([32]byte{}).Read(b)
	return b
})

func wrongSizes(t *testing.T, b objectstore.Bucket) {
	put(t, b, "old", "stays")
	for _, n := range []int{0, 5, 17 << 20} { // the last takes several requests
		content := blob(n)
		for _, announced := range []int{n + 1, n - 1} {
			if announced < 0 {
				continue
			}
			for _, key := range []string{"new", "old"} {
				if err := b.Put(t.Context(), key, bytes.NewReader(content), int64(announced)); err == nil {
					t.Errorf("Put of %d bytes that were announced to be %d: no error", n, announced)
				}
			}
			if n < objectstore.MaxPutIf {
				if err := b.PutIf(t.Context(), "new", bytes.NewReader(content), int64(announced), ""); err == nil {
					t.Errorf("PutIf of %d bytes that were announced to be %d: no error", n, announced)
				}
			}
		}
	}
	wants(t, b, "new", "absent")
	wants(t, b, "old", "stays")
}

func brokenContent(t *testing.T, b objectstore.Bucket) {
	put(t, b, "old", "stays")
	for _, n := range []int{0, 7, 17 << 20} {
		// A broken connection and a truncated gzip stream give io.ErrUnexpectedEOF, which must not
		// count as the end.
		for _, broken := range []error{errors.New("broken"), io.ErrUnexpectedEOF} {
			for _, size := range []int64{-1, int64(n) + 5} {
				for _, key := range []string{"new", "old"} {
					err := b.Put(t.Context(), key, io.MultiReader(bytes.NewReader(blob(n)), fails{broken}), size)
					if !errors.Is(err, broken) || errors.Is(err, objectstore.ErrUnreachable) {
						t.Errorf("Put of content that ends with %q: %v", broken, err)
					}
				}
			}
		}
	}
	wants(t, b, "new", "absent")
	wants(t, b, "old", "stays")
	if got := keys(t, b, ""); !slices.Equal(got, []string{"old"}) {
		t.Errorf("List = %q, which shows unfinished writes", got)
	}
}

type fails struct{ err error }

func (f fails) Read([]byte) (int, error) { return 0, f.err }

func large(t *testing.T, b objectstore.Bucket) {
	for _, c := range []struct{ n, announced int }{
		// Around the size of a request.
		{16<<20 - 1, 16<<20 - 1}, {16 << 20, -1}, {16<<20 + 1, 16<<20 + 1}, {33 << 20, -1},
	} {
		if err := b.Put(t.Context(), "large", bytes.NewReader(blob(c.n)), int64(c.announced)); err != nil {
			t.Fatalf("Put of %d bytes, announced to be %d: %v", c.n, c.announced, err)
		}
		got, err := objectstore.ReadAll(t.Context(), b, "large", 64<<20)
		if err != nil || !bytes.Equal(got, blob(c.n)) {
			t.Fatalf("ReadAll of %d bytes returned %d other bytes (%v)", c.n, len(got), err)
		}
		if info := stat(t, b, "large"); info.Size != int64(c.n) || info.ETag == "" {
			t.Errorf("Stat = %+v", info)
		}
	}
}

func endedContext(t *testing.T, b objectstore.Bucket) {
	put(t, b, "old", "stays")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, open := b.Open(ctx, "old")
	_, part := b.OpenRange(ctx, "old", 0, 1)
	_, stat := b.Stat(ctx, "old")
	var list error
	for _, err := range b.List(ctx, "") {
		list = err
	}
	for call, err := range map[string]error{
		"Open": open, "OpenRange": part, "Stat": stat, "List": list,
		"Put":    b.Put(ctx, "old", strings.NewReader("x"), 1),
		"PutIf":  b.PutIf(ctx, "new", strings.NewReader("x"), 1, ""),
		"Delete": b.Delete(ctx, "old"),
	} {
		if !errors.Is(err, context.Canceled) || errors.Is(err, objectstore.ErrUnreachable) {
			t.Errorf("%s: %v, want only context.Canceled", call, err)
		}
	}
	// This context ends while the content is being read.
	ctx, cancel = context.WithCancel(t.Context())
	defer cancel()
	content := io.MultiReader(bytes.NewReader(blob(100)), then{cancel}, bytes.NewReader(blob(100)))
	if err := b.Put(ctx, "old", content, -1); !errors.Is(err, context.Canceled) {
		t.Errorf("Put with a context that ends during the write: %v", err)
	}
	wants(t, b, "old", "stays")
	wants(t, b, "new", "absent")
}

// then is a reader that calls do and ends.
type then struct{ do func() }

func (r then) Read([]byte) (int, error) { r.do(); return 0, io.EOF }

func readAllLimit(t *testing.T, b objectstore.Bucket) {
	put(t, b, "o", "0123456789")
	if got, err := objectstore.ReadAll(t.Context(), b, "o", 10); string(got) != "0123456789" || err != nil {
		t.Errorf("ReadAll with limit 10 = %q, %v", got, err)
	}
	if got, err := objectstore.ReadAll(t.Context(), b, "o", 9); !errors.Is(err, objectstore.ErrTooLarge) || got != nil {
		t.Errorf("ReadAll with limit 9 = %q, %v, want ErrTooLarge", got, err)
	}
}
