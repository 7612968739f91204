// Command grafana writes the dashboards of a fleet to dashboards/*.json, for Grafana's
// provisioning, from the tables in this folder. Each board has a file: fleet, node, cache, origin,
// sites, limits, release, slo. Change a table, run `go run ./deploy/grafana`, and review both in
// the diff; a test compares them. With -out DIR it writes rules and dashboards for a fleet whose
// jobs and addresses have other names.
//
// Expressions are PromQL with a few abbreviations (panel.go). Queries use only classic histograms,
// and use the results of the recording rules (deploy/prometheus/rules) where there are any.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

// boards are all boards in the order of their links, from the whole to the parts.
var boards = []board{fleetBoard, sloBoard, nodeBoard, cacheBoard, originBoard, sitesBoard, limitsBoard, releaseBoard}

func main() {
	fleet, out := ownFlags(flag.CommandLine)
	flag.Parse()
	err := error(nil)
	if *out != "" {
		err = writeOwn(*fleet, "deploy", *out)
	} else {
		err = write(filepath.Join("deploy", "grafana", "dashboards"))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "grafana:", err)
		os.Exit(1)
	}
}

// write writes the file of each board into dir.
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
