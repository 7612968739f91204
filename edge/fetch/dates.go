package fetch

import (
	"net/http"
	"sync/atomic"
	"time"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/recent"
)

// recentDates hold the dates that were parsed last: responses of the same release or of the same
// second have the same.
type recentDates [8]atomic.Pointer[parsedDate]

type parsedDate struct {
	text string
	time time.Time
}

func (d *recentDates) parse(text string, now time.Time) (time.Time, bool) {
	at := recent.SlotOf(d[:], text)
	if known := at.Load(); known != nil && known.text == text {
		return known.time, true
	}
	t, ok := cachepolicy.ParseDate(text, now)
	if ok && len(text) == len(http.TimeFormat) {
		at.Store(&parsedDate{text, t})
	}
	return t, ok
}

// HTTPDate returns a time in the form of Date and Last-Modified (RFC 9110, section 5.6.7).
func HTTPDate(t time.Time) []byte { return []byte(t.UTC().Format(http.TimeFormat)) }
