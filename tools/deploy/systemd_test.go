package deploy

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coreos/go-systemd/v22/unit"
)

// units parses the units of one kind as systemd does: options by section and name, by the unit's
// name.
func units(t *testing.T, ending string) map[string]map[string][]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(folder, "systemd", "*."+ending))
	if err != nil || len(paths) == 0 {
		t.Fatalf("units of %s: %v", ending, err)
	}
	all := map[string]map[string][]string{}
	for _, path := range paths {
		options, err := unit.DeserializeOptions(bytes.NewReader(read(t, "systemd", filepath.Base(path))))
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		u := map[string][]string{}
		for _, o := range options {
			u[o.Section+"."+o.Name] = append(u[o.Section+"."+o.Name], o.Value)
		}
		all[filepath.Base(path)] = u
	}
	return all
}

// TestSockets: each socket has a name that the program knows, the kind that the program expects,
// and an existing service.
func TestSockets(t *testing.T) {
	services := units(t, "service")
	known := map[string][]string{"iconedge-edge.service": {"public", "tls", "quic", "admin"},
		"iconedge-origin.service": {"public", "admin"}}
	seen := map[string][]string{}
	for name, s := range units(t, "socket") {
		service, fd := s["Socket.Service"][0], s["Socket.FileDescriptorName"][0]
		if services[service] == nil || !slices.Contains(known[service], fd) {
			t.Errorf("%s: %s passes a socket called %s to %s", name, name, fd, service)
		}
		if _, datagram := s["Socket.ListenDatagram"]; datagram != (fd == "quic") {
			t.Errorf("%s: a datagram socket: %v", name, datagram)
		}
		if len(s["Socket.ListenStream"])+len(s["Socket.ListenDatagram"]) != 1 || s["Socket.Accept"] != nil {
			t.Errorf("%s: a name is for one socket, which the program accepts from", name)
		}
		seen[service] = append(seen[service], fd)
	}
	for service, names := range known {
		if slices.Sort(seen[service]); !slices.Equal(seen[service], slices.Sorted(slices.Values(names))) {
			t.Errorf("%s has the sockets %v, want %v", service, seen[service], names)
		}
	}
}

var defaultDrain = regexp.MustCompile(`--drain [a-z]+\n[^\n]*\(default ([0-9a-z]+)\)`)

// TestServices: services notify systemd when they are ready, have time to drain, and set only
// variables of their flags.
func TestServices(t *testing.T) {
	for name, s := range units(t, "service") {
		args := strings.Fields(s["Service.ExecStart"][0])
		checkCall(t, name, args[1:])
		if s["Service.Type"][0] != "notify" || s["Service.Restart"][0] != "on-failure" {
			t.Errorf("%s: Type %v, Restart %v", name, s["Service.Type"], s["Service.Restart"])
		}
		help, err := exec.Command(program(), args[1], "--help").Output()
		if err != nil {
			t.Fatal(err)
		}
		m := defaultDrain.FindSubmatch(help)
		if m == nil {
			t.Fatalf("iconedge %s --help says no default of --drain", args[1])
		}
		drain, _ := time.ParseDuration(string(m[1]))
		if stop, err := time.ParseDuration(s["Service.TimeoutStopSec"][0]); err != nil || stop <= drain {
			t.Errorf("%s is killed after %v (%v), with a drain of %v", name, stop, err, drain)
		}
		variables := s["Service.Environment"]
		text := read(t, "systemd", args[1]+".env")
		for _, m := range regexp.MustCompile(`(?m)^#?([A-Z_]+=.*)$`).FindAllSubmatch(text, -1) {
			variables = append(variables, string(m[1]))
		}
		for _, v := range variables {
			variable, _, _ := strings.Cut(v, "=")
			checkVariable(t, name, args[1], variable)
		}
	}
}

// TestSystemdSecrets: edge and origin have folders and groups of their own, and read their secrets
// where the operator changes them. A credential would be a copy from the start of the service. A
// reload is a SIGHUP.
func TestSystemdSecrets(t *testing.T) {
	groups := string(read(t, "systemd", "iconedge.conf"))
	for part, s := range units(t, "service") {
		name := strings.TrimSuffix(part, ".service")
		if s["Service.LoadCredential"] != nil || !slices.Equal(s["Service.SupplementaryGroups"], []string{name}) ||
			!strings.Contains(groups, "\ng "+name+" -\n") {
			t.Errorf("%s: credentials %v, groups %v", name, s["Service.LoadCredential"], s["Service.SupplementaryGroups"])
		}
		for _, folder := range []string{"StateDirectory", "ConfigurationDirectory"} {
			if !slices.Equal(s["Service."+folder], []string{name}) {
				t.Errorf("%s: %s %v", name, folder, s["Service."+folder])
			}
		}
		if got := s["Service.ExecReload"]; !slices.Equal(got, []string{"/bin/kill -HUP $MAINPID"}) {
			t.Errorf("%s: ExecReload %q", name, got)
		}
		for _, v := range s["Service.Environment"] {
			if _, path, _ := strings.Cut(v, "="); strings.Contains(v, "_FILE=") && !strings.HasPrefix(path, "/etc/"+name+"/secrets/") {
				t.Errorf("%s reads %s", name, v)
			}
		}
		if len(s["Service.MemoryMax"]) != 1 {
			t.Errorf("%s has no memory limit", name)
		}
	}
	for _, format := range []string{"systemd/iconedge.conf", "deploy/postinstall.sh"} {
		if !bytes.Contains(read(t, "nfpm.yaml"), []byte(format)) {
			t.Errorf("the packages lack %s", format)
		}
	}
}

// TestSystemdSites: the program accepts the example of a configuration file, which is in a folder
// that the service can read, as its secrets are.
func TestSystemdSites(t *testing.T) {
	edge, text := units(t, "service")["iconedge-edge.service"], string(read(t, "systemd", "edge.yaml"))
	path := regexp.MustCompile(`(?m)^#ICONEDGE_CONFIG=/etc/(.*)/edge.yaml$`).FindSubmatch(read(t, "systemd", "edge.env"))
	if path == nil || !slices.Equal(edge["Service.ConfigurationDirectory"], []string{string(path[1])}) {
		t.Errorf("edge.env has %q, the service %q", path, edge["Service.ConfigurationDirectory"])
	}
	const secrets = "/etc/iconedge-edge/secrets/"
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	checkSites(t, "systemd/edge.yaml", strings.ReplaceAll(text, secrets+"download-key", key), secrets+"staging-users")
}

// TestSystemdVerify runs systemd-analyze verify on the units, with an existing program.
func TestSystemdVerify(t *testing.T) {
	analyze, dir := tool(t, "systemd-analyze"), t.TempDir()
	var paths []string
	for _, ending := range []string{"service", "socket"} {
		for name := range units(t, ending) {
			path := filepath.Join(dir, name)
			text := bytes.ReplaceAll(read(t, "systemd", name), []byte("/usr/local/bin/iconedge"), []byte(program()))
			if err := os.WriteFile(path, text, 0o644); err != nil {
				t.Fatal(err)
			}
			paths = append(paths, path)
		}
	}
	if out, err := exec.Command(analyze, append([]string{"verify", "--man=no"}, paths...)...).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
}

// mostExposed is the limit for the overall exposure level of `systemd-analyze security`, in tenths.
const mostExposed = "20"

func TestSystemdSecurity(t *testing.T) {
	analyze := tool(t, "systemd-analyze")
	for name := range units(t, "service") {
		out, err := exec.Command(analyze, "security", "--offline=true", "--no-pager", "--threshold="+mostExposed,
			filepath.Join(folder, "systemd", name)).CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}
