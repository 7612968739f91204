package fetch

import (
	"net/http"
	"strings"

	"github.com/iconedge/iconedge/config"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/compress"
	"github.com/iconedge/iconedge/edge/dictionaries"
	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/pipeline"
	"github.com/iconedge/iconedge/edge/respond"
	"github.com/iconedge/iconedge/icon/iconify"
)

// declare makes a response that is about to be stored a dictionary for later versions of it, if it
// is one of those for which the operator wants that (RFC 9842). h are its fields, and length is
// that of its body; negative: unknown. A response that is a dictionary, or that a client may get
// compressed against one, names Available-Dictionary in Vary.
func declare(f *Finder, q *Request, e *cache.Entry, h http.Header, length int) {
	mode := q.keepsDictionaries()
	if f.Dictionaries == nil || mode == config.DictionariesOff || e.Plain || e.Status != http.StatusOK {
		return
	}
	sent := q.edited(h)
	declared := len(sent[dictionaries.FieldUse]) > 0
	if !declared && mode == config.DictionariesAuto && dictionaries.IsShared(sent) {
		if use := dictionaries.Derive(sent, q.ownTarget(), length); use != "" {
			e.Fields = append(e.Fields, respond.NewField(dictionaries.FieldUse, use))
			declared = true
		}
	}
	if declared || f.Dictionaries.Concerns(q.scope(), q.ownTarget()) {
		e.Fields = compress.AddDictionaryVary(e.Fields, e.Vary)
	}
}

// learn keeps a response that was stored, if it is a dictionary. Its request was sent at the
// generation since.
func learn(f *Finder, q *Request, e *cache.Entry, since cache.Generation) {
	if f.Dictionaries == nil || q.keepsDictionaries() == config.DictionariesOff ||
		!e.HasField(dictionaries.FieldUse) && len(q.responseEdits()) == 0 {
		return
	}
	f.Dictionaries.Learn(e, dictionaries.Learned{Scope: q.scope(), Target: q.ownTarget(),
		Header: q.edited(pipeline.Header(e)), Since: since})
}

// keepsDictionaries returns which responses clients may use as dictionaries. A response to a
// request with credentials is none, also where other clients may get it.
func (q *Request) keepsDictionaries() config.Dictionaries {
	switch {
	case q.own && isIconifyList(q.Key):
		return config.DictionariesOrigin
	case q.own || q.Site == nil || !q.Site.ProxyAll:
		return config.DictionariesOff
	case q.Policy.Authorized, q.Policy.Cookie && q.Policy.CookieKeyed: // it may be one person's
		return config.DictionariesOff
	case q.Policy.ContentKeyed: // a client has it for a content, and not for an address
		return config.DictionariesOff
	}
	return q.Site.KeepsDictionaries(q.Ruled.Decided())
}

// scope returns where a dictionary holds that is the response to the request.
func (q *Request) scope() dictionaries.Scope {
	if q.own {
		return dictionaries.Library
	}
	return dictionaries.Scope{Site: q.Site.Name, Scheme: q.Forwarded.Scheme, Host: q.Policy.Host}
}

// ownTarget returns the target of the request as its client sent it, before a rewrite; on our own
// routes the cache key.
func (q *Request) ownTarget() string {
	if q.own {
		return q.Key
	}
	if q.Ruled != nil {
		return q.Ruled.Request.Target
	}
	return q.Target
}

// responseEdits returns the edits of responses for clients.
func (q *Request) responseEdits() []*config.ResponseEdits {
	if q.own {
		return nil
	}
	if q.Ruled != nil {
		return q.Ruled.ResponseEdits
	}
	return q.Site.ResponseEdits()
}

// edited returns the fields of a response with status 200 as clients get them, with the edits of
// the operator.
func (q *Request) edited(h http.Header) http.Header {
	edits := q.responseEdits()
	if len(edits) == 0 {
		return h
	}
	r := exchange.Response{Lines: pipeline.LinesOf(h)}
	respond.Edit(&r, http.StatusOK, edits)
	out := http.Header{}
	for name, value := range exchange.FieldsIn(r.Lines) {
		out.Add(string(name), string(value))
	}
	return out
}

// isIconifyList reports whether a cache key is that of a list of Iconify's API, of all packs or of
// the names of one. Pickers of icons wait for it, and the list of all packs is a dictionary.
func isIconifyList(key string) bool {
	path, _, _ := strings.Cut(key, "?")
	return path == iconify.Mount+"/collections" || path == iconify.Mount+"/collection"
}
