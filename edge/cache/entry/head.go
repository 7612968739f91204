package entry

// A Head is the header fields of an entry in serialised form, as lines that end with CR LF, in the
// parts of which its responses are assembled. Parts that entries share are interned.
type Head struct {
	Type     []byte // Content-Type
	Always   []byte // on every response
	WithBody []byte // besides, with a body: a 304 leaves them out (RFC 9110, section 15.4.5)
	Own      []byte // on every response, specific to this entry
	OwnBody  []byte // with a body, specific to this entry
	// Paint says how the edge recolours the identity body; the package icon defines its values. -1
	// means that it does not.
	Paint int32
}
