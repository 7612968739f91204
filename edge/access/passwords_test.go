package access

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/routes"
	"github.com/iconedge/iconedge/internal/guesses"
	"github.com/iconedge/iconedge/internal/problem"
)

// A hasher stands in for bcrypt: comparisons take time, and are counted.
type hasher struct{ compared atomic.Int32 }

const comparison = 60 * time.Millisecond // in a synctest bubble

func (h *hasher) compare(right bool) func() bool {
	return func() bool { h.compared.Add(1); time.Sleep(comparison); return right }
}

// counted is an Observer that counts passwords by their results.
type counted struct {
	mu sync.Mutex
	by map[string]int
}

func (*counted) Counted(routes.Class, bool)     {}
func (*counted) TokenChecked(bool, bool, error) {}
func (*counted) ListRead(string, int, bool)     {}
func (c *counted) PasswordChecked(right bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.by[fmt.Sprint(right, " ", err)]++
}

func from(client string) *exchange.Request {
	return &exchange.Request{Client: netip.MustParseAddr(client), Conn: exchange.Stream{}}
}

// TestPasswordVerdicts: a right password needs no comparison for ten minutes after its last use,
// but one with another hash does; a wrong one is compared once in ten minutes.
func TestPasswordVerdicts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h hasher
		a := NewAdmission(Options{Observer: &counted{by: map[string]int{}}})
		for i, step := range []struct {
			after             time.Duration
			account, password string
			right             bool
			compared          int32
		}{
			{0, "hash:ann", "secret", true, 1},
			{time.Minute, "hash:ann", "secret", true, 1},
			{passwordRecalled - time.Second, "hash:ann", "secret", true, 1},
			{passwordRecalled - time.Second, "hash:ann", "secret", true, 1},
			{passwordRecalled, "hash:ann", "secret", true, 2},
			{0, "hash:ann", "guess", false, 3},
			{0, "hash:ann", "guess", false, 3},
			{0, "hash:ann", "secret", true, 3}, // a wrong one does not displace it
			{0, "rotated:ann", "secret", false, 4},
			{0, "hash:bob", "secret", false, 5},
			{passwordRecalled - time.Second, "hash:ann", "guess", false, 5},
			{time.Second, "hash:ann", "guess", false, 6},
		} {
			time.Sleep(step.after)
			right, err := a.CheckPassword(from("192.0.2.1"), step.account, step.password, h.compare(step.right))
			if right != step.right || err != nil || h.compared.Load() != step.compared {
				t.Errorf("step %d: %v, %v after %d comparisons, want %v after %d", i+1, right, err, h.compared.Load(),
					step.right, step.compared)
			}
		}
	})
}

// TestPasswordsInMemory: no flood of wrong passwords displaces a right one that is in use, nor do
// the other right passwords that bcrypt finds for a user. Memory has a bound, and no password.
func TestPasswordsInMemory(t *testing.T) {
	p, now := newPasswords(1), time.Now()
	right := func(account, password string) bool {
		ok, known := p.recall(p.mac(account, ""), p.mac(account, password), now)
		return ok && known
	}
	p.remember(p.mac("ann", ""), p.mac("ann", "secret"), true, now)
	for i := range 3 * maxRecalled {
		p.remember(p.mac("bob", ""), p.mac("bob", fmt.Sprint(i)), true, now)
		p.remember(p.mac("ann", ""), p.mac("ann", fmt.Sprint(i)), false, now)
	}
	if !right("ann", "secret") {
		t.Error("other passwords have displaced the right one")
	}
	if right("ann", "1") || right("bob", "1") || right("an", "nsecret") || right("anns", "ecret") ||
		!right("bob", fmt.Sprint(3*maxRecalled-1)) {
		t.Error("wrong verdicts")
	}
	other := newPasswords(1)
	if sum := other.mac("ann", "secret"); bytes.Equal(sum[:], func() []byte { s := p.mac("ann", "secret"); return s[:] }()) {
		t.Error("two processes have the same key")
	}
}

// TestPasswordQueue: a login waits for one or two comparisons, whatever others send, and a
// user whose last password was right waits for none.
func TestPasswordQueue(t *testing.T) {
	for _, row := range []struct {
		name          string
		clients, each int
		leave         bool
		login         string
		comparisons   time.Duration // that the login takes at most, its own included
		refused       string        // an error of some of the others; empty: none
	}{
		{"200 of a client, sent and closed at once", 1, 200, true, "198.51.100.1", 2, ""},
		{"200 of a client that waits", 1, 200, false, "198.51.100.1", 2, guesses.ErrClient.Error()},
		{"200 of the same address", 1, 200, false, "10.0.0.0", 2, guesses.ErrClient.Error()},
		{"1,000 clients", 1000, 1, false, "198.51.100.1", 2, guesses.ErrFull.Error()},
		{"1,000 clients with three", 1000, 3, false, "198.51.100.1", 2, guesses.ErrFull.Error()},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var h hasher
				p, results := newPasswords(1), map[string]int{}
				p.check(guess("198.51.100.2", nil), "hash:bob", "known", time.Now(), h.compare(true))
				gone, done := make(chan struct{}), make(chan error)
				for i := range row.each {
					for c := range row.clients {
						go func() {
							_, err := p.check(guess(netip.AddrFrom4([4]byte{10, 0, byte(c >> 8), byte(c)}).String(),
								gone), "hash:ann", fmt.Sprint(c, i), time.Now(), h.compare(false))
							done <- err
						}()
						synctest.Wait()
					}
				}
				if row.leave {
					close(gone)
				}
				began := time.Now()
				if right, err := p.check(guess("198.51.100.2", nil), "hash:bob", "known", began,
					h.compare(true)); !right || err != nil || !time.Now().Equal(began) {
					t.Errorf("a user whose last password was right: %v, %v after %v", right, err, time.Since(began))
				}
				if right, err := p.check(guess(row.login, nil), "hash:ann", "secret", began,
					h.compare(true)); !right || err != nil || time.Since(began) > row.comparisons*comparison {
					t.Errorf("the login: %v, %v after %v, want at most %v", right, err, time.Since(began), row.comparisons*comparison)
				}
				for range row.clients * row.each {
					results[fmt.Sprint(<-done)]++
				}
				time.Sleep(comparison) // ends that of a request that has waited too long
				if row.leave && h.compared.Load() != 3 || row.refused != "" && results[row.refused] == 0 {
					t.Errorf("%d comparisons; %v", h.compared.Load(), results)
				}
			})
		})
	}
}

func guess(client string, gone <-chan struct{}) guesses.Guess {
	return (&Admission{}).guess(&exchange.Request{Client: netip.MustParseAddr(client),
		Conn: exchange.Stream{Ended: gone}}, passwordPatience)
}

// TestRefusedPasswords: a request without a verdict is a 429 or a 503, which no cache stores, and
// which is the same whether there is such a user.
func TestRefusedPasswords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		observed := &counted{by: map[string]int{}}
		a := NewAdmission(Options{Observer: observed})
		a.passwords = newPasswords(1)
		hold := make(chan struct{})
		done := make(chan error)
		for i := range guesses.MaxOfClient + 3 { // in one /64
			go func() {
				_, err := a.CheckPassword(from(fmt.Sprintf("2001:db8::%x", i)), "hash:ann", fmt.Sprint(i),
					func() bool { <-hold; return false })
				done <- err
			}()
			synctest.Wait()
		}
		for range 2 {
			p := problem.From(<-done)
			if p.Status != http.StatusTooManyRequests || p.Header.Get("Retry-After") != retryGuess || !errors.Is(p, guesses.ErrClient) {
				t.Errorf("%+v", p)
			}
		}
		for range guesses.MaxOfClient {
			if p := problem.From(<-done); p.Status != http.StatusServiceUnavailable ||
				p.Header.Get("Retry-After") != retryGuess || !errors.Is(p, guesses.ErrLate) {
				t.Errorf("%+v", p)
			}
		}
		if p := problem.From(<-done); p.Status != http.StatusServiceUnavailable {
			t.Errorf("the one that is compared for too long: %+v", p)
		}
		close(hold)
		synctest.Wait()
		if observed.by["false "+guesses.ErrClient.Error()] != 2 || observed.by["false "+guesses.ErrLate.Error()] != guesses.MaxOfClient+1 {
			t.Errorf("observed %v", observed.by)
		}
	})
}
