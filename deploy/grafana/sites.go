package main

import "strings"

const (
	ofSites   = `iconedge_edge_site_responses_total{@edge,site=~"$site"}`
	cacheable = `cache=~"hit|stale|miss|collapsed|error"`
)

// withLabels returns a selector with more labels.
func withLabels(selector, labels string) string {
	return strings.TrimSuffix(selector, "}") + "," + labels + "}"
}

// sitesBoard shows the sites of a configuration file, selected by their names, and the file itself.
var sitesBoard = board{"sites", "Sites", "The sites of a configuration file, selected above.", []row{
	{"Now", []panel{
		stat("Responses", perSecond, "Responses for the selected sites.", `sum(rate(`+ofSites+`@rate))`),
		stat("Answered 5xx", share, "Of the responses of the selected sites.",
			`(sum(rate(`+withLabels(ofSites, `status="5xx"`)+`@rate)) or vector(0)) / sum(rate(`+ofSites+
				`@rate))`).above(.0005, .0072).exact(3),
		stat("From the cache", share, "Of cacheable requests, stale copies included.",
			`(sum(rate(`+withLabels(ofSites, `cache=~"hit|stale"`)+`@rate)) or vector(0)) / sum(rate(`+
				withLabels(ofSites, cacheable)+`@rate))`),
		stat("Sites", whole, "Sites with responses since their edge was started.",
			`count(count by (site) (iconedge_edge_site_responses_total{@edge}))`),
		stat("Edges with a file", whole, "Edges that have a configuration file.",
			`count(iconedge_edge_config_last_reload_successful{@edge})`),
		stat("Files refused", whole, "Edges whose last reload failed; the sites before it stay.",
			`count(iconedge_edge_config_last_reload_successful{@edge} == 0) or vector(0)`).above(1, 2),
	}},
	{"By site", []panel{
		lines("Responses", perSecond, "Of each site.", q(`sum by (site) (rate(`+ofSites+`@rate))`, "{{site}}")).stack(),
		lines("Answered 5xx", perSecond, "By the edge or by the site's origin.",
			q(`sum by (site) (rate(`+withLabels(ofSites, `status="5xx"`)+`@rate))`, "{{site}}")),
		lines("Answered 4xx", perSecond, "Names that do not exist, limits, passwords, signatures.",
			q(`sum by (site) (rate(`+withLabels(ofSites, `status="4xx"`)+`@rate))`, "{{site}}")),
		lines("From the cache", share, "Of cacheable requests.",
			q(`sum by (site) (rate(`+withLabels(ofSites, `cache=~"hit|stale"`)+`@rate)) / sum by (site) (rate(`+
				withLabels(ofSites, cacheable)+`@rate))`, "{{site}}")),
		lines("By use of the cache", perSecond,
			"passed: never stored; own: made by the edge; refused, limited, denied: by rules and limits.",
			q(`sum by (cache) (rate(`+ofSites+`@rate))`, "{{cache}}")).stack(),
		lines("By status", perSecond, "Classes of statuses of the selected sites.",
			q(`sum by (status) (rate(`+ofSites+`@rate))`, "{{status}}")).stack(),
	}},
	{"The file", []panel{
		states("Last reload", "The sites before it stay where a file can't be used: [runbook]("+runbooks+
			"ConfigReloadFailed.md).", yesNo("in use", "not usable"),
			q(`iconedge_edge_config_last_reload_successful{@edge}`, "{{instance}}")).wide(24),
	}},
}}
