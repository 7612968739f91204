package harness

import (
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
)

// freeAddress is one that nobody listens on at this moment: these programs can't tell which port they were given. It is below the ports that
// Linux gives to connections (ip_local_port_range), so that none takes it before they do, or while they are started again.
func FreeAddress(t *testing.T) string {
	t.Helper()
	for range 1000 {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 10_000+rand.IntN(22_000)))
		if err != nil {
			continue
		}
		defer l.Close()
		if _, again := given.LoadOrStore(l.Addr().String(), true); !again {
			return l.Addr().String()
		}
	}
	t.Fatal("no port is free")
	return ""
}

// given are the addresses that tests have been given.
var given sync.Map
