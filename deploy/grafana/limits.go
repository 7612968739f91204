package main

// limitsBoard shows clients that exceed limits, and the effects.
var limitsBoard = board{"limits", "Limits and abuse", "Clients that exceed limits, and the effect on other clients.", []row{
	{"Now", []panel{
		stat("Refused by limits", perSecond, "Answered 429.",
			`sum(rate(iconedge_edge_limit_decisions_total{@edge,decision="refused"}@rate))`).above(10, 100),
		stat("Of those counted", share, "Calls that a limit refused, of all that one counts.",
			`sum(rate(iconedge_edge_limit_decisions_total{@edge,decision="refused"}@rate)) / sum(rate(iconedge_edge_limit_decisions_total{@edge}@rate))`).above(.1, .5),
		stat("Clients counted", number, "Clients that have a window in memory now.", `sum(iconedge_edge_limit_clients{@edge})`),
		stat("Denied", perSecond, "Answered 403 by the list of addresses.",
			`sum(rate(iconedge_edge_requests_total{@edge,outcome="denied"}@rate))`),
		stat("Connections refused", events, "For want of room, or because one client had too many.",
			`sum(rate(iconedge_edge_connections_refused_total{@edge}@rate))`).above(1, 100),
		stat("Requests refused, origin overloaded", perSecond, "503 because too many waited for the origin.",
			`sum(rate(iconedge_edge_shed_total{@edge}@rate))`).above(.001, 10),
	}},
	{"Limits", []panel{
		lines("Refused, by class", perSecond,
			"More than 10 a second and more than are let through are LimitFloods: [runbook]("+runbooks+
				"LimitFloods.md).",
			q(`sum by (class) (rate(iconedge_edge_limit_decisions_total{@edge,decision="refused"}@rate))`, "{{class}}")).stack(),
		lines("Let through, by class", perSecond, "Calls that count against a limit and keep to it.",
			q(`sum by (class) (rate(iconedge_edge_limit_decisions_total{@edge,decision="accepted"}@rate))`, "{{class}}")).stack(),
		lines("Refused, by region", perSecond, "Where the flood comes in.",
			q(`sum by (region) (rate(iconedge_edge_limit_decisions_total{@edge,decision="refused"}@rate))`, "{{region}}")).stack(),
		lines("Clients", number, "With a window in memory; above a million, new ones share.",
			q(`sum by (instance) (iconedge_edge_limit_clients{@edge})`, "{{instance}}")),
		lines("Malformed or out of range", perSecond, "400, 404 by the router, 405 and the like.",
			q(`sum by (region) (rate(iconedge_edge_requests_total{@edge,outcome="refused"}@rate))`, "{{region}}")),
		lines("Tokens", events, "Looks for a licence token, by result; many invalid ones are guesses.",
			q(`sum by (result) (rate(iconedge_edge_token_checks_total{@edge}@rate))`, "{{result}}")).stack(),
	}},
	{"Shared through Redis", []panel{
		states("Redis", "As each edge sees it: [runbook]("+runbooks+"RedisDown.md).", yesNo("answers", "away"),
			q(`iconedge_edge_redis_up{@edge}`, "{{instance}}")),
		lines("Checks", perSecond, "shared: Redis decided; local: it was away, and the edge counted alone.",
			q(`sum by (result) (rate(iconedge_edge_redis_checks_total{@edge}@rate))`, "{{result}}")).stack().wide(6),
		lines("p50 and p99 of a check", seconds, "Latency that the check adds to each limited call.",
			q(quantile(".5", "iconedge_edge_redis_check_duration_seconds", "@edge", ""), "p50"),
			q(quantile(".99", "iconedge_edge_redis_check_duration_seconds", "@edge", ""), "p99")).wide(6),
	}},
	{"Connections", []panel{
		lines("Taken", share, "Of those that there may be; 85 % for ten minutes are a ticket.",
			q(`sum by (instance) (iconedge_edge_connections{@edge}) / sum by (instance) (iconedge_edge_connections_max{@edge})`,
				"{{instance}}")).above(.85, .95),
		lines("Refused, by reason", events, "No room, too many of one client, no descriptors.",
			q(`sum by (reason) (rate(iconedge_edge_connections_refused_total{@edge}@rate))`, "{{reason}}")).stack(),
		lines("HTTP/3 refused, by reason", events, "Of those: over QUIC, so that browsers use HTTP/2. total: no room "+
			"for anybody; client: one has as many as it may. [runbook]("+runbooks+"HTTP3Refused.md)",
			q(`sum by (reason) (rate(iconedge_edge_h3_connections_refused_total{@edge}@rate))`, "{{reason}}")).stack(),
		lines("Closed to make room, or as overdue", events,
			"Idle ones that gave way; ones whose clients did not take their answers.",
			q(`sum(rate(iconedge_edge_connections_reclaimed_total{@edge}@rate))`, "made room"),
			q(`sum(rate(iconedge_edge_connections_overdue_total{@edge}@rate))`, "overdue")),
		lines("HTTP/2 ended, by reason, and HTTP/3 rejected", events, "calm are floods of frames, broken are bytes "+
			"that are not HTTP/2, stalled, refused and rejected are streams.",
			q(`sum by (reason) (rate(iconedge_edge_h2_ended_total{@edge}@rate))`, "{{reason}}"),
			q(`sum(rate(iconedge_edge_h3_requests_rejected_total{@edge}@rate))`, "rejected (HTTP/3)")),
		lines("Handshakes that failed", events, "Scanners, or clients that trust another authority.",
			q(`sum by (region) (rate(iconedge_edge_tls_handshakes_total{@edge,result="failed"}@rate))`, "{{region}}")),
		lines("Bodies being read", size, "Of long requests; beyond three quarters of the memory for requests others are refused.",
			q(`sum by (instance) (iconedge_edge_bodies_bytes{@edge})`, "{{instance}}")),
		lines("Memory of clients", share, "Of --client-memory, the fullest node: requests without a response, "+
			"responses that clients do not take.",
			q(`max by (kind) (iconedge_edge_client_memory_bytes{@edge} / iconedge_edge_client_memory_max_bytes{@edge})`, "{{kind}}")),
		lines("Refused for memory", events, "Refused because clients held too much, or ended to make room for clients that hold less.",
			q(`sum by (kind) (rate(iconedge_edge_client_memory_refused_total{@edge}@rate))`, "refused {{kind}}"),
			q(`sum by (kind) (rate(iconedge_edge_client_memory_ended_total{@edge}@rate))`, "ended {{kind}}")),
	}},
	{"Lists of addresses", []panel{
		lines("Denied", perSecond, "Requests from the deny list.",
			q(`sum by (region) (rate(iconedge_edge_requests_total{@edge,outcome="denied"}@rate))`, "{{region}}")),
		lines("Ranges", whole, "On each list.", q(`max by (list) (iconedge_edge_list_ranges{@edge})`, "{{list}}")),
		states("Lists as their files say", "The list before stays where a file can't be used: [runbook]("+runbooks+
			"ListReloadFailed.md).", yesNo("in use", "not usable"),
			q(`min by (list) (iconedge_edge_list_last_reload_successful{@edge})`, "{{list}}")).wide(8),
	}},
}}
