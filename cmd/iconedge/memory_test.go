package main

import (
	"bytes"
	"errors"
	"log/slog"
	"math"
	"os"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// TestLimitMemory: the runtime's limit is nine tenths of the control group's, or of the
// machine's memory, or GOMEMLIMIT if that is set.
func TestLimitMemory(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	fails := func() (uint64, error) { return 0, errors.New("mountinfo is odd") }
	none := func() (uint64, error) { return 0, memlimit.ErrNoLimit }
	for name, tt := range map[string]struct {
		group memlimit.Provider
		env   string
		limit int64
		says  string
	}{
		"a limit":               {memlimit.Limit(2 << 30), "", 9 * (2 << 30) / 10, `msg="memory limit" bytes=1932735283 source=cgroup`},
		"no limit of the group": {none, "", 9 * (4 << 30) / 10, `msg="memory limit" bytes=3865470566 source=machine`},
		"an odd machine": {fails, "", math.MaxInt64,
			`level=WARN msg="memory limit unknown; set GOMEMLIMIT" err="failed to set GOMEMLIMIT: mountinfo is odd"`},
		"one of the environment": {memlimit.Limit(2 << 30), "3GiB", 1 << 40, `msg="memory limit" bytes=1099511627776 source=GOMEMLIMIT`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("GOMEMLIMIT", tt.env)
			debug.SetMemoryLimit(math.MaxInt64)
			if tt.env == "" {
				os.Unsetenv("GOMEMLIMIT")
			} else {
				debug.SetMemoryLimit(1 << 40) // as the runtime does at the start of the process
			}
			var log bytes.Buffer
			limitMemory(slog.New(slog.NewTextHandler(&log, nil)), tt.group, memlimit.Limit(4<<30))
			if got := debug.SetMemoryLimit(-1); got != tt.limit || !strings.Contains(log.String(), tt.says) {
				t.Errorf("the limit is %d, want %d; logged: %s, want %s", got, tt.limit, log.String(), tt.says)
			}
		})
	}
}
