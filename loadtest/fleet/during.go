//go:build linux

package fleet

import (
	"slices"
	"time"
)

// prepare notes from now on what edges show of what changes, and names the release that they show.
func (j *judge) prepare() (release string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.noting, j.during = true, nil
	return j.allowed[0]
}

// allow says which releases may be shown.
func (j *judge) allow(releases ...string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.allowed = releases
}

// of reports whether an answer is a release's.
func (j *judge) of(s seen, release string) bool { return j.right[s.target][release].sum == s.sum }

// A drawing is what an edge shows of an icon.
type drawing struct {
	*edge
	target string
}

// first is when each edge first showed a release, of those that have, and when it first showed it of each icon.
func (j *judge) first(release string) (edges map[*edge]time.Time, icons map[drawing]time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	edges, icons = map[*edge]time.Time{}, map[drawing]time.Time{}
	for _, s := range j.during {
		if j.of(s, release) {
			earlier(edges, s.edge, s.ended)
			earlier(icons, drawing{s.edge, s.target}, s.ended)
		}
	}
	return edges, icons
}

// watchedIcon is one that is asked for so often that every edge has it: when it changes, the edge has changed.
func (j *judge) watchedIcon() string { return j.changing[0] }

// watched is when each edge first showed a release of that icon, of those that have.
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

// A mixture is what was seen of two releases at a time.
type mixture struct {
	of    int           // answers
	back  int           // that were old, of an icon that their edge had shown the new drawing of before they were asked for
	spans time.Duration // for how long an edge showed new drawings of some icons and old ones of others, at the most
}

// mixed looks for drawings of before from edges that had shown this release.
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
		if at, ok := icons[drawing{s.edge, s.target}]; ok && s.began.After(at) {
			m.back++
		}
	}
	return m
}

// finish judges what was put off, and allows this release alone from now on.
func (j *judge) finish(release string) {
	j.settle()
	j.mu.Lock()
	defer j.mu.Unlock()
	j.noting, j.during, j.allowed = false, nil, []string{release}
}

// settle judges what was put off by what is known now.
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
