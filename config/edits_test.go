package config

import "testing"

func TestEditsByStatus(t *testing.T) {
	for _, row := range []struct {
		of     Strings
		status int
		want   bool
	}{
		{nil, 404, true},
		{Strings{"2xx"}, 200, true},
		{Strings{"2xx"}, 206, true},
		{Strings{"2xx"}, 304, true},
		{Strings{"2xx"}, 404, false},
		{Strings{"200"}, 304, true},
		{Strings{"206"}, 304, false},
		{Strings{"404", "5xx"}, 404, true},
		{Strings{"404", "5xx"}, 503, true},
		{Strings{"404", "5xx"}, 410, false},
	} {
		e := ResponseEdits{Status: row.of}
		if got := e.Applies(row.status); got != row.want {
			t.Errorf("%q, status %d: %v", row.of, row.status, got)
		}
	}
}
