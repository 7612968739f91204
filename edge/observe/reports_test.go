package observe

import (
	"strings"
	"testing"
)

func TestReportsAreChecked(t *testing.T) {
	for _, row := range []struct {
		of   Reporting
		want string
	}{
		{Reporting{AccessLogSample: 1}, ""},
		{Reporting{AccessLogSample: 1.1}, "--access-log-sample must be"},
		{Reporting{AccessLogSample: -1}, "--access-log-sample must be"},
	} {
		if err := row.of.Validate(); row.want == "" && err != nil ||
			row.want != "" && (err == nil || !strings.HasPrefix(err.Error(), row.want)) {
			t.Errorf("%+v: %v", row.of, err)
		}
	}
	if _, err := (&Reporting{AccessLog: t.TempDir()}).Open(nil, "", nil, nil); err == nil ||
		!strings.HasPrefix(err.Error(), "opening the access log: ") {
		t.Errorf("a folder is opened: %v", err)
	}
}
