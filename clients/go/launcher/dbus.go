package launcher

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/godbus/dbus/v5"
	"github.com/godbus/dbus/v5/introspect"

	client "github.com/iconedge/iconedge/clients/go"
	"github.com/iconedge/iconedge/clients/go/pace"
	"github.com/iconedge/iconedge/icon"
)

const (
	busName      = "org.iconedge.Icons"
	gnomePath    = dbus.ObjectPath("/org/iconedge/Icons")
	gnomeSearch  = "org.gnome.Shell.SearchProvider2"
	krunnerPath  = dbus.ObjectPath("/runner")
	krunner      = "org.kde.krunner1"
	searchPrefix = "icon "
	busRows      = 10
	answerWithin = 265 * time.Millisecond // of every call, so that a desktop never waits
	// stragglers is the time for calls that the bus has delivered before it took the name back.
	stragglers    = 200 * time.Millisecond
	remembered    = 500 // icons whose credit is known without a request
	krunnerExact  = 100 // KRunner's type of an exact match, QueryType
	krunnerNormal = 0.7 // relevance of the first row
)

// A bus answers GNOME Shell and KRunner. Each call returns within answerWithin, if need be without
// results; the search goes on, and its response is used for the next key.
type bus struct {
	*launcher
	ctx  context.Context
	gate pace.Gate
	busy sync.WaitGroup // copies, which the end of the process waits for

	mu      sync.Mutex
	results map[string]row // by pack/name
	found   string         // the text of the last search with a response
	hits    []string       // of that search
	used    time.Time      // when the last call came
}

// DBus serves the desktop's searches on the session bus until no call has come for a time, or the
// context ends.
func DBus(ctx context.Context, cfg Config, idle time.Duration) error {
	conn, err := dbus.ConnectSessionBus()
	if err != nil {
		return fmt.Errorf("there is no session bus: %w", err)
	}
	defer conn.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	b := &bus{launcher: newLauncher(cfg), ctx: ctx, results: map[string]row{}, used: time.Now()}
	if err := b.export(conn); err != nil {
		return err
	}
	reply, err := conn.RequestName(busName, dbus.NameFlagDoNotQueue)
	if err != nil {
		return err
	}
	if reply != dbus.RequestNameReplyPrimaryOwner {
		return errors.New("another process has the name " + busName + " on the session bus")
	}
	for left := idle; ; {
		select {
		case <-time.After(left):
			if left = idle - b.sinceUse(); left > 0 {
				continue
			}
			conn.ReleaseName(busName)
			time.Sleep(stragglers)
			b.busy.Wait()
			return nil
		case <-conn.Context().Done():
			return nil // the session has ended
		case <-ctx.Done():
			return nil
		}
	}
}

func (b *bus) export(conn *dbus.Conn) error {
	gnome := map[string]any{"GetInitialResultSet": b.initialResultSet, "GetSubsearchResultSet": b.subsearchResultSet,
		"GetResultMetas": b.resultMetas, "ActivateResult": b.activateResult, "LaunchSearch": b.launchSearch}
	kde := map[string]any{"Actions": b.actions, "Match": b.match, "Run": b.run, "Teardown": b.teardown}
	for _, e := range []error{
		conn.ExportMethodTable(gnome, gnomePath, gnomeSearch),
		conn.Export(introspect.Introspectable(gnomeXML), gnomePath, "org.freedesktop.DBus.Introspectable"),
		conn.ExportMethodTable(kde, krunnerPath, krunner),
		conn.Export(introspect.Introspectable(krunnerXML), krunnerPath, "org.freedesktop.DBus.Introspectable"),
	} {
		if e != nil {
			return e
		}
	}
	return nil
}

// touch starts the idle time anew.
func (b *bus) touch() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used = time.Now()
}

func (b *bus) sinceUse() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return time.Since(b.used)
}

// query returns the names of the icons for a query. It searches only for queries that begin with
// "icon ".
func (b *bus) query(ctx context.Context, query string) []string {
	text, ok := strings.CutPrefix(strings.TrimLeft(query, " "), searchPrefix)
	if text = client.Line(text); !ok || text == "" {
		return []string{}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.searchFor(text)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
	return b.answer(text)
}

// searchFor searches and stores the results, also if they come late.
func (b *bus) searchFor(text string) {
	ctx, cancel := context.WithTimeout(b.ctx, client.CallTimeout)
	defer cancel()
	if b.gate.Wait(ctx, text, window) != nil {
		return
	}
	hits, err := b.search(ctx, text, busRows)
	if e, ok := errors.AsType[*client.Error](err); ok && e.Wait > 0 {
		b.gate.Limited(e.Wait)
	}
	if err != nil {
		return
	}
	b.gate.Answered(text)
	b.mu.Lock()
	if len(b.results) > remembered {
		clear(b.results)
	}
	b.found, b.hits = text, []string{}
	for _, h := range hits {
		r := row{Result: h}
		b.results[r.ref().String()] = r
		b.hits = append(b.hits, r.ref().String())
	}
	b.mu.Unlock()
	go b.pictures(b.ctx, hits) // the metas need them in a moment
}

// answer returns the results of the last search, if the text begins with its text: then they are
// those of this text, or of the one before the last key.
func (b *bus) answer(text string) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.found == "" || !strings.HasPrefix(text, b.found) {
		return []string{}
	}
	return append([]string{}, b.hits...)
}

// begin returns the context of a call, which ends when its answer is due.
func (b *bus) begin() (context.Context, context.CancelFunc) {
	b.touch()
	return context.WithTimeout(b.ctx, answerWithin)
}

func (b *bus) initialResultSet(terms []string) ([]string, *dbus.Error) {
	ctx, cancel := b.begin()
	defer cancel()
	return b.query(ctx, strings.Join(terms, " ")), nil
}

func (b *bus) subsearchResultSet(_, terms []string) ([]string, *dbus.Error) {
	return b.initialResultSet(terms)
}

// rows returns known icons by their names, with the pictures that are there in time.
func (b *bus) rows(ctx context.Context, names []string) (rows []row) {
	var hits []icon.Result
	b.mu.Lock()
	for _, name := range names[:min(len(names), 50)] {
		if r, ok := b.results[name]; ok {
			hits = append(hits, r.Result)
		}
	}
	b.mu.Unlock()
	return b.pictures(ctx, hits)
}

func (b *bus) resultMetas(names []string) ([]map[string]dbus.Variant, *dbus.Error) {
	ctx, cancel := b.begin()
	defer cancel()
	metas := []map[string]dbus.Variant{}
	for _, r := range b.rows(ctx, names) {
		meta := map[string]dbus.Variant{
			"id":          dbus.MakeVariant(r.ref().String()),
			"name":        dbus.MakeVariant(r.ref().String()),
			"description": dbus.MakeVariant(r.credit()),
		}
		if r.Picture != "" {
			meta["gicon"] = dbus.MakeVariant(r.Picture)
		}
		metas = append(metas, meta)
	}
	return metas, nil
}

// credit returns the credit of a row, with "non-commercial" in words.
func (r row) credit() string {
	return client.CreditOf(r.License, r.Attribution, r.CommercialUse).String()
}

func (b *bus) activateResult(name string, _ []string, _ uint32) *dbus.Error { return b.copyIcon(name) }

func (b *bus) launchSearch(_ []string, _ uint32) *dbus.Error {
	b.touch()
	return nil
}

// copyIcon copies an icon in the background, because a call must not wait for the service.
func (b *bus) copyIcon(name string) *dbus.Error {
	b.touch()
	ref, err := icon.ParseRef(name)
	if err != nil {
		return dbus.MakeFailedError(errors.New("an icon is PACK/NAME, such as mdi/home"))
	}
	b.busy.Go(func() {
		ctx, cancel := context.WithTimeout(b.ctx, client.CallTimeout)
		defer cancel()
		b.mu.Lock()
		r, ok := b.results[name]
		b.mu.Unlock()
		var err error
		if !ok {
			r.Result, err = b.find(ctx, ref)
		}
		var clip Clip
		if err == nil {
			clip, err = b.clip(ctx, r.Result, b.cfg.InsertAs)
		}
		if err == nil {
			err = b.cfg.Copy(ctx, clip)
		}
		if err != nil {
			b.log.Warn("copying failed", "icon", name, "error", sentence(err))
		}
	})
	return nil
}

// A match is a row of KRunner: id, text, icon, type, relevance, properties.
type match struct {
	ID, Text, Icon string
	Type           uint32
	Relevance      float64
	Properties     map[string]dbus.Variant
}

func (b *bus) match(query string) ([]match, *dbus.Error) {
	ctx, cancel := b.begin()
	defer cancel()
	list := []match{}
	for n, r := range b.rows(ctx, b.query(ctx, query)) {
		list = append(list, match{r.ref().String(), r.ref().String(), r.Picture, krunnerExact, krunnerNormal - float64(n)/100,
			map[string]dbus.Variant{"subtext": dbus.MakeVariant(r.credit()), "category": dbus.MakeVariant("Icons")}})
	}
	return list, nil
}

func (b *bus) run(name, _ string) *dbus.Error { return b.copyIcon(name) }

// actions returns the actions of a row besides copying: none.
func (b *bus) actions() ([]struct{ ID, Text, Icon string }, *dbus.Error) {
	b.touch()
	return []struct{ ID, Text, Icon string }{}, nil
}

func (b *bus) teardown() *dbus.Error { return nil }

const gnomeXML = `<!DOCTYPE node PUBLIC "-//freedesktop//DTD D-BUS Object Introspection 1.0//EN" "http://www.freedesktop.org/standards/dbus/1.0/introspect.dtd">
<node><interface name="org.gnome.Shell.SearchProvider2">
<method name="GetInitialResultSet"><arg type="as" name="terms" direction="in"/><arg type="as" name="results" direction="out"/></method>
<method name="GetSubsearchResultSet"><arg type="as" name="previous_results" direction="in"/><arg type="as" name="terms" direction="in"/><arg type="as" name="results" direction="out"/></method>
<method name="GetResultMetas"><arg type="as" name="identifiers" direction="in"/><arg type="aa{sv}" name="metas" direction="out"/></method>
<method name="ActivateResult"><arg type="s" name="identifier" direction="in"/><arg type="as" name="terms" direction="in"/><arg type="u" name="timestamp" direction="in"/></method>
<method name="LaunchSearch"><arg type="as" name="terms" direction="in"/><arg type="u" name="timestamp" direction="in"/></method>
</interface>` + introspect.IntrospectDataString + `</node>`

const krunnerXML = `<!DOCTYPE node PUBLIC "-//freedesktop//DTD D-BUS Object Introspection 1.0//EN" "http://www.freedesktop.org/standards/dbus/1.0/introspect.dtd">
<node><interface name="org.kde.krunner1">
<method name="Actions"><arg type="a(sss)" name="matches" direction="out"/></method>
<method name="Match"><arg type="s" name="query" direction="in"/><arg type="a(sssuda{sv})" name="matches" direction="out"/></method>
<method name="Run"><arg type="s" name="matchId" direction="in"/><arg type="s" name="actionId" direction="in"/></method>
<method name="Teardown"/>
</interface>` + introspect.IntrospectDataString + `</node>`
