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

// first is when each edge first showed a release, of those that have.
func (j *judge) first(release string) map[*edge]time.Time {
	j.mu.Lock()
	defer j.mu.Unlock()
	first := map[*edge]time.Time{}
	for _, s := range j.during {
		if at, ok := first[s.edge]; j.of(s, release) && (!ok || s.ended.Before(at)) {
			first[s.edge] = s.ended
		}
	}
	return first
}

// mixed are the answers of another release that were asked for when their edge had shown this one; late is how long before.
func (j *judge) mixed(release string) (all []seen, of int, late time.Duration) {
	first := j.first(release)
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, s := range j.during {
		if at, ok := first[s.edge]; ok && s.began.After(at) && !j.of(s, release) {
			all, late = append(all, s), max(late, s.began.Sub(at))
		}
	}
	return all, len(j.during), late
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
