//go:build linux

// Package mix makes the plans that package load sends: it chooses paths, their frequencies and the
// kinds of requests. It sends nothing itself.
package mix

import (
	"cmp"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"net/http"
	"strings"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/loadtest/load"
)

// A Maker makes requests for a list of paths.
type Maker struct {
	Host   string
	Method string             // empty: GET
	Fields []string           // header lines of every request, "Name: value"
	ETag   func(i int) string // of path i, for Conditional
}

// Plan makes the requests of every kind for every path, the first kind for all paths before the
// next kind. Order gives the sequence of paths, and shares the weights of kinds. A Want with Status
// 0 is not known yet.
func (m *Maker) Plan(paths []string, shares Shares, order []uint32, seed uint64) (plan load.Plan, err error) {
	weights := make([]float64, len(shares))
	for k, share := range shares {
		weights[k] = share.Weight
		for i, path := range paths {
			r, err := m.request(share.Kind, i, path)
			if err != nil {
				return plan, err
			}
			plan.Requests = append(plan.Requests, r)
		}
	}
	kind, random := newDraw(weights), rand.New(rand.NewPCG(seed, 1))
	plan.Order = make([]uint32, len(order))
	for i, path := range order {
		plan.Order[i] = uint32(kind.next(random)*len(paths)) + path
	}
	return plan, nil
}

// maxSize is the largest size of an icon, and so the number of sizes that a cache does not have
// yet.
const maxSize = 4096

// unlimited is the maximum of the running number in a path that has {n}.
const unlimited = 1 << 40

// request makes the request of a kind for path i.
func (m *Maker) request(k Kind, i int, path string) (r load.Request, err error) {
	switch k {
	case Plain:
		if before, after, ok := strings.Cut(path, "{n}"); ok {
			return m.counted(before, after, unlimited), nil
		}
		return load.Request{Head: m.Get(path)}, nil
	case Conditional:
		return load.Request{Head: m.Get(path, "If-None-Match: "+m.ETag(i)), Want: load.Want{Status: 304}}, nil
	}
	name, ok := strings.CutSuffix(path, ".svg")
	ref, err := icon.ParseRef(strings.TrimPrefix(name, "/"))
	if !ok || err != nil {
		return r, fmt.Errorf("%s is not the path of an icon, which %s needs", path, k)
	}
	switch k {
	case API:
		r.Head = m.Get("/api/v1/icon/" + ref.String())
	case Search:
		word, _, _ := strings.Cut(ref.Name, "-")
		r.Head = m.Get("/api/v1/search?q=" + word)
	case Coloured:
		r.Head = m.Get(fmt.Sprintf("%s?color=%%23%06x", path, crc32.ChecksumIEEE([]byte(path))>>8))
	case Missing:
		r = load.Request{Head: m.Get("/" + ref.Pack + "/" + noSuch + ref.Name[:min(len(ref.Name), 100)] + ".svg")}
		r.Want = load.Want{Status: 404, Length: load.AnyLength}
	case Miss:
		r = m.counted(path+"?size=", "", maxSize)
	}
	return r, nil
}

const noSuch = "no-such-icon-as-"

// counted makes a request with a running number in its path or query.
func (m *Maker) counted(before, after string, most uint64) load.Request {
	all := string(m.Get(before + "\x00" + after))
	head, tail, _ := strings.Cut(all, "\x00")
	return load.Request{
		Head: []byte(head), Tail: []byte(tail), Count: load.NewCounter(most),
		Want: load.Want{Status: 200, Length: load.AnyLength},
	}
}

// Get serialises a request for a path, or for a path and query (RFC 9112, section 3).
func (m *Maker) Get(target string, fields ...string) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\n", cmp.Or(m.Method, http.MethodGet), target, m.Host)
	for _, lines := range [][]string{m.Fields, fields} {
		for _, line := range lines {
			b.WriteString(line + "\r\n")
		}
	}
	b.WriteString("\r\n")
	return []byte(b.String())
}

// Browser is the set of header lines that Chrome sends for an icon in a page.
var Browser = []string{
	"Connection: keep-alive",
	`sec-ch-ua: "Chromium";v="142", "Google Chrome";v="142", "Not_A Brand";v="99"`,
	"sec-ch-ua-mobile: ?0",
	"User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36",
	`sec-ch-ua-platform: "Linux"`,
	"Accept: image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8",
	"Sec-Fetch-Site: cross-site",
	"Sec-Fetch-Mode: no-cors",
	"Sec-Fetch-Dest: image",
	"Referer: https://www.example.com/",
	"Accept-Encoding: gzip, deflate, br, zstd",
	"Accept-Language: en-GB,en;q=0.9",
}
