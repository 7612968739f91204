package nginx

import (
	"os"
	"testing"

	"github.com/iconedge/iconedge/test/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }
