package client

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// searchFor is the time for which a plugin reuses a search.
const searchFor = 5 * time.Minute

// longestWait is the longest Retry-After that is obeyed. A larger one is an error of the service or
// of a proxy, and would disable a plugin for good.
const longestWait = time.Hour

// limits holds the times before which no request of a class may be made, because the service has
// answered 429. With a folder, later processes obey them too.
type limits struct {
	folder string
	mu     sync.Mutex
	until  map[string]time.Time
}

// class returns the class of limits of a target: search, icon, packs.
func class(target string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(target, "/"), "/")
	name, _, _ = strings.Cut(name, "?")
	return name
}

// check returns an Error while no request of the target's class may be made.
func (l *limits) check(target string, now time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	until := l.until[class(target)]
	if info, err := os.Stat(l.file(target)); err == nil && info.ModTime().After(until) {
		until = info.ModTime()
	}
	if left := until.Sub(now); left > 0 && left <= longestWait {
		return limited(left)
	}
	return nil
}

// reached stores that the service has answered 429. An error of the file system only means that
// other processes do not know it.
func (l *limits) reached(target string, now time.Time, wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.until == nil {
		l.until = map[string]time.Time{}
	}
	until := now.Add(min(wait, longestWait))
	l.until[class(target)] = until
	if l.folder == "" || os.MkdirAll(l.folder, 0o700) != nil {
		return
	}
	if f, err := os.Create(l.file(target)); err == nil {
		f.Close()
		os.Chtimes(l.file(target), until, until)
	}
}

// file returns the name of the file whose modification time is the end of the wait.
func (l *limits) file(target string) string {
	if l.folder == "" {
		return ""
	}
	return filepath.Join(l.folder, "limited-"+class(target))
}

// limited returns the error of a call during a wait. The number of seconds is rounded up, because
// a call before the end would fail.
func limited(left time.Duration) *Error {
	seconds := int((left + time.Second - 1) / time.Second)
	phrase := fmt.Sprintf("in %d seconds", seconds)
	if seconds == 1 {
		phrase = "in 1 second"
	}
	return &Error{Status: http.StatusTooManyRequests, Wait: left,
		Sentence: "The icon service's rate limit is reached; retry " + phrase + "."}
}
