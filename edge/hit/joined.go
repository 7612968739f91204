package hit

import (
	"math/rand/v2"
	"net/http"

	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/h2"
	"github.com/iconedge/iconedge/edge/h3"
	"github.com/iconedge/iconedge/edge/icondata"
	"github.com/iconedge/iconedge/edge/observe"
	"github.com/iconedge/iconedge/edge/pieces"
	"github.com/iconedge/iconedge/edge/request"
	"github.com/iconedge/iconedge/edge/respond"
	"github.com/iconedge/iconedge/edge/routes"
)

// A joined is a response on the hit path that is joined from pieces of icon data, as package
// iconset does it in the pipeline.
type joined struct {
	*pieces.Response
	answer *icondata.Answer
	oldest *pieces.Piece
	etag   []byte
	coding entry.Coding
	length int
	status int
}

// findJoined finds the pieces of a response, after find has found no stored one. It is not ok if
// the request is another one, or if one of them is missing, and the caller then uses the pipeline.
// If it is ok, and m is not made, the caller must put the response back.
func (p *Path) findJoined(j *joined, m *hit, q *request.Request) (ok bool) {
	if !pieces.MayBeData(q.Target) || q.Head || q.Authorization || q.Range != nil || q.IfModifiedSince != nil {
		return false
	}
	// find may have left the request at its host, but has entered it then.
	if m.host == nil || m.isEdited() || m.isLabelled(p) || m.ruledAnswer() != nil {
		return false
	}
	if !m.site.Icons || !m.site.Iconify || p.Library.Known() == "" {
		return false
	}
	parsed := m.target.raw != ""
	sum, again := p.mayStoreWhole(q.Target, parsed)
	if again {
		return false
	}
	j.Response = pieces.Responses.Get().(*pieces.Response)
	at := p.Cache.Generation()
	if p.Pieces.Lookup(j.Response, q.Target, m.host.mounted, at, m.now) && p.chooseJoined(j, q) {
		m.target = parsedTarget{route: routes.Iconify}
		if ok = p.admit(m, q, routes.Iconify.Class()); ok && !m.made {
			p.noteJoined(j, sum)
			return true
		}
	}
	pieces.Responses.Put(j.Response)
	return ok
}

// chooseJoined selects the status, coding and body. It reports false where the pipeline has to
// decide.
func (p *Path) chooseJoined(j *joined, q *request.Request) bool {
	var err error
	if j.answer, err = j.Answer(); err != nil {
		return false
	}
	j.answer.Info = nil
	j.oldest, j.etag = j.Oldest(), j.Tag("")
	j.coding, j.status, j.length = entry.Identity, http.StatusOK, j.answer.Len()
	if len(q.AcceptEncoding) > 0 && p.codings.Of(q.AcceptEncoding).Of(entry.Gzip) == entry.Gzip {
		if !j.answer.IsDeflated() {
			return false // the pipeline encodes the whole response
		}
		if n := j.answer.GzipLen(); n < j.length {
			j.coding, j.length, j.etag = entry.Gzip, n, j.TagOf(entry.Gzip)
		}
	}
	if q.IfNoneMatch != nil {
		if same, sure := sameTag(q.IfNoneMatch, j.etag, ""); !sure || !same {
			return false // the client may have another coding
		}
		j.status = http.StatusNotModified
	}
	return j.length <= MaxPrebuilt
}

// mayStoreWhole reports whether the pipeline should answer a request, because it is a second one,
// whose response it stores whole. If there was no room for that response, only some of the later
// requests try again. It returns the hash of a first request for the doorkeeper; 0: it is not one.
func (p *Path) mayStoreWhole(target []byte, parsed bool) (sum uint64, may bool) {
	if parsed {
		return 0, rand.Uint32N(retryWhole) == 0
	}
	return p.Doors.Knows(target)
}

const retryWhole = 16

// MaxWhole is the number of icons up to which a response that is joined is stored whole.
const MaxWhole = 64

// One request in PieceSample looks its pieces up in the cache, which so learns which of them are
// used.
const PieceSample = 64

// joinedSample is PieceSample on the hit path, where the look-ups would cost a tenth of the rest.
const joinedSample = 4 * PieceSample

// noteJoined records that a response was joined, and, for some, that its pieces were used.
func (p *Path) noteJoined(j *joined, sum uint64) {
	if sum != 0 && j.Len() <= MaxWhole {
		p.Doors.Record(sum)
	}
	if rand.Uint32N(joinedSample) > 0 {
		return
	}
	for key := range j.Keys {
		if e := p.Cache.Get(key); e != nil {
			e.Hit()
		}
	}
}

// appendJoinedHead appends the fields of the response.
func (p *Path) appendJoinedHead(dst []byte, w *respond.Writer, j *joined, m *hit, q *request.Request) []byte {
	var t respond.Head
	t.Bodyless, t.Length = j.status != http.StatusOK, j.length
	t.Coding, t.Ranges, t.ETag = j.coding, j.coding == entry.Identity, j.etag
	t.Aged, t.Age = true, j.oldest.Freshness.AgeAt(m.now)
	t.Status.Hit, t.Status.HasTTL, t.Status.TTL = true, true, j.oldest.Freshness.TTL(m.now)
	t.Count = &m.count
	t.AltSvc = p.altSvc(q, m.client)
	return w.Append(dst, &t)
}

// appendJoinedBody appends the body, if the response has one, and puts the response back.
func (j *joined) appendJoinedBody(dst []byte) []byte {
	if j.status == http.StatusOK {
		j.Read(j.coding == entry.Gzip)
		if j.coding == entry.Gzip {
			dst = j.answer.JoinGzip(dst)
		} else {
			dst = j.answer.Join(dst)
		}
	}
	pieces.Responses.Put(j.Response)
	return dst
}

// answerJoined is Answer for a response that is joined from pieces.
func (p *Path) answerJoined(dst []byte, m *hit, q *request.Request) ([]byte, bool) {
	var j joined
	if !p.findJoined(&j, m, q) {
		return dst, false
	}
	if m.made {
		return p.answer(dst, m, q), true
	}
	lines := j.Fields()
	w := respond.Writer{Prebuilt: &lines}
	dst = append(p.appendJoinedHead(append(dst, statusLines[j.status]...), &w, &j, m, q), "\r\n"...)
	start := len(dst)
	dst = j.appendJoinedBody(dst)
	p.record(m, q, &observe.Hit{Protocol: exchange.H1, Route: routes.Iconify, Outcome: exchange.Hit, Status: j.status,
		Bytes: len(dst) - start})
	return dst, true
}

// answerJoinedH2 is AnswerH2 for such a response.
func (p *Path) answerJoinedH2(dst []byte, m *hit, q *request.Request, known *h2.ClientTable) (out []byte, block int, ok bool) {
	var j joined
	if !p.findJoined(&j, m, q) {
		return dst, 0, false
	}
	if m.made {
		dst, block = p.answerH2(dst, m, q, known)
		return dst, block, true
	}
	start, lines := len(dst), j.Fields()
	w := respond.Writer{Prebuilt: &lines, Block: p.blocks.Of(&lines), Table: known}
	dst = p.appendJoinedHead(h2.AppendStatus(dst, j.status), &w, &j, m, q)
	block = len(dst) - start
	if j.status == http.StatusOK {
		dst = append(dst, make([]byte, h2.Gap)...)
	}
	body := len(dst)
	dst = j.appendJoinedBody(dst)
	p.record(m, q, &observe.Hit{Protocol: exchange.H2, Route: routes.Iconify, Outcome: exchange.Hit, Status: j.status,
		Bytes: len(dst) - body})
	return dst, block, true
}

// answerJoinedH3 is AnswerH3 for a response that is joined from pieces.
func (p *Path) answerJoinedH3(dst []byte, m *hit, q *request.Request) (out []byte, ok bool) {
	var j joined
	if !p.findJoined(&j, m, q) {
		return dst, false
	}
	if m.made {
		return p.answerH3(dst, m, q), true
	}
	fields := j.Fields()
	w := respond.Writer{Prebuilt: &fields}
	lines := heads.Get().(*[]byte)
	defer heads.Put(lines)
	*lines = p.appendJoinedHead((*lines)[:0], &w, &j, m, q)
	dst = appendHeadH3(dst, &p.sections, j.status, *lines)
	body := 0
	if j.status == http.StatusOK {
		body = j.length
		dst = h3.BeginData(dst, body)
	}
	dst = j.appendJoinedBody(dst)
	p.record(m, q, &observe.Hit{Protocol: exchange.H3, Route: routes.Iconify, Outcome: exchange.Hit, Status: j.status, Bytes: body})
	return dst, true
}
