// Package pace decides when a search as you type starts: 250 ms after the last key, with at least
// two characters, at most thirty times a minute, never twice within five minutes for the same
// text, and not before the end of a Retry-After.
//
// clients/testdata/pace.json has its cases. A Pace does no work of its own: the caller tells the
// time. A Gate waits in real time.
package pace

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

const (
	delay    = 250 * time.Millisecond // from the last key to the search
	shortest = 2                      // characters of a search
	most     = 30                     // searches in window
	window   = time.Minute
	repeat   = 5 * time.Minute // for which the response to a text is used again
	texts    = 200             // whose responses are remembered
)

// A Pace is the state of one search field. The zero value is ready for use.
type Pace struct {
	text     string    // that was typed last
	pending  bool      // text waits for its search
	due      time.Time // of the search, if nothing delays it
	started  []time.Time
	answered map[string]time.Time
	blocked  time.Time // the end of a Retry-After
}

// Type notes that the text of the field has changed. It reports whether the response to it is
// already known.
func (p *Pace) Type(now time.Time, text string) (known bool) {
	p.text = strings.TrimSpace(text)
	p.due = now.Add(delay)
	at, asked := p.answered[p.text]
	known = asked && now.Sub(at) < repeat
	p.pending = !known && utf8.RuneCountInString(p.text) >= shortest
	return known
}

// Wake returns the time at which Due should be called; ok is false if nothing is pending.
func (p *Pace) Wake() (at time.Time, ok bool) {
	if !p.pending {
		return at, false
	}
	at = p.due
	if p.blocked.After(at) {
		at = p.blocked
	}
	if len(p.started) == most {
		if free := p.started[0].Add(window); free.After(at) {
			at = free
		}
	}
	return at, true
}

// Due starts the pending search if its time has come, and returns its text.
func (p *Pace) Due(now time.Time) (text string, ok bool) {
	at, ok := p.Wake()
	if !ok || now.Before(at) {
		return "", false
	}
	p.pending = false
	if p.started = append(p.started, now); len(p.started) > most {
		p.started = p.started[1:]
	}
	return p.text, true
}

// Answered notes a response. It reports whether the response is to be shown: a late one, to a text
// that is no longer in the field, is not.
func (p *Pace) Answered(now time.Time, text string) (show bool) {
	if p.answered == nil || len(p.answered) >= texts {
		p.answered = map[string]time.Time{}
	}
	p.answered[text] = now
	return text == p.text
}

// Limited notes a 429: nothing starts until wait has passed.
func (p *Pace) Limited(now time.Time, wait time.Duration) {
	if until := now.Add(wait); until.After(p.blocked) {
		p.blocked = until
	}
}

// ErrSuperseded means that another text was typed before the search could start.
var ErrSuperseded = errors.New("another text was typed")

// A Gate is a Pace for goroutines. The zero value is ready for use.
type Gate struct {
	mu    sync.Mutex
	pace  Pace
	typed chan struct{} // closed when the next text is typed
}

// Wait waits until the search for a text may start. It returns ErrSuperseded as soon as another
// text is typed, the error of the context, or ErrTooMany if the search could not start within
// patience.
func (g *Gate) Wait(ctx context.Context, text string, patience time.Duration) error {
	typed, known := g.enter(text)
	if known {
		return nil
	}
	for {
		wait, started, err := g.next(text)
		switch {
		case err != nil || started:
			return err
		case wait > patience:
			return ErrTooMany
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-typed:
			timer.Stop()
			return ErrSuperseded
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}

// ErrTooMany means that no search may start at present.
var ErrTooMany = errors.New("too many searches")

func (g *Gate) enter(text string) (typed chan struct{}, known bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.typed != nil {
		close(g.typed)
	}
	g.typed = make(chan struct{})
	return g.typed, g.pace.Type(time.Now(), text)
}

// next starts the search, or returns the time until it may start.
func (g *Gate) next(text string) (wait time.Duration, started bool, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	at, ok := g.pace.Wake()
	if !ok || g.pace.text != strings.TrimSpace(text) {
		return 0, false, ErrSuperseded
	}
	if _, started = g.pace.Due(now); started {
		return 0, true, nil
	}
	return at.Sub(now), false, nil
}

// Answered notes a response to a text.
func (g *Gate) Answered(text string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pace.Answered(time.Now(), strings.TrimSpace(text))
}

// Limited notes a 429.
func (g *Gate) Limited(wait time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pace.Limited(time.Now(), wait)
}
