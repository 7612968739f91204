package owntest

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/icon/iconify"
	"github.com/iconedge/iconedge/icon/viewbox"
)

// A Drawer is a Listing with one pack of icons, mdi, whose icon data it answers.
type Drawer struct {
	*Listing
	mu      sync.Mutex
	Parents map[string]string
	Bodies  map[string]string // by name
	Wait    chan struct{}     // requests for data wait until it is closed; nil: for nothing
	Fails   bool
	asked   []string // the icons of each request for data
	date    string   // of every response with data, however long the test takes
}

// IconTime is the time of the release in which all icons of a Drawer were last changed.
const IconTime = "Thu, 26 Nov 2026 10:00:00 GMT"

var info = map[string]any{"name": "Material Design Icons", "palette": false}

// NewDrawer returns a drawer of these icons. An alias has its parent after a colon.
func NewDrawer(names ...string) *Drawer {
	d := &Drawer{Parents: map[string]string{}, Bodies: map[string]string{}, date: time.Now().UTC().Format(http.TimeFormat)}
	list := "mdi"
	for _, name := range names {
		name, parent, _ := strings.Cut(name, ":")
		if list += " " + name; parent != "" {
			d.Parents[name] = parent
		} else {
			d.Bodies[name] = strings.Repeat("<path d='"+name+"'/>", 5) + "<g fill='currentColor'/>"
		}
	}
	d.Listing = NewListing(list)
	return d
}

// Change calls f, which may change the fields of the drawer while requests are in flight.
func (d *Drawer) Change(f func()) { d.mu.Lock(); defer d.mu.Unlock(); f() }

// Requests returns the icons of the requests since the last call.
func (d *Drawer) Requests() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	defer func() { d.asked = nil }()
	return d.asked
}

// ServeHTTP implements http.Handler.
func (d *Drawer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !strings.HasPrefix(r.URL.Path, "/iconify/mdi.") {
		d.Listing.ServeHTTP(w, r)
		return
	}
	d.mu.Lock()
	wait, fails := d.Wait, d.Fails
	d.asked = append(d.asked, r.URL.Query().Get("icons"))
	media, body := d.answer(r.URL.Path, r.URL.RawQuery)
	d.mu.Unlock()
	w.Header().Set("Date", d.date)
	var release string
	d.Set(func() { release = d.Release })
	if wait != nil {
		<-wait
	}
	if fails {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	w.Header().Set(icon.FieldRelease, release)
	w.Header().Set("Cache-Control", IconLife)
	if strings.Contains(body, "not_found") {
		w.Header().Set("Cache-Control", "public, max-age=300")
		w.Header().Set(cachepolicy.OurField, IconLife)
	}
	w.Header().Set("Content-Type", media)
	w.Header().Set("Surrogate-Key", "pack/mdi")
	w.Header().Set("Last-Modified", IconTime)
	w.Header().Set("Link", `<https://licences.test/mit>; rel="license"`)
	io.WriteString(w, body)
}

// Answer returns the response to a request for data, a script or a stylesheet.
func (d *Drawer) Answer(path, query string) (media, body string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.answer(path, query)
}

func (d *Drawer) answer(path, query string) (media, body string) {
	address, _ := iconify.Find(path, false)
	r, err := iconify.Parse(address, query)
	if err != nil {
		panic(err)
	}
	data := d.data(r.Names)
	if address.Kind == iconify.Stylesheet {
		var styled []iconify.Styled
		for _, name := range r.Names {
			of := name
			for d.Parents[of] != "" {
				of = d.Parents[of]
			}
			if d.Bodies[of] != "" {
				styled = append(styled, iconify.Styled{Name: name, Body: d.Bodies[of], Box: viewbox.Box{Width: 24, Height: 24}})
			}
		}
		absent, _ := data["not_found"].([]string)
		return "text/css; charset=utf-8", r.Style.Sheet("mdi", false, styled, len(absent))
	}
	if r.Info {
		data["info"] = info
	}
	object, err := json.Marshal(data)
	if err != nil {
		panic(err)
	}
	if r.Callback != "" {
		return "application/javascript", "/**/" + r.Callback + "(" + string(object) + ");"
	}
	return "application/json", string(object)
}

// data returns the data of icons. The caller has the lock.
func (d *Drawer) data(names []string) map[string]any {
	icons, aliases, absent := map[string]any{}, map[string]any{}, []string{}
	var add func(name string)
	add = func(name string) {
		switch {
		case d.Bodies[name] != "":
			icons[name] = map[string]any{"body": d.Bodies[name]}
		case d.Parents[name] != "":
			aliases[name] = map[string]any{"parent": d.Parents[name]}
			add(d.Parents[name])
		default:
			absent = append(absent, name)
		}
	}
	for _, name := range names {
		add(name)
	}
	body := map[string]any{"prefix": "mdi", "lastModified": 1, "width": 24, "height": 24, "icons": icons, "aliases": aliases}
	if len(absent) > 0 {
		slices.Sort(absent)
		body["not_found"] = absent
	}
	return body
}
