package apps

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
)

// grpcName is the row of the tests of test/grpc, a module of its own.
const grpcName = "gRPC (grpc-go's interoperability server)"

// TestGRPC runs the tests of test/grpc.
func TestGRPC(t *testing.T) {
	if !whole() {
		t.Skip("`make apps` runs it")
	}
	cmd := exec.Command("go", "test", "-count=1", "-v", ".")
	cmd.Dir = filepath.Join("..", "grpc")
	output, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	cases := regexp.MustCompile(`(?m)^\s+--- PASS: TestInterop/`).FindAllIndex(output, -1)
	if len(cases) < 10 {
		t.Fatalf("only %d cases have passed:\n%s", len(cases), output)
	}
	requests := 0
	for _, m := range regexp.MustCompile(`(?m) requests: (\d+)$`).FindAllSubmatch(output, -1) {
		n, _ := strconv.Atoi(string(m[1]))
		requests += n
	}
	version := regexp.MustCompile(`google.golang.org/grpc v(\S+)`)
	list := exec.Command("go", "list", "-m", "google.golang.org/grpc")
	list.Dir = cmd.Dir
	module, err := list.Output()
	if m := version.FindSubmatch(module); m != nil {
		record(t, row{Name: grpcName, Version: string(m[1]), Client: "grpc-go's interoperability client",
			Did: "unary calls, streams in both directions, metadata, statuses, cancellation, deadlines; 50 " +
				"clients at once with 20 calls each",
			Requests: requests})
		return
	}
	t.Fatalf("reading the version of grpc-go: %v\n%s", err, module)
}
