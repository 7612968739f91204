package fetch

import (
	"strings"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/cache/collapse"
	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/library"
	"github.com/iconedge/iconedge/edge/pipeline"
	"github.com/iconedge/iconedge/edge/respond"
	"github.com/iconedge/iconedge/edge/routes"
	"github.com/iconedge/iconedge/edge/upstream"
)

// The icons of a pack have almost the same head. storeOwn and Prebuild read one of them, field by
// field; from then on a model of it gives the entries of the others, which are equal to those that
// storeOwn would make. A miss costs a fifth less.

// A model is the part of an entry that all icons with the same known head have.
type model struct {
	entry   cache.Entry // without the parts that its Values decide
	sharing cachepolicy.Sharing
	gzip    bool // the body is in gzip
}

// newModel makes a model of the entry that storeOwn has made of a response; nil: the entry depends
// on more than its Values.
func newModel(k *upstream.Known, v *upstream.Values, l *collapse.Result) *model {
	e := l.Entry
	for _, name := range [...]string{"Expires", "Cache-Status", "Age"} {
		if len(k.Header[name]) > 0 {
			return nil
		}
	}
	if !complete(v) || e.Head == nil || e.Release == "" || !l.Sharing.Storable {
		return nil
	}
	p, varies := e.Policy, e.Secondary != "" || len(e.Vary) > 0
	if varies || p.Heuristic || p.SetsCookie || p.Lifetime <= pipeline.OtherRelease+p.Age {
		return nil
	}
	m := &model{sharing: l.Sharing, gzip: k.Header.Get("Content-Encoding") == cachepolicy.Gzip}
	to := &m.entry
	to.Status, to.ContentType, to.Monochrome, to.Release, to.Policy, to.Plain = e.Status, e.ContentType, e.Monochrome,
		e.Release, e.Policy, e.Plain
	to.Fields, to.FieldsWithBody = e.Fields, e.FieldsWithBody
	to.Head = &cache.Head{Type: e.Head.Type, Always: e.Head.Always, WithBody: e.Head.WithBody}
	return m
}

// complete reports whether all values are there.
func complete(v *upstream.Values) bool {
	return v.ETag != "" && v.LastModified != "" && v.SurrogateKey != "" && v.Date != ""
}

// storeKnown does for a response with a known head what storeOwn does. It is not ok if that has to
// be done field by field.
func (h *Finder) storeKnown(q *Request, a *upstream.Response, asked cache.Generation) (l collapse.Result, ok bool) {
	m, _ := a.Known.Made.Load().(*model)
	v := &a.Values
	if m == nil || !complete(v) || !wellFormedTag(v.ETag) {
		return l, false
	}
	modified, ok1 := h.dates.parse(v.LastModified, a.ResponseTime)
	date, ok2 := h.dates.parse(v.Date, a.ResponseTime)
	tag := v.ETag
	if m.gzip {
		tag, ok = strings.CutSuffix(tag, gzipTagSuffix)
		tag += `"`
	} else {
		ok = true
	}
	if !ok || !ok1 || !ok2 {
		return l, false
	}
	body, err := a.Whole(MaxOwn)
	if err != nil {
		return collapse.Result{Err: err}, true
	}
	e := &cache.Entry{Key: q.Key, Status: m.entry.Status, ContentType: m.entry.ContentType,
		Monochrome: m.entry.Monochrome, Release: m.entry.Release, Policy: m.entry.Policy, LastModified: modified, Validator: v.ETag}
	e.Plain = m.entry.Plain
	coded := body
	if m.gzip {
		if body, err = entry.Inflate(coded, MaxOwn); err != nil {
			return collapse.Result{Err: upstream.Malformed(err)}, true
		}
	}
	e.SetIdentity(body, tag)
	if m.gzip {
		e.SetCoded(entry.Gzip, coded)
	}
	e.Fields, e.FieldsWithBody = withValues(m.entry.Fields, v), withValues(m.entry.FieldsWithBody, v)
	e.Tags = strings.Fields(v.SurrogateKey)
	e.Policy.Stored, e.Policy.Age = a.ResponseTime, max(a.ResponseTime.Sub(a.RequestTime), 0)
	e.Date = []byte(v.Date)
	if made := a.ResponseTime.Add(-e.Policy.Age); made.Sub(date).Abs() >= library.MaxSkew {
		e.Date = HTTPDate(made)
	}
	e.Head = &cache.Head{Type: m.entry.Head.Type, Always: m.entry.Head.Always, WithBody: m.entry.Head.WithBody,
		Own:     respond.AppendPart(nil, respond.PartOwn, e, e.Date, false),
		OwnBody: respond.AppendPart(nil, respond.PartOwnBody, e, e.Date, false), Paint: respond.Paint(e)}
	h.shorten(e)
	if !m.gzip {
		e.AddCoding(entry.Gzip)
	}
	return collapse.Result{Entry: e, Sharing: m.sharing, Stored: h.Cache.Put(e, asked)}, true
}

const gzipTagSuffix = `-gz"`

// learnHead makes a model of the entry of a response that was stored, for the responses after it.
func learnHead(k *upstream.Known, v *upstream.Values, l *collapse.Result) {
	if k == nil || l.Err != nil || !l.Stored || k.Made.Load() != nil {
		return
	}
	if m := newModel(k, v, l); m != nil {
		k.Made.Store(m)
	}
}

// Restored prebuilds the head of an entry that was read from disk, because the disk does not store
// heads.
func Restored(e *cache.Entry) {
	if _, own := routes.Canonical(e.Key); own {
		respond.Prebuild(e)
	}
}

// withValues returns fields with the values of another response.
func withValues(fields []cache.Field, v *upstream.Values) []cache.Field {
	with := make([]cache.Field, len(fields))
	copy(with, fields)
	for i := range with {
		switch string(with[i].Name) {
		case "Last-Modified":
			with[i].Value = []byte(v.LastModified)
		case "Surrogate-Key":
			with[i].Value = []byte(v.SurrogateKey)
		}
	}
	return with
}
