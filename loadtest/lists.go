//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/iconedge/iconedge/loadtest/load"
	"github.com/iconedge/iconedge/loadtest/mix"
	"github.com/iconedge/iconedge/loadtest/peers"
	"github.com/iconedge/iconedge/loadtest/report"
)

const (
	listRounds   = 3
	longList     = 30 // icons, about those of a page
	shortList    = 5
	repeated     = 100 // lists that are requested again and again
	listedPack   = "mdi"
	comparedList = 50
)

// A listBench measures Iconify's icon data.
type listBench struct {
	b      *bench
	edge   *peers.Server
	packs  map[string][]string // names by pack
	result report.Lists
}

// A list is a request for icons of one pack.
type list struct {
	pack  string
	names []string
}

func (l list) path() string { return "/" + l.pack + ".json?icons=" + strings.Join(l.names, ",") }

func paths(lists []list) (all []string) {
	for _, l := range lists {
		all = append(all, l.path())
	}
	return all
}

// measureLists starts an edge, and Iconify's own service if it is installed, and measures them.
func (b *bench) measureLists(ctx context.Context) (*report.Lists, error) {
	l := listBench{b: b, result: report.Lists{Date: time.Now().UTC().Format(time.DateOnly), Machine: machine(),
		Rounds: listRounds, Requests: b.lists}}
	if err := l.readPacks(ctx); err != nil {
		return nil, err
	}
	var err error
	if l.edge, err = b.startServer(ctx, report.Ours, b.place(iconData, report.Ours)); err != nil {
		return nil, err
	}
	defer l.edge.Stop()
	joined, random, missed := l.mixes()
	for _, step := range []func() error{
		func() error { return l.compare(ctx, joined[:min(comparedList, len(joined))]) },
		func() error { return l.measureMissed(ctx, missed) },
		func() error { return l.measureJoined(ctx, joined) },
		func() error { return l.rounds(ctx, report.Ours, report.RandomLists, l.edge, paths(random), nil) },
		func() error { return l.measureService(ctx, joined, random) },
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return &l.result, nil
}

// readPacks reads the names of all packs from the origin.
func (l *listBench) readPacks(ctx context.Context) error {
	origin := target{"origin", l.b.origin.Listen.String(), l.b.origin.Listen}
	var all map[string]any
	if err := askJSON(ctx, origin, "/collections", &all); err != nil {
		return err
	}
	l.packs = map[string][]string{}
	for pack := range all {
		var c struct {
			Uncategorized []string
			Categories    map[string][]string
		}
		if err := askJSON(ctx, origin, "/collection?prefix="+pack, &c); err != nil {
			return err
		}
		names := slices.Clone(c.Uncategorized)
		for _, more := range c.Categories {
			names = append(names, more...)
		}
		slices.Sort(names)
		if names = slices.Compact(names); len(names) >= longList {
			l.packs[pack] = names
		}
	}
	if len(l.packs[listedPack]) < longList {
		return fmt.Errorf("the origin has no pack %s with %d icons", listedPack, longList)
	}
	return nil
}

// mixes returns the lists of the three mixes, and adds their hit ratios to the result.
func (l *listBench) mixes() (joined, random, missed []list) {
	r := rand.New(rand.NewPCG(l.b.seed, 3))
	names := slices.Clone(l.packs[listedPack])
	r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	var zipf []uint32
	for n := range listRounds * l.b.lists {
		picked := map[string]bool{}
		for len(picked) < longList {
			if len(zipf) == 0 { // with the same order again, the lists would come again too
				zipf = mix.Zipf(len(names), 1, l.b.seed+uint64(n))
			}
			picked[names[zipf[0]]] = true
			zipf = zipf[1:]
		}
		joined = append(joined, list{listedPack, sortedKeys(picked)})
	}
	keys := sortedKeys(l.packs)
	for range listRounds * l.b.lists {
		pack := keys[r.IntN(len(keys))]
		picked := map[string]bool{}
		for len(picked) < shortList {
			picked[l.packs[pack][r.IntN(len(l.packs[pack]))]] = true
		}
		random = append(random, list{pack, sortedKeys(picked)})
	}
	for _, pack := range keys {
		if pack == listedPack {
			continue
		}
		for chunk := range slices.Chunk(l.packs[pack], longList) {
			if len(chunk) == longList {
				missed = append(missed, list{pack, chunk})
			}
		}
	}
	r.Shuffle(len(missed), func(i, j int) { missed[i], missed[j] = missed[j], missed[i] })
	missed = missed[:min(len(missed), listRounds*l.b.lists/10)]
	for what, lists := range map[string][]list{report.JoinedList: joined, report.RandomLists: random, report.MissedLists: missed} {
		l.result.Mixes = append(l.result.Mixes, hitRatios(what, lists))
	}
	slices.SortFunc(l.result.Mixes, func(a, b report.ListsMix) int { return strings.Compare(a.What, b.What) })
	return joined, random, missed
}

func sortedKeys[V any](m map[string]V) (keys []string) {
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// hitRatios returns what a cache without a limit would have of the requests.
func hitRatios(what string, lists []list) report.ListsMix {
	names, addresses := map[string]bool{}, map[string]bool{}
	all, oldNames, oldLists := 0, 0, 0
	for _, l := range lists {
		if addresses[l.path()] {
			oldLists++
		}
		addresses[l.path()] = true
		for _, name := range l.names {
			if all++; names[l.pack+"/"+name] {
				oldNames++
			}
			names[l.pack+"/"+name] = true
		}
	}
	return report.ListsMix{What: what, Requests: len(lists), Pieces: float64(oldNames) / float64(max(1, all)),
		Addresses: float64(oldLists) / float64(max(1, len(lists)))}
}

// compare compares the edge's data with the origin's.
func (l *listBench) compare(ctx context.Context, lists []list) error {
	for _, one := range lists {
		var ours, theirs any
		if err := errors.Join(askJSON(ctx, target{"edge", l.edge.Listen.String(), l.edge.Listen}, one.path(), &ours),
			askJSON(ctx, target{"origin", l.b.origin.Listen.String(), l.b.origin.Listen}, one.path(), &theirs)); err != nil {
			return err
		}
		if !reflect.DeepEqual(ours, theirs) {
			return fmt.Errorf("%s: the edge's data differ from the origin's: %w", one.path(), errWrong)
		}
	}
	return nil
}

// measureJoined measures lists that the edge joins, and, beside them, lists that it has stored
// whole.
func (l *listBench) measureJoined(ctx context.Context, joined []list) error {
	var warm []list
	for chunk := range slices.Chunk(l.packs[listedPack], 250) {
		warm = append(warm, list{listedPack, chunk})
	}
	// Twice, because a fetched piece is prepared for joins when it is used again.
	for range 2 {
		if err := l.ask(ctx, l.edge, paths(warm), nil); err != nil {
			return err
		}
	}
	if err := l.calm(ctx); err != nil { // until all pieces are deflated
		return err
	}
	stored := paths(joined[:min(repeated, len(joined))])
	again := make([]string, 0, listRounds*l.b.lists)
	for len(again) < cap(again) {
		again = append(again, stored[len(again)%len(stored)])
	}
	rest := paths(joined)
	for _, c := range []struct {
		joined, stored string
		fields         []string
	}{{report.JoinedList, report.StoredList, nil}, {report.JoinedGzip, report.StoredGzip, []string{"Accept-Encoding: gzip"}}} {
		for range 4 { // until they are stored whole
			if err := l.ask(ctx, l.edge, stored, c.fields); err != nil {
				return err
			}
		}
		if err := l.calm(ctx); err != nil {
			return err
		}
		if err := l.rounds(ctx, report.Ours, c.stored, l.edge, again, c.fields); err != nil {
			return err
		}
		// Of a list that was requested for the other coding the edge would have the whole.
		half := rest[:len(rest)/2]
		rest = rest[len(rest)/2:]
		if err := l.rounds(ctx, report.Ours, c.joined, l.edge, half, c.fields); err != nil {
			return err
		}
	}
	return nil
}

// calm waits until the edge is idle.
func (l *listBench) calm(ctx context.Context) error {
	tree, err := l.edge.Tree()
	if err == nil {
		err = tree.Calm(ctx)
	}
	if err != nil {
		return fmt.Errorf("waiting for %s: %w", report.Ours, err)
	}
	return nil
}

func (l *listBench) measureMissed(ctx context.Context, missed []list) error {
	if _, err := l.b.originWants(ctx, paths(missed)); err != nil { // its mirror becomes warm
		return err
	}
	return l.rounds(ctx, report.Ours, report.MissedLists, l.edge, paths(missed), nil)
}

// ask requests paths once.
func (l *listBench) ask(ctx context.Context, server *peers.Server, paths, fields []string) error {
	m := mix.Maker{Host: server.Listen.String(), Fields: fields}
	return load.Ask(ctx, server.Listen, len(paths), func(i int) []byte { return m.Get(paths[i]) }, func(i int, a load.Answer) error {
		if a.Status != 200 {
			return fmt.Errorf("%s: status %d: %w", paths[i], a.Status, errWrong)
		}
		return nil
	})
}

// rounds measures paths in equal parts, each path once, and adds the cheapest round to the result.
func (l *listBench) rounds(ctx context.Context, name, what string, server *peers.Server, paths, fields []string) error {
	best := report.ListRow{Server: name, What: what}
	each := len(paths) / listRounds
	m := mix.Maker{Host: server.Listen.String(), Fields: fields}
	for round := range listRounds {
		part := paths[round*each : (round+1)*each]
		plan, err := m.Plan(part, mix.Shares{{Kind: mix.Plain, Weight: 1}}, mix.Recorded(len(part)), l.b.seed)
		if err != nil {
			return err
		}
		plan.Once = true
		for i := range plan.Requests {
			plan.Requests[i].Want = load.Want{Status: 200, Length: load.AnyLength}
		}
		before, err := l.b.originCPU()
		if err != nil {
			return err
		}
		r, err := l.b.once(ctx, server.Listen, plan, server)
		if err != nil {
			return fmt.Errorf("%s, %s: %w", name, what, err)
		}
		after, err := l.b.originCPU()
		if err != nil {
			return err
		}
		origin := float64(after-before) / float64(time.Microsecond) / float64(each)
		fmt.Fprintf(l.b.std.Err, "round %d/%d  %-14s %-46s %8.2f µs, origin %8.2f µs\n", round+1, listRounds, name,
			what, r.CPUMicros, origin)
		if round == 0 || r.CPUMicros < best.CPU {
			best.CPU, best.Origin, best.Bytes = r.CPUMicros, origin, float64(r.Bytes)/float64(max(1, r.Answers))
		}
	}
	l.result.Rows = append(l.result.Rows, best)
	return nil
}

// measureService measures Iconify's own service with a part of the same lists.
func (l *listBench) measureService(ctx context.Context, joined, random []list) error {
	version, err := installedVersion(filepath.Join(l.b.iconify, "node_modules", "@iconify", "api", "package.json"))
	if errors.Is(err, fs.ErrNotExist) || l.b.library == "" {
		l.b.leaveOut(&report.Bench{}, "%s: it is not installed", report.IconifyService)
		l.result.Left = append(l.result.Left, report.IconifyService+": it is not installed")
		return nil
	}
	if err != nil {
		return err
	}
	l.result.Versions = append(l.result.Versions, report.IconifyService+" "+version)
	server, err := l.startService(ctx)
	if err != nil {
		return err
	}
	defer server.Stop()
	part := func(lists []list) []string { return paths(lists[:min(len(lists), len(lists)/3)]) }
	return errors.Join(
		l.rounds(ctx, report.IconifyService, report.JoinedList, server, part(joined), nil),
		l.rounds(ctx, report.IconifyService, report.RandomLists, server, part(random), nil),
	)
}

func installedVersion(file string) (string, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	var about struct{ Version string }
	err = json.Unmarshal(b, &about)
	return about.Version, err
}

// startService starts Iconify's own service over the library, and waits until it has read it.
func (l *listBench) startService(ctx context.Context) (*peers.Server, error) {
	place := l.b.place(iconData, report.IconifyService)
	listen, err := peers.FreePort()
	if err != nil {
		return nil, err
	}
	folder, err := filepath.Abs(l.b.iconify)
	if err != nil {
		return nil, err
	}
	library, err := filepath.Abs(l.b.library)
	if err != nil {
		return nil, err
	}
	server, err := peers.Start(ctx, peers.Spec{
		Name: report.IconifyService, Program: "node", Dir: place.Dir, CPUs: place.CPUs, Cores: place.Cores, Listen: listen,
		Args: []string{filepath.Join(folder, "server.mjs"), library, strconv.Itoa(int(listen.Port()))},
		Env:  []string{"CACHE=" + filepath.Join(place.Dir, "cache")},
	})
	if err != nil {
		return nil, err
	}
	for range 1200 {
		var sets map[string]any
		if askJSON(ctx, target{report.IconifyService, listen.String(), listen}, "/collections?prefix="+listedPack,
			&sets) == nil && len(sets) == 1 {
			return server, nil
		}
		if err = errors.Join(load.Pause(ctx, 100*time.Millisecond), server.Ended()); err != nil {
			break
		}
	}
	server.Stop()
	return nil, errors.Join(fmt.Errorf("%s did not start", report.IconifyService), err)
}
