package commands

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/iconedge/iconedge/client"
	"github.com/iconedge/iconedge/client/output"
	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/internal/cli"
)

const getHelp = `
Prints icons on stdout, and their licence and credit on stderr: keep both where you use an icon. An SVG is printed byte for byte
as the API sends it.

  iconedge get mdi/home > home.svg
  iconedge get lucide/trash-2 --as react --color '#f00'`

func (s *Set) get(ctx context.Context, std cli.Streams, args []string) error {
	f, cfg := s.flags("get", "PACK/NAME…", getHelp)
	as := f.String("as", "svg", "`form` of the output: "+strings.Join(output.Forms, ", "))
	color := f.String("color", "", "hex `colour` of an icon with a single colour, such as #f00")
	v := client.Variant{}
	f.IntVar(&v.Size, "size", 0, "height in `pixels`, 1 to 4096 (default the icon's own)")
	if err := parse(f, cfg, std, args); err != nil {
		return err
	}
	if !slices.Contains(output.Forms, *as) {
		return cli.Usage("--as must be one of " + strings.Join(output.Forms, ", "))
	}
	var err error
	if v, err = variant(f, *color, v.Size); err != nil {
		return err
	}
	var refs []icon.Ref
	for _, arg := range f.Args() {
		ref, err := icon.ParseRef(strings.Replace(arg, ":", "/", 1))
		if err != nil {
			return cli.Usage("an icon is PACK/NAME, such as mdi/home")
		}
		refs = append(refs, ref)
	}
	if len(refs) == 0 {
		return cli.Usage("get takes PACK/NAME, such as mdi/home")
	}
	c := client.New(*cfg)
	var errs []error
	for _, ref := range refs {
		text, err := getOne(ctx, std, c, ref, *as, v)
		if err != nil {
			errs = append(errs, interrupted(ctx, err))
			continue
		}
		if (*as != "svg" || len(refs) > 1) && !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		if _, err := fmt.Fprint(std.Out, text); err != nil {
			return err
		}
	}
	return errors.Join(errs...)
}

// variant checks the settings color and size, which are flags of f. A size of 0 is that of an icon
// only if the flag was not set.
func variant(f *cli.Flags, color string, size int) (client.Variant, error) {
	v := client.Variant{Size: size}
	if color != "" {
		c, err := icon.ParseColor(color)
		if err != nil {
			return v, cli.Usage("--color must be a hex colour, such as #ff0000 or #f00")
		}
		v.Color = c
	}
	if size < 0 || size > icon.MaxSize || size == 0 && f.Given()["size"] {
		return v, cli.Usage(fmt.Sprintf("--size must be a whole number from 1 to %d", icon.MaxSize))
	}
	return v, nil
}

func getOne(ctx context.Context, std cli.Streams, c *client.Client, ref icon.Ref, form string, v client.Variant) (string, error) {
	answer, err := c.Icon(ctx, ref, v)
	if err != nil {
		return "", err
	}
	i, err := output.Of(ref, answer)
	if err != nil {
		return "", err
	}
	text, err := output.Write(form, i, output.Options{CDN: c.CDN(), Color: v.Color, Size: v.Size})
	if err != nil {
		return "", err
	}
	fmt.Fprintln(std.Err, output.Words(i))
	if v.Color != "" && !i.Recolored {
		fmt.Fprintln(std.Err, "The color was not applied: this icon has colors of its own.")
	}
	return text, nil
}
