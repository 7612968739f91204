package commands

import (
	"context"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/iconedge/iconedge/clients/go/launcher"
	"github.com/iconedge/iconedge/clients/go/output"
	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/internal/cli"
)

const launcherHelp = `
Finds icons in a launcher and copies them. docs/how-to/plugins.md has the set-up of each.

  iconedge launcher rofi            (rofi calls it: rofi -modi "icons:iconedge launcher rofi" -show icons)
  iconedge launcher alfred home     (prints the JSON of a script filter)
  iconedge launcher dbus            (serves GNOME's search and KRunner on the session bus)`

const launcherUsage = "iconedge launcher takes rofi, alfred QUERY or dbus; see iconedge launcher --help"

func (s *Set) launcher(ctx context.Context, std cli.Streams, args []string) error {
	what := ""
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		what, args = args[0], args[1:]
	}
	call := launcher.RofiCall{Retv: os.Getenv("ROFI_RETV"), Info: os.Getenv("ROFI_INFO"), Data: os.Getenv("ROFI_DATA")}
	if what == "rofi" && call.Retv != "" && call.Retv != "0" && len(args) > 0 {
		// rofi's own argument is the last one, and may begin with a hyphen.
		call.Text, args = args[len(args)-1], args[:len(args)-1]
	}
	f, cfg := s.flags("launcher", "rofi|alfred|dbus", launcherHelp)
	cfg.Agent = "iconedge-" + what + "/" + s.Version
	c := launcher.Config{Credit: true}
	f.StringVar(&c.InsertAs, "insert-as", output.Auto, "`form` of the copied text: auto (the name), "+strings.Join(output.Forms, ", "))
	read := variantFlags(f, "color", "size")
	var packs cli.List
	f.Var(&packs, "packs", "only icons of the pack with this `key`; may be repeated (default all)")
	f.BoolVar(&c.CommercialOnly, "commercial-only", false, "only icons that may be used commercially")
	f.BoolVar(&c.Credit, "credit", true, "copy the credit with SVG, React and CSS; licences that require it always have it")
	idle := f.Duration("idle", time.Minute, "time without a call after which dbus ends")
	if err := parse(f, cfg, std, args); err != nil {
		return err
	}
	v, err := read(false)
	if err != nil {
		return err
	}
	cfg.Log = slog.New(slog.NewTextHandler(std.Err, &slog.HandlerOptions{Level: slog.LevelWarn}))
	c.Client, c.Variant, c.Packs = *cfg, v, packs
	switch {
	case c.InsertAs != output.Auto && !slices.Contains(output.Forms, c.InsertAs):
		return cli.Usage("--insert-as must be auto or one of " + strings.Join(output.Forms, ", "))
	case slices.ContainsFunc(c.Packs, func(key string) bool { return !icon.ValidKey(key) }):
		return cli.Usage("--packs must be the key of a pack, such as lucide")
	case what == "rofi":
		if call.Retv == "" && f.NArg() > 0 {
			call.Retv, call.Text = "2", strings.Join(f.Args(), " ") // by hand
		}
		return launcher.Rofi(ctx, c, call, std.Out)
	case what == "alfred":
		return launcher.Alfred(ctx, c, strings.Join(f.Args(), " "), std.Out)
	case what == "dbus" && f.NArg() == 0:
		return launcher.DBus(ctx, c, *idle)
	}
	return cli.Usage(launcherUsage)
}
