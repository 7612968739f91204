package deploy

import (
	"bytes"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	apps "k8s.io/api/apps/v1"
	autoscaling "k8s.io/api/autoscaling/v2"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

const chartFolder = folder + "/helm/iconedge"

// values are a user's values, as YAML.
type values = string

// installs are ways to install the chart. Each has parts that the others do not have.
var installs = map[string]values{
	"as it is": ``,
	"everything": `
region: eu
redis: {existingSecret: redis, passwordSecret: redis-password}
trace: {endpoint: "http://otel:4318"}
secrets: {existing: tiers}
admin: {hosts: ["*.svc.cluster.test"], protectMetrics: true}
image: {pullSecrets: [registry]}
edge:
  tls: {secretName: edge-tls, redirect: true}
  cacheDisk: {enabled: true}
  limits: {search: 120/1m, cdn: "off", "lifetime:search": 600/1m}
  trustedProxies: [10.0.0.0/8]
  hosts: [icons.example.org]
  requireToken: true
  origins: ["http://other:8081"]
  extraArgs: [--access-log=-]
  service: {type: LoadBalancer, externalTrafficPolicy: Local, annotations: {a: b}}
  ingress: {enabled: true, className: nginx, tlsSecretName: web, annotations: {a: b}}
  podAnnotations: {a: b}
  nodeSelector: {a: b}
  tolerations: [{key: a, operator: Exists}]
  disruptionBudget: {maxUnavailable: 25%}
origin: {storeFileSecret: s3, mirror: {size: 1Gi, storageClass: fast}}
publish: {enabled: true, schedule: "0 4 * * *"}
networkPolicy: {tierPeers: [{ipBlock: {cidr: 10.9.0.0/16}}]}
monitoring: {jobs: {edge: web, shield: mid, origin: back}, runbooks: "https://wiki.example.org/books", grafana: "https://grafana.example.org", nodeBitsPerSecond: 10000000000}
serviceMonitor: {enabled: true, labels: {release: prometheus}}
prometheusRule: {enabled: true, labels: {release: prometheus}}
dashboards: {enabled: true}
serviceAccount: {annotations: {a: b}}
`,
	"edges alone": `
edge: {autoscaling: {enabled: false}, origins: ["http://a:8081,http://b:8081", "http://c:8081"]}
shield: {enabled: false}
origin: {enabled: false}
networkPolicy: {enabled: false}
serviceAccount: {create: false}
redis: {url: "redis://valkey:6379"}
publish: {enabled: true}
`,
	"sites": `
redis: {existingSecret: redis}
edge:
  podAnnotations: {a: b}
  config:
    secrets: [staging]
    file: |
      version: 1
      sites:
        - name: icons
          hosts: [icons.example.org]
          icons: true
          origins: {icons: {urls: ["${SHIELD_0}", "${SHIELD_1}"], backups: ["${ORIGIN}"], host: origin}}
        - name: staging
          hosts: [staging.example.org]
          origins: {app: {urls: ["http://app.web.svc:3000"]}}
          rules:
            - auth: {basic: /etc/iconedge/site-secrets/staging/users}
`,
}

func loadChart(t *testing.T) *chart.Chart {
	t.Helper()
	c, err := loader.Load(chartFolder)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// render renders the chart. Values that the schema rejects are an error.
func render(t *testing.T, set values) (map[string]string, error) {
	t.Helper()
	user := map[string]any{}
	if err := yaml.Unmarshal([]byte(set), &user); err != nil {
		t.Fatal(err)
	}
	c := loadChart(t)
	capabilities := *chartutil.DefaultCapabilities
	capabilities.KubeVersion = chartutil.KubeVersion{Version: "v1.30.0", Major: "1", Minor: "30"}
	v, err := chartutil.ToRenderValues(c, user, chartutil.ReleaseOptions{Name: "icons", Namespace: "web", IsInstall: true}, &capabilities)
	if err != nil {
		return nil, err
	}
	e := engine.Engine{Strict: true}
	return e.Render(c, v)
}

// kinds makes an empty object of each kind that the chart may contain.
var kinds = map[string]func() any{
	"apps/v1 Deployment":                      func() any { return new(apps.Deployment) },
	"apps/v1 StatefulSet":                     func() any { return new(apps.StatefulSet) },
	"autoscaling/v2 HorizontalPodAutoscaler":  func() any { return new(autoscaling.HorizontalPodAutoscaler) },
	"batch/v1 CronJob":                        func() any { return new(batch.CronJob) },
	"batch/v1 Job":                            func() any { return new(batch.Job) },
	"monitoring.coreos.com/v1 PrometheusRule": func() any { return new(monitoring.PrometheusRule) },
	"monitoring.coreos.com/v1 ServiceMonitor": func() any { return new(monitoring.ServiceMonitor) },
	"networking.k8s.io/v1 Ingress":            func() any { return new(networking.Ingress) },
	"networking.k8s.io/v1 NetworkPolicy":      func() any { return new(networking.NetworkPolicy) },
	"policy/v1 PodDisruptionBudget":           func() any { return new(policy.PodDisruptionBudget) },
	"v1 ConfigMap":                            func() any { return new(core.ConfigMap) },
	"v1 Pod":                                  func() any { return new(core.Pod) },
	"v1 Secret":                               func() any { return new(core.Secret) },
	"v1 Service":                              func() any { return new(core.Service) },
	"v1 ServiceAccount":                       func() any { return new(core.ServiceAccount) },
}

// objects renders the chart and decodes each object as the cluster would: a field that its kind
// does not have is an error. The result is by kind and name.
func objects(t *testing.T, set values) map[string]any {
	t.Helper()
	files, err := render(t, set)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]any{}
	for name, text := range files {
		if filepath.Base(name) == "NOTES.txt" {
			continue
		}
		for _, part := range strings.Split("\n"+text, "\n---") {
			var head struct {
				meta.TypeMeta   `json:",inline"`
				meta.ObjectMeta `json:"metadata"`
			}
			if err := yaml.Unmarshal([]byte(part), &head); err != nil {
				t.Fatalf("%s: %v\n%s", name, err, part)
			}
			if head.Kind == "" {
				continue
			}
			empty := kinds[head.APIVersion+" "+head.Kind]
			if empty == nil {
				t.Fatalf("%s: an object of kind %s %s", name, head.APIVersion, head.Kind)
			}
			o := empty()
			if err := yaml.UnmarshalStrict([]byte(part), o); err != nil {
				t.Errorf("%s: %s %s: %v", name, head.Kind, head.Name, err)
			}
			key := head.Kind + " " + head.Name
			if all[key] != nil {
				t.Errorf("two of %s", key)
			}
			all[key] = o
		}
	}
	return all
}

// of returns the objects of one kind.
func of[T any](all map[string]any) map[string]T {
	found := map[string]T{}
	for key, o := range all {
		if o, ok := o.(T); ok {
			_, name, _ := strings.Cut(key, " ")
			found[name] = o
		}
	}
	return found
}

// A workload is an object that creates pods.
type workload struct {
	name     string
	selector map[string]string
	pod      core.PodTemplateSpec
	claims   []core.PersistentVolumeClaim
}

func workloads(all map[string]any) (w []workload) {
	for name, d := range of[*apps.Deployment](all) {
		w = append(w, workload{"Deployment " + name, d.Spec.Selector.MatchLabels, d.Spec.Template, nil})
	}
	for name, s := range of[*apps.StatefulSet](all) {
		w = append(w, workload{"StatefulSet " + name, s.Spec.Selector.MatchLabels, s.Spec.Template, s.Spec.VolumeClaimTemplates})
	}
	for name, j := range of[*batch.Job](all) {
		w = append(w, workload{"Job " + name, nil, j.Spec.Template, nil})
	}
	for name, c := range of[*batch.CronJob](all) {
		w = append(w, workload{"CronJob " + name, nil, c.Spec.JobTemplate.Spec.Template, nil})
	}
	for name, p := range of[*core.Pod](all) {
		w = append(w, workload{"Pod " + name, nil, core.PodTemplateSpec{ObjectMeta: p.ObjectMeta, Spec: p.Spec}, nil})
	}
	return w
}

func chosen(selector, labels map[string]string) bool {
	for k, v := range selector {
		if labels[k] != v {
			return false
		}
	}
	return len(selector) > 0
}

// TestChart: in every way to install it, each object is valid, and the objects that it refers to
// exist.
func TestChart(t *testing.T) {
	for name, set := range installs {
		t.Run(name, func(t *testing.T) {
			all := objects(t, set)
			pods := workloads(all)
			if len(pods) < 3 {
				t.Fatalf("only %d workloads", len(pods))
			}
			for _, w := range pods {
				checkPod(t, w)
				if w.selector != nil && !chosen(w.selector, w.pod.Labels) {
					t.Errorf("%s does not choose its own pods", w.name)
				}
			}
			checkSelectors(t, all, pods)
			for name, h := range of[*autoscaling.HorizontalPodAutoscaler](all) {
				ref := h.Spec.ScaleTargetRef
				if d, ok := all[ref.Kind+" "+ref.Name].(*apps.Deployment); !ok || d.Spec.Replicas != nil {
					t.Errorf("the autoscaler %s scales %s %s, which is not there, or has a number of its own", name, ref.Kind, ref.Name)
				}
			}
			for name, i := range of[*networking.Ingress](all) {
				backend := i.Spec.Rules[0].HTTP.Paths[0].Backend.Service
				if s, ok := all["Service "+backend.Name].(*core.Service); !ok ||
					!slices.ContainsFunc(s.Spec.Ports, func(p core.ServicePort) bool { return p.Name == backend.Port.Name }) {
					t.Errorf("the ingress %s leads to %s", name, backend.Name)
				}
			}
			for name, m := range of[*monitoring.ServiceMonitor](all) {
				n := 0
				for _, s := range of[*core.Service](all) {
					if chosen(m.Spec.Selector.MatchLabels, s.Labels) && s.Spec.Ports[0].Name == m.Spec.Endpoints[0].Port {
						n++
					}
				}
				if n != 1 {
					t.Errorf("the monitor %s reads %d services", name, n)
				}
			}
		})
	}
}

// checkSelectors: services, budgets and policies select existing pods, by ports that those have.
func checkSelectors(t *testing.T, all map[string]any, pods []workload) {
	t.Helper()
	find := func(what string, selector map[string]string) (ports []string) {
		n := 0
		for _, w := range pods {
			if !chosen(selector, w.pod.Labels) {
				continue
			}
			n++
			for _, p := range w.pod.Spec.Containers[0].Ports {
				ports = append(ports, p.Name)
			}
		}
		if n != 1 {
			t.Errorf("%s chooses the pods of %d workloads", what, n)
		}
		return ports
	}
	for name, s := range of[*core.Service](all) {
		ports := find("the service "+name, s.Spec.Selector)
		for _, p := range s.Spec.Ports {
			if !slices.Contains(ports, p.TargetPort.StrVal) {
				t.Errorf("the service %s leads to the port %s", name, p.TargetPort.StrVal)
			}
		}
	}
	for name, b := range of[*policy.PodDisruptionBudget](all) {
		find("the budget "+name, b.Spec.Selector.MatchLabels)
	}
	for name, n := range of[*networking.NetworkPolicy](all) {
		ports := find("the policy "+name, n.Spec.PodSelector.MatchLabels)
		for _, rule := range n.Spec.Ingress {
			for _, p := range rule.Ports {
				if !slices.Contains(ports, p.Port.StrVal) {
					t.Errorf("the policy %s is for the port %s", name, p.Port.StrVal)
				}
			}
			for _, from := range rule.From {
				if from.PodSelector != nil && from.NamespaceSelector == nil && !strings.HasSuffix(name, "-shield") &&
					len(of[*apps.StatefulSet](all)) == 2 {
					find("a peer of "+name, from.PodSelector.MatchLabels)
				}
			}
		}
	}
}

// checkPod: a pod is restricted by the Pod Security Standards, has probes, has time to end, and
// calls the program correctly.
func checkPod(t *testing.T, w workload) {
	t.Helper()
	spec := w.pod.Spec
	if s := spec.SecurityContext; s == nil || s.RunAsNonRoot == nil || !*s.RunAsNonRoot || s.SeccompProfile == nil ||
		s.SeccompProfile.Type != core.SeccompProfileTypeRuntimeDefault {
		t.Errorf("%s: the pod is not restricted", w.name)
	}
	if spec.AutomountServiceAccountToken == nil || *spec.AutomountServiceAccountToken {
		t.Errorf("%s has a token of the cluster, which it has no use for", w.name)
	}
	for _, c := range append(slices.Clone(spec.InitContainers), spec.Containers...) {
		s := c.SecurityContext
		if s == nil || s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation ||
			s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem ||
			s.Capabilities == nil || !slices.Equal(s.Capabilities.Drop, []core.Capability{"ALL"}) {
			t.Errorf("%s: the container %s is not restricted", w.name, c.Name)
		}
		if c.Resources.Requests.Cpu().IsZero() || c.Resources.Limits.Memory().IsZero() {
			t.Errorf("%s: the container %s has no bounds: %v", w.name, c.Name, c.Resources)
		}
		for _, m := range c.VolumeMounts {
			if !slices.ContainsFunc(spec.Volumes, func(v core.Volume) bool { return v.Name == m.Name }) &&
				!slices.ContainsFunc(w.claims, func(v core.PersistentVolumeClaim) bool { return v.Name == m.Name }) {
				t.Errorf("%s mounts %s, which there is not", w.name, m.Name)
			}
		}
		if len(c.Command) > 0 {
			continue // not our program
		}
		checkCall(t, w.name, c.Args)
		for _, e := range c.Env {
			checkVariable(t, w.name, c.Args[0], e.Name)
		}
		if len(c.Ports) > 0 {
			checkServer(t, w, c)
		}
	}
}

// checkServer: the probes of a server use its own ports, and it is killed only after the end of its
// drain.
func checkServer(t *testing.T, w workload, c core.Container) {
	t.Helper()
	for what, probe := range map[string]*core.Probe{"/healthz": c.LivenessProbe, "/readyz": c.ReadinessProbe} {
		if probe == nil || probe.HTTPGet.Path != what || probe.HTTPGet.Port.StrVal != "admin" {
			t.Errorf("%s: not asked for %s", w.name, what)
		}
	}
	if c.StartupProbe == nil {
		t.Errorf("%s: has no time to start", w.name)
	}
	drain, delay := int64(0), int64(0)
	for _, arg := range c.Args {
		fmt.Sscanf(arg, "--drain=%ds", &drain)
		fmt.Sscanf(arg, "--shutdown-delay=%ds", &delay)
	}
	if grace := *w.pod.Spec.TerminationGracePeriodSeconds; drain == 0 || delay == 0 || grace <= drain+delay {
		t.Errorf("%s: is killed after %d s, with a delay of %d s and a drain of %d s", w.name, grace, delay, drain)
	}
	if len(w.pod.Spec.TopologySpreadConstraints) != 2 ||
		!chosen(w.pod.Spec.TopologySpreadConstraints[0].LabelSelector.MatchLabels, w.pod.Labels) {
		t.Errorf("%s: is not spread", w.name)
	}
}

// TestChartTiers: edges have each shield by its own name as their origin, then the chart's origin,
// then the other origins.
func TestChartTiers(t *testing.T) {
	origins := func(all map[string]any, kind, name string) (list []string) {
		for _, w := range workloads(all) {
			for _, arg := range w.pod.Spec.Containers[0].Args {
				if origin, ok := strings.CutPrefix(arg, "--origin="); ok && w.name == kind+" "+name {
					list = append(list, origin)
				}
			}
		}
		return list
	}
	all := objects(t, installs["everything"])
	want := []string{"http://icons-iconedge-shield-0.icons-iconedge-shield:8080,http://icons-iconedge-shield-1.icons-iconedge-shield:8080",
		"http://icons-iconedge-origin:8081", "http://other:8081"}
	if got := origins(all, "Deployment", "icons-iconedge-edge"); !slices.Equal(got, want) {
		t.Errorf("an edge asks %v, want %v", got, want)
	}
	if got := origins(all, "StatefulSet", "icons-iconedge-shield"); !slices.Equal(got, want[1:]) {
		t.Errorf("a shield asks %v, want %v", got, want[1:])
	}
	for name, s := range of[*apps.StatefulSet](all) {
		if all["Service "+s.Spec.ServiceName] == nil {
			t.Errorf("%s: no service %s gives its pods names", name, s.Spec.ServiceName)
		}
	}
	if got := origins(objects(t, installs["edges alone"]), "Deployment", "icons-iconedge-edge"); !slices.Equal(got,
		[]string{"http://a:8081,http://b:8081", "http://c:8081"}) {
		t.Errorf("an edge alone asks %v", got)
	}
}

// TestChartSites: a configuration file is mounted where the edges look for it, the program accepts
// it with the pod's variables and secrets, and a change of it replaces the pods unless told
// otherwise.
func TestChartSites(t *testing.T) {
	edge := func(set values) (map[string]any, core.PodTemplateSpec) {
		all := objects(t, set)
		return all, all["Deployment icons-iconedge-edge"].(*apps.Deployment).Spec.Template
	}
	all, pod := edge(installs["sites"])
	c, mounts, text := pod.Spec.Containers[0], map[string]string{}, ""
	for _, m := range c.VolumeMounts {
		for _, v := range pod.Spec.Volumes {
			switch {
			case v.Name != m.Name:
			case v.ConfigMap != nil:
				mounts[m.MountPath] = "ConfigMap " + v.ConfigMap.Name
				text = all["ConfigMap "+v.ConfigMap.Name].(*core.ConfigMap).Data["edge.yaml"]
			case v.Secret != nil:
				mounts[m.MountPath] = "Secret " + v.Secret.SecretName
			}
		}
	}
	want := map[string]string{"/etc/iconedge/sites": "ConfigMap icons-iconedge-sites",
		"/etc/iconedge/site-secrets/staging": "Secret staging", "/etc/iconedge/secrets": "Secret icons-iconedge-tiers"}
	if !maps.Equal(mounts, want) {
		t.Errorf("mounts %v, want %v", mounts, want)
	}
	if !slices.Contains(c.Args, "--config=/etc/iconedge/sites/edge.yaml") ||
		slices.ContainsFunc(c.Args, func(a string) bool { return strings.HasPrefix(a, "--origin=") }) {
		t.Errorf("arguments %v", c.Args)
	}
	var env []string
	for _, e := range c.Env {
		env = append(env, e.Name+"="+e.Value)
	}
	checkSites(t, "the chart's file", text, "/etc/iconedge/site-secrets/staging/users", env...)
	sum := func(set values) string {
		_, pod := edge(set)
		return pod.Annotations["checksum/sites"]
	}
	before, other := pod.Annotations["checksum/sites"], strings.Replace(installs["sites"], "app.web.svc", "other.web.svc", 1)
	if pod.Annotations["a"] != "b" || before == "" || sum(installs["sites"]) != before || sum(other) == before {
		t.Errorf("annotations %v", pod.Annotations)
	}
	if got := sum(strings.Replace(installs["sites"], "  config:\n", "  config:\n    restart: false\n", 1)); got != "" {
		t.Errorf("a change replaces the pods: %s", got)
	}
	all, pod = edge(`edge: {config: {existing: mine}}`)
	if all["ConfigMap mine"] != nil || !slices.ContainsFunc(pod.Spec.Volumes,
		func(v core.Volume) bool { return v.ConfigMap != nil && v.ConfigMap.Name == "mine" }) {
		t.Errorf("volumes %v", pod.Spec.Volumes)
	}
}

// TestChartValues: values out of range are rejected with a message that names them.
func TestChartValues(t *testing.T) {
	for _, row := range []struct {
		set  values
		says string // empty: the values are valid
	}{
		{`{}`, ""},
		{`edge: {replicas: 0}`, "/edge/replicas"},
		{`edge: {replicas: three}`, "/edge/replicas"},
		{`edge: {cacheBytes: 1000}`, "/edge/cacheBytes"},
		{`edge: {cacheDisk: {bytes: 1}}`, "/edge/cacheDisk/bytes"},
		{`edge: {autoscaling: {targetCPUPercent: 101}}`, "/edge/autoscaling/targetCPUPercent"},
		{`edge: {autoscaling: {minReplicas: 0}}`, "/edge/autoscaling/minReplicas"},
		{`edge: {disruptionBudget: {maxUnavailable: 0}}`, "maxUnavailable"},
		{`edge: {disruptionBudget: {maxUnavailable: 30%}}`, ""},
		{`edge: {disruptionBudget: {maxUnavailable: 130%}}`, "maxUnavailable"},
		{`edge: {limits: {search: many}}`, "/edge/limits/search"},
		{`edge: {limits: {serch: 1/1m}}`, "serch"},
		{`edge: {limits: {"gold:search": 1/1m30s}}`, ""},
		{`edge: {service: {type: Balancer}}`, "/edge/service/type"},
		{`edge: {service: {port: 70000}}`, "/edge/service/port"},
		{`edge: {ingress: {host: "no host"}}`, "/edge/ingress/host"},
		{`edge: {trustedProxies: [everyone]}`, "/edge/trustedProxies/0"},
		{`edge: {origins: [somewhere]}`, "/edge/origins/0"},
		{`edge: {config: {file: [a]}}`, "/edge/config/file"},
		{`edge: {config: {restart: "no"}}`, "/edge/config/restart"},
		{`edge: {config: {secrets: [a/b]}}`, "/edge/config/secrets/0"},
		{`edge: {config: {file: a, existing: b}}`, "/edge/config/existing"},
		{`edge: {config: {file: a}, hosts: [a.example.org]}`, "/edge/hosts"},
		{`edge: {config: {existing: a}, hosts: [a.example.org]}`, "/edge/hosts"},
		// shields have no origin
		{`{edge: {config: {file: a}}, origin: {enabled: false}}`, "/edge/origins"},
		{`{edge: {config: {file: a}}, origin: {enabled: false}, shield: {enabled: false}}`, ""},
		{`edge: {extraArgs: [nonsense]}`, "/edge/extraArgs/0"},
		{`edge: {tls: {redirect: true}}`, "/edge/tls/secretName"},
		{`edge: {resources: {limits: {memory: lots}}}`, "/edge/resources/limits/memory"},
		{`edge: {replica: 3}`, "replica"},
		{`shield: {replicas: 101}`, "/shield/replicas"},
		{`shield: {disk: {size: 10}}`, "/shield/disk/size"},
		{`origin: {enabled: false}`, "/edge/origins"}, // without it there is no origin
		{`origin: {store: "http://s3"}`, "/origin/store"},
		{`origin: {cdnURL: icons.example.org}`, "/origin/cdnURL"},
		{`publish: {schedule: daily}`, "/publish/schedule"},
		{`publish: {schedule: "@daily"}`, ""},
		// without a version the install is not reproducible
		{`publish: {packages: ["@iconify/json"]}`, "/publish/packages/0"},
		{`publish: {keep: 0}`, "/publish/keep"},
		{`region: "a b"`, "/region"},
		{`admin: {hosts: ["http://edge"]}`, "/admin/hosts/0"},
		{`admin: {hosts: ["*"]}`, "/admin/hosts/0"},
		{`admin: {hosts: [edge.example.org, "*.example.org"]}`, ""},
		{`admin: {protectMetrics: all}`, "/admin/protectMetrics"},
		// a password belongs in a secret
		{`redis: {url: "redis://user:secret@valkey"}`, "/redis/url"},
		{`redis: {url: "http://valkey"}`, "/redis/url"},
		{`trace: {sample: 2}`, "/trace/sample"},
		{`monitoring: {jobs: {edge: "a b"}}`, "/monitoring/jobs/edge"},
		{`monitoring: {nodeBitsPerSecond: 10}`, "/monitoring/nodeBitsPerSecond"},
		{`monitoring: {grafana: grafana}`, "/monitoring/grafana"},
		{`drainSeconds: 0`, "/drainSeconds"},
		{`drainSeconds: 25s`, "/drainSeconds"},
		{`logLevel: loud`, "/logLevel"},
		{`serviceMonitor: {interval: 15}`, "/serviceMonitor/interval"},
		{`nonsense: 1`, "nonsense"},
	} {
		_, err := render(t, row.set)
		if row.says == "" && err != nil || row.says != "" && (err == nil || !strings.Contains(err.Error(), row.says)) {
			t.Errorf("%s: %v, want a word on %q", row.set, err, row.says)
		}
	}
}

// TestChartNotes: the notes after an install contain the names of the release's own objects.
func TestChartNotes(t *testing.T) {
	files, err := render(t, "")
	if err != nil {
		t.Fatal(err)
	}
	notes := files["iconedge/templates/NOTES.txt"]
	for _, want := range []string{"svc/icons-iconedge-edge", "helm test icons", "publish.enabled=true", "icons-iconedge-tiers"} {
		if !strings.Contains(notes, want) {
			t.Errorf("no %q in %s", want, notes)
		}
	}
}

// TestChartCopies: the chart's rules and dashboards are copies of those in deploy/, because Helm
// reads no file outside of a chart.
func TestChartCopies(t *testing.T) {
	for _, row := range []struct{ from, to string }{{"prometheus/rules/*.rules.yaml", "rules"},
		{"grafana/dashboards/*.json", "dashboards"}} {
		sources, err := filepath.Glob(filepath.Join(folder, row.from))
		if err != nil || len(sources) < 4 {
			t.Fatalf("%s: %v, %v", row.from, sources, err)
		}
		for _, source := range sources {
			path, _ := filepath.Rel(folder, source)
			same(t, filepath.Join(chartFolder, "files", row.to, filepath.Base(source)), read(t, path))
		}
		copies, _ := filepath.Glob(filepath.Join(chartFolder, "files", row.to, "*"))
		if len(copies) != len(sources) {
			t.Errorf("the chart has %d files of %s, there are %d", len(copies), row.from, len(sources))
		}
	}
	all := objects(t, installs["everything"])
	rules, boards := of[*monitoring.PrometheusRule](all), of[*core.ConfigMap](all)
	for name, r := range rules {
		if len(r.Spec.Groups) == 0 {
			t.Errorf("%s has no rules", name)
		}
	}
	for name, b := range boards {
		for _, text := range b.Data {
			if !bytes.HasPrefix([]byte(text), []byte("{")) || b.Labels["grafana_dashboard"] != "1" {
				t.Errorf("%s is no dashboard that the sidecar finds", name)
			}
		}
	}
	for _, text := range named(t, rules, boards) {
		if left := regexp.MustCompile(`job=~?\\?"iconedge|github\.com/iconedge/iconedge/blob|localhost:3000|vector\(1e9\)`).FindString(
			text); left != "" {
			t.Errorf("rules or dashboards still have %s, in spite of the values", left)
		}
	}
	if len(rules) < 4 || len(boards) < 7 {
		t.Errorf("rules %v, dashboards %v", slices.Collect(maps.Keys(rules)), slices.Collect(maps.Keys(boards)))
	}
}

// named returns the texts of rules and dashboards.
func named(t *testing.T, rules map[string]*monitoring.PrometheusRule, boards map[string]*core.ConfigMap) (texts []string) {
	t.Helper()
	for _, r := range rules {
		text, err := yaml.Marshal(r.Spec)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	for _, b := range boards {
		texts = append(texts, slices.Collect(maps.Values(b.Data))...)
	}
	return texts
}

// TestChartRotation: secrets of which the values say that they can be replaced without new pods are
// mounted as whole volumes, which Kubernetes updates, and the program reads them there.
func TestChartRotation(t *testing.T) {
	want := map[string][]string{ // by component
		"edge":    {"secrets tiers /etc/iconedge/secrets", "redis redis-password /etc/iconedge/redis"},
		"shield":  {"secrets tiers /etc/iconedge/secrets", "redis redis-password /etc/iconedge/redis"},
		"origin":  {"secrets tiers /etc/iconedge/secrets", "store s3 /etc/iconedge/store"},
		"publish": {"store s3 /etc/iconedge/store"},
	}
	for _, w := range workloads(objects(t, installs["everything"])) {
		c := w.pod.Spec.Containers[0]
		for _, mount := range want[w.pod.Labels["app.kubernetes.io/component"]] {
			parts := strings.Fields(mount)
			volume := slices.IndexFunc(w.pod.Spec.Volumes, func(v core.Volume) bool {
				return v.Name == parts[0] && v.Secret != nil && v.Secret.SecretName == parts[1]
			})
			at := slices.IndexFunc(c.VolumeMounts, func(m core.VolumeMount) bool {
				return m.Name == parts[0] && m.MountPath == parts[2] && m.SubPath == ""
			})
			if volume < 0 || at < 0 {
				t.Errorf("%s has no %s: %v, %v", w.name, mount, w.pod.Spec.Volumes, c.VolumeMounts)
			}
		}
		for _, e := range c.EnvFrom {
			t.Errorf("%s has the secret %s as variables", w.name, e.SecretRef.Name)
		}
	}
}
