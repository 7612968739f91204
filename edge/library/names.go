package library

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/iconedge/iconedge/edge/routes"
	"github.com/iconedge/iconedge/edge/upstream"
	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/icon/scheme"
	"github.com/iconedge/iconedge/icon/spelling"
	"github.com/iconedge/iconedge/internal/problem"
)

// maxNames is the maximum size of a list of names, in bytes. It is enough for a hundred million
// icons, at some ten bytes each.
const maxNames = 1 << 30

// A nameList has the names of one release. It is valid while the edge knows that release. After a
// switch, the edge asks the origin for every name until it has the list of the new release.
type nameList struct {
	release string
	sum     string // SHA-256, in hexadecimal
	*icon.Names
}

// CurrentNames returns the list of the release that the edge knows; nil, if it has none.
func (l *Library) CurrentNames() *nameList {
	n, known := l.names.Load(), l.release.Load()
	if n == nil || known == nil || n.release != *known {
		return nil
	}
	return n
}

// mostHints is the number of 404 responses a second that suggest close names. The search for them
// takes some 80 µs, a hundred times as long as finding that a name is absent, and it does not help
// a client that floods the edge with names.
const mostHints = 1000

// Absent returns the 410 for a withdrawn icon or pack, and the 404 for a name that is not in the
// list of names, the same as the origin's; nil, if the edge has to ask the origin. With --proxy-all
// the path of an unknown pack may belong to another application.
func (l *Library) Absent(name string, now time.Time) *problem.Problem {
	if name != "" && l.isWithdrawn(name) {
		return problem.Withdrawn()
	}
	n := l.CurrentNames()
	if name == "" || n == nil {
		return nil
	}
	pack, name, isIcon := strings.Cut(name, "/")
	hasPack, hasIcon := n.Has(pack, name)
	switch {
	case hasIcon, hasPack && !isIcon, !hasPack && l.ProxyAll:
		return nil
	}
	l.Observer.NameAbsent()
	detail, near := icon.NoPack, []string(nil)
	if hasPack {
		detail = icon.NoIcon
	}
	if l.hints.Allow(now, mostHints) {
		near = l.close(n, pack, name)
	}
	return problem.NotFound(detail, near...)
}

// Spelled reports whether the list of names has another spelling of an icon's name. If not, near
// has the names that the client may mean, the mended one first. Without a list it reports false.
func (l *Library) Spelled(spelled string, now time.Time) (near []string, has bool) {
	n := l.CurrentNames()
	if n == nil {
		return nil, false
	}
	pack, name, _ := strings.Cut(spelled, "/")
	if n.HasSpelling(pack, name) {
		return nil, true
	}
	if l.hints.Allow(now, mostHints) {
		if near = n.Meant(pack, spelling.Mend(name)); len(near) == 0 {
			near = l.inCode(n, pack, name)
		}
	}
	return near, false
}

// Has reports whether an icon is in the list of names, and not withdrawn. Without a list it reports
// false.
func (l *Library) Has(ref icon.Ref) bool {
	n := l.CurrentNames()
	if n == nil || l.isWithdrawn(ref.String()) {
		return false
	}
	_, has := n.Has(ref.Pack, ref.Name)
	return has
}

// Lacks reports whether an icon is withdrawn, or missing from the list of names. Names of font
// characters, such as f015, are in no list, so only the origin knows them.
func (l *Library) Lacks(pack, name string) bool {
	if l.isWithdrawn(pack + "/" + name) {
		return true
	}
	n := l.CurrentNames()
	if n == nil || isCharacter(name) {
		return false
	}
	_, has := n.Has(pack, name)
	return !has
}

// isCharacter reports whether a name may be the numbers of characters in hexadecimal digits, with
// hyphens between them, such as those of an emoji with a skin tone.
func isCharacter(name string) bool {
	for number := range strings.SplitSeq(name, "-") {
		if len(number) > 6 || strings.Trim(number, "0123456789abcdef") != "" {
			return false
		}
	}
	return len(name) <= maxCharacter
}

// maxCharacter is the length of the longest name of characters, in bytes: ten in a sequence.
const maxCharacter = 64

// close returns the names in the pack that resemble an unknown name; if the pack is unknown, the
// icons of the library that calls itself so, and the packs that resemble it.
func (l *Library) close(n *nameList, pack, name string) []string {
	near := n.Near(pack, name)
	if len(near) == 0 && name != "" {
		near = l.inCode(n, pack, name)
	}
	if has, _ := n.Has(pack, ""); !has {
		near = append(near, n.NearPacks(pack)...)
	}
	return near[:min(len(near), icon.MaxNear)]
}

// inCode returns the icons that a path means as code does; see scheme.Near.
func (l *Library) inCode(n *nameList, pack, name string) []string {
	isPack := func(key string) bool { has, _ := n.Has(key, ""); return has }
	return scheme.Near(pack, name, isPack, func(ref icon.Ref) bool { return n.Shows(ref) && !l.isWithdrawn(ref.String()) })
}

// followNames fetches the list of each release that the watch learns of, until ctx ends. No request
// waits for it: without a list the edge asks the origin for every name.
func (l *Library) followNames(ctx context.Context) {
	failing := "" // the release whose failure has been logged
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.NamesDue:
		}
		if release, err := l.UpdateNames(ctx); err != nil && release != failing && ctx.Err() == nil {
			failing = release
			l.Log.Warn("name list not available; asking the origin for every name until it is", "release", release, "err", err)
		}
	}
}

// UpdateNames fetches the list of the known release. If only the contents of icons have changed, it
// is the same as the last list.
func (l *Library) UpdateNames(ctx context.Context) (release string, err error) {
	l.mu.Lock()
	n := nameList{release: l.Known(), sum: l.sum}
	l.mu.Unlock()
	if last := l.names.Load(); last != nil && last.sum == n.sum {
		n.Names = last.Names
	} else if n.Names, err = l.fetchNames(ctx, n.release, n.sum); err != nil {
		return n.release, err
	}
	l.names.Store(&n)
	l.Observer.NamesKnown(n.Len())
	l.Log.Info("name list ready", "release", n.release, "count", n.Len())
	return n.release, nil
}

var errSum = errors.New("the list does not have the SHA-256 that the release states")

// fetchNames fetches a list, and checks its SHA-256.
func (l *Library) fetchNames(ctx context.Context, release, sum string) (*icon.Names, error) {
	ctx, cancel := context.WithTimeout(ctx, namesIn)
	defer cancel()
	a, err := l.Do(ctx, upstream.Request{Method: http.MethodGet, Target: routes.NamesPath + "?release=" + release,
		Header: http.Header{"Accept-Encoding": {"identity"}}, SendTierSecret: true, StrictLength: true, TryNextGroup: true})
	if err != nil {
		return nil, err
	}
	defer a.Body.Close()
	if a.Status != http.StatusOK || a.Length < 0 || a.Length > maxNames {
		return nil, fmt.Errorf("the origin answered %d with %d bytes", a.Status, a.Length)
	}
	b := make([]byte, a.Length)
	if _, err := io.ReadFull(a.Body, b); err != nil {
		return nil, err
	}
	if got := sha256.Sum256(b); hex.EncodeToString(got[:]) != sum {
		return nil, errSum
	}
	return icon.ParseNames(b)
}

// namesIn is the time limit for fetching a list, after which the fetch fails. An origin that stops
// sending meets --origin-timeout much sooner.
const namesIn = 10 * time.Minute
