package exchange

import "testing"

func TestResponse(t *testing.T) {
	for _, row := range []struct {
		name string
		fill func(*Response)
		want string
	}{
		{"fields keep their order", func(r *Response) { r.Add("B", "1"); r.Add("A", "2"); r.Add("B", "3") }, "B: 1\r\nA: 2\r\nB: 3\r\n"},
		{"an empty value", func(r *Response) { r.Add("A", "") }, "A: \r\n"},
		{"Set adds a new field", func(r *Response) { r.Add("A", "1"); r.Set("B", "2") }, "A: 1\r\nB: 2\r\n"},
		{"Set replaces in place", func(r *Response) { r.Add("A", "1"); r.Add("B", "2"); r.Set("a", "longer") }, "a: longer\r\nB: 2\r\n"},
		{"Set leaves one of a name", func(r *Response) {
			r.Add("A", "1")
			r.Add("B", "2")
			r.Add("A", "3")
			r.Add("A",
				"4")
			r.Set("A", "5")
		}, "A: 5\r\nB: 2\r\n"},
		{"a name is not the start of another", func(r *Response) { r.Add("Age-Old", "1"); r.Set("Age", "2") }, "Age-Old: 1\r\nAge: 2\r\n"},
		{"Reset removes all", func(r *Response) { r.Add("A", "1"); r.Reset(); r.Add("B", "2") }, "B: 2\r\n"},
		{"no value adds a field", func(r *Response) { r.Add("A", "1\r\nB: 2\nC: 3"); r.Set("A", "1\r\nB: 2") }, "A: 1  B: 2\r\n"},
	} {
		var r Response
		row.fill(&r)
		if string(r.Lines) != row.want {
			t.Errorf("%s: %q, want %q", row.name, r.Lines, row.want)
		}
		text := ""
		for name, value := range FieldsIn(r.Lines) {
			text += string(name) + ": " + string(value) + "\r\n"
		}
		if text != row.want {
			t.Errorf("%s: FieldsIn gives %q, want %q", row.name, text, row.want)
		}
	}
}

func TestResponseGet(t *testing.T) {
	var r Response
	r.Add("Age", "1")
	r.Add("Cache-Status", "hit")
	for name, want := range map[string]string{"Age": "1", "cache-status": "hit", "Cache": ""} {
		if got := string(r.Get(name)); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
