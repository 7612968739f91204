package main

// nodeBoard shows one edge or shield in full.
var nodeBoard = board{"node", "Node", "One edge or shield, selected above: its responses, its use of the machine, and its cache.", []row{
	{"Now", []panel{
		stat("Ready", whole, "Whether it takes traffic.", `min(iconedge_edge_ready{@node})`).all(),
		stat("Requests", perSecond, "Answered each second, probes of health too.", `sum(rate(iconedge_edge_requests_total{@node}@rate))`),
		stat("Processors", number, "Processors that it keeps busy.", `sum(rate(process_cpu_seconds_total{@node}@rate))`),
		stat("Memory", size, "Resident memory of the process.", `sum(process_resident_memory_bytes{@node})`),
		stat("Up for", seconds, "Since it was started.", `min(time() - process_start_time_seconds{@node})`),
		stat("Certificate ends in", seconds, "The first of those from files. Three days are a page. Empty: there are none.",
			`min((iconedge_edge_tls_certificate_end_timestamp_seconds{@node} > 0) - time())`).below(14*86400, 3*86400),
	}},
	{"Answers", []panel{
		lines("By outcome", perSecond, "hit, stale and collapsed cost the origin nothing; error is one that failed.",
			q(`sum by (outcome) (rate(iconedge_edge_requests_total{@node}@rate))`, "{{outcome}}")).stack(),
		lines("By status", perSecond, "Classes of statuses.",
			q(`sum by (code) (rate(iconedge_edge_requests_total{@node}@rate))`, "{{code}}")).stack(),
		lines("By route", perSecond, "Requests by endpoint.",
			q(`sum by (route) (rate(iconedge_edge_requests_total{@node}@rate))`, "{{route}}")).stack(),
		lines("p50, p99 and p99.9", seconds, "From a request's last byte to its answer.",
			q(quantile(".5", ofEdges, "@node", ""), "p50"), q(quantile(".99", ofEdges, "@node", ""), "p99"),
			q(quantile(".999", ofEdges, "@node", ""), "p99.9")),
		lines("p99, by route", seconds, "Which calls are slow.", q(quantile(".99", ofEdges, "@node", "route"), "{{route}}")),
		lines("Sent, by route", traffic, "Bodies of answers.",
			q(`sum by (route) (rate(iconedge_edge_response_bytes_total{@node}@rate))`, "{{route}}")).stack(),
	}},
	{"Upstream", []panel{
		lines("Requests", perSecond, "Asked of shields or origins.",
			q(`sum by (result) (rate(iconedge_edge_upstream_requests_total{@node}@rate))`, "{{result}}")).stack(),
		lines("p50 and p99", seconds, "Until the answer's head is there.",
			q(quantile(".5", "iconedge_edge_upstream_request_duration_seconds", "@node", ""), "p50"),
			q(quantile(".99", "iconedge_edge_upstream_request_duration_seconds", "@node", ""), "p99")),
		lines("Waiting", whole, "Requests that wait for an answer from upstream; at --max-waiting others are refused.",
			q(`sum by (instance) (iconedge_edge_waiting{@node})`, "{{instance}}")),
	}},
	{"Connections", []panel{
		lines("By what they do", whole, "Idle ones give way to new ones.",
			q(`sum by (state) (iconedge_edge_connections{@node})`, "{{state}}"), q(`sum(iconedge_edge_connections_max{@node})`, "at most")),
		lines("HTTP/2 and HTTP/3", whole, "Those of HTTP/3 are not among the others.",
			q(`sum(iconedge_edge_h2_connections{@node})`, "h2"), q(`sum(iconedge_edge_h3_connections{@node})`, "h3")),
		lines("Handshakes of TLS", events, "Failures come from scanners, or from a certificate that clients do not trust.",
			q(`sum by (result) (rate(iconedge_edge_tls_handshakes_total{@node}@rate))`, "{{result}}")),
	}},
	{"The machine", []panel{
		lines("Processors", number, "Processors that it keeps busy.", q(`rate(process_cpu_seconds_total{@node}@rate)`, "{{instance}}")),
		lines("Memory", size, "Resident memory of the process, Go's heap, and the cache's own count.",
			q(`sum(process_resident_memory_bytes{@node})`, "resident"),
			q(`sum(go_memstats_heap_inuse_bytes{@node})`, "heap"), q(`sum(iconedge_edge_cache_bytes{@node})`, "cache")),
		lines("Longest pause of the collector", seconds, "All requests wait that long.",
			q(`max by (instance) (go_gc_duration_seconds{@node})`, "{{instance}}")),
		lines("Goroutines", whole, "They grow with requests under way; without these, something is stuck.",
			q(`sum by (instance) (go_goroutines{@node})`, "{{instance}}")),
		lines("Descriptors", whole, "Open ones, and how many there may be.",
			q(`sum by (instance) (process_open_fds{@node})`, "{{instance}}"), q(`min(process_max_fds{@node})`, "at most")),
		lines("Sent, of its capacity", share, "Bodies, of what the network of a node can send (recording.rules.yaml); "+
			"four fifths for a quarter of an hour are EdgeNearCapacity: [runbook]("+runbooks+"EdgeNearCapacity.md).",
			q(`8 * sum by (instance) (rate(iconedge_edge_response_bytes_total{@node}@rate)) / scalar(capacity:iconedge_edge_node:bits_per_second)`, "{{instance}}")).above(.8, .95),
		lines("Counted for iconedge top", share, "Share of the responses that an edge counts by client, path and "+
			"host; it counts fewer when it is busy.", q(`iconedge_edge_top_sampled_ratio{@node}`, "{{instance}}")),
		lines("Certificates by ACME", whole,
			"Hosts without a certificate, and requests to the authority that failed in an hour: [runbook]("+runbooks+
				"CertificateMissing.md).", q(`sum(iconedge_edge_acme_certificates_missing{@node})`, "missing"),
			q(`sum(increase(iconedge_edge_acme_failures_total{@node}[1h]))`, "failed")),
		lines("Logs and traces dropped", events, "Lost because the receiver is too slow.",
			q(`sum(rate(iconedge_edge_access_log_lines_total{@node,result="dropped"}@rate))`,
				"lines of the access log"), q(`sum(rate(iconedge_edge_trace_spans_total{@node,result="dropped"}@rate))`, "spans")),
	}},
}}
