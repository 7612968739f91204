// Package quic has a kit of abuse of QUIC and HTTP/3. Its tests start an edge and abuse it as no
// honest client does: by packets made by hand (packet_test.go, raw_test.go), and streams of HTTP/3
// with frames and field sections made by hand (frames_test.go). Each case
// has the section of the RFC that requires its outcome. After each case another
// client must get 20 of 20 responses.
//
// `make attacks` repeats each case, and prints what it costs the edge in time of the processor and
// in memory.
package quic

import (
	"os"
	"testing"

	"github.com/iconedge/iconedge/test/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }
