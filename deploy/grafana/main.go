// Command grafana writes the dashboards of a fleet: dashboards/*.json, for Grafana's provisioning, from the tables in this folder.
// A board is a file here: fleet, node, cache, origin, limits, release, slo. Change the table, run `go run ./deploy/grafana`, and
// read both in the diff; a test holds one to the other.
//
// Expressions are PromQL with a few short words in it (panel.go). Of a query only the classic histograms are asked for, and what
// the recording rules beside these boards (deploy/prometheus/rules) have reckoned already is not reckoned again.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// boards are all there are, in the order of the links between them: from the whole to the parts.
var boards = []board{fleetBoard, sloBoard, nodeBoard, cacheBoard, originBoard, limitsBoard, releaseBoard}

func main() {
	if err := write(filepath.Join("deploy", "grafana", "dashboards")); err != nil {
		fmt.Fprintln(os.Stderr, "grafana:", err)
		os.Exit(1)
	}
}

// write makes the file of each board in dir.
func write(dir string) error {
	for _, b := range boards {
		text, err := b.json()
		if err != nil {
			return fmt.Errorf("making the dashboard %s: %w", b.name, err)
		}
		if err := os.WriteFile(filepath.Join(dir, b.name+".json"), text, 0o644); err != nil {
			return fmt.Errorf("writing the dashboard %s: %w", b.name, err)
		}
	}
	return nil
}
