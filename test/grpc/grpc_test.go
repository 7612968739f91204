// Package grpc runs the interoperability tests of gRPC through an edge, with grpc-go's own client
// and server. It is a module of its own, so that the product does not depend on libraries for
// tests.
package grpc

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/interop"
	testgrpc "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/tap"
)

// start starts an edge before an h2c origin, and returns its address.
func start(t *testing.T, origin string, more ...string) string {
	t.Helper()
	edge := exec.Command(program(t), append([]string{"edge", "--listen", "127.0.0.1:0", "--admin-listen",
		"127.0.0.1:0", "--proxy-all", "--drain", "1s",
		"--origin", "h2c://" + origin}, more...)...)
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	edge.Stderr, edge.Stdout = log, log
	if err := edge.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { edge.Process.Signal(os.Interrupt); edge.Wait() })
	for range 2400 { // two minutes
		b, _ := os.ReadFile(log.Name())
		if m := listening.FindSubmatch(b); m != nil {
			return string(m[1])
		}
		time.Sleep(50 * time.Millisecond)
	}
	b, _ := os.ReadFile(log.Name())
	t.Fatalf("the edge does not listen: %s", b)
	return ""
}

// program returns the path of iconedge: that of the environment variable ICONEDGE, or one that it
// builds.
func program(t *testing.T) string {
	t.Helper()
	if named := os.Getenv("ICONEDGE"); named != "" {
		return named
	}
	path := filepath.Join(t.TempDir(), "iconedge")
	build := exec.Command("go", "build", "-o", path, "./cmd/iconedge")
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return path
}

var listening = regexp.MustCompile(`"?address"?[=:]"?([0-9.]+:[0-9]+)"?,? ?"?for"?[=:]"?public`)

// serve runs grpc-go's interoperability server. At the end it logs how many requests came.
func serve(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var requests atomic.Int64
	s := grpc.NewServer(grpc.InTapHandle(func(ctx context.Context, _ *tap.Info) (context.Context, error) {
		requests.Add(1)
		return ctx, nil
	}))
	testgrpc.RegisterTestServiceServer(s, interop.NewTestServer())
	go s.Serve(l)
	t.Cleanup(func() { s.Stop(); t.Logf("requests: %d", requests.Load()) })
	return l.Addr().String()
}

func dial(t *testing.T, address string, config *tls.Config) *grpc.ClientConn {
	t.Helper()
	creds := insecure.NewCredentials()
	if config != nil {
		creds = credentials.NewTLS(config)
	}
	c, err := grpc.NewClient(address, grpc.WithTransportCredentials(creds))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// tests are grpc's interoperability cases. Those that move in both directions at once come last.
var tests = []struct {
	name string
	run  func(context.Context, testgrpc.TestServiceClient, ...grpc.CallOption)
}{
	{"empty unary", interop.DoEmptyUnaryCall},
	{"large unary", interop.DoLargeUnaryCall},
	{"client streaming", interop.DoClientStreaming},
	{"server streaming", interop.DoServerStreaming},
	{"empty stream", interop.DoEmptyStream},
	{"special status message", interop.DoSpecialStatusMessage},
	{"unimplemented method", func(ctx context.Context, c testgrpc.TestServiceClient, _ ...grpc.CallOption) {
		if _, err := c.UnimplementedCall(ctx, &testgrpc.Empty{}); err == nil {
			panic("an unimplemented method succeeded")
		}
	}},
	{"status code and message", interop.DoStatusCodeAndMessage},
	{"custom metadata", interop.DoCustomMetadata},
	{"ping-pong", interop.DoPingPong},
	{"cancel after begin", interop.DoCancelAfterBegin},
	{"cancel after first response", interop.DoCancelAfterFirstResponse},
	{"timeout on a sleeping server", interop.DoTimeoutOnSleepingServer},
}

func TestInterop(t *testing.T) {
	one := start(t, serve(t))
	for name, address := range map[string]string{"one edge": one, "two edges": start(t, one)} {
		for _, tt := range tests {
			t.Run(name+", "+tt.name, func(t *testing.T) {
				tt.run(t.Context(), testgrpc.NewTestServiceClient(dial(t, address, nil)))
			})
		}
	}
}

// Many clients at once get their own answers.
func TestCrowd(t *testing.T) {
	address := start(t, serve(t))
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			c := testgrpc.NewTestServiceClient(dial(t, address, nil))
			for n := range 20 {
				size := 1 + i*100 + n
				r, err := c.UnaryCall(t.Context(),
					&testgrpc.SimpleRequest{ResponseSize: int32(size), Payload: &testgrpc.Payload{Body: fmt.Append(nil, i)}})
				if err != nil || len(r.GetPayload().GetBody()) != size {
					t.Errorf("client %d: %d bytes (%v), want %d", i, len(r.GetPayload().GetBody()), err, size)
					return
				}
			}
		})
	}
	all.Wait()
}

// A client that waits for a message of the server in the middle of its call is not slow.
func TestSlowServer(t *testing.T) {
	c := testgrpc.NewTestServiceClient(dial(t, start(t, serve(t), "--request-timeout", "500ms"), nil))
	stream, err := c.FullDuplexCall(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		slow := []*testgrpc.ResponseParameters{{Size: 100, IntervalUs: 3_000_000}}
		if err = stream.Send(&testgrpc.StreamingOutputCallRequest{ResponseParameters: slow}); err == nil {
			_, err = stream.Recv()
		}
		if err != nil {
			t.Fatalf("message %d: %v", i, err)
		}
	}
}

// A client that measures its connection with a PING for nearly every message, as grpc-go does,
// keeps it: through a long stream from the server, a long conversation, and many calls.
func TestManyMessages(t *testing.T) {
	const messages = 3000
	c := testgrpc.NewTestServiceClient(dial(t, start(t, start(t, serve(t))), nil))
	one := []*testgrpc.ResponseParameters{{Size: 100, IntervalUs: 1000}}
	t.Run("from the server", func(t *testing.T) {
		stream, err := c.StreamingOutputCall(t.Context(),
			&testgrpc.StreamingOutputCallRequest{ResponseParameters: slices.Repeat(one, messages)})
		for i := 0; err == nil && i < messages; i++ {
			if _, err = stream.Recv(); err != nil {
				t.Errorf("message %d: %v", i, err)
			}
		}
		if err != nil {
			t.Error(err)
		}
	})
	t.Run("in both directions", func(t *testing.T) {
		stream, err := c.FullDuplexCall(t.Context())
		for i := 0; err == nil && i < messages; i++ {
			if err = stream.Send(
				&testgrpc.StreamingOutputCallRequest{ResponseParameters: []*testgrpc.ResponseParameters{{Size: 100}}}); err == nil {
				_, err = stream.Recv()
			}
			if err != nil {
				t.Errorf("message %d: %v", i, err)
			}
		}
	})
	t.Run("calls", func(t *testing.T) {
		for i := range messages {
			if _, err := c.EmptyCall(t.Context(), &testgrpc.Empty{}); err != nil {
				t.Fatalf("call %d: %v", i, err)
			}
		}
	})
}
