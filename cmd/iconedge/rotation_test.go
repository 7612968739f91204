package main

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/iconedge/iconedge/edge/fleet/fleettest"
	"github.com/iconedge/iconedge/internal/tier"
	"github.com/iconedge/iconedge/test/harness"
)

// TestFleetRotations: on a fleet of an origin, a shield, two edges and Redis, the tier secret, the
// admin token and the password of Redis are replaced as docs/how-to/rotation.md says. Meanwhile
// clients request icons that no tier has, and every one is answered; no process ends.
func TestFleetRotations(t *testing.T) {
	t.Parallel()
	home, dir := t.TempDir(), t.TempDir()
	redis := fleettest.Start(t)
	acl := func(rules ...any) {
		t.Helper()
		if err := redis.Do(t.Context(), append([]any{"ACL", "SETUSER", "edge"}, rules...)...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	acl("on", ">first-password", "~*", "&*", "+@all")
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		write(t, path, text)
		return path
	}
	const first, second = "the-first-tier-secret", "the-second-tier-secret"
	secret, token, password := file("tier-secret", first), file("admin-token", "first-token"), file("redis-password", "first-password")
	harness.Must(t, home, "publish", harness.Library(t, "M0 0h8v8z"))
	common := []string{"--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--tier-secret-file", secret,
		"--admin-token-file", token}
	origin := harness.Start(t, home, append([]string{"origin", "--admin-protect-metrics"}, common...)...).Ready()
	all := []*harness.Server{origin}
	edge := func(of *harness.Server) *harness.Server {
		s := harness.Start(t, home, append([]string{"edge", "--origin", "http://" + of.Address("public"), "--limit", "cdn=off",
			"--redis", strings.Replace(redis.URL, "unix://", "unix://edge@", 1), "--redis-password-file", password}, common...)...).Ready()
		all = append(all, s)
		return s
	}
	shield := edge(origin)
	edges := []*harness.Server{edge(shield), edge(shield)}

	stop, clients := make(chan struct{}), sync.WaitGroup{}
	for client, e := range edges {
		clients.Go(func() {
			for i := 1; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				path := fmt.Sprintf("/demo/arrow.svg?size=%d&rotate=%d", 1+i%4000, 90*(1+client))
				if resp, body := harness.Get(t, e.Address("public"), path); resp.StatusCode != http.StatusOK {
					t.Errorf("client %d, request %d: %d %s", client, i, resp.StatusCode, body)
					return
				}
			}
		})
	}
	// replace writes a file, and waits until servers have read it again: at once by a signal, or by
	// themselves.
	replace := func(servers []*harness.Server, signal bool, flag, path, text string) {
		t.Helper()
		line := "msg=\"file read again\" flag=" + flag
		before := make([]int, len(servers))
		for i, s := range servers {
			before[i] = strings.Count(s.Log.String(), line)
		}
		write(t, path, text)
		for i, s := range servers {
			if signal {
				s.HangUp()
			}
			harness.Eventually(t, flag+" is read again", func() bool { return strings.Count(s.Log.String(), line) > before[i] })
		}
	}

	replace(all, true, "--tier-secret-file", secret, first+"\n"+second+"\n")
	replace(all, true, "--tier-secret-file", secret, second+"\n"+first+"\n")
	replace(all, false, "--tier-secret-file", secret, second+"\n")
	for given, want := range map[string]int{first: http.StatusForbidden, second: http.StatusOK} {
		if resp, _ := harness.Get(t, origin.Address("public"), "/-/release", tier.Field, given); resp.StatusCode != want {
			t.Errorf("the origin answers %d to %q, want %d", resp.StatusCode, given, want)
		}
	}

	admits := func(given string, want int) {
		t.Helper()
		for _, s := range all {
			path := "/top"
			if s == origin {
				path = "/metrics"
			}
			if resp, _ := harness.Get(t, s.Address("admin"), path, "Authorization", "Bearer "+given); resp.StatusCode != want {
				t.Errorf("%s with the token %q: %d, want %d", path, given, resp.StatusCode, want)
			}
		}
	}
	replace(all, true, "--admin-token-file", token, "first-token\nsecond-token\n")
	admits("first-token", http.StatusOK)
	admits("second-token", http.StatusOK)
	replace(all, false, "--admin-token-file", token, "second-token\n")
	admits("first-token", http.StatusUnauthorized)
	admits("second-token", http.StatusOK)

	acl(">second-password")
	replace(all[1:], false, "--redis-password-file", password, "second-password\n")
	acl("<first-password")
	if err := redis.Do(t.Context(), "CLIENT", "KILL", "USER", "edge").Err(); err != nil {
		t.Fatal(err)
	}
	for _, s := range all[1:] {
		harness.Eventually(t, "edges use Redis with the second password",
			func() bool { return strings.Contains(s.Metrics(t), "\niconedge_edge_redis_up 1\n") })
	}
	close(stop)
	clients.Wait()
	for _, s := range all {
		select {
		case <-s.Done:
			t.Errorf("a process ended:\n%s", s.Log)
		default:
		}
	}
}
