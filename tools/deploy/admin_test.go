package deploy

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"go.yaml.in/yaml/v3"
	core "k8s.io/api/core/v1"
)

// A caller is a client of an admin listener, such as a probe or Prometheus, with the host name that
// it uses.
type caller struct {
	host, path string
	bears      bool // it sends the admin token
}

const adminToken = "a-token-of-the-tests"

// rebound is a caller that every deployment must reject: a web page whose name now resolves to the
// listener.
var rebound = caller{"rebound.example:8082", "/metrics", false}

// checkAdmin starts a server with a deployment's settings of the admin listener. It checks that the
// server answers each caller, and rejects a web page.
func checkAdmin(t *testing.T, what string, args []string, callers ...caller) {
	t.Helper()
	if len(callers) == 0 {
		t.Fatalf("%s: no caller of the admin listener", what)
	}
	address := adminListener(t, args)
	for _, c := range append(slices.Clone(callers), rebound) {
		got := askAdmin(t, address, c)
		if refused := got == http.StatusForbidden || got == http.StatusUnauthorized; refused != (c == rebound) {
			t.Errorf("%s: GET %s for %s, with the token: %v: %d", what, c.path, c.host, c.bears, got)
		}
	}
}

var adminFlag = regexp.MustCompile(`^--admin-(host|protect-metrics|token-file)\b`)

var adminAddress = regexp.MustCompile(`msg=listening address=(\S+) for=admin\b`)

// adminListener starts a command with those of its flags that concern the admin listener, and
// returns the address of the listener.
func adminListener(t *testing.T, args []string) string {
	t.Helper()
	token := filepath.Join(t.TempDir(), "admin-token")
	if err := os.WriteFile(token, []byte(adminToken), 0o600); err != nil {
		t.Fatal(err)
	}
	call := []string{args[0], "--listen=127.0.0.1:0", "--admin-listen=127.0.0.1:0"}
	for _, arg := range args[1:] {
		if strings.HasPrefix(arg, "--admin-token-file") {
			arg = "--admin-token-file=" + token
		}
		if adminFlag.MatchString(arg) {
			call = append(call, arg)
		}
	}
	cmd := exec.Command(program(), call...)
	cmd.Env = []string{"HOME=" + t.TempDir()}
	log, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		if m := adminAddress.FindStringSubmatch(lines.Text()); m != nil {
			return m[1]
		}
	}
	t.Fatalf("iconedge %s never listened", strings.Join(call, " "))
	return ""
}

func askAdmin(t *testing.T, address string, c caller) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+c.path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host, r.Close = c.host, true
	if c.bears {
		r.Header.Set("Authorization", "Bearer "+adminToken)
	}
	client := http.Client{Timeout: time.Minute}
	resp, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode
}

// asked returns the caller that `iconedge health` is with some arguments.
func asked(t *testing.T, args []string) caller {
	t.Helper()
	if len(args) == 1 {
		return caller{"127.0.0.1:8082", "/healthz", false}
	}
	u, err := url.Parse(args[len(args)-1])
	if err != nil {
		t.Fatal(err)
	}
	return caller{u.Host, u.Path, false}
}

// TestComposeAdmin: each server of the Compose file answers its own health check, and Prometheus
// under the name in its configuration.
func TestComposeAdmin(t *testing.T) {
	var config struct {
		Jobs []struct {
			Targets []struct{ Targets []string } `yaml:"static_configs"`
		} `yaml:"scrape_configs"`
	}
	if err := yaml.Unmarshal(read(t, "compose", "prometheus.yml"), &config); err != nil {
		t.Fatal(err)
	}
	callers := map[string][]caller{} // of each service
	for _, job := range config.Jobs {
		for _, group := range job.Targets {
			for _, target := range group.Targets {
				service, _, err := net.SplitHostPort(target)
				if err != nil {
					t.Fatal(err)
				}
				callers[service] = append(callers[service], caller{target, "/metrics", false})
			}
		}
	}
	services := loaded(t).Services
	for name, scrapes := range callers {
		s := services[name]
		args := slices.Clone([]string(s.Command))
		for variable, value := range s.Environment {
			if flag, ours := strings.CutPrefix(variable, "ICONEDGE_ADMIN_"); ours && flag != "LISTEN" {
				args = append(args, fmt.Sprintf("--admin-%s=%s", strings.ReplaceAll(strings.ToLower(flag), "_", "-"), *value))
			}
		}
		checkAdmin(t, name, args, append(scrapes, asked(t, s.HealthCheck.Test[2:]))...)
	}
}

// TestChartAdmin: each server of the chart answers the kubelet's probes (by the pod's address),
// Prometheus (by the pods' addresses), and clients that use the name of the service.
func TestChartAdmin(t *testing.T) {
	for install, domain := range map[string]string{"as it is": "svc.cluster.local", "everything": "svc.cluster.test"} {
		all := objects(t, installs[install])
		protected, bears := false, map[string]bool{} // by component
		for _, m := range of[*monitoring.ServiceMonitor](all) {
			a := m.Spec.Endpoints[0].Authorization
			sends := a != nil && a.Credentials != nil && a.Credentials.Key == "admin-token" && a.Credentials.Name == "tiers"
			bears[m.Labels["app.kubernetes.io/component"]] = sends
		}
		servers := 0
		for _, w := range workloads(all) {
			c := w.pod.Spec.Containers[0]
			if c.LivenessProbe == nil {
				continue
			}
			servers++
			component := w.pod.Labels["app.kubernetes.io/component"]
			port := c.Ports[slices.IndexFunc(c.Ports, func(p core.ContainerPort) bool { return p.Name == "admin" })].ContainerPort
			protected = slices.Contains(c.Args, "--admin-protect-metrics")
			var callers []caller
			for _, probe := range []*core.Probe{c.StartupProbe, c.LivenessProbe, c.ReadinessProbe} {
				for _, pod := range []string{"10.244.1.7", "fd00:10:244::7"} {
					callers = append(callers, caller{net.JoinHostPort(pod, fmt.Sprint(port)), probe.HTTPGet.Path, false})
				}
				if probe.HTTPGet.Host != "" || len(probe.HTTPGet.HTTPHeaders) > 0 {
					t.Errorf("%s: a probe has a host or fields of its own", w.name)
				}
			}
			if protected && !bears[component] {
				t.Errorf("%s: metrics are protected, and Prometheus sends no token", w.name)
			}
			service := strings.TrimPrefix(strings.TrimPrefix(w.name, "Deployment "), "StatefulSet ") + "-admin"
			for _, host := range []string{"10.244.1.7", service, service + ".web." + domain,
				"icons-iconedge-shield-0." + service + ".web." + domain} {
				callers = append(callers, caller{fmt.Sprintf("%s:%d", host, port), "/metrics", bears[component]})
			}
			checkAdmin(t, install+": "+w.name, c.Args, callers...)
		}
		if servers != 3 {
			t.Errorf("%s: %d servers", install, servers)
		}
	}
}

// TestSystemdAdmin: each server answers clients on the machine itself, by the address of the socket
// unit, and its own watchdog requests.
func TestSystemdAdmin(t *testing.T) {
	sockets := units(t, "socket")
	for name, s := range units(t, "service") {
		args := strings.Fields(s["Service.ExecStart"][0])[1:]
		for _, v := range s["Service.Environment"] {
			if file, ok := strings.CutPrefix(v, "ICONEDGE_ADMIN_TOKEN_FILE="); ok {
				args = append(args, "--admin-token-file="+file)
			}
		}
		socket := sockets["iconedge-"+args[0]+"-admin.socket"]["Socket.ListenStream"][0]
		_, port, err := net.SplitHostPort(socket)
		if err != nil {
			t.Fatal(err)
		}
		checkAdmin(t, name, args, caller{socket, "/healthz", false}, caller{socket, "/readyz", false},
			caller{"localhost:" + port, "/metrics", false}, caller{"[::1]:" + port, "/metrics", false})
	}
}

// TestContainerAdmin: the container answers its own health check.
func TestContainerAdmin(t *testing.T) {
	all := stages(t)
	var call []string
	var probe caller
	for _, c := range all[len(all)-1].Commands {
		switch c := c.(type) {
		case *instructions.HealthCheckCommand:
			probe = asked(t, c.Health.Test[2:])
		case *instructions.CmdCommand:
			call = c.CmdLine
		}
	}
	checkAdmin(t, "Containerfile", call[:1], probe)
}
