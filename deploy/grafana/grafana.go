package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
)

// runbooks is where the pages of the alerts are: each is called as its alert. The rules' runbook_url begins with it too.
const runbooks = "https://github.com/iconedge/iconedge/blob/main/docs/runbooks/"

// schema is Grafana's of version 11; later ones read it, and carry it forward.
const schema = 39

// object is one of JSON: Grafana's model of a dashboard is wide and deep, and of each part only a little is said here.
type object = map[string]any

// source is the Prometheus that the reader has chosen.
var source = object{"type": "prometheus", "uid": "${datasource}"}

func (b board) json() ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	err := enc.Encode(b.model())
	return out.Bytes(), err
}

func (b board) model() object {
	return object{
		"uid": "iconedge-" + b.name, "title": "Iconedge / " + b.title, "description": b.about, "tags": []string{"iconedge"},
		"schemaVersion": schema, "editable": true, "graphTooltip": 1, "timezone": "browser", "refresh": "30s",
		"time": object{"from": "now-1h", "to": "now"}, "timepicker": object{},
		"links": b.links(), "templating": object{"list": variables}, "annotations": object{"list": []any{switches}},
		"panels": b.panels(),
	}
}

// links lead to the other boards, for the same time and the same nodes.
func (b board) links() []any {
	var all []any
	for _, other := range boards {
		if other.name != b.name {
			all = append(all, object{"type": "link", "title": other.title, "url": "/d/iconedge-" + other.name, "tooltip": other.title,
				"includeVars": true, "keepTime": true, "targetBlank": false, "asDropdown": false, "icon": "dashboard", "tags": []string{}})
		}
	}
	return append(all, object{"type": "link", "title": "Runbooks", "url": runbooks + "README.md", "tooltip": "What to do about each alert",
		"includeVars": false, "keepTime": false, "targetBlank": true, "asDropdown": false, "icon": "doc", "tags": []string{}})
}

// variables are those of each board: which Prometheus, which regions, which nodes.
var variables = []any{
	object{"name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus", "refresh": 1, "hide": 0, "options": []any{}, "current": object{}},
	choice("region", `label_values(up{job=~"iconedge-.+"}, region)`),
	choice("instance", `label_values(up{job=~"iconedge-(edge|shield)",region=~"$region"}, instance)`),
}

func choice(name, query string) object {
	return object{"name": name, "label": name, "type": "query", "datasource": source, "definition": query,
		"query": object{"query": query, "refId": name}, "refresh": 2, "sort": 1, "hide": 0, "multi": true, "includeAll": true, "allValue": ".*",
		"options": []any{}, "current": object{"selected": true, "text": []string{"All"}, "value": []string{"$__all"}}}
}

// switches marks the moments at which edges took a new release: what bends then has its reason.
var switches = object{"name": "Release switched", "datasource": source, "enable": true, "hide": false, "iconColor": "blue",
	"expr": inFull(`sum by (region) (increase(iconedge_edge_release_switches_total{@edge}@rate)) > 0`), "step": "30s",
	"titleFormat": "Release switched", "textFormat": "{{region}}", "useValueForTime": false}

// panels puts rows below each other, and panels beside each other as long as there is room.
func (b board) panels() []any {
	var all []any
	y := 0
	for _, r := range b.rows {
		all = append(all, object{"type": "row", "id": len(all) + 1, "title": r.title, "collapsed": false, "panels": []any{}, "gridPos": grid(0, y, 24, 1)})
		y++
		x, tall := 0, 0
		for _, p := range r.panels {
			if x+p.width > 24 {
				x, y, tall = 0, y+tall, 0
			}
			all = append(all, p.model(len(all)+1, grid(x, y, p.width, p.height)))
			x, tall = x+p.width, max(tall, p.height)
		}
		y += tall
	}
	return all
}

func grid(x, y, w, h int) object { return object{"x": x, "y": y, "w": w, "h": h} }

func (p panel) model(id int, at object) object {
	m := object{"id": id, "type": p.kind, "title": p.title, "description": p.about, "datasource": source, "gridPos": at,
		"targets": p.targets(), "options": p.options(), "fieldConfig": object{"defaults": p.field(), "overrides": p.overrides()}}
	if p.kind == "table" {
		m["transformations"] = p.transformations()
	}
	return m
}

func (p panel) targets() []any {
	var all []any
	for i, q := range p.queries {
		t := object{"refId": string(rune('A' + i)), "datasource": source, "editorMode": "code", "expr": q.expr, "legendFormat": q.legend, "range": true, "instant": false}
		if p.kind == "table" {
			t["format"], t["range"], t["instant"] = "table", false, true
		}
		all = append(all, t)
	}
	return all
}

func (p panel) options() object {
	switch p.kind {
	case "stat":
		return object{"reduceOptions": object{"calcs": []string{"lastNotNull"}, "fields": "", "values": false}, "colorMode": "value", "graphMode": "area",
			"justifyMode": "auto", "orientation": "auto", "textMode": "auto"}
	case "state-timeline":
		return object{"showValue": "auto", "mergeValues": true, "rowHeight": 0.9, "legend": object{"displayMode": "list", "placement": "bottom", "showLegend": false},
			"tooltip": object{"mode": "single", "sort": "none"}}
	case "table":
		return object{"showHeader": true, "cellHeight": "sm"}
	default:
		return object{"legend": object{"displayMode": "table", "placement": "bottom", "showLegend": true, "calcs": []string{"lastNotNull", "max"}},
			"tooltip": object{"mode": "multi", "sort": "desc"}}
	}
}

// field is how values are shown: in which unit, in which colours.
func (p panel) field() object {
	f := object{"unit": p.unit, "thresholds": p.thresholds(), "color": object{"mode": "palette-classic"}, "mappings": p.mappings(), "noValue": "none"}
	if p.decimals > 0 {
		f["decimals"] = p.decimals
	}
	if p.kind != "timeseries" {
		f["color"] = object{"mode": "thresholds"}
		return f
	}
	f["min"] = 0
	stacking, fill := "none", 8
	if p.stacked {
		stacking, fill = "normal", 30
	}
	thresholds := "off"
	if len(p.steps) > 0 {
		thresholds = "line"
	}
	f["custom"] = object{"drawStyle": "line", "lineWidth": 1, "fillOpacity": fill, "showPoints": "never", "spanNulls": false,
		"stacking": object{"mode": stacking, "group": "A"}, "thresholdsStyle": object{"mode": thresholds}}
	return f
}

func (p panel) thresholds() object {
	steps := []any{object{"color": green, "value": nil}}
	for i, s := range p.steps {
		if i == 0 { // what lies below all has no value in Grafana's words
			steps[0] = object{"color": s.colour, "value": nil}
			continue
		}
		steps = append(steps, object{"color": s.colour, "value": s.from})
	}
	return object{"mode": "absolute", "steps": steps}
}

func (p panel) mappings() []any {
	if len(p.words) == 0 {
		return []any{}
	}
	options := object{}
	for i, value := range slices.Sorted(maps.Keys(p.words)) {
		options[value] = object{"text": p.words[value].text, "color": p.words[value].colour, "index": i}
	}
	return []any{object{"type": "value", "options": options}}
}

// overrides are the units and links of a table's columns.
func (p panel) overrides() []any {
	all := []any{}
	for _, c := range p.columns {
		properties := []any{object{"id": "displayName", "value": c.title}}
		if c.unit != "" {
			properties = append(properties, object{"id": "unit", "value": c.unit})
		}
		if c.link != "" {
			properties = append(properties, object{"id": "links", "value": []any{object{"title": c.title, "url": c.link, "targetBlank": true}}})
		}
		all = append(all, object{"matcher": object{"id": "byName", "options": c.field}, "properties": properties})
	}
	return all
}

// transformations make one table of a table a query, with the columns that were asked for in their order.
func (p panel) transformations() []any {
	keep, order := []string{}, object{}
	for i, c := range p.columns {
		keep = append(keep, c.field)
		order[c.field] = i
	}
	return []any{
		object{"id": "merge", "options": object{}},
		object{"id": "filterFieldsByName", "options": object{"include": object{"names": keep}}},
		object{"id": "organize", "options": object{"indexByName": order, "excludeByName": object{}, "renameByName": object{}}},
	}
}

// valueOf is the field that a query's value has in a merged table.
func valueOf(n int) string { return "Value #" + string(rune('A'+n)) }
