package edge

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// A randomUpload is one upload of TestUploadsAtRandom: what its client and its origin do.
type randomUpload struct {
	size    int
	chunked bool // its length is not announced
	expects bool // the client waits for a 100
	until   int  // bytes after which the client gives up; -1: it does not
	behaves string
	after   int // bytes that the origin reads before it does something else
	pausing int // one of so many reads is followed by a pause
	seed    uint64
	sum     [sha256.Size]byte // of the body
}

var originBehaviours = []string{"reads all", "reads all", "reads all", "answers and reads on", "answers early", "breaks off"}

func newRandomUpload(r *rand.Rand, i int) *randomUpload {
	const window = 65535
	sizes := []int{r.IntN(100), r.IntN(20_000), window - 1 + r.IntN(3), r.IntN(400_000), window * r.IntN(5)}
	u := &randomUpload{size: sizes[r.IntN(len(sizes))], chunked: r.IntN(2) == 0, expects: r.IntN(5) == 0, until: -1,
		pausing: 1 + r.IntN(40), seed: r.Uint64(),
		behaves: originBehaviours[i%len(originBehaviours)]}
	u.after = r.IntN(u.size + 1)
	if u.expects && u.behaves == "answers and reads on" {
		// A client that gets a final status in place of the 100 may omit the body, and the edge's
		// client does (RFC 9110, section 10.1.1).
		u.after = min(max(u.after, 1), u.size)
	}
	if r.IntN(10) == 0 && u.size > 0 {
		u.until = r.IntN(u.size)
	}
	h := sha256.New()
	io.Copy(h, u.content())
	h.Sum(u.sum[:0])
	return u
}

// content returns the body, whole.
func (u *randomUpload) content() io.Reader {
	var seed [32]byte
	copy(seed[:], fmt.Sprint(u.seed))
	return io.LimitReader(rand.NewChaCha8(seed), int64(u.size))
}

var errGivesUp = errors.New("the client gives up")

// A pausing reader returns parts of random lengths, with pauses, and fails where the client gives
// up.
type pausingReader struct {
	io.Reader
	rand   *rand.Rand
	upload *randomUpload
	read   int
}

func (u *randomUpload) slowly(r io.Reader) *pausingReader {
	return &pausingReader{Reader: r, rand: rand.New(rand.NewPCG(u.seed, 1)), upload: u}
}

func (p *pausingReader) Read(b []byte) (int, error) {
	if p.upload.until >= 0 && p.read >= p.upload.until {
		return 0, errGivesUp
	}
	n, err := p.Reader.Read(b[:1+p.rand.IntN(len(b))])
	p.read += n
	if p.rand.IntN(p.upload.pausing) == 0 {
		time.Sleep(time.Duration(p.rand.IntN(2000)) * time.Microsecond)
	}
	return n, err
}

// ServeHTTP is the origin.
func (u *randomUpload) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	pauses := &pausingReader{Reader: r.Body, rand: rand.New(rand.NewPCG(u.seed, 2)), upload: &randomUpload{until: -1, pausing: u.pausing}}
	h := sha256.New()
	tell := func(h hash.Hash, n int64, err error) { fmt.Fprintf(w, "%x %d %v", h.Sum(nil), n, err) }
	switch u.behaves {
	case "reads all":
		n, err := io.Copy(h, pauses)
		tell(h, n, err)
	case "answers and reads on":
		control := http.NewResponseController(w)
		control.EnableFullDuplex()
		io.CopyN(h, pauses, int64(u.after))
		w.WriteHeader(http.StatusOK)
		control.Flush()
		n, err := io.Copy(h, pauses)
		tell(h, n+int64(u.after), err)
	case "answers early":
		io.CopyN(io.Discard, pauses, int64(u.after))
		http.Error(w, "enough", http.StatusForbidden)
	case "breaks off":
		io.CopyN(io.Discard, pauses, int64(u.after))
		panic(http.ErrAbortHandler)
	}
}

// outcome returns the error of an outcome that the client must not see.
func (u *randomUpload) outcome(resp *http.Response, body []byte, err error) error {
	want := fmt.Sprintf("%x %d <nil>", u.sum, u.size)
	switch {
	case u.until >= 0: // the client has ended it; whatever it sees is right, if it sees something
		return nil
	case u.behaves == "breaks off":
		if err == nil && resp.StatusCode < 500 {
			return fmt.Errorf("%d %q after the origin broke off", resp.StatusCode, body)
		}
		return nil
	case err != nil:
		return err
	case u.behaves == "answers early":
		if resp.StatusCode != http.StatusForbidden || string(body) != "enough\n" {
			return fmt.Errorf("%d %q, want the origin's 403", resp.StatusCode, body)
		}
	case resp.StatusCode != http.StatusOK || string(body) != want:
		return fmt.Errorf("%d %q, want %q", resp.StatusCode, body, want)
	}
	return nil
}

// Uploads of random lengths and speeds, by clients that may give up, to origins that answer early,
// late or not, all end, and with what the origin says, by every protocol on either side. Many share
// a connection.
func TestUploadsAtRandom(t *testing.T) {
	t.Parallel()
	n := 200
	if testing.Short() {
		n = 20
	}
	var all sync.Map // path to upload
	handler := func(w http.ResponseWriter, r *http.Request) {
		u, _ := all.Load(r.URL.Path)
		u.(*randomUpload).ServeHTTP(w, r)
	}
	h2c, _ := newHTTP2Origin(t, handler, false)
	seed := rand.Uint64()
	for _, way := range append(uploads(), "h1") {
		for _, origin := range []string{"", h2c} {
			name := fmt.Sprintf("/%s,h2c=%v", strings.ReplaceAll(way, " ", "-"), origin != "")
			t.Run(name[1:], func(t *testing.T) {
				t.Parallel()
				s := newSecured(t, http.HandlerFunc(handler), append(wayOf[way].changes(), func(c *Config) {
					if c.ProxyAll = true; origin != "" {
						c.Origins = nil
						must(t, c.Origins.Set(origin))
					}
				})...).by(t, way)
				r := rand.New(rand.NewPCG(seed, 3))
				var done sync.WaitGroup
				turns := make(chan struct{}, 20)
				for i := range n {
					path, u := fmt.Sprintf("%s/%d", name, i), newRandomUpload(r, i)
					all.Store(path, u)
					done.Go(func() {
						turns <- struct{}{}
						defer func() { <-turns }()
						if err := u.send(t.Context(), s, path); err != nil {
							t.Errorf("seed %d, upload %d of %d bytes (in chunks: %v, Expect: %v, the origin %s after %d): %v", seed, i,
								u.size, u.chunked, u.expects, u.behaves, u.after, err)
						}
					})
				}
				done.Wait()
			})
		}
	}
}

// send sends an upload.
func (u *randomUpload) send(ctx context.Context, s *securedTest, path string) error {
	ctx, cancel := context.WithTimeout(ctx, longEnough)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://edge.test"+path, io.NopCloser(u.slowly(u.content())))
	if err != nil {
		return err
	}
	if s.plainly {
		r.URL.Scheme = "http"
	}
	if r.ContentLength = int64(u.size); u.chunked {
		r.ContentLength = -1
	}
	if u.size == 0 {
		r.Body = http.NoBody
	}
	if u.expects {
		r.Header.Set("Expect", "100-continue")
	}
	resp, err := s.via.RoundTrip(r)
	var body bytes.Buffer
	if err == nil {
		_, err = body.ReadFrom(resp.Body)
		resp.Body.Close()
	}
	return u.outcome(resp, body.Bytes(), err)
}
