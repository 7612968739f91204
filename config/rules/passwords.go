package rules

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
	"sync"

	"golang.org/x/crypto/bcrypt"

	"github.com/iconedge/iconedge/config"
)

// passwords are the users of an htpasswd file, with their hashes of bcrypt.
type passwords struct {
	users map[string][]byte
	// decoy is the costliest hash. It is compared for users that do not exist, so that the time of
	// an answer does not tell which ones do.
	decoy []byte
	slots chan struct{} // bounds the checks at a time

	mu sync.Mutex
	// Recent verdicts, because bcrypt is slow on purpose. They are apart, so that a flood of wrong
	// passwords leaves the right ones alone.
	right, wrong map[[sha256.Size]byte]bool
}

// maxVerdicts bounds the verdicts of each kind in memory.
const maxVerdicts = 4096

// maxPasswords is the length of the longest htpasswd file, in bytes.
const maxPasswords = 16 << 20

// readPasswords reads an htpasswd file.
func readPasswords(file string) (*passwords, error) {
	text, err := config.ReadFile(file, maxPasswords)
	if err != nil {
		return nil, fmt.Errorf("%w; must be a readable file of htpasswd", err)
	}
	p := &passwords{users: map[string][]byte{}, right: map[[sha256.Size]byte]bool{}, wrong: map[[sha256.Size]byte]bool{}, slots: make(chan struct{}, 4)}
	n, costliest := 0, 0
	for line := range strings.Lines(string(text)) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		user, hash, ok := strings.Cut(line, ":")
		cost, err := bcrypt.Cost([]byte(hash))
		if !ok || user == "" || err != nil {
			return nil, fmt.Errorf("line %d of %s has no hash of bcrypt; must be USER:HASH, as htpasswd -B writes it", n, file)
		}
		if p.users[user] = []byte(hash); cost > costliest {
			costliest, p.decoy = cost, p.users[user]
		}
	}
	if len(p.users) == 0 {
		return nil, fmt.Errorf("%s has no user; must have a line as htpasswd -B writes it", file)
	}
	return p, nil
}

// check reports whether lines of Authorization have the password of a user (RFC 7617).
func (p *passwords) check(lines []string) bool {
	if len(lines) != 1 {
		return false
	}
	scheme, coded, _ := strings.Cut(lines[0], " ")
	plain, err := base64.StdEncoding.DecodeString(strings.TrimLeft(coded, " "))
	user, password, ok := strings.Cut(string(plain), ":")
	if !strings.EqualFold(scheme, "Basic") || err != nil || !ok {
		return false
	}
	sum := sha256.Sum256(plain)
	if verdict, known := p.recall(sum); known {
		return verdict
	}
	p.slots <- struct{}{}
	defer func() { <-p.slots }()
	hash, exists := p.users[user]
	if !exists {
		hash = p.decoy
	}
	verdict := bcrypt.CompareHashAndPassword(hash, []byte(password)) == nil && exists
	p.remember(sum, verdict)
	return verdict
}

// recall returns a recent verdict about a user and a password, by their hash.
func (p *passwords) recall(sum [sha256.Size]byte) (ok, known bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.right[sum], p.right[sum] || p.wrong[sum]
}

func (p *passwords) remember(sum [sha256.Size]byte, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	verdicts := p.wrong
	if ok {
		verdicts = p.right
	}
	if len(verdicts) >= maxVerdicts {
		clear(verdicts)
	}
	verdicts[sum] = true
}
