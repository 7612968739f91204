package upstream

import (
	"encoding/hex"
	"strings"
)

// mostEdges is how many of ours a request may have gone through: more are a loop, even one of processes that start anew.
const mostEdges = 8

// mostBefore is how many edges that a request has gone through are named in a question that others may share: fewer than make a loop by
// their number, so that nobody who invents them spoils the answer of all.
const mostBefore = 4

// member is what c adds to CDN-Loop (RFC 8586, section 2): a name that all edges share and an id that is this Client's own.
func (c *Client) member() string { return c.name + "; id=" + c.id }

// Looped reports whether a request with these lines of CDN-Loop has been here before, or in too many edges. They are cut
// at every comma, one in a quoted string too: a quote that a client leaves open must not hide what follows.
func (c *Client) Looped(cdnLoop []string) bool {
	ours := 0
	for _, line := range cdnLoop {
		for member := range strings.SplitSeq(line, ",") {
			name, parameters, _ := strings.Cut(member, ";")
			if !strings.EqualFold(strings.Trim(name, " \t"), c.name) {
				continue
			}
			if ours++; ours > mostEdges || strings.Contains(parameters, "id="+c.id) {
				return true
			}
		}
	}
	return false
}

// Before are the last edges of ours that a request has gone through, by its lines of CDN-Loop, for the field of a question that is
// asked on its behalf; nil: none. Nothing else that stands there is passed on.
func (c *Client) Before(cdnLoop []string) []string {
	var members []string
	for _, line := range cdnLoop {
		for member := range strings.SplitSeq(line, ",") {
			id, ours := strings.CutPrefix(strings.Trim(member, " \t"), c.name+"; id=")
			if _, err := hex.DecodeString(id); ours && err == nil && len(id) == len(c.id) {
				members = append(members, c.name+"; id="+id)
			}
		}
	}
	if members = members[max(0, len(members)-mostBefore):]; len(members) == 0 {
		return nil
	}
	return []string{strings.Join(members, ", ")}
}
