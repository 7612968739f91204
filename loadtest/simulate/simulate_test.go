//go:build linux

package simulate

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"
)

// TestMain lets the test program be the relay of a region, as loadtest is.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "relay" {
		if err := Relay(context.Background(), os.Args[2:], os.Stdin, os.Stdout); err != nil {
			os.Stderr.WriteString(err.Error() + "\n")
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// In a small fleet nothing is lost: every edge does every purge, serves the new release, and
// catches up after Redis has restarted and its region was cut off; limits are exact in each region.
func TestNothingIsLost(t *testing.T) {
	if _, err := exec.LookPath("redis-server"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("redis-server is missing: run make engines")
		}
		t.Skip("NOT TESTED: redis-server is missing; make engines installs it")
	}
	c := Whole(20)
	c.Few, c.Rounds, c.Phase, c.Missed, c.Sample, c.Log = 0, 4, time.Second, 150, iconCount, t.Output()
	c.CutOff, c.Outage, c.Herd = time.Second, time.Second, time.Second
	c.Timeout = 20 * time.Second // the machine may be busy
	r, err := Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	r.Text(t.Output())
}
