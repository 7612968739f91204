package publish

import (
	"encoding/json"
	"fmt"
	"io"
)

// object reads a JSON object member by member, so that memory need not hold a file of 100 MB. The
// function member must read the value from d; skip discards it.
func object(d *json.Decoder, member func(name string) error) error {
	if err := delim(d, '{'); err != nil {
		return err
	}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return err
		}
		if err := member(t.(string)); err != nil { // the decoder accepts only a string here
			return err
		}
	}
	return delim(d, '}')
}

func delim(d *json.Decoder, want json.Delim) error {
	t, err := d.Token()
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	if err != nil {
		return err
	}
	if t != want {
		return fmt.Errorf("an object was expected at offset %d", d.InputOffset())
	}
	return nil
}

func skip(d *json.Decoder) error {
	var value json.RawMessage
	return d.Decode(&value)
}

// text is a JSON string read into bytes.
type text []byte

func (t *text) UnmarshalText(b []byte) error {
	*t = append((*t)[:0], b...)
	return nil
}
