package commands

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	client "github.com/iconedge/iconedge/clients/go"
	"github.com/iconedge/iconedge/clients/go/output"
	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/internal/cli"
	"github.com/iconedge/iconedge/internal/terminal"
)

const getHelp = `
Prints icons on stdout, and their licence and credit on stderr: keep both where you use an icon. An SVG is printed byte for byte
as the API sends it. A PNG goes into a file or a pipe.

  iconedge get mdi/home > home.svg
  iconedge get lucide/trash-2 --as react --color '#f00' --stroke 1.5
  iconedge get mdi/home mdi/account --as png --size 128 --out .`

func (s *Set) get(ctx context.Context, std cli.Streams, args []string) error {
	f, cfg := s.flags("get", "PACK/NAME…", getHelp)
	as := f.String("as", "svg", "`form` of the output: "+strings.Join(output.Forms, ", "))
	out := f.String("out", "", "`file` for the output; a folder gets a file for each icon, such as mdi-home.svg (default stdout)")
	read := variantFlags(f, "color", "size", "width", "height", "rotate", "flip", "background", "padding", "radius",
		"stroke", "secondary", "id")
	if err := parse(f, cfg, std, args); err != nil {
		return err
	}
	if !slices.Contains(output.Forms, *as) {
		return cli.Usage("--as must be one of " + strings.Join(output.Forms, ", "))
	}
	v, err := read(*as == output.PNG)
	if err != nil {
		return err
	}
	refs, err := references(f.Args())
	if err != nil {
		return err
	}
	w := &writer{std: std, form: *as, path: *out, several: len(refs) > 1}
	if err := w.check(); err != nil {
		return err
	}
	c := client.New(*cfg)
	var errs []error
	for _, ref := range refs {
		data, err := getOne(ctx, std, c, ref, *as, v)
		if err != nil {
			errs = append(errs, interrupted(ctx, err))
			continue
		}
		if err := w.write(ref, data); err != nil {
			return err
		}
	}
	return errors.Join(append(errs, w.end())...)
}

func references(args []string) (refs []icon.Ref, err error) {
	for _, arg := range args {
		ref, err := icon.ParseRef(strings.Replace(arg, ":", "/", 1))
		if err != nil {
			return nil, cli.Usage("an icon is PACK/NAME, such as mdi/home")
		}
		refs = append(refs, ref)
	}
	if len(refs) == 0 {
		return nil, cli.Usage("get takes PACK/NAME, such as mdi/home")
	}
	return refs, nil
}

func getOne(ctx context.Context, std cli.Streams, c *client.Client, ref icon.Ref, form string, v client.Variant) ([]byte, error) {
	answer, err := c.Icon(ctx, ref, v)
	if err != nil {
		return nil, err
	}
	i, err := output.Of(ref, answer)
	if err != nil {
		return nil, err
	}
	var data []byte
	if form == output.PNG {
		data, err = c.Picture(ctx, ref, v)
	} else {
		var text string
		text, err = output.Write(form, i, output.Options{CDN: c.CDN(), Variant: v})
		data = []byte(text)
	}
	if err != nil {
		return nil, err
	}
	fmt.Fprintln(std.Err, output.Words(i))
	if v.Color != "" && !i.Recolored {
		fmt.Fprintln(std.Err, "The color was not applied: this icon has colors of its own.")
	}
	for _, sentence := range output.Unstyled(i, v.Style) {
		fmt.Fprintln(std.Err, sentence)
	}
	return data, nil
}

// A writer writes the icons of a call: into a file for each in a folder, into one file, or on
// stdout.
type writer struct {
	std        cli.Streams
	form, path string
	several    bool // icons
	folder     bool // path is one
	file       bytes.Buffer
}

// check says which outputs can't be, before any request.
func (w *writer) check() error {
	info, err := os.Stat(w.path)
	w.folder = err == nil && info.IsDir()
	_, onTerminal := terminal.File(w.std.Out)
	switch {
	case w.form != output.PNG:
	case w.several && !w.folder:
		return cli.Usage("several pictures need a folder for their files: --out .")
	case w.path == "" && onTerminal:
		return cli.Usage("a PNG would garble the terminal; name a file, such as --out home.png")
	}
	return nil
}

func (w *writer) write(ref icon.Ref, data []byte) error {
	if w.form != output.PNG && (w.form != "svg" || w.several && !w.folder) && !bytes.HasSuffix(data, []byte("\n")) {
		data = append(data, '\n')
	}
	switch {
	case w.folder:
		return os.WriteFile(filepath.Join(w.path, output.FileName(w.form, ref)), data, 0o644)
	case w.path != "":
		w.file.Write(data)
		return nil
	}
	_, err := w.std.Out.Write(data)
	return err
}

// end writes the one file. If no icon could be had, an older file stays.
func (w *writer) end() error {
	if w.file.Len() == 0 {
		return nil
	}
	return os.WriteFile(w.path, w.file.Bytes(), 0o644)
}
