package cache

// A Head is the header fields of an answer, serialised, in the parts that its answers are put together of: lines that end with
// CR LF. Parts that entries have in common are stored once.
type Head struct {
	Type     []byte // Content-Type
	Always   []byte // on every answer
	WithBody []byte // besides, on those with a body: a 304 leaves them out (RFC 9110, section 15.4.5)
	Own      []byte // on every answer, and of this entry alone
	OwnBody  []byte // the same, on those with a body
	Paints   int    // times that currentColor stands in the identity body; -1: it is not to be coloured here
}
