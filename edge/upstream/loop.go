package upstream

import (
	"encoding/hex"
	"strings"
)

// maxEdges is how many of our edges a request may have passed. More are a loop, even if the
// processes restart.
const maxEdges = 8

// maxBefore is how many earlier edges a shared request names. It is less than mostEdges, so that a
// client that invents edges can't make the shared request look like a loop.
const maxBefore = 4

// member returns the entry of c in CDN-Loop (RFC 8586, section 2): a name that all edges share and
// an ID of this Client.
func (c *Client) member() string { return c.name + "; id=" + c.id }

// IsLoop reports whether a request with these lines of CDN-Loop has passed this Client before, or
// too many edges. It splits them at every comma, even in a quoted string, so that a client can't
// hide entries behind an open quote.
func (c *Client) IsLoop(cdnLoop []string) bool {
	ours := 0
	for _, line := range cdnLoop {
		for member := range strings.SplitSeq(line, ",") {
			name, parameters, _ := strings.Cut(member, ";")
			if !strings.EqualFold(strings.Trim(name, " \t"), c.name) {
				continue
			}
			if ours++; ours > maxEdges || strings.Contains(parameters, "id="+c.id) {
				return true
			}
		}
	}
	return false
}

// LoopField returns the CDN-Loop field for a request made on behalf of a request with these lines
// of CDN-Loop: the last of our edges in them, and nothing else. nil means that there are none.
func (c *Client) LoopField(cdnLoop []string) []string {
	var members []string
	for _, line := range cdnLoop {
		for member := range strings.SplitSeq(line, ",") {
			id, ours := strings.CutPrefix(strings.Trim(member, " \t"), c.name+"; id=")
			if _, err := hex.DecodeString(id); ours && err == nil && len(id) == len(c.id) {
				members = append(members, c.name+"; id="+id)
			}
		}
	}
	if members = members[max(0, len(members)-maxBefore):]; len(members) == 0 {
		return nil
	}
	return []string{strings.Join(members, ", ")}
}
