//go:build linux

package fleet

import (
	"slices"
	"time"
)

// prepare starts recording the answers of edges for icons that change. It returns the current
// release.
func (j *judge) prepare() (release string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.noting, j.during = true, nil
	return j.allowed[0]
}

// allow sets the releases that edges may serve.
func (j *judge) allow(releases ...string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.allowed = releases
}

// of reports whether an answer belongs to a release.
func (j *judge) of(s seen, release string) bool { return j.right[s.target][release].sum == s.sum }

// An iconAt identifies an icon at an edge.
type iconAt struct {
	*edge
	target string
}

// first returns when each edge first served a release, for any icon and for each icon.
func (j *judge) first(release string) (edges map[*edge]time.Time, icons map[iconAt]time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	edges, icons = map[*edge]time.Time{}, map[iconAt]time.Time{}
	for _, s := range j.during {
		if j.of(s, release) {
			earlier(edges, s.edge, s.ended)
			earlier(icons, iconAt{s.edge, s.target}, s.ended)
		}
	}
	return edges, icons
}

// watchedIcon returns an icon that is requested so often that every edge has it cached: it shows
// when an edge changes to a new release.
func (j *judge) watchedIcon() string { return j.changing[0] }

// watched returns when each edge first served that icon in a release.
func (j *judge) watched(release string) map[*edge]time.Time {
	_, icons := j.first(release)
	all := map[*edge]time.Time{}
	for d, at := range icons {
		if d.target == j.watchedIcon() {
			all[d.edge] = at
		}
	}
	return all
}

func earlier[K comparable](times map[K]time.Time, key K, at time.Time) {
	if before, ok := times[key]; !ok || at.Before(before) {
		times[key] = at
	}
}

// A mixture is the extent to which an edge served two releases at once.
type mixture struct {
	of int // number of answers
	// answers with the old SVG, requested after their edge had served the new one
	back int
	// longest time in which an edge served new SVGs of some icons and old SVGs of others
	spans time.Duration
}

// mixed examines the recorded answers for old SVGs from edges that had served the given release.
func (j *judge) mixed(release string) (m mixture) {
	edges, icons := j.first(release)
	j.mu.Lock()
	defer j.mu.Unlock()
	m.of = len(j.during)
	for _, s := range j.during {
		if j.of(s, release) {
			continue
		}
		if at, ok := edges[s.edge]; ok {
			m.spans = max(m.spans, s.began.Sub(at))
		}
		if at, ok := icons[iconAt{s.edge, s.target}]; ok && s.began.After(at) {
			m.back++
		}
	}
	return m
}

// finish judges the pending answers, and then allows only the given release.
func (j *judge) finish(release string) {
	j.settle()
	j.mu.Lock()
	defer j.mu.Unlock()
	j.noting, j.during, j.allowed = false, nil, []string{release}
}

// settle judges the pending answers with the facts known now.
func (j *judge) settle() {
	j.mu.Lock()
	put := slices.Clone(j.pending)
	j.pending, j.noting = nil, false
	verdicts := make([]verdict, len(put))
	reasons := make([]string, len(put))
	for i, s := range put {
		verdicts[i], reasons[i] = j.known(s)
	}
	j.mu.Unlock()
	for i, s := range put {
		s.tally.add(s.question, s.answer, verdicts[i], reasons[i])
	}
}
