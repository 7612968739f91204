package upstream

import "strings"

// mostEdges is how many of ours a request may have gone through: more are a loop, even one of processes that start anew.
const mostEdges = 8

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
