package fetch

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/cache/collapse"
	"github.com/iconedge/iconedge/edge/pipeline"
	"github.com/iconedge/iconedge/edge/upstream"
)

var (
	t0      = time.Unix(1_800_000_000, 0)
	errLost = errors.New("connection reset")
)

// plain is a request without credentials or directives.
var plain = cachepolicy.Request{Method: http.MethodGet, Target: "/"}

// directing returns plain with a Cache-Control.
func directing(value string) cachepolicy.Request {
	p := plain
	p.Directives = cachepolicy.ParseCacheControl(value)
	return p
}

// bearing returns plain with an Authorization.
func bearing() cachepolicy.Request {
	p := plain
	p.Authorized = true
	return p
}

// entryOf returns an entry that arrived at t0 with this Cache-Control.
func entryOf(control string) *cache.Entry {
	return &cache.Entry{Key: "/", Status: http.StatusOK,
		Policy: cachepolicy.NewEntry(http.StatusOK, http.Header{"Cache-Control": {control}}, t0, t0)}
}

func TestAfterLookup(t *testing.T) {
	for _, row := range []struct {
		name   string
		e      *cache.Entry
		absent bool
		p      cachepolicy.Request
		after  time.Duration
		want   state
	}{
		{"nothing stored", nil, false, plain, 0, stateMiss},
		{"nothing stored, and only-if-cached", nil, false, directing("only-if-cached"), 0, stateOnlyIfCached},
		{"not in the list of names", nil, true, plain, 0, stateAbsent},
		{"not in the list of names, and only-if-cached", nil, true, directing("only-if-cached"), 0, stateAbsent},
		{"stored, though not in the list of names", entryOf("max-age=60"), true, plain, 0, stateDeliver},
		{"fresh", entryOf("max-age=60"), false, plain, 59 * time.Second, stateDeliver},
		{"fresh, and only-if-cached", entryOf("max-age=60"), false, directing("only-if-cached"), 0, stateDeliver},
		{"fresh, and no-store", entryOf("max-age=60"), false, directing("no-store"), 0, stateDeliver},
		{"fresh, and no-cache", entryOf("max-age=60"), false, directing("no-cache"), 0, stateMiss},
		{"fresh, and no-cache with only-if-cached", entryOf("max-age=60"), false,
			directing("no-cache, only-if-cached"), 0, stateOnlyIfCached},
		{"expired", entryOf("max-age=60"), false, plain, time.Minute, stateMiss},
		{"expired, and only-if-cached", entryOf("max-age=60"), false, directing("only-if-cached"), time.Minute, stateOnlyIfCached},
		{"expired, and max-stale", entryOf("max-age=60"), false, directing("max-stale"), time.Minute, stateDeliver},
		{"within stale-while-revalidate", entryOf("max-age=60, stale-while-revalidate=30"), false, plain, time.Minute, stateRevalidate},
		{"after stale-while-revalidate", entryOf("max-age=60, stale-while-revalidate=30"), false, plain, 90 * time.Second, stateMiss},
	} {
		if got := afterLookup(row.e, row.absent, row.p, t0.Add(row.after)); got != row.want {
			t.Errorf("%s: state %d, want %d", row.name, got, row.want)
		}
	}
}

func TestAfterMiss(t *testing.T) {
	for _, row := range []struct {
		name   string
		w      waiter
		p      cachepolicy.Request
		marked bool
		want   state
	}{
		{"the first miss", waiter{afterMiss: stateJoin}, plain, false, stateJoin},
		{"with credentials", waiter{afterMiss: stateJoin}, bearing(), false, stateJoin},
		{"a hit-for-pass marker", waiter{afterMiss: stateJoin}, plain, true, stateHitForPass},
		{"no-store", waiter{afterMiss: stateJoin}, directing("no-store"), false, stateHitForPass},
		{"no-cache", waiter{afterMiss: stateJoin}, directing("no-cache"), false, stateJoin},
		{"no other fetch helps", waiter{afterMiss: stateHitForPass}, plain, false, stateHitForPass},
	} {
		if got := afterMiss(row.w, row.p, row.marked); got != row.want {
			t.Errorf("%s: state %d, want %d", row.name, got, row.want)
		}
	}
}

func TestAfterFetch(t *testing.T) {
	stale, kept := entryOf("max-age=60"), entryOf("max-age=60, stale-if-error=60")
	failing := Failed(&upstream.Response{Status: http.StatusBadGateway})
	for _, row := range []struct {
		name  string
		e     *cache.Entry
		err   error
		p     cachepolicy.Request
		after time.Duration
		want  state
	}{
		{"a response", nil, nil, plain, 0, stateFetch},
		{"a response in place of a stale one", stale, nil, plain, time.Minute, stateFetch},
		{"no connection, and nothing stored", nil, errLost, plain, 0, StateFail},
		{"no connection", stale, errLost, plain, time.Minute, stateStale},
		{"no connection for longer than a day", stale, errLost, plain, 48 * time.Hour, StateFail},
		{"no connection, and the client wants no stale response", stale, errLost, directing("no-cache"), time.Minute, StateFail},
		{"no connection, and the origin wants no stale response", entryOf("max-age=60, must-revalidate"), errLost,
			plain, time.Minute, StateFail},
		{"an error status", stale, failing, plain, time.Minute, StateFail},
		{"an error status within stale-if-error", kept, failing, plain, time.Minute, stateStale},
		{"an error status after stale-if-error", kept, failing, plain, 3 * time.Minute, StateFail},
		{"no answer in time", kept, collapse.ErrWaitTimeout, plain, time.Minute, stateStale},
		{"overload", nil, pipeline.Overloaded(), plain, 0, StateFail},
	} {
		if got := afterFetch(row.e, &collapse.Result{Err: row.err}, row.p, t0.Add(row.after)); got != row.want {
			t.Errorf("%s: state %d, want %d", row.name, got, row.want)
		}
	}
}

func TestAfterJoin(t *testing.T) {
	fresh, stale := entryOf("max-age=60"), entryOf("max-age=0, stale-if-error=60")
	failing := Failed(&upstream.Response{Status: http.StatusBadGateway})
	german := entryOf("max-age=60")
	german.Vary, german.Secondary = []string{"X-A"}, cachepolicy.VaryKey([]string{"X-A"}, http.Header{"X-A": {"2"}}.Values)
	storable, failure := cachepolicy.Sharing{Storable: true}, cachepolicy.Sharing{Failure: true}
	for _, row := range []struct {
		name  string
		e     *cache.Entry // that the request found
		l     collapse.Result
		began bool
		purge bool
		p     cachepolicy.Request
		after time.Duration
		want  state
	}{
		{name: "stored since the lookup", l: collapse.Result{Entry: fresh, Stored: true, Found: true}, p: plain, want: stateDeliver},
		{name: "its own fetch", l: collapse.Result{Entry: fresh, Sharing: storable}, began: true, p: plain, want: stateFetch},
		{name: "its own fetch, of a response for one client", l: collapse.Result{Entry: fresh}, began: true, p: plain, want: stateFetch},
		{name: "its own fetch, purged meanwhile", l: collapse.Result{Entry: fresh, Sharing: storable}, began: true,
			purge: true, p: plain, want: stateFetch},
		{name: "its own fetch failed", l: collapse.Result{Err: errLost}, began: true, p: plain, want: StateFail},
		{name: "its own fetch failed, with credentials", l: collapse.Result{Err: errLost}, began: true, p: bearing(), want: StateFail},
		{name: "its own fetch failed, and a stale response", e: stale, l: collapse.Result{Err: errLost}, began: true,
			p: plain, want: stateStale},
		{name: "its own fetch failed, and a stale response that was usable at the lookup", e: stale,
			l: collapse.Result{Err: failing}, began: true, p: plain, after: 2 * time.Minute, want: stateStale},
		{name: "another client's fetch", l: collapse.Result{Entry: fresh, Sharing: storable}, p: plain, want: stateCollapsed},
		{name: "another client's fetch, with credentials", l: collapse.Result{Entry: fresh, Sharing: storable}, p: bearing(),
			want: stateCollapsed},
		{name: "a response for one client", l: collapse.Result{Entry: fresh}, p: plain, want: stateRetry},
		{name: "a form for other clients", l: collapse.Result{Entry: german, Shared: fresh, Sharing: storable}, p: plain,
			want: stateCollapsed},
		{name: "another variant", l: collapse.Result{Entry: german, Sharing: storable}, p: plain, want: stateRetry},
		{name: "purged before the request arrived", l: collapse.Result{Entry: fresh, Sharing: storable}, purge: true,
			p: plain, want: stateRetry},
		{name: "expired while the request waited", l: collapse.Result{Entry: fresh, Sharing: storable}, p: plain,
			after: time.Minute, want: stateRetry},
		{name: "an origin's failure", l: collapse.Result{Entry: fresh, Sharing: failure}, p: plain, want: stateCollapsed},
		{name: "an origin's failure, with credentials", l: collapse.Result{Entry: fresh, Sharing: failure}, p: bearing(), want: stateRetry},
		{name: "another client's fetch failed", l: collapse.Result{Err: errLost}, p: plain, want: StateFail},
		{name: "another client's fetch failed, with credentials", l: collapse.Result{Err: errLost}, p: bearing(), want: stateRetry},
		{name: "another client's fetch failed, and a stale response", e: stale, l: collapse.Result{Err: errLost}, p: plain,
			want: stateStale},
		{name: "another client's fetch failed, with credentials and a stale response", e: stale, l: collapse.Result{Err: errLost},
			p: bearing(), want: stateStale},
		{name: "waited in vain", l: collapse.Result{Err: collapse.ErrWaitTimeout}, p: bearing(), want: StateFail},
		{name: "waited in vain, and a stale response", e: stale, l: collapse.Result{Err: collapse.ErrWaitTimeout},
			p: bearing(), want: stateStale},
		{name: "the client has left", l: collapse.Result{Err: collapse.ErrClientGone}, p: bearing(), want: StateFail},
	} {
		q := &Request{Key: "/", Header: http.Header{"X-A": {"1"}}, Policy: row.p}
		if got := afterJoin(row.e, waited{Result: &row.l, began: row.began, invalidated: row.purge}, q, t0,
			t0.Add(row.after)); got != row.want {
			t.Errorf("%s: state %d, want %d", row.name, got, row.want)
		}
	}
}

// A request that could not use another client's response joins at most one more fetch, and only one
// that many requests can use.
func TestAfterUnusable(t *testing.T) {
	fresh, other := entryOf("max-age=60"), entryOf("max-age=60")
	other.Vary, other.Secondary = []string{"X-A"}, cachepolicy.VaryKey([]string{"X-A"}, http.Header{"X-A": {"2"}}.Values)
	mine := cachepolicy.VaryKey([]string{"X-A"}, http.Header{"X-A": {"1"}}.Values)
	storable, again := cachepolicy.Sharing{Storable: true}, cachepolicy.Sharing{Again: true}
	for _, row := range []struct {
		name  string
		l     collapse.Result
		p     cachepolicy.Request
		joins int // before
		want  waiter
	}{
		{"another variant", collapse.Result{Entry: other, Sharing: storable}, plain, 0,
			waiter{joins: 1, afterMiss: stateJoin, collapses: withVariant, variant: mine}},
		{"another variant, as a stream", collapse.Result{Entry: other, Sharing: storable, Stream: &collapse.Spool{}},
			plain, 0, waiter{joins: 1, afterMiss: stateJoin, collapses: withVariant, variant: mine}},
		{"purged", collapse.Result{Entry: fresh, Sharing: storable}, plain, 0, waiter{joins: 1, afterMiss: stateJoin}},
		{"a stream without its beginning", collapse.Result{Entry: fresh, Sharing: storable,
			Stream: &collapse.Spool{}}, plain, 0, waiter{joins: 1, afterMiss: stateHitForPass}},
		{"for one client", collapse.Result{Entry: fresh}, plain, 0, waiter{joins: 1, afterMiss: stateHitForPass}},
		{"for one client because of its credentials", collapse.Result{Entry: fresh, Sharing: again}, plain, 0,
			waiter{joins: 1, afterMiss: stateJoin, collapses: withAnonymous}},
		{"for one client because of its credentials, as this one", collapse.Result{Entry: fresh, Sharing: again},
			bearing(), 0, waiter{joins: 1, afterMiss: stateHitForPass}},
		{"an error", collapse.Result{Err: errLost}, bearing(), 0, waiter{joins: 1, afterMiss: stateHitForPass}},
		{"the second fetch", collapse.Result{Entry: other, Sharing: storable}, plain, 1, waiter{joins: 2, afterMiss: stateHitForPass}},
		{"the second fetch, purged", collapse.Result{Entry: fresh, Sharing: storable}, plain, 1,
			waiter{joins: 2, afterMiss: stateHitForPass}},
	} {
		q := &Request{Key: "/", Header: http.Header{"X-A": {"1"}}, Policy: row.p}
		if got := (waiter{joins: row.joins, afterMiss: stateJoin}).afterUnusable(&row.l, q, t0); got != row.want {
			t.Errorf("%s: %+v, want %+v", row.name, got, row.want)
		}
	}
	w := waiter{joins: 1, afterMiss: stateJoin, collapses: withAnonymous}
	want := waiter{joins: 2, afterMiss: stateHitForPass, collapses: withAnonymous}
	if got := w.afterUnusable(&collapse.Result{Err: errLost}, &Request{Policy: plain}, t0); got != want {
		t.Errorf("the key of a request that is sent by itself changes: %+v, want %+v", got, want)
	}
}
