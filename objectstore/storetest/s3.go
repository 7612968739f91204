package storetest

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// AccessKey and SecretKey are the credentials that S3 sets in the environment.
const (
	AccessKey = "iconedge-test"
	SecretKey = "a-secret-that-no-message-may-hold"
)

const (
	gateway        = "github.com/versity/versitygw/cmd/versitygw"
	gatewayVersion = "v1.8.0"
	patience       = 2 * time.Minute // time for the gateway to start
)

// S3 starts a versitygw, an S3 service over a folder, and returns the address of an empty bucket in
// it. Until the test ends, the gateway runs and the environment has its credentials. The gateway is
// built once and kept in the user's cache folder. If it can't be built, the test is skipped, or
// fails if CI is set.
func S3(t testing.TB) (address string) {
	t.Helper()
	program, err := build()
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("no S3 service can be started: %v", err)
		}
		t.Skipf("not tested with S3, because no S3 service can be started: %v", err)
	}
	t.Setenv("AWS_ACCESS_KEY_ID", AccessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", SecretKey)
	t.Setenv("AWS_SESSION_TOKEN", "")

	const bucket = "icons"
	data := filepath.Join(t.TempDir(), "data")
	if err := os.MkdirAll(filepath.Join(data, bucket), 0o755); err != nil { // a folder is a bucket
		t.Fatal(err)
	}
	endpoint := start(t, program, data)
	return "s3://" + bucket + "?endpoint=" + endpoint + "&tls=false&region=us-east-1"
}

// build returns the program's path.
var build = sync.OnceValues(func() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	folder := filepath.Join(cache, "iconedge-test", "versitygw-"+gatewayVersion)
	program := filepath.Join(folder, "versitygw")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	// Several packages' tests may build at once, so this builds in a folder of its own and renames
	// the complete program.
	half, err := os.MkdirTemp(folder, "build-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(half)
	cmd := exec.Command("go", "install", gateway+"@"+gatewayVersion)
	cmd.Dir = half // outside of this module
	cmd.Env = append(os.Environ(), "GOBIN="+half, "GOFLAGS=", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go install %s@%s: %w\n%s", gateway, gatewayVersion, err, out)
	}
	return program, os.Rename(filepath.Join(half, filepath.Base(program)), program)
})

// start runs the gateway until the test ends and returns its HOST:PORT. The gateway can't report
// the port that it chose, so start passes one that was free a moment ago. If another process takes
// the port first, start tries another.
func start(t testing.TB, program, data string) (endpoint string) {
	t.Helper()
	var flags []string
	for range 5 {
		endpoint = free(t)
		err := run(t, program, endpoint, data, flags)
		if err == nil {
			return endpoint
		}
		t.Logf("starting versitygw: %v", err)
		// Without xattr support, the gateway needs a folder for its metadata.
		if strings.Contains(err.Error(), "xattr") {
			sidecar := filepath.Join(filepath.Dir(data), "sidecar")
			if err := os.MkdirAll(sidecar, 0o755); err != nil {
				t.Fatal(err)
			}
			flags = []string{"--sidecar", sidecar}
		}
	}
	t.Fatal("versitygw does not start")
	return ""
}

func run(t testing.TB, program, endpoint, data string, flags []string) error {
	args := append([]string{"--port", endpoint, "--region", "us-east-1", "--quiet", "posix"}, flags...)
	cmd := exec.Command(program, append(args, data)...)
	cmd.Env = append(os.Environ(), "ROOT_ACCESS_KEY_ID="+AccessKey, "ROOT_SECRET_ACCESS_KEY="+SecretKey)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	stop := func() {
		cmd.Process.Kill()
		<-ended
	}
	give := time.After(patience)
	for {
		if c, err := net.DialTimeout("tcp", endpoint, time.Second); err == nil {
			c.Close()
			break
		}
		select {
		case err := <-ended:
			return fmt.Errorf("it ended (%v), with output: %s", err, output.String())
		case <-give:
			stop()
			return fmt.Errorf("it does not answer; output: %s", output.String())
		case <-time.After(20 * time.Millisecond): // the gateway does not report when it listens
		}
	}
	t.Cleanup(stop)
	return nil
}

func free(t testing.TB) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
