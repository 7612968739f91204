package hit

import (
	"github.com/iconedge/iconedge/config"
	"github.com/iconedge/iconedge/edge/compress"
	"github.com/iconedge/iconedge/edge/dictionaries"
	"github.com/iconedge/iconedge/edge/represent"
	"github.com/iconedge/iconedge/edge/request"
)

// findDictionary finds the dictionary that the client of a request names. Where the edge makes the
// difference, or hides dictionaries from the origin, the key is that of a client without one.
func (m *hit) findDictionary(table *dictionaries.Table, q *request.Request, scheme, host string) {
	mode := m.site.KeepsDictionaries(m.ruled)
	if mode == config.DictionariesOff || q.Authorization || m.fields.Line(dictionaries.FieldAvailable, 1) != nil {
		return
	}
	m.dictionary = table.Find(dictionaries.Claim{Scope: dictionaries.Scope{Site: m.site.Name, Scheme: scheme, Host: host},
		Target: texts(q.Target), Available: m.fields.Line(dictionaries.FieldAvailable, 0), Dest: texts(m.fields.Line("Sec-Fetch-Dest", 0))})
	m.hidden = m.dictionary != nil || mode == config.DictionariesAuto
}

// difference makes the response the difference between the stored one and the dictionary of the
// client. sure is false where the pipeline has to decide, because the difference is not made.
func (m *hit) difference(table *dictionaries.Table, a *represent.Asked) (found, sure bool) {
	cause := dictionaries.Cause{Site: texts(m.fields.Line("Sec-Fetch-Site", 0)), Mode: texts(m.fields.Line("Sec-Fetch-Mode", 0)),
		Origin: texts(m.fields.Line("Origin", 0))}
	c, ok := cause.Choose(m.entry, a, dictionaries.AllowedOrigin(m.entry))
	if !ok {
		return false, true
	}
	body, known := table.Made(m.dictionary, m.entry.ID, c)
	if body == nil {
		return false, known
	}
	m.body, m.delta = body, c.String()
	m.etag = compress.AppendDeltaTag(m.tag[:0], m.entry.Validator, m.delta, m.dictionary.Sum())
	return true, true
}
