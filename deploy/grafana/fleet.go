package main

const (
	ofEdges = "iconedge_edge_request_duration_seconds"
	icons   = `@edge,route=~"cdn|icon"`
)

// fleetBoard is the first board to open: the users' view by region, and the problems.
var fleetBoard = board{"fleet", "Fleet", "The users' view by region. Start here; the other boards show the reasons.", []row{
	{"Now", []panel{
		stat("Requests", perSecond, "Requests that edges answer each second, probes of health left out.",
			`sum(region:iconedge_edge_requests:rate5m{@region})`),
		stat("Answered 5xx", share, "Of all requests, over 5 minutes. The objective allows 0.05 %; at 0.72 % for an "+
			"hour somebody is woken.",
			`sum(region:iconedge_edge_failures:rate5m{@region}) / sum(region:iconedge_edge_requests:rate5m{@region})`).above(.0005,
			.0072).exact(3),
		stat("From the cache", share, "Of cacheable requests, over 5 minutes, stale copies included.",
			`sum(region:iconedge_edge_hits:rate5m{@region}) / sum(region:iconedge_edge_lookups:rate5m{@region})`).below(.9, .8),
		stat("p99 of icons", seconds, "99 of 100 icons are answered faster. The objective is 50 ms.",
			quantile(".99", ofEdges, icons, "")).above(.05, .25),
		stat("Edges ready", whole, "Edges that take traffic.", `sum(iconedge_edge_ready{@edge})`).below(2, 1),
		stat("Alerts", whole, "That fire now, in any region.",
			`count(ALERTS{service="iconedge",alertstate="firing",severity!="info"}) or vector(0)`).above(1, 3),
	}},
	{"By region", []panel{
		lines("Requests", perSecond, "A region that falls to nothing while others rise has lost its way to users.",
			q(`region:iconedge_edge_requests:rate5m{@region}`, "{{region}}")),
		lines("Answered 5xx", share, "Of each region's requests, over 5 minutes. From the line at 0.72 % on, an hour of it is a page.",
			q(`region:iconedge_edge_failures_per_requests:ratio_rate5m{@region}`, "{{region}}")).above(.0005, .0072),
		lines("From the cache", share, "Of cacheable requests. It falls when a cache is new, when a release changed "+
			"much, and when clients request names that do not exist or are rare.",
			q(`region:iconedge_edge_hits_per_lookups:ratio_rate5m{@region}`, "{{region}}")).below(.9, .8),
		lines("p50 of icons", seconds, "Half of the icons are answered faster: hits, well under a millisecond.",
			q(quantile(".5", ofEdges, icons, "region"), "{{region}}")),
		lines("p99 of icons", seconds, "This shows the cost of a miss: the network to the shield or the origin.",
			q(quantile(".99", ofEdges, icons, "region"), "{{region}}")).above(.05, .25),
		lines("Sent", bits, "Bodies of answers, and what the network of the edges can send together (recording.rules.yaml).",
			q(`8 * sum by (region) (rate(iconedge_edge_response_bytes_total{@edge}@rate))`, "{{region}}"),
			q(`count by (region) (iconedge_edge_ready{@edge}) * scalar(capacity:iconedge_edge_node:bits_per_second)`,
				"{{region}}: capacity")),
	}},
	{"Requests, and how they are answered", []panel{
		lines("By route", perSecond, "Requests by endpoint.",
			q(`sum by (route) (rate(iconedge_edge_requests_total{@edge}@rate))`, "{{route}}")).stack(),
		lines("By protocol", perSecond, "h1, h2 and h3.",
			q(`sum by (protocol) (rate(iconedge_edge_requests_total{@edge}@rate))`, "{{protocol}}")).stack(),
		lines("By status", perSecond, "Classes of statuses; 429 is among the 4xx.",
			q(`sum by (code) (rate(iconedge_edge_requests_total{@edge}@rate))`, "{{code}}")).stack(),
	}},
	{"Between the tiers", []panel{
		lines("Upstream requests", perSecond, "Requests from edges to shields, and from shields to origins, which no cache answered.",
			q(`sum by (job) (rate(iconedge_edge_upstream_requests_total{@node}@rate))`, "by {{job}}"),
			q(`sum(rate(iconedge_origin_requests_total{@origin}@rate))`, "reach an origin")),
		lines("From the cache, by tier", share, "Of what reaches each tier. A shield sees only what edges have not, so that it hits less.",
			q(`job:iconedge_edge_hits_per_lookups:ratio_rate5m`, "{{job}}")),
		lines("Edges ready", whole, "By region. A roll-out takes one away at a time.",
			q(`sum by (region) (iconedge_edge_ready{@edge})`, "{{region}}")),
	}},
	{"What ails", []panel{
		table("Alerts that fire", "Follow the name to its runbook.", []column{
			{"alertname", "Alert", "", runbooks + "${__value.text}.md"}, {"severity", "Severity", "", ""},
			{"region", "Region", "", ""}, {"instance", "Node", "", ""}, {"job", "Job", "", ""},
		}, q(`ALERTS{service="iconedge",alertstate="firing",alertname!="Watchdog"}`, "")),
		table("Edges and shields", "Each node as it is now; follow its name.", []column{
			{"instance", "Node", "", "/d/iconedge-node?var-instance=${__value.text}"}, {"region", "Region", "", ""}, {"job", "Job", "", ""},
			{valueOf(0), "Ready", whole, ""}, {valueOf(1), "Requests", perSecond, ""},
			{valueOf(2), "Answered 5xx", perSecond, ""}, {valueOf(3), "Connections", whole, ""}, {valueOf(4), "Up for", seconds, ""},
		},
			q(`max by (job, region, instance) (iconedge_edge_ready{@node})`, ""),
			q(`sum by (job, region, instance) (rate(iconedge_edge_requests_total{@node}@rate))`, ""),
			q(`sum by (job, region, instance) (rate(iconedge_edge_requests_total{@node,code="5xx"}@rate))`, ""),
			q(`sum by (job, region, instance) (iconedge_edge_connections{@node})`, ""),
			q(`max by (job, region, instance) (time() - process_start_time_seconds{@node})`, "")),
	}},
}}
