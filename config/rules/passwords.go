package rules

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"

	"golang.org/x/crypto/bcrypt"

	"github.com/iconedge/iconedge/config"
)

// passwords are the users of an htpasswd file, with their hashes of bcrypt.
type passwords struct {
	users map[string]hashed
	// decoys are hashes of every cost up to the highest of the file. Comparisons with them make the
	// time of an answer the same for users that do not exist and for those with cheaper hashes.
	decoys  [bcrypt.MaxCost + 1][]byte
	highest int // cost
	compare func(hash, password []byte) error
}

// A hashed password is that of a user.
type hashed struct {
	hash []byte
	cost int
}

// maxPasswords is the length of the longest htpasswd file, in bytes.
const maxPasswords = 16 << 20

// CheckPasswords returns an error if auth: {basic: FILE} can't use a file.
func CheckPasswords(file string) error {
	_, err := readPasswords(file)
	return err
}

// readPasswords reads an htpasswd file.
func readPasswords(file string) (*passwords, error) {
	text, err := config.ReadFile(file, maxPasswords)
	if err != nil {
		return nil, fmt.Errorf("%w; must be a readable file of htpasswd", err)
	}
	p := &passwords{users: map[string]hashed{}, compare: bcrypt.CompareHashAndPassword}
	n := 0
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
		if p.users[user] = (hashed{[]byte(hash), cost}); cost > p.highest {
			p.highest = cost
			p.decoy(hash)
		}
	}
	if len(p.users) == 0 {
		return nil, fmt.Errorf("%s has no user; must have a line as htpasswd -B writes it", file)
	}
	return p, nil
}

// decoy makes decoys of a hash such as $2y$10$…: its salt with every cost up to its own.
func (p *passwords) decoy(hash string) {
	parts := strings.SplitN(hash, "$", 4)
	for cost := bcrypt.MinCost; cost <= p.highest; cost++ {
		p.decoys[cost] = fmt.Appendf(nil, "$%s$%02d$%s", parts[1], cost, parts[3])
	}
}

// check returns the answer to a request without the password of a user (RFC 7617), or whose
// password is not compared; nil: the password is right.
func (p *passwords) check(q *Request) *Answer {
	right := false
	if user, password, ok := basic(q.Lines("Authorization")); ok {
		compare := func() bool { return p.right(user, password) }
		if q.Guess == nil {
			right = compare()
		} else {
			var err error
			if right, err = q.Guess(p.account(user), password, compare); err != nil {
				return &Answer{Err: err, Over: true}
			}
		}
	}
	if right {
		return nil
	}
	return &Answer{Status: http.StatusUnauthorized, Text: "this address requires a user and a password", Denied: true,
		Name: "Www-Authenticate", Value: `Basic realm="restricted", charset="UTF-8"`}
}

// basic returns the user and the password in the lines of Authorization.
func basic(lines []string) (user, password string, ok bool) {
	if len(lines) != 1 {
		return "", "", false
	}
	scheme, coded, _ := strings.Cut(lines[0], " ")
	plain, err := base64.StdEncoding.DecodeString(strings.TrimLeft(coded, " "))
	user, password, ok = strings.Cut(string(plain), ":")
	return user, password, ok && err == nil && strings.EqualFold(scheme, "Basic")
}

// account returns a text that is another one whenever the verdicts about a user may differ: the
// hash, or the decoy of a user that does not exist, and the user.
func (p *passwords) account(user string) string {
	if u, exists := p.users[user]; exists {
		return string(u.hash) + ":" + user
	}
	return string(p.decoys[p.highest]) + "::" + user
}

// right compares a password with that of a user. Unless it is right, the cost is that of the
// costliest hash of the file: a cost doubles the one below it, so the cheaper hash of a user and
// decoys of its cost and of all above are together as dear.
func (p *passwords) right(user, password string) bool {
	u, exists := p.users[user]
	if !exists {
		p.compare(p.decoys[p.highest], []byte(password))
		return false
	}
	if p.compare(u.hash, []byte(password)) == nil {
		return true
	}
	for cost := u.cost; cost < p.highest; cost++ {
		p.compare(p.decoys[cost], []byte(password))
	}
	return false
}
