package lsp

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	client "github.com/iconedge/iconedge/clients/go"
	"github.com/iconedge/iconedge/clients/go/reference"
	"github.com/iconedge/iconedge/icon"
)

const (
	packsFor   = time.Hour   // for which the list of packs is used
	unknownFor = time.Minute // for which a 404 or 410 is not asked again
	checks     = 40          // requests for icons in a minute that no user waits for
	maxUnknown = 2000        // names whose 404 is remembered
)

// icons calls the service, and remembers the names that it does not have.
type icons struct {
	client *client.Client
	finder finder

	mu      sync.Mutex
	list    *packs
	listed  time.Time
	unknown map[icon.Ref]unknown
	checked []time.Time // the requests of the last minute that no user waited for
}

type unknown struct {
	err   *client.Error
	until time.Time
}

func newIcons(c *client.Client) *icons { return &icons{client: c, unknown: map[icon.Ref]unknown{}} }

// packs is the list of packs of the library.
type packs struct{ byKey map[string]icon.Pack }

func (p *packs) has(key string) bool {
	_, ok := p.byKey[key]
	return ok
}

// packs returns the list of packs. If the service fails, an older list is used.
func (i *icons) packs(ctx context.Context) (*packs, error) {
	i.mu.Lock()
	list, listed := i.list, i.listed
	i.mu.Unlock()
	if list != nil && time.Since(listed) < packsFor {
		return list, nil
	}
	answer, err := i.client.Packs(ctx)
	if err != nil {
		if list != nil {
			return list, nil
		}
		return nil, err
	}
	list = &packs{map[string]icon.Pack{}}
	for _, p := range answer.Packs {
		if icon.ValidKey(p.Key) {
			list.byKey[p.Key] = p
		}
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.list, i.listed = list, time.Now()
	return list, nil
}

// get returns an icon. A 404 or 410 is remembered for a minute.
func (i *icons) get(ctx context.Context, ref icon.Ref, v client.Variant) (*icon.Answer, error) {
	if err := i.known(ref, time.Now()); err != nil {
		return nil, err
	}
	answer, err := i.client.Icon(ctx, ref, v)
	if e, ok := errors.AsType[*client.Error](err); ok && (e.Status == http.StatusNotFound || e.Status == http.StatusGone) {
		i.mu.Lock()
		defer i.mu.Unlock()
		if len(i.unknown) >= maxUnknown {
			clear(i.unknown)
		}
		i.unknown[ref] = unknown{e, time.Now().Add(unknownFor)}
	}
	return answer, err
}

func (i *icons) known(ref icon.Ref, now time.Time) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if u, ok := i.unknown[ref]; ok && now.Before(u.until) {
		return u.err
	}
	return nil
}

// resolve returns the icon that a reference names, and its name: a class can mean icons of several
// packs. If none exists, the error is that of the first.
func (i *icons) resolve(ctx context.Context, r reference.Reference, v client.Variant) (icon.Ref, *icon.Answer, error) {
	answer, first := i.get(ctx, r.Ref, v)
	if first == nil {
		return r.Ref, answer, nil
	}
	for _, other := range r.Others {
		if answer, err := i.get(ctx, other, v); err == nil {
			return other, answer, nil
		}
	}
	return r.Ref, nil, first
}

// A state is the result of a check that no user waits for.
type state int

const (
	present state = iota
	absent        // there is no such icon
	gone          // it is withdrawn
	unsure        // the service could not say
	later         // the check has to wait, so as not to use up the user's limit
)

// check finds out whether a reference names an icon. Above a number of requests a minute it asks
// the CDN, which has no limit, and believes only its 200.
func (i *icons) check(ctx context.Context, r reference.Reference) (state, *client.Error) {
	if i.known(r.Ref, time.Now()) == nil && !i.mayCheck(time.Now()) {
		if ok, err := i.client.OnCDN(ctx, r.Ref); err != nil || !ok {
			return later, nil
		}
		return present, nil
	}
	_, _, err := i.resolve(ctx, r, client.Variant{})
	e, ok := errors.AsType[*client.Error](err)
	switch {
	case err == nil:
		return present, nil
	case ok && e.Status == http.StatusNotFound:
		return absent, e
	case ok && e.Status == http.StatusGone:
		return gone, e
	}
	return unsure, e
}

// mayCheck counts a request that no user waits for.
func (i *icons) mayCheck(now time.Time) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	for len(i.checked) > 0 && now.Sub(i.checked[0]) >= time.Minute {
		i.checked = i.checked[1:]
	}
	if len(i.checked) >= checks {
		return false
	}
	i.checked = append(i.checked, now)
	return true
}

// closeNames returns the references that an error suggests instead of one, as they are written in a
// document.
func closeNames(r reference.Reference, err *client.Error) []string {
	var names []string
	for _, s := range err.Close {
		ref := icon.Ref{Pack: r.Pack, Name: s}
		if pack, name, both := strings.Cut(s, "/"); both {
			ref = icon.Ref{Pack: pack, Name: name}
		}
		if icon.ValidKey(ref.Pack) && icon.ValidKey(ref.Name) {
			names = append(names, r.Prefix+ref.Pack+r.Separator+ref.Name)
		}
	}
	return names
}
