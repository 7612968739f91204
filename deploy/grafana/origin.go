package main

const (
	upstreamTime = "iconedge_edge_upstream_request_duration_seconds"
	originTime   = "iconedge_origin_request_duration_seconds"
	storeTime    = "iconedge_origin_store_request_duration_seconds"
)

// originBoard shows the path from an edge to the store: requests, latencies, failures.
var originBoard = board{"origin", "Origin and store", "The path from an edge to the origin and its store: requests, " +
	"latencies, failures. The region variable does not apply to origins.", []row{
	{"Now", []panel{
		stat("Origins ready", whole, "Origins that have a release to answer from.", `sum(iconedge_origin_ready{@origin})`).below(2, 1),
		stat("Store followed", whole, "By the origin that is worst off; 0: it answers from its mirror and learns of nothing new.",
			`min(iconedge_origin_store_followed{@origin})`).all(),
		stat("Requests to origins", perSecond, "Requests that no cache answered.",
			`sum(rate(iconedge_origin_requests_total{@origin}@rate))`),
		stat("Upstream failures", share, "Of what edges and shields asked upstream.",
			`sum(rate(iconedge_edge_upstream_requests_total{@node,result="error"}@rate)) / sum(rate(iconedge_edge_upstream_requests_total{@node}@rate))`).above(.001, .01),
		stat("p99 of upstream", seconds, "Until an answer's head is at the edge.",
			quantile(".99", upstreamTime, "@edge", "")).above(.25, 1),
		stat("Origins given up", whole, "By edges and shields, together.",
			`count(iconedge_edge_origin_well{@node} == 0) or vector(0)`).above(1, 2),
	}},
	{"As edges and shields see it", []panel{
		states("Well", "Each node's view of each of its origins: [runbook]("+runbooks+"EdgeOriginDown.md).",
			yesNo("well", "given up"), q(`iconedge_edge_origin_well{@node}`, "{{instance}}: {{origin}}")).wide(24),
		lines("Requests upstream", perSecond, "By result.",
			q(`sum by (job, result) (rate(iconedge_edge_upstream_requests_total{@node}@rate))`, "{{job}}: {{result}}")),
		lines("p99, by region", seconds, "The way is part of it: an ocean is 80 ms and more.",
			q(quantile(".99", upstreamTime, "@edge", "region"), "{{region}}")),
		lines("Failures, by origin", events, "No connection, lost, or too late.",
			q(`sum by (origin) (rate(iconedge_edge_origin_failures_total{@node}@rate))`, "{{origin}}")),
		lines("Given up", events, "Times that a breaker opened.",
			q(`sum by (origin) (rate(iconedge_edge_origin_breaker_opened_total{@node}@rate))`, "{{origin}}")),
		lines("Too late, and once more", events, "Timeouts, and requests that were sent a second time.",
			q(`sum(rate(iconedge_edge_origin_timeouts_total{@node}@rate))`, "timeouts"),
			q(`sum(rate(iconedge_edge_origin_retries_total{@node}@rate))`, "retries")),
		lines("Broken off", events, "Responses that an origin broke off after their fields, or in which it paused for too long.",
			q(`sum by (region) (rate(iconedge_edge_origin_broken_total{@node}@rate))`, "{{region}}")),
		lines("Without a complete response", perSecond,
			"Requests for which no origin gave a complete response: none at all, or one that broke off.",
			q(`sum by (region) (rate(iconedge_edge_origin_requests_failed_total{@node}@rate))`, "{{region}}")),
		lines("Connections", whole, "Open to origins.", q(`sum by (instance) (iconedge_edge_origin_connections{@node})`, "{{instance}}")),
	}},
	{"Origins", []panel{
		lines("By route", perSecond, "Requests that reach origins.",
			q(`sum by (route) (rate(iconedge_origin_requests_total{@origin}@rate))`, "{{route}}")).stack(),
		lines("By status", perSecond, "404: names that do not exist; 5xx: problems of the origin.",
			q(`sum by (status) (rate(iconedge_origin_requests_total{@origin}@rate))`, "{{status}}")).stack(),
		lines("p99, by route", seconds, "In the origin itself, without the way.",
			q(quantile(".99", originTime, "@origin", "route"), "{{route}}")),
		lines("Sent, by route", traffic, "Bodies of answers.",
			q(`sum by (route) (rate(iconedge_origin_response_bytes_total{@origin}@rate))`, "{{route}}")).stack(),
		lines("Processors", number, "Processors that each keeps busy.", q(`rate(process_cpu_seconds_total{@origin}@rate)`, "{{instance}}")),
		lines("Memory", size, "Resident memory of the process.", q(`process_resident_memory_bytes{@origin}`, "{{instance}}")),
	}},
	{"The store", []panel{
		states("Followed", "Whether the last look at the store went well: [runbook]("+runbooks+
			"OriginStoreNotFollowed.md).", yesNo("followed", "out of reach"), q(`iconedge_origin_store_followed{@origin}`, "{{instance}}")),
		lines("Looks that failed", events, "At what release is current.",
			q(`sum by (instance) (rate(iconedge_origin_store_errors_total{@origin}@rate))`, "{{instance}}")).wide(12),
		lines("Operations", perSecond, "Reads of the store. A look a second is one.",
			q(`sum by (operation) (rate(`+storeTime+`_count{@origin}@rate))`, "{{operation}}")),
		lines("p99, by operation", seconds, "Until the store answers.",
			q(quantile(".99", storeTime, "@origin", "operation"), "{{operation}}")),
		lines("Errors, by operation", events, "Failed operations of the store.",
			q(`sum by (operation) (rate(iconedge_origin_store_request_errors_total{@origin}@rate))`, "{{operation}}")),
		lines("Copied into the mirror", traffic, "After a publish, and at a first start.",
			q(`sum by (instance) (rate(iconedge_origin_mirror_fetched_bytes_total{@origin}@rate))`, "{{instance}}")),
	}},
}}
