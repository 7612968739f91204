//go:build linux

package fleet

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/iconedge/iconedge/loadtest/load"
	"github.com/iconedge/iconedge/loadtest/mix"
)

const (
	coldIcons     = 6000
	reservedIcons = 8 // of the cold icons, for phases
	apiIcons      = 200
	searchWords   = 50
	names         = 100 // number of names that do not exist
	firstPacks    = 60  // number of packs of the library from which icons are chosen
)

// newJudge chooses the questions and learns the origin's responses.
func (r *run) newJudge(ctx context.Context) (*judge, error) {
	j := &judge{right: map[string]map[string]fact{}, tags: map[string]sum256{}}
	release, err := r.currentRelease(ctx)
	if err != nil {
		return nil, err
	}
	j.firstRelease, j.allowed = release, []string{release}
	all, err := r.iconPaths(ctx)
	if err != nil {
		return nil, err
	}
	j.changing, all = ours(all)
	if len(all) < r.Icons+coldIcons {
		return nil, fmt.Errorf("%d icons are needed, and the first %d packs of the library have only %d",
			r.Icons+coldIcons, firstPacks, len(all))
	}
	random := rand.New(rand.NewPCG(r.Seed, 2))
	random.Shuffle(len(all), func(i, k int) { all[i], all[k] = all[k], all[i] })
	j.icons, j.cold = append(slices.Clone(j.changing), all[:r.Icons]...), all[r.Icons:r.Icons+coldIcons]
	j.reserved, j.cold = j.cold[:reservedIcons], j.cold[reservedIcons:]
	random.Shuffle(len(j.icons), func(i, k int) { j.icons[i], j.icons[k] = j.icons[k], j.icons[i] })
	j.derive()
	r.say.line("requesting %d responses of release %s from the origin", len(j.asked()), release)
	return j, r.learn(ctx, j, release, j.asked())
}

// derive makes the other questions from the icons.
func (j *judge) derive() {
	for i, target := range j.icons {
		ref := strings.TrimSuffix(strings.TrimPrefix(target, "/"), ".svg")
		word, _, _ := strings.Cut(path.Base(ref), "-")
		if i < apiIcons {
			j.api = append(j.api, "/api/v1/icon/"+ref)
		}
		if i < searchWords {
			j.searches = append(j.searches, "/api/v1/search?q="+word)
		}
		if i < names {
			j.missing = append(j.missing, path.Dir(target)+"/no-such-icon-"+path.Base(target))
		}
	}
}

// asked lists all questions that the origin can answer.
func (j *judge) asked() []string {
	return slices.Concat(j.icons, j.api, j.searches, j.cold, j.reserved)
}

// ours separates the icons of our own pack from the library's.
func ours(all []string) (own, others []string) {
	for _, target := range all {
		if strings.HasPrefix(target, "/"+ownPack+"/") {
			own = append(own, target)
		} else {
			others = append(others, target)
		}
	}
	return own, others
}

// learn requests targets from the origin directly, without a relay, unless the release is known
// already.
func (r *run) learn(ctx context.Context, j *judge, release string, targets []string) error {
	if j.knows(release) {
		return nil
	}
	r.own.Add(int64(len(targets)))
	var mu sync.Mutex
	facts := make(map[string]fact, len(targets))
	err := r.askOrigin(ctx, targets, func(i int, a load.Answer) error {
		if a.Status != http.StatusOK {
			return fmt.Errorf("the origin answers %d", a.Status)
		}
		mu.Lock()
		defer mu.Unlock()
		facts[targets[i]] = fact{sha256.Sum256(a.Body), a.Header.Get("ETag")}
		return nil
	})
	if err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	for target, f := range facts {
		if j.right[target] == nil {
			j.right[target] = map[string]fact{}
		}
		j.right[target][release] = f
	}
	return nil
}

func (r *run) askOrigin(ctx context.Context, targets []string, each func(i int, a load.Answer) error) error {
	m := mix.Maker{Host: r.origin.addr, Fields: []string{"Iconedge-Tier-Secret: " + r.secret}}
	addr, err := netip.ParseAddrPort(r.origin.addr)
	if err != nil {
		return err
	}
	return load.Ask(ctx, addr, len(targets), func(i int) []byte { return m.Get(targets[i]) }, each)
}

func (r *run) askOriginJSON(ctx context.Context, target string, v any) error {
	return r.askOrigin(ctx, []string{target}, func(_ int, a load.Answer) error {
		if a.Status != http.StatusOK {
			return fmt.Errorf("the origin answers %d", a.Status)
		}
		return json.Unmarshal(a.Body, v)
	})
}

// currentRelease returns the release that the origin serves.
func (r *run) currentRelease(ctx context.Context) (string, error) {
	var told struct{ Release string }
	err := r.askOriginJSON(ctx, "/-/release", &told)
	return told.Release, err
}

// iconPaths lists the icons of our own pack and of some packs of the library.
func (r *run) iconPaths(ctx context.Context) (paths []string, err error) {
	var list struct{ Packs []struct{ Pack string } }
	if err := r.askOriginJSON(ctx, "/api/v1/packs", &list); err != nil {
		return nil, err
	}
	rand.New(rand.NewPCG(r.Seed, 1)).Shuffle(len(list.Packs),
		func(i, k int) { list.Packs[i], list.Packs[k] = list.Packs[k], list.Packs[i] })
	for i, p := range list.Packs {
		if i >= firstPacks && p.Pack != ownPack {
			continue
		}
		var pack struct{ Icons []struct{ Name string } }
		if err := r.askOriginJSON(ctx, "/api/v1/packs/"+p.Pack+"?per_page=1000", &pack); err != nil {
			return nil, err
		}
		for _, icon := range pack.Icons {
			paths = append(paths, "/"+p.Pack+"/"+icon.Name+".svg")
		}
	}
	return paths, nil
}
