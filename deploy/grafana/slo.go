package main

// sloBoard shows the objectives, and the used part of the error budgets.
var sloBoard = board{"slo", "Objectives", "Two promises over 30 days: 99.95 % of requests are not answered 5xx, 99 % " +
	"of icons are answered within 50 ms. Health probes do not count.", []row{
	{"Now, all edges", []panel{
		stat("Available, 1 h", share, "Requests that were not answered 5xx.",
			`1 - job:iconedge_edge_failures_per_requests:ratio_rate1h{job="iconedge-edge"}`).below(.9995, .995).exact(3),
		stat("Available, 3 d", share, "Requests that were not answered 5xx.",
			`1 - job:iconedge_edge_failures_per_requests:ratio_rate3d{job="iconedge-edge"}`).below(.9995, .995).exact(3),
		stat("Budget of failures left, 30 d", share, "Of the failures that 30 days may have. Below 0 the promise is "+
			"broken: nothing risky is rolled out.",
			budgetLeft("failures", "requests", "failures_per_requests")).below(.25, 0),
		stat("Fast, 1 h", share, "Icons that were answered within 50 ms.",
			`1 - job:iconedge_edge_slow_per_icons:ratio_rate1h{job="iconedge-edge"}`).below(.99, .95).exact(2),
		stat("Fast, 3 d", share, "Icons that were answered within 50 ms.",
			`1 - job:iconedge_edge_slow_per_icons:ratio_rate3d{job="iconedge-edge"}`).below(.99, .95).exact(2),
		stat("Budget of slow icons left, 30 d", share, "Of the slow icons that 30 days may have.",
			budgetLeft("slow", "icons", "slow_per_icons")).below(.25, 0),
	}},
	{"Availability: how fast the budget burns, by region", burns("failures_per_requests", "EdgeAvailabilityBurn")},
	{"Latency: how fast the budget burns, by region", burns("slow_per_icons", "EdgeLatencyBurn")},
	{"Failures", []panel{
		lines("Answered 5xx, by route", perSecond, "Which kind of calls fails.",
			q(`sum by (route) (rate(iconedge_edge_requests_total{@edge,code="5xx"}@rate))`, "{{route}}")).stack(),
		lines("Answered 5xx, by node", perSecond, "On one node the cause is the node; on all, the origin behind them.",
			q(`sum by (instance) (rate(iconedge_edge_requests_total{@edge,code="5xx"}@rate))`, "{{instance}}")).stack(),
		lines("p99, by route", seconds, "Searches are slower than icons; they have no objective.",
			q(quantile(".99", ofEdges, "@edge", "route"), "{{route}}")),
	}},
}}

// budgetLeft returns the expression for the unused share of a month's error budget. The recorded
// rates keep the weights of busy hours.
func budgetLeft(bad, all, ratio string) string {
	of := func(what string) string {
		return `sum(avg_over_time(region:iconedge_edge_` + what + `:rate5m{@region}[30d]))`
	}
	return `1 - ` + of(bad) + ` / ` + of(all) + ` / scalar(slo:iconedge_edge_` + ratio + `:budget)`
}

// burns returns the pairs of windows of an alert, which fires when both exceed the line.
func burns(ratio, alert string) []panel {
	var all []panel
	for _, w := range []struct {
		long, short, does string
		rate              float64
	}{{"1h", "5m", "a page", 14.4}, {"6h", "30m", "a page", 6}, {"1d", "2h", "a ticket", 3}, {"3d", "6h", "a ticket", 1}} {
		burn := func(window string) string {
			return `region:iconedge_edge_` + ratio + `:ratio_rate` + window + `{@region} / scalar(slo:iconedge_edge_` + ratio + `:budget)`
		}
		all = append(all, lines(w.long+" and "+w.short, number,
			"1 uses the budget up in 30 days. With both above the line it is "+w.does+": [runbook]("+runbooks+alert+".md).",
			q(burn(w.long), "{{region}}, "+w.long), q(burn(w.short), "{{region}}, "+w.short)).line(w.rate).wide(6))
	}
	return all
}
