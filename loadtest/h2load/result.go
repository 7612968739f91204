//go:build linux

package h2load

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"
	"time"
)

// A Result holds the counters of h2load, and the times that Run measured.
type Result struct {
	Protocol, TLS, Cipher string // as negotiated: h2, TLSv1.3, TLS_AES_128_GCM_SHA256

	Total, Started, Done, Succeeded, Failed, Errored, TimedOut int64
	OK                                                         int64 // responses with a status 2xx
	Data                                                       int64 // bytes of all bodies
	Mean, Max                                                  time.Duration

	Time, CPU time.Duration // of the whole run; CPU is the server's
}

// Parse parses the output of h2load.
func Parse(printed []byte) (*Result, error) {
	r := &Result{}
	missing := map[string]bool{requests: true, codes: true, traffic: true, times: true}
	for line := range bytes.Lines(printed) {
		name, value, ok := strings.Cut(string(line), ":")
		if !ok {
			continue
		}
		name = strings.TrimSpace(name)
		if err := r.line(name, strings.TrimSpace(value)); err != nil {
			return nil, fmt.Errorf("reading h2load's line %q: %w", bytes.TrimSpace(line), err)
		}
		delete(missing, name)
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("h2load printed no summary: %s", last(printed))
	}
	return r, nil
}

// The lines of h2load's summary that Parse uses.
const (
	requests = "requests"
	codes    = "status codes"
	traffic  = "traffic"
	times    = "time for request"
)

// line parses a line that Parse uses, and ignores all others.
func (r *Result) line(name, value string) (err error) {
	switch name {
	case "Application protocol":
		r.Protocol = value
	case "TLS Protocol":
		r.TLS = value
	case "Cipher":
		r.Cipher = value
	case requests:
		_, err = fmt.Sscanf(value, "%d total, %d started, %d done, %d succeeded, %d failed, %d errored, %d timeout",
			&r.Total, &r.Started, &r.Done, &r.Succeeded, &r.Failed, &r.Errored, &r.TimedOut)
	case codes:
		_, err = fmt.Sscanf(value, "%d 2xx,", &r.OK)
	case traffic:
		r.Data, err = dataOf(value)
	case times:
		err = r.times(value)
	}
	return err
}

// dataOf parses the bytes of bodies in "1.55MB (1626196) total, 105.47KB (108000) headers (space
// savings 39.66%), 1.43MB (1500000) data".
func dataOf(value string) (n int64, err error) {
	_, data, _ := strings.Cut(value, "%), ")
	var rounded string
	_, err = fmt.Sscanf(data, "%s (%d) data", &rounded, &n)
	return n, err
}

// times parses a row of the table: minimum, maximum, mean and two more columns.
func (r *Result) times(row string) (err error) {
	columns := strings.Fields(row)
	if len(columns) < 3 {
		return fmt.Errorf("%d columns", len(columns))
	}
	if r.Max, err = time.ParseDuration(columns[1]); err != nil {
		return err
	}
	r.Mean, err = time.ParseDuration(columns[2])
	return err
}

// last returns the end of the output as one line.
func last(printed []byte) string {
	return strings.Join(strings.Fields(string(printed[max(0, len(printed)-300):])), " ")
}

// Wrong describes the first deviation from the expected result, or returns an empty string. All
// requests of c must be answered with a status 2xx, in its protocol and over TLS 1.3, with bodies
// of data bytes in total.
func (r *Result) Wrong(c *Config, data int64) string {
	protocol, n := cmp.Or(c.Protocol, HTTP2), int64(c.Requests)
	switch {
	case r.Done != n || r.Succeeded != n || r.OK != n || r.Failed+r.Errored+r.TimedOut != 0:
		return fmt.Sprintf("of %d requests %d were answered, %d with 2xx; %d failed, %d errors, %d timeouts", n,
			r.Done, r.OK, r.Failed, r.Errored, r.TimedOut)
	case r.Protocol != protocol || r.TLS != "TLSv1.3":
		return fmt.Sprintf("the protocol was %s over %s, want %s over TLSv1.3", r.Protocol, r.TLS, protocol)
	case r.Data != data:
		return fmt.Sprintf("the bodies have %d bytes in total, want %d", r.Data, data)
	}
	return ""
}
