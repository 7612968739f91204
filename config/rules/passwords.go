package rules

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"os"
	"strings"
	"sync"

	"golang.org/x/crypto/bcrypt"
)

// passwords are the users of an htpasswd file, with their hashes of bcrypt.
type passwords struct {
	users map[string][]byte
	mu    sync.Mutex
	known map[[32]byte]bool // recent verdicts, because bcrypt is slow on purpose
	slots chan struct{}     // bounds the checks at a time
}

// maxVerdicts bounds the verdicts in memory.
const maxVerdicts = 4096

// readPasswords reads an htpasswd file.
func readPasswords(file string) (*passwords, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("%w; must be a readable file of htpasswd", err)
	}
	p := &passwords{users: map[string][]byte{}, known: map[[32]byte]bool{}, slots: make(chan struct{}, 4)}
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		user, hash, ok := strings.Cut(line, ":")
		if _, err := bcrypt.Cost([]byte(hash)); !ok || user == "" || err != nil {
			return nil, fmt.Errorf("line %d of %s has no hash of bcrypt; must be USER:HASH, as htpasswd -B writes it", n, file)
		}
		p.users[user] = []byte(hash)
	}
	if len(p.users) == 0 {
		return nil, fmt.Errorf("%s has no user; must have a line as htpasswd -B writes it", file)
	}
	return p, nil
}

// unknownUser is compared for users that do not exist, so that the time of an answer does not tell
// which ones do.
var unknownUser = sync.OnceValue(func() []byte {
	h, err := bcrypt.GenerateFromPassword([]byte("no password"), bcrypt.DefaultCost)
	if err != nil {
		panic(err)
	}
	return h
})

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
	p.mu.Lock()
	verdict, known := p.known[sum]
	p.mu.Unlock()
	if known {
		return verdict
	}
	p.slots <- struct{}{}
	defer func() { <-p.slots }()
	hash, exists := p.users[user]
	if !exists {
		hash = unknownUser()
	}
	verdict = bcrypt.CompareHashAndPassword(hash, []byte(password)) == nil && exists
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.known) >= maxVerdicts {
		clear(p.known)
	}
	p.known[sum] = verdict
	return verdict
}
