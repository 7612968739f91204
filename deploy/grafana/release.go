package main

// releaseBoard shows the roll-out of a release of the library, or of the program.
var releaseBoard = board{"release", "Releases", "A roll-out of the library, or of the program: the nodes that have " +
	"it, since when, and its effects.", []row{
	{"Now", []panel{
		stat("Releases at the edges", whole, "One, but for the five seconds of a switch.",
			`count(count by (release) (iconedge_edge_release_info{@node}))`).above(2, 3),
		stat("Nodes behind", whole, "Edges and shields whose release no origin serves; for two minutes: ReleaseStuck.",
			`count(iconedge_edge_release_info{@node} unless on (release) iconedge_origin_release_info) or vector(0)`).above(1, 2),
		stat("Age", seconds, "Since the current release was made.",
			`time() - max(iconedge_origin_release_created_timestamp_seconds{@origin})`),
		stat("Packs", whole, "In the current release, hidden ones too.", `max(iconedge_origin_release_packs{@origin})`),
		stat("Refused by origins", whole, "Tries of the last hour at a release whose objects are damaged or missing.",
			`sum(increase(iconedge_origin_release_refused_total{@origin}[1h]))`).above(1, 2),
		stat("Versions of the program", whole, "More than one while it is rolled out.",
			`count(count by (version) (iconedge_edge_build_info{@node} or iconedge_origin_build_info{@origin}))`).above(2, 3),
	}},
	{"The library", []panel{
		lines("Edges and shields, by release", whole, "The old one falls as the new one rises.",
			q(`count by (release) (iconedge_edge_release_info{@node})`, "{{release}}")).stack(),
		lines("Since a node last heard", seconds, "From an origin, of its release. Edges ask each 2 s.",
			q(`timestamp(iconedge_edge_release_checked_timestamp_seconds{@node}) - (iconedge_edge_release_checked_timestamp_seconds{@node} > 0)`, "{{instance}}")).above(30, 120),
		lines("Switches", events, "Of nodes, and of origins.",
			q(`sum by (region) (rate(iconedge_edge_release_switches_total{@node}@rate))`, "{{region}}"),
			q(`sum(rate(iconedge_origin_release_switches_total{@origin}@rate))`, "origins")),
		lines("From the cache", share, "A release that changes much costs hits for a while.",
			q(`region:iconedge_edge_hits_per_lookups:ratio_rate5m{@region}`, "{{region}}")).below(.9, .8),
		lines("Refused by origins", events, "[runbook]("+runbooks+"ReleaseStuck.md)",
			q(`sum by (instance) (rate(iconedge_origin_release_refused_total{@origin}@rate))`, "{{instance}}")),
		lines("Names", number, "Packs and icons that each node knows of; 0: it asks for every name.",
			q(`iconedge_edge_names{@node}`, "{{instance}}")),
		table("Release of each node", "Nodes and the release that they show.", []column{
			{"instance", "Node", "", ""}, {"region", "Region", "", ""}, {"job", "Job", "", ""},
			{"release", "Release", "", ""}, {valueOf(1), "Made at", "dateTimeAsIso", ""},
		}, q(`max by (job, region, instance, release) (iconedge_edge_release_info{@node} or iconedge_origin_release_info{@origin})`, ""),
			q(`1000 * max by (job, region, instance) (iconedge_edge_release_created_timestamp_seconds{@node} or iconedge_origin_release_created_timestamp_seconds{@origin})`, "")),
	}},
	{"Purges and switches between edges", []panel{
		lines("Sent and received", events, "Through Redis: each edge's purges and switches, and those of others.",
			q(`sum by (kind, direction) (rate(iconedge_edge_fleet_events_total{@node,direction!="replayed"}@rate))`,
				"{{kind}} {{direction}}")),
		lines("Replayed", events, "Events that an edge had missed while it was away.",
			q(`sum by (instance) (rate(iconedge_edge_fleet_events_total{@node,direction="replayed"}@rate))`, "{{instance}}")),
		lines("The log did not reach back", events,
			"The node dropped its cache: [runbook]("+runbooks+"FleetLogLost.md).",
			q(`sum by (instance) (increase(iconedge_edge_fleet_log_lost_total{@node}@rate))`, "{{instance}}")),
	}},
	{"The program", []panel{
		lines("Nodes, by version", whole, "All tiers.",
			q(`count by (version) (iconedge_edge_build_info{@node} or iconedge_origin_build_info{@origin})`, "{{version}}")).stack(),
		lines("Up for", seconds, "A saw: each tooth is a restart.", q(`time() - process_start_time_seconds{@any}`, "{{instance}}")),
		states("Ready", "A restarted node is not ready for a moment; two nodes of a region should not be at the same time.",
			yesNo("ready", "not ready"), q(`iconedge_edge_ready{@node} or iconedge_origin_ready{@origin}`, "{{instance}}")).wide(8),
		table("Who runs which", "Nodes, and the program that they run.", []column{
			{"instance", "Node", "", ""}, {"region", "Region", "", ""}, {"job", "Job", "", ""},
			{"version", "Version", "", ""}, {"go", "Go", "", ""},
		}, q(`iconedge_edge_build_info{@node} or iconedge_origin_build_info{@origin}`, "")),
	}},
}}
