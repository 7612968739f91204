package commands

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/iconedge/iconedge/internal/cli"
)

// A result is what a command has printed, and its error.
type result struct {
	out, errs string
	err       error
}

// run runs a command against a service.
func run(t *testing.T, ctx context.Context, service http.Handler, args ...string) result {
	t.Helper()
	s := httptest.NewServer(service)
	defer s.Close()
	set := &Set{Program: &cli.Program{Name: "iconedge"}, Version: "1.2.3"}
	for _, c := range set.All() {
		if c.Name == args[0] {
			var out, errs bytes.Buffer
			rest := args[1:]
			if args[0] == "launcher" && len(rest) > 0 && !strings.HasPrefix(rest[0], "-") {
				rest = append([]string{rest[0], "--api", s.URL}, rest[1:]...)
			} else {
				rest = append([]string{"--api", s.URL, "--cdn", "https://icons.example.org"}, rest...)
			}
			err := c.Run(ctx, cli.Streams{Out: &out, Err: &errs}, rest)
			return result{out.String(), errs.String(), err}
		}
	}
	t.Fatalf("no command is %s", args[0])
	return result{}
}

// An api answers with icons and hits, and records the last request.
type api struct {
	mu            sync.Mutex
	target, agent string
	search        string // the last target of a search
	status        int
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.target, a.agent = r.URL.String(), r.UserAgent()
	w.Header().Set("Content-Type", "application/json")
	switch {
	case a.status != 0:
		w.WriteHeader(a.status)
		fmt.Fprintf(w, `{"type":"about:blank","title":"x","status":%d,"detail":"no such icon"}`, a.status)
	case r.URL.Query().Get("format") == "png":
		w.Header().Set("Content-Type", "image/png")
		png.Encode(w, image.NewNRGBA(image.Rect(0, 0, 2, 1)))
	case strings.HasPrefix(r.URL.Path, "/api/v1/search"):
		a.search = a.target
		fmt.Fprint(w, `{"query":"home","total":2,"results":[
			{"pack":"mdi","name":"home","license":"Apache-2.0","commercial_use":true,"attribution":"A","pack_name":"Material"},
			{"pack":"x","name":"home","license":"CC-BY-NC-4.0","attribution":"X by B","pack_name":"X"}]}`)
	default:
		fmt.Fprint(w, `{"pack":"mdi","name":"home","svg":"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 24 24\"><path fill=\"currentColor\" d=\"M0 0\"/></svg>","license":"Apache-2.0",
			"metadata":{"width":24,"height":24,"monochrome":true,"commercial_use":true,"attribution":"Home by A","pack_name":"Material"}}`)
	}
}

// Wrong arguments are errors of usage, before any request.
func TestUsage(t *testing.T) {
	for _, row := range []struct {
		args []string
		want string
	}{
		{[]string{"search"}, "search takes words"},
		{[]string{"search", "  "}, "search takes words"},
		{[]string{"search", strings.Repeat("x", 1000)}, "the words must be UTF-8"},
		{[]string{"search", "--limit", "51", "home"}, "--limit must be a whole number from 1 to 50"},
		{[]string{"search", "--pack", "../x", "home"}, "--pack must be the key of a pack"},
		{[]string{"get"}, "get takes PACK/NAME"},
		{[]string{"get", "home"}, "an icon is PACK/NAME"},
		{[]string{"get", "--as", "gif", "mdi/home"}, "--as must be one of svg"},
		{[]string{"get", "--color", "red", "mdi/home"}, "--color must be a hex colour"},
		{[]string{"get", "--size", "0", "mdi/home"}, "--size must be a whole number from 1 to 4096"},
		{[]string{"get", "--size", "4097", "mdi/home"}, "--size must be a whole number from 1 to 4096"},
		{[]string{"get", "--as", "png", "--size", "1025", "mdi/home"}, "--size must be a whole number from 1 to 1024"},
		{[]string{"get", "--size", "9", "--width", "9", "mdi/home"}, "--size sets the height"},
		{[]string{"get", "--background", "nocolour", "mdi/home"}, "--background must be a CSS color"},
		{[]string{"get", "--size", "20", "--padding", "10", "mdi/home"}, "--padding must be less than half"},
		{[]string{"get", "--rotate", "45", "mdi/home"}, "--rotate must be 90"},
		{[]string{"get", "--flip", "x", "mdi/home"}, "--flip must be horizontal"},
		{[]string{"get", "--id", "a b", "mdi/home"}, "--id must be a prefix"},
		{[]string{"get", "--as", "png", "mdi/home", "mdi/account"}, "several pictures need a folder"},
		{[]string{"launcher"}, "takes rofi, alfred QUERY or dbus"},
		{[]string{"launcher", "--insert-as", "gif"}, "--insert-as must be auto or one of"},
		{[]string{"launcher", "--packs", "../x"}, "--packs must be the key of a pack"},
		{[]string{"lsp", "--nonsense"}, "nonsense"},
	} {
		a := &api{}
		r := run(t, t.Context(), a, row.args...)
		if r.err == nil || !strings.Contains(r.err.Error()+r.errs, row.want) || a.target != "" || r.out != "" {
			t.Errorf("%q: %v %s, requested %q; want %s", row.args, r.err, r.errs, a.target, row.want)
		}
	}
}

// search prints a line for each icon, with a mark at those that may not be used commercially.
func TestSearch(t *testing.T) {
	a := &api{}
	r := run(t, t.Context(), a, "search", "--pack", "mdi", "--limit", "7", "home", "sweet")
	if r.err != nil || !strings.HasPrefix(r.out, "mdi/home\t") || !strings.Contains(r.out, "\tMaterial\nx/home\t") ||
		!strings.HasSuffix(r.out, "\tX\tnon-commercial\n") {
		t.Errorf("%q %q %v", r.out, r.errs, r.err)
	}
	if !strings.Contains(a.target, "q=home+sweet") || !strings.Contains(a.target, "pack=mdi") ||
		!strings.Contains(a.target, "limit=7") || a.agent != "iconedge-search/1.2.3" {
		t.Errorf("requested %s as %s", a.target, a.agent)
	}
	if r := run(t, t.Context(), a, "search", "--json", "home"); r.err != nil ||
		!strings.HasPrefix(r.out, `{"query":"home"`) || !strings.HasSuffix(r.out, "}\n") {
		t.Errorf("%q %v", r.out, r.err)
	}
	none := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"query":"hoem","total":0,"results":[],"suggestions":["home"]}`)
	})
	if r := run(t, t.Context(), none, "search", "hoem"); r.err != nil || r.out != "" || r.errs != "no icon was found; try home\n" {
		t.Errorf("%q %q %v", r.out, r.errs, r.err)
	}
}

// get prints icons on stdout, and their licence on stderr.
func TestGet(t *testing.T) {
	for _, row := range []struct {
		args []string
		want string
	}{
		{[]string{"get", "mdi/home"}, `<svg xmlns="http://www.w3.org/2000/svg"`},
		{[]string{"get", "mdi:home", "mdi/home"}, "</svg>\n<svg"},
		{[]string{"get", "--as", "url", "mdi/home"}, "https://icons.example.org/mdi/home.svg\n"},
		{[]string{"get", "--as", "url", "--width", "9", "--height", "8", "--background", "red", "mdi/home"},
			"https://icons.example.org/mdi/home.svg?background=%23ff0000&height=8&width=9\n"},
		{[]string{"get", "--as", "css", "--size", "48", "--rotate", "90", "mdi/home"},
			"mask: url(\"https://icons.example.org/mdi/home.svg?rotate=90\") center / contain no-repeat;\n" +
				"background-color: currentColor;\nwidth: 48px;\nheight: 48px;\n"},
		{[]string{"get", "--as", "css", "--background", "red", "mdi/home"},
			"background: url(\"https://icons.example.org/mdi/home.svg?background=%23ff0000\") center"},
	} {
		a := &api{}
		if r := run(t, t.Context(), a, row.args...); r.err != nil || !strings.Contains(r.out, row.want) ||
			!strings.Contains(r.errs, "Apache-2.0") {
			t.Errorf("%q: %q %q %v, want %q", row.args, r.out, r.errs, r.err, row.want)
		}
	}
	if r := run(t, t.Context(), &api{status: http.StatusNotFound}, "get", "mdi/none"); r.err == nil ||
		!strings.Contains(r.err.Error(), "mdi/none was not found") || r.out != "" {
		t.Errorf("an absent icon: %q %v", r.out, r.err)
	}
}

// get writes a picture into a pipe, a file or a folder, and refuses a terminal, before any request.
func TestGetPicture(t *testing.T) {
	folder, a := t.TempDir(), &api{}
	args := []string{"get", "--as", "png", "--color", "f00", "--size", "48", "--background", "white", "--padding", "4", "--radius", "8",
		"--rotate", "90", "--flip", "horizontal", "--id", "x", "mdi/home"}
	piped := run(t, t.Context(), a, args...)
	if _, err := png.Decode(strings.NewReader(piped.out)); err != nil || piped.err != nil || !strings.Contains(piped.errs, "Apache-2.0") {
		t.Errorf("%v %v: %q", piped.err, err, piped.errs)
	}
	const want = "/api/v1/icon/mdi/home?background=%23ffffff&color=%23ff0000&flip=horizontal&format=png&padding=4&radius=8&rotate=90&size=48"
	if a.target != want {
		t.Errorf("requested %s, want %s", a.target, want)
	}
	for _, row := range []struct{ out, file string }{{folder, "mdi-home.png"}, {filepath.Join(folder, "new.png"), "new.png"}} {
		r := run(t, t.Context(), a, append(args, "--out", row.out)...)
		if data, err := os.ReadFile(filepath.Join(folder, row.file)); r.err != nil || r.out != "" || string(data) != piped.out {
			t.Errorf("--out %s: %v %v, printed %q", row.out, r.err, err, r.out)
		}
	}
	if r := run(t, t.Context(), &api{status: http.StatusUnprocessableEntity}, args...); r.err == nil ||
		!strings.Contains(r.err.Error(), "mdi/home can't be drawn") || r.out != "" {
		t.Errorf("an icon that can't be drawn: %q %v", r.out, r.err)
	}
}

// A command that a signal ends says only that.
func TestInterrupted(t *testing.T) {
	for _, args := range [][]string{{"search", "home"}, {"search", "--json", "home"}, {"get", "mdi/home"}} {
		ctx, stop := context.WithCancel(t.Context())
		ends := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			stop()
			w.WriteHeader(http.StatusInternalServerError)
		})
		if r := run(t, ctx, ends, args...); !errors.Is(r.err, context.Canceled) || strings.Contains(r.err.Error(), "http") {
			t.Errorf("%q: %v", args, r.err)
		}
	}
}

// rofi's own argument is the last one, which may begin with a hyphen; by hand it is the words.
func TestRofi(t *testing.T) {
	for _, row := range []struct {
		retv string
		args []string
	}{
		{"2", []string{"launcher", "rofi", "-home"}}, {"", []string{"launcher", "rofi", "home", "sweet"}},
	} {
		t.Setenv("ROFI_RETV", row.retv)
		a := &api{}
		r := run(t, t.Context(), a, row.args...)
		if want := "q=" + strings.Join(row.args[2:], "+"); r.err != nil || !strings.Contains(a.search, want) ||
			!strings.Contains(r.out, "home") || a.agent != "iconedge-rofi/1.2.3" {
			t.Errorf("%q: %v, requested %s as %s, printed %q", row.args, r.err, a.search, a.agent, r.out)
		}
	}
}

// alfred prints the JSON of a script filter.
func TestAlfred(t *testing.T) {
	r := run(t, t.Context(), &api{}, "launcher", "alfred", "home")
	var answer struct{ Items []struct{ Title string } }
	if err := json.Unmarshal([]byte(r.out), &answer); err != nil || r.err != nil || len(answer.Items) == 0 {
		t.Errorf("%q %v %v", r.out, err, r.err)
	}
}
