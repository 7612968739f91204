package access

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/ratelimit"
	"github.com/iconedge/iconedge/internal/guesses"
	"github.com/iconedge/iconedge/internal/problem"
)

const (
	// passwordRecalled is how long a right password needs no comparison after its last use.
	passwordRecalled = 10 * time.Minute
	// passwordPatience is how long a request waits until its password has been compared.
	passwordPatience = 10 * time.Second
	// maxRecalled bounds the verdicts of each kind in memory, in each of two generations.
	maxRecalled = 4096
	// retryGuess is the Retry-After of a request without a verdict, in seconds.
	retryGuess = "5"
)

// passwords check passwords of users for which a file has a hash that is slow to compare. At most
// half of the processors compare at a time. Recent verdicts need no comparison. Their keys are
// HMACs with a key of this process, because a plain hash in memory would help to find a password.
type passwords struct {
	queue *guesses.Queue[bool]
	key   [sha256.Size]byte

	mu sync.Mutex
	// right has the last right password of each account: one, because bcrypt accepts several, by
	// which a user could displace others. wrong is apart, so that guesses displace no right one.
	right *guesses.Memory[guesses.Key, recalled]
	wrong *guesses.Memory[guesses.Key, time.Time]
}

// A recalled password was right, and was last used at a time.
type recalled struct {
	pair guesses.Key
	used time.Time
}

// newPasswords returns passwords without verdicts, which compares so many at once.
func newPasswords(atOnce int) *passwords {
	p := &passwords{queue: guesses.New[bool](atOnce), right: guesses.NewMemory[guesses.Key, recalled](maxRecalled),
		wrong: guesses.NewMemory[guesses.Key, time.Time](maxRecalled)}
	rand.Read(p.key[:]) // never fails
	return p
}

// check reports whether a password is that of an account, which compare finds out. An account is
// the user with the hash, so that a changed hash has no verdicts. The error is one of guesses.
func (p *passwords) check(g guesses.Guess, account, password string, now time.Time, compare func() bool) (right bool, err error) {
	id := p.mac(account, "")
	g.Key = p.mac(account, password)
	right, known := p.recall(id, g.Key, now)
	if known {
		return right, nil
	}
	g.First = right
	right, err = p.queue.Do(g, func() bool {
		right := compare()
		p.remember(id, g.Key, right, time.Now())
		return right
	})
	return right, err
}

// mac returns the HMAC of an account and a password.
func (p *passwords) mac(account, password string) (sum guesses.Key) {
	mac := hmac.New(sha256.New, p.key[:])
	mac.Write(binary.BigEndian.AppendUint64(nil, uint64(len(account))))
	mac.Write([]byte(account))
	mac.Write([]byte(password))
	mac.Sum(sum[:0])
	return sum
}

// recall returns the recent verdict about a pair of account and password. If it is not known, right
// reports whether the pair was right before.
func (p *passwords) recall(account, pair guesses.Key, now time.Time) (right, known bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if last, ok := p.right.Get(account); ok && hmac.Equal(last.pair[:], pair[:]) {
		if now.Sub(last.used) >= passwordRecalled {
			return true, false
		}
		p.right.Put(account, recalled{pair, now})
		return true, true
	}
	at, ok := p.wrong.Get(pair)
	return false, ok && now.Sub(at) < passwordRecalled
}

func (p *passwords) remember(account, pair guesses.Key, right bool, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if right {
		p.right.Put(account, recalled{pair, now})
	} else {
		p.wrong.Put(pair, now)
	}
}

// CheckPassword reports whether a password is that of an account, which compare finds out and which
// changes with the hash of the password. It waits for its turn. The error is the response to a
// request without a verdict; it does not depend on whether there is such a user.
func (a *Admission) CheckPassword(x *exchange.Request, account, password string, compare func() bool) (right bool, err error) {
	right, err = a.passwords.check(a.guess(x, passwordPatience), account, password, time.Now(), compare)
	a.Observer.PasswordChecked(right, err)
	if err != nil {
		return false, refusedGuess(err, "passwords")
	}
	return right, nil
}

// PasswordStats returns the counts of comparisons of passwords.
func (a *Admission) PasswordStats() guesses.Stats { return a.passwords.queue.Stats() }

// guess returns the guess of the client of a request.
func (a *Admission) guess(x *exchange.Request, patience time.Duration) guesses.Guess {
	return guesses.Guess{Client: ratelimit.ClientKey(x.Client), Exempt: a.Exempt(x), Gone: x.Conn.ClientGone, Patience: patience}
}

// refusedGuess returns the response to a request without a verdict because of an error of guesses.
func refusedGuess(err error, of string) error {
	status, detail := http.StatusServiceUnavailable, "too many "+of+" are waiting to be checked; try again in "+retryGuess+" s"
	if errors.Is(err, guesses.ErrClient) {
		status, detail = http.StatusTooManyRequests,
			"too many "+of+" of this address are waiting to be checked; try again in "+retryGuess+" s"
	}
	return problem.New(status, detail).With("Retry-After", retryGuess).With("Cache-Control", "no-store").Because(err)
}
