package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/iconedge/iconedge/edge/observe/top"
	"github.com/iconedge/iconedge/internal/cli"
	"github.com/iconedge/iconedge/internal/terminal"
)

const topHelp = `
Shows the clients, paths and hosts with the most requests of the last seconds at an edge, and the clients that get most 429s. On a
terminal the table refreshes until ^C; into a pipe or a file it is printed at each interval.

  iconedge top --admin 127.0.0.1:8082
  iconedge top --once --json --window 60s | jq -r '.limited[].name'

A client is an IPv4 address or an IPv6 /64, as for limits. The edge counts in bounded memory: a number is at least what it says, and
"+N" says how much more it may be. A busy edge counts a sample; each response of it stands for several.`

func runTop(ctx context.Context, std cli.Streams, args []string) error {
	fs := iconedge.Flags("top", "", topHelp)
	call := adminFlags(fs)
	once := fs.Bool("once", false, "print one report and end")
	asJSON := fs.Bool("json", false, "print each report as a line of JSON")
	interval := fs.Duration("interval", 2*time.Second, "`time` between reports")
	window := fs.Duration("window", 10*time.Second,
		"`time` before now that a report covers, up to 60s; it begins at a multiple of ten seconds")
	rows := fs.Int("rows", 10, "`number` of clients, paths and hosts")
	if err := fs.Parse(std, args); err != nil {
		return err
	}
	switch {
	case *interval < 100*time.Millisecond:
		return cli.Usage("--interval must be at least 100ms")
	case *window <= 0 || *window > top.Longest:
		return cli.Usage("--window must be a time of at most 60s, such as 10s")
	case *rows < 1 || *rows > 1000:
		return cli.Usage("--rows must be a number from 1 to 1000")
	}
	screen := terminal.OpenScreen(std.Out)
	if *once || *asJSON {
		screen = nil
	}
	defer screen.Close()
	target := top.Path + "?" + url.Values{"window": {window.String()}, "rows": {strconv.Itoa(*rows)}}.Encode()
	shown := false
	for tick := time.NewTicker(*interval); ; {
		var report top.Report
		err := call.get(ctx, target, &report)
		switch {
		case err == nil:
			shown = true
			err = show(std.Out, screen, report, *asJSON)
		case ctx.Err() != nil && !*once:
			return nil // ^C is how the command ends
		case shown && screen != nil:
			err = screen.Show([]string{cli.OneLine(err) + "; trying again"})
		}
		if err != nil || *once {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// show prints a report, as a screen of a terminal if there is one.
func show(w io.Writer, screen *terminal.Screen, r top.Report, asJSON bool) error {
	switch {
	case asJSON:
		out := json.NewEncoder(w)
		out.SetEscapeHTML(false)
		return out.Encode(r)
	case screen != nil:
		return screen.Show(table(r))
	}
	_, err := fmt.Fprintln(w, strings.Join(table(r), "\n")+"\n")
	return err
}

// table returns the lines of a report.
func table(r top.Report) []string {
	per := func(n int64) float64 { return float64(n) / max(r.Seconds, 1) }
	lines := []string{fmt.Sprintf("the last %.0f s: %s requests/s, %s 429/s, %s/s", r.Seconds, short(per(r.Requests)),
		short(per(r.Refused)), size(per(r.Bytes)))}
	if r.Sampled < 1 {
		lines[0] += fmt.Sprintf(" (one in %.0f counted)", 1/r.Sampled)
	}
	for _, part := range []struct {
		title string
		rows  []top.Row
	}{{"CLIENT", r.Clients}, {"CLIENT BY 429", r.Limited}, {"PATH", r.Paths}, {"HOST", r.Hosts}} {
		if len(part.rows) == 0 {
			continue
		}
		lines = append(lines, "", fmt.Sprintf("%12s %10s %10s  %s", "REQUESTS/s", "429/s", "BYTES/s", part.title))
		for _, row := range part.rows {
			requests := short(per(row.Requests))
			if row.Uncertain > 0 {
				requests += "+" + short(per(row.Uncertain))
			}
			lines = append(lines, fmt.Sprintf("%12s %10s %10s  %s", requests, short(per(row.Refused)),
				size(per(row.Bytes)), printable(row.Name)))
		}
	}
	return lines
}

// short returns a number with at most four digits.
func short(n float64) string {
	switch {
	case n >= 1e6:
		return fmt.Sprintf("%.1fM", n/1e6)
	case n >= 1e4:
		return fmt.Sprintf("%.1fk", n/1e3)
	case n >= 10 || n == 0:
		return fmt.Sprintf("%.0f", n)
	}
	return fmt.Sprintf("%.1f", n)
}

func size(n float64) string {
	i := 0
	units := []string{"B", "kB", "MB", "GB"}
	for ; n >= 1000 && i < len(units)-1; i++ {
		n /= 1000
	}
	return short(n) + " " + units[i]
}

// printable returns text that clients have sent, without bytes that a terminal would obey.
func printable(s string) string {
	quoted := strconv.Quote(s)
	return cmp.Or(strings.ReplaceAll(strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`), `\\`, `\`), "(none)")
}
