package commands

import (
	"errors"

	client "github.com/iconedge/iconedge/clients/go"
	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/internal/cli"
)

// variantHelp describes the flags that are parameters of an icon.
var variantHelp = map[string]string{
	"color":      "hex `colour` of icons with a single colour, such as #f00",
	"size":       "height in `pixels`, 1 to 4096, of a PNG 1 to 1024 (default the icon's own, of a PNG 64)",
	"width":      "`pixels`, 1 to 4096, instead of --size",
	"height":     "`pixels`, 1 to 4096, instead of --size",
	"rotate":     "`degrees` clockwise: 90, 180 or 270",
	"flip":       "`way` to mirror: horizontal, vertical, or both with a comma",
	"background": "CSS `colour` of a ground behind the icon",
	"padding":    "space at each side in `pixels` of the picture, which keeps its size",
	"radius":     "round corners of the ground, in `pixels`",
	"stroke":     "`width` of the strokes, 0.25 to 4, of icons whose strokes have one",
	"secondary":  "CSS `colour` of the translucent parts of two-tone icons",
	"id":         "`prefix` of the ids within, for a page that has the icon more than once",
}

// variantFlags adds flags that are parameters of an icon, and returns a function that checks them,
// for a picture or for the other forms.
func variantFlags(f *cli.Flags, names ...string) func(picture bool) (client.Variant, error) {
	for _, name := range names {
		f.String(name, "", variantHelp[name])
	}
	return func(picture bool) (client.Variant, error) {
		given, p := f.Given(), icon.Params{}
		for _, name := range names {
			if given[name] {
				p[name] = f.Lookup(name).Value.String()
			}
		}
		if p["color"] == "" {
			delete(p, "color")
		}
		color, err := icon.ParamColor(p)
		if err != nil {
			return client.Variant{}, cli.Usage("--color must be a hex colour, such as #ff0000 or #f00")
		}
		v, err := icon.ParseVariant(p)
		if picture {
			var d icon.Picture
			d, err = icon.ParsePicture(p, icon.ParamColor)
			v = d.Variant
		}
		if wrong, ok := errors.AsType[*icon.ParamError](err); ok {
			return client.Variant{}, cli.Usage("--" + wrong.Error())
		}
		return client.Variant{Color: color, Variant: v}, err
	}
}
