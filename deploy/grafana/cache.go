package main

// cacheBoard shows the hit rate, the reasons for misses, and the size of the cache.
var cacheBoard = board{"cache", "Cache", "Hit rate, reasons for misses, and size of the cache.", []row{
	{"Now", []panel{
		stat("From the cache", share, "Of cacheable requests, over 5 minutes.",
			`sum(region:iconedge_edge_hits:rate5m{@region}) / sum(region:iconedge_edge_lookups:rate5m{@region})`).below(.9, .8),
		stat("A day before", share, "The same, at this hour yesterday.",
			`sum(region:iconedge_edge_hits:rate5m{@region} offset 1d) / sum(region:iconedge_edge_lookups:rate5m{@region} offset 1d)`).below(.9, .8),
		stat("Answers in memory", number, "Over all nodes chosen.", `sum(iconedge_edge_cache_entries{@node})`),
		stat("Memory used", share, "Of --cache-bytes, the fullest node. A full cache is normal: rarely requested entries are evicted.",
			`max(iconedge_edge_cache_bytes{@node} / iconedge_edge_cache_max_bytes{@node})`),
		stat("Answers on disk", number, "Over all nodes with --cache-dir.", `sum(iconedge_edge_cache_disk_entries{@node})`),
		stat("Disk errors", events, "Answers that could not be written or read.",
			`sum(rate(iconedge_edge_cache_disk_errors_total{@node}@rate))`).above(.001, 1),
	}},
	{"From the cache", []panel{
		lines("By route", share, "Searches rarely repeat; icons do.",
			q(`sum by (route) (rate(iconedge_edge_requests_total{@edge,outcome=~"hit|stale"}@rate)) / sum by (route) (rate(iconedge_edge_requests_total{@edge,outcome=~"hit|stale|miss|collapsed|error"}@rate))`, "{{route}}")),
		lines("By region", share, "An hour each point, and the floor that is a ticket.",
			q(`region:iconedge_edge_hits_per_lookups:ratio_rate1h{@region}`, "{{region}}")).below(.9, .8),
		lines("By node", share, "A node below the others of its region was started recently, or has dropped its cache.",
			q(`sum by (instance) (rate(iconedge_edge_requests_total{@node,outcome=~"hit|stale"}@rate)) / sum by (instance) (rate(iconedge_edge_requests_total{@node,outcome=~"hit|stale|miss|collapsed|error"}@rate))`, "{{instance}}")),
		lines("Requests that fetch, wait or fail", perSecond,
			"miss: fetched upstream; collapsed: waited for such a fetch; passed: never stored; error: failed.",
			q(`sum by (outcome) (rate(iconedge_edge_requests_total{@edge,outcome=~"miss|collapsed|passed|error"}@rate))`,
				"{{outcome}}")).stack(),
		lines("Stale copies", perSecond, "While they are renewed, or because upstream fails.",
			q(`sum by (region) (rate(iconedge_edge_requests_total{@edge,outcome="stale"}@rate))`, "{{region}}")),
		lines("Names that there are not", perSecond,
			"Answered 404 from the list of names, without a request upstream.",
			q(`sum by (region) (rate(iconedge_edge_absent_total{@edge}@rate))`, "{{region}}")),
	}},
	{"In memory", []panel{
		lines("Bytes", size, "And the least that any of them may have.",
			q(`iconedge_edge_cache_bytes{@node}`, "{{instance}}"), q(`min(iconedge_edge_cache_max_bytes{@node})`, "at most")),
		lines("Answers", number, "Kept in memory.", q(`iconedge_edge_cache_entries{@node}`, "{{instance}}")),
		lines("Evicted", events, "Entries evicted for others. Many evictions with a falling hit rate call for more "+
			"--cache-bytes, or a disk.", q(`sum by (instance) (rate(iconedge_edge_cache_evictions_total{@node}@rate))`, "{{instance}}")),
	}},
	{"Dropped and purged", []panel{
		lines("Drops", events, "Times that answers were dropped by surrogate key: releases and purges.",
			q(`sum by (instance) (rate(iconedge_edge_cache_drops_total{@node}@rate))`, "{{instance}}")),
		lines("Purged", events, "Entries that purges removed or marked stale.",
			q(`sum by (instance) (rate(iconedge_edge_cache_purged_total{@node}@rate))`, "{{instance}}")),
		lines("Upstream, for each request", share, "Requests sent upstream, as a share of all requests.",
			q(`sum by (job) (rate(iconedge_edge_upstream_requests_total{@node}@rate)) / sum by (job) (rate(iconedge_edge_requests_total{@node}@rate))`, "{{job}}")),
	}},
	{"On disk", []panel{
		lines("Bytes", size, "Of entries that memory evicted.", q(`iconedge_edge_cache_disk_bytes{@node}`, "{{instance}}")),
		lines("Taken from disk", events, "Answers that memory had not, and the disk had.",
			q(`sum by (instance) (rate(iconedge_edge_cache_disk_hits_total{@node}@rate))`, "{{instance}}")),
		lines("Errors", events, "A full disk, or a broken one: [runbook]("+runbooks+"CacheDiskErrors.md).",
			q(`sum by (instance) (rate(iconedge_edge_cache_disk_errors_total{@node}@rate))`, "{{instance}}")),
	}},
}}
