package deploy

import (
	"testing"

	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	"sigs.k8s.io/yaml"
)

// TestChartLint runs `helm lint` for each way to install the chart.
func TestChartLint(t *testing.T) {
	for name, set := range installs {
		user := map[string]any{}
		if err := yaml.Unmarshal([]byte(set), &user); err != nil {
			t.Fatal(err)
		}
		for _, m := range lint.All(chartFolder, user, "web", true).Messages {
			if m.Severity > support.InfoSev {
				t.Errorf("%s: %v", name, m)
			}
		}
	}
}
