package deploy

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
	"go.yaml.in/yaml/v3"
)

// example returns the variables of .env.example.
func example(t *testing.T) types.Mapping {
	t.Helper()
	env := types.Mapping{}
	for line := range strings.Lines(string(read(t, "compose", ".env.example"))) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && !strings.HasPrefix(name, "#") {
			env[name] = value
		}
	}
	return env
}

// project returns the Compose file, with others over it, as Compose loads it, checked against its
// schema.
func project(t *testing.T, env types.Mapping, over ...string) (*types.Project, error) {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join(folder, "compose"))
	if err != nil {
		t.Fatal(err)
	}
	var files []types.ConfigFile
	for _, name := range append([]string{"compose.yaml"}, over...) {
		files = append(files, types.ConfigFile{Filename: filepath.Join(dir, name)})
	}
	return loader.LoadWithContext(t.Context(), types.ConfigDetails{
		WorkingDir: dir, ConfigFiles: files, Environment: env,
	}, func(o *loader.Options) { o.SetProjectName("iconedge", true); o.Profiles = []string{"*"} })
}

func loaded(t *testing.T) *types.Project {
	t.Helper()
	p, err := project(t, example(t))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestCompose: all services exist, and each is hardened and pinned.
func TestCompose(t *testing.T) {
	p := loaded(t)
	want := []string{"ap-1", "ap-2", "bucket", "eu-1", "eu-2", "grafana", "library", "origin", "prometheus",
		"publish", "shield", "store", "us-1", "us-2", "valkey"}
	if got := slices.Sorted(maps.Keys(p.Services)); !slices.Equal(got, want) {
		t.Errorf("services %v, want %v", got, want)
	}
	for name, s := range p.Services {
		if _, tag, ok := strings.Cut(s.Image, ":"); !ok || tag == "latest" && s.Image != "iconedge:latest" {
			t.Errorf("%s: the image %s is not pinned", name, s.Image)
		}
		if !s.ReadOnly || !slices.Equal(s.CapDrop, []string{"ALL"}) ||
			!slices.Contains(s.SecurityOpt, "no-new-privileges:true") || s.Privileged {
			t.Errorf("%s is not hardened", name)
		}
		once := s.Restart == "no"
		if (s.HealthCheck == nil || s.HealthCheck.Disable) != once {
			t.Errorf("%s: long-running services need a health check, others must not have one; long-running: %v", name, !once)
		}
		for _, port := range s.Ports {
			if port.HostIP != "127.0.0.1" {
				t.Errorf("%s: port %s is published to the world", name, port.Published)
			}
		}
		for _, v := range s.Volumes {
			if _, err := os.Stat(v.Source); v.Type == types.VolumeTypeBind && (err != nil || !v.ReadOnly) {
				t.Errorf("%s mounts %s: %v, read-only: %v", name, v.Source, err, v.ReadOnly)
			}
		}
	}
	delete(p.Environment, "S3_SECRET_KEY")
	if _, err := project(t, p.Environment); err == nil || !strings.Contains(err.Error(), ".env.example") {
		t.Errorf("without its variables: %v, want a word on .env.example", err)
	}
}

// TestComposeCalls: each call and each variable is valid for the program, and each edge has the
// region of its name.
func TestComposeCalls(t *testing.T) {
	for name, s := range loaded(t).Services {
		if !strings.HasPrefix(s.Image, "iconedge:") {
			continue
		}
		checkCall(t, name, s.Command)
		for variable := range s.Environment {
			checkVariable(t, name, s.Command[0], variable)
		}
		if s.HealthCheck != nil && !s.HealthCheck.Disable {
			checkCall(t, name, s.HealthCheck.Test[2:])
		}
		region, _, isEdge := strings.Cut(name, "-")
		if !isEdge {
			continue
		}
		if got := s.Environment["ICONEDGE_REGION"]; got == nil || *got != region {
			t.Errorf("%s is of the region %v", name, got)
		}
		if _, ok := s.Networks[region]; !ok {
			t.Errorf("%s is not in the network %s", name, region)
		}
	}
}

// TestComposeSites: with sites.yaml each edge, and nothing else, has a configuration file that the
// program accepts. Its origins are services in a network of the edges.
func TestComposeSites(t *testing.T) {
	p, err := project(t, example(t), "sites.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range p.Services {
		config, own := s.Environment["ICONEDGE_CONFIG"], s.Environment["ICONEDGE_ORIGIN"]
		if _, _, isEdge := strings.Cut(name, "-"); !isEdge {
			if config != nil {
				t.Errorf("%s has a configuration file", name)
			}
			continue
		}
		if config == nil || own == nil || *own != "" || len(s.Volumes) != 1 || len(s.Networks) != 2 {
			t.Errorf("%s: file %v, origin %v, volumes %v, networks %v", name, config, own, s.Volumes, s.Networks)
			continue
		}
		v := s.Volumes[0]
		if _, err := os.Stat(filepath.Join(v.Source, strings.TrimPrefix(*config, v.Target))); err != nil ||
			!v.ReadOnly || v.Type != types.VolumeTypeBind {
			t.Errorf("%s mounts %+v: %v", name, v, err)
		}
	}
	text := string(read(t, "compose", "sites", "edge.yaml"))
	checkSites(t, "compose/sites/edge.yaml", text, "")
	for _, m := range regexp.MustCompile(`"http://([a-z]+):`).FindAllStringSubmatch(text, -1) {
		if _, ok := p.Services[m[1]].Networks["core"]; !ok {
			t.Errorf("%s is no service that edges reach", m[1])
		}
	}
}

// TestComposePrometheus: Prometheus accepts its configuration with the rules, and scrapes every
// edge, shield and origin with a region.
func TestComposePrometheus(t *testing.T) {
	var config struct {
		Jobs []struct {
			Name    string `yaml:"job_name"`
			Targets []struct {
				Targets []string
				Labels  map[string]string
			} `yaml:"static_configs"`
		} `yaml:"scrape_configs"`
	}
	if err := yaml.Unmarshal(read(t, "compose", "prometheus.yml"), &config); err != nil {
		t.Fatal(err)
	}
	read := map[string]string{} // job and region, by target
	for _, job := range config.Jobs {
		for _, group := range job.Targets {
			for _, target := range group.Targets {
				read[target] = job.Name + " " + group.Labels["region"]
			}
		}
	}
	want := map[string]string{"shield:8082": "iconedge-shield core", "origin:8083": "iconedge-origin core"}
	for name := range loaded(t).Services {
		if region, _, isEdge := strings.Cut(name, "-"); isEdge {
			want[name+":8082"] = "iconedge-edge " + region
		}
	}
	if !maps.Equal(read, want) {
		t.Errorf("it reads %v, want %v", read, want)
	}
}

func TestComposePromtool(t *testing.T) {
	promtool, dir := tool(t, "promtool"), t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "rules"), os.DirFS(filepath.Join(folder, "prometheus", "rules"))); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(config, read(t, "compose", "prometheus.yml"), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(promtool, "check", "config", config).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "rule files found") || strings.Contains(string(out), " 0 rule files") {
		t.Errorf("promtool check config: %v\n%s", err, out)
	}
}

// TestComposeGrafana: each dashboard finds its datasource where it is mounted.
func TestComposeGrafana(t *testing.T) {
	var sources struct {
		Datasources []struct{ Name, Type, URL string }
	}
	if err := yaml.Unmarshal(read(t, "compose", "grafana", "provisioning", "datasources", "prometheus.yaml"), &sources); err != nil {
		t.Fatal(err)
	}
	if s := sources.Datasources; len(s) != 1 || s[0].Type != "prometheus" || s[0].URL != "http://prometheus:9090" {
		t.Errorf("datasources: %+v", s)
	}
	var boards struct {
		Providers []struct{ Options struct{ Path string } }
	}
	if err := yaml.Unmarshal(read(t, "compose", "grafana", "provisioning", "dashboards", "iconedge.yaml"), &boards); err != nil {
		t.Fatal(err)
	}
	grafana := loaded(t).Services["grafana"]
	if len(boards.Providers) != 1 || !slices.ContainsFunc(grafana.Volumes, func(v types.ServiceVolumeConfig) bool {
		return v.Target == boards.Providers[0].Options.Path && filepath.Base(v.Source) == "dashboards"
	}) {
		t.Errorf("no dashboards are mounted at %+v", boards.Providers)
	}
	home := *grafana.Environment["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
	if _, err := os.Stat(filepath.Join(folder, "grafana", "dashboards", filepath.Base(home))); err != nil {
		t.Error(err)
	}
}
