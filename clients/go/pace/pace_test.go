package pace

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// A moment is a pair of the table: ms, and a text.
type moment struct {
	ms   int
	text string
}

func (m *moment) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &[]any{&m.ms, &m.text})
}

type row struct {
	About    string
	Keys     []moment
	Requests []moment
	Shown    *[]string
	Answers  map[string]struct {
		After, Status int
		RetryAfter    int `json:"retry_after"`
	}
}

func TestPace(t *testing.T) {
	var table struct{ Rows []row }
	data, err := os.ReadFile("../../testdata/pace.json")
	if err == nil {
		err = json.Unmarshal(data, &table)
	}
	if err != nil || len(table.Rows) < 10 {
		t.Fatal("clients/testdata/pace.json is not complete: ", err)
	}
	for _, r := range table.Rows {
		requests, shown := play(r)
		if !slices.Equal(requests, r.Requests) {
			t.Errorf("%s: requests %v, want %v", r.About, requests, r.Requests)
		}
		if r.Shown != nil && !slices.Equal(shown, *r.Shown) {
			t.Errorf("%s: shown %q, want %q", r.About, shown, *r.Shown)
		}
	}
}

// play runs a row, a ms at a time where something happens.
func play(r row) (requests []moment, shown []string) {
	begin := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	var p Pace
	keys, answers := slices.Clone(r.Keys), []moment(nil)
	for {
		next := -1
		consider := func(ms int) {
			if next < 0 || ms < next {
				next = ms
			}
		}
		if len(keys) > 0 {
			consider(keys[0].ms)
		}
		if len(answers) > 0 {
			consider(answers[0].ms)
		}
		if at, ok := p.Wake(); ok {
			consider(int(at.Sub(begin).Milliseconds()))
		}
		if next < 0 {
			return requests, shown
		}
		now := begin.Add(time.Duration(next) * time.Millisecond)
		for len(answers) > 0 && answers[0].ms == next {
			a := answers[0]
			answers = answers[1:]
			switch how := r.Answers[a.text]; how.Status {
			case 0, 200:
				if p.Answered(now, a.text) {
					shown = append(shown, a.text)
				}
			case 429:
				p.Limited(now, time.Duration(how.RetryAfter)*time.Second)
			}
		}
		for len(keys) > 0 && keys[0].ms == next {
			p.Type(now, keys[0].text)
			keys = keys[1:]
		}
		if text, ok := p.Due(now); ok {
			requests = append(requests, moment{next, text})
			answers = append(answers, moment{next + cmp.Or(r.Answers[text].After, 50), text})
			slices.SortFunc(answers, func(a, b moment) int { return a.ms - b.ms })
		}
	}
}

// TestGate: of the searches of several goroutines only the last starts; a wait that would be too
// long is refused.
func TestGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Gate
		got := make(chan error, 1)
		go func() { got <- g.Wait(t.Context(), "hom", time.Second) }()
		synctest.Wait()
		begin := time.Now()
		if err := g.Wait(t.Context(), "home", time.Second); err != nil || time.Since(begin) != delay {
			t.Errorf("the last text: %v after %s", err, time.Since(begin))
		}
		if err := <-got; !errors.Is(err, ErrSuperseded) {
			t.Errorf("the text before: %v", err)
		}
		g.Answered("home")
		begin = time.Now()
		if err := g.Wait(t.Context(), "home ", 0); err != nil || time.Since(begin) != 0 {
			t.Errorf("the same text again: %v after %s", err, time.Since(begin))
		}
		g.Limited(7 * time.Second)
		if err := g.Wait(t.Context(), "cog", time.Second); !errors.Is(err, ErrTooMany) {
			t.Errorf("after a 429: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if err := g.Wait(ctx, "cog", time.Minute); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a caller that gives up: %v", err)
		}
		if err := g.Wait(t.Context(), "h", time.Minute); !errors.Is(err, ErrSuperseded) {
			t.Errorf("one letter: %v", err)
		}
	})
}
