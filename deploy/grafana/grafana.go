package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// runbooks is the address of the runbooks. Each has the name of its alert; the rules' runbook_url
// begins with this address too.
const runbooks = "https://github.com/iconedge/iconedge/blob/main/docs/how-to/runbooks/"

// schema is the schema version of Grafana 11; later versions read it and migrate it.
const schema = 39

// object is a JSON object. Grafana's model of a dashboard is large, and the tables set only a few
// fields of each part.
type object = map[string]any

// source is the Prometheus that the reader selects.
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
		"links": b.links(), "templating": object{"list": b.variables()}, "annotations": object{"list": []any{switches}},
		"panels": b.panels(),
	}
}

// links returns links to the other boards, which keep the time range and the selected nodes.
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

// variables returns the selections on a board: Prometheus, regions, nodes, and sites if an
// expression uses them.
func (b board) variables() []any {
	for _, r := range b.rows {
		for _, p := range r.panels {
			if slices.ContainsFunc(p.queries, func(q query) bool { return strings.Contains(q.expr, "$site") }) {
				return append(slices.Clone(variables),
					choice("site", `label_values(iconedge_edge_site_responses_total{job="iconedge-edge",region=~"$region"}, site)`))
			}
		}
	}
	return variables
}

// variables are the selections on every board.
var variables = []any{
	object{"name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus", "refresh": 1,
		"hide": 0, "options": []any{}, "current": object{}},
	choice("region", `label_values(up{job=~"iconedge-.+"}, region)`),
	choice("instance", `label_values(up{job=~"iconedge-(edge|shield)",region=~"$region"}, instance)`),
}

func choice(name, query string) object {
	return object{"name": name, "label": name, "type": "query", "datasource": source, "definition": query,
		"query": object{"query": query, "refId": name}, "refresh": 2, "sort": 1, "hide": 0, "multi": true,
		"includeAll": true, "allValue": ".*",
		"options": []any{}, "current": object{"selected": true, "text": []string{"All"}, "value": []string{"$__all"}}}
}

// switches marks the times at which edges changed to a new release, because that explains many
// changes in the graphs.
var switches = object{"name": "Release switched", "datasource": source, "enable": true, "hide": false, "iconColor": "blue",
	"expr": inFull(`sum by (region) (increase(iconedge_edge_release_switches_total{@edge}@rate)) > 0`), "step": "30s",
	"titleFormat": "Release switched", "textFormat": "{{region}}", "useValueForTime": false}

// panels places rows below each other, and panels side by side as long as the width suffices.
func (b board) panels() []any {
	var all []any
	y := 0
	for _, r := range b.rows {
		all = append(all, object{"type": "row", "id": len(all) + 1, "title": r.title, "collapsed": false,
			"panels": []any{}, "gridPos": grid(0, y, 24, 1)})
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
		t := object{"refId": string(rune('A' + i)), "datasource": source, "editorMode": "code", "expr": q.expr,
			"legendFormat": q.legend, "range": true, "instant": false}
		if p.kind == "timeseries" && strings.Contains(q.expr, "histogram_quantile") {
			t["exemplar"] = true // traced requests, as dots
		}
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
		return object{"reduceOptions": object{"calcs": []string{"lastNotNull"}, "fields": "", "values": false},
			"colorMode": "value", "graphMode": "area",
			"justifyMode": "auto", "orientation": "auto", "textMode": "auto"}
	case "state-timeline":
		return object{"showValue": "auto", "mergeValues": true, "rowHeight": 0.9,
			"legend":  object{"displayMode": "list", "placement": "bottom", "showLegend": false},
			"tooltip": object{"mode": "single", "sort": "none"}}
	case "table":
		return object{"showHeader": true, "cellHeight": "sm"}
	default:
		return object{"legend": object{"displayMode": "table", "placement": "bottom", "showLegend": true,
			"calcs": []string{"lastNotNull", "max"}},
			"tooltip": object{"mode": "multi", "sort": "desc"}}
	}
}

// field returns the unit and colours of the values.
func (p panel) field() object {
	f := object{"unit": p.unit, "thresholds": p.thresholds(), "color": object{"mode": "palette-classic"},
		"mappings": p.mappings(), "noValue": "none"}
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
		if i == 0 { // Grafana gives the lowest step no value
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

// overrides returns the units and links of a table's columns.
func (p panel) overrides() []any {
	all := []any{}
	for _, c := range p.columns {
		properties := []any{object{"id": "displayName", "value": c.title}}
		if c.unit != "" {
			properties = append(properties, object{"id": "unit", "value": c.unit})
		}
		if c.link != "" {
			properties = append(properties, object{"id": "links",
				"value": []any{object{"title": c.title, "url": c.link, "targetBlank": true}}})
		}
		all = append(all, object{"matcher": object{"id": "byName", "options": c.field}, "properties": properties})
	}
	return all
}

// transformations merges the tables of several queries into one, with the selected columns in
// order.
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

// valueOf returns the name of a query's value field in a merged table.
func valueOf(n int) string { return "Value #" + string(rune('A'+n)) }
