package rules

import (
	"reflect"
	"strings"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// A fieldMap is request.headers of an expression: the lines of each field, joined, by its name in
// lower case. It reads a field when the expression names it, and makes a map of all fields only for
// expressions that need one.
type fieldMap struct{ q *Request }

var _ traits.Mapper = (*fieldMap)(nil)

// Find returns the value of a field.
func (m *fieldMap) Find(key ref.Val) (ref.Val, bool) {
	name, ok := key.(types.String)
	if !ok || name != types.String(strings.ToLower(string(name))) {
		return nil, false
	}
	lines := m.q.Lines(canonical(string(name)))
	if len(lines) == 0 {
		return nil, false
	}
	value := lines[0]
	if len(lines) > 1 {
		// A client of HTTP/2 may split a Cookie, which the pipeline joins otherwise.
		m.q.unsure = m.q.unsure || m.q.Header == nil && name == "cookie"
		value = strings.Join(lines, ", ")
	}
	m.q.Pay(madeSteps + len(value))
	return types.String(value), true
}

// Get returns the value of a field, or an error.
func (m *fieldMap) Get(key ref.Val) ref.Val {
	if v, ok := m.Find(key); ok {
		return v
	}
	return types.NewErr("no such key: %v", key)
}

// Contains reports whether the request has a field.
func (m *fieldMap) Contains(key ref.Val) ref.Val {
	_, ok := m.Find(key)
	return types.Bool(ok)
}

// all returns all fields as a map.
func (m *fieldMap) all() traits.Mapper {
	return types.DefaultTypeAdapter.NativeToValue(m.q.headerMap()).(traits.Mapper)
}

// Iterator iterates over the names.
func (m *fieldMap) Iterator() traits.Iterator { return m.all().Iterator() }

// Size returns the number of fields.
func (m *fieldMap) Size() ref.Val { return m.all().Size() }

// ConvertToNative converts a map of all fields.
func (m *fieldMap) ConvertToNative(t reflect.Type) (any, error) { return m.all().ConvertToNative(t) }

// ConvertToType converts a map of all fields.
func (m *fieldMap) ConvertToType(t ref.Type) ref.Val { return m.all().ConvertToType(t) }

// Equal compares a map of all fields.
func (m *fieldMap) Equal(other ref.Val) ref.Val { return m.all().Equal(other) }

// Type returns the type of maps.
func (m *fieldMap) Type() ref.Type { return types.MapType }

// Value returns a map of all fields.
func (m *fieldMap) Value() any { return m.q.headerMap() }
