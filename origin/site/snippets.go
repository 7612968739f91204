package site

import (
	"encoding/json"
	"fmt"
	"html/template"
	"math"
	"strings"

	"github.com/iconedge/iconedge/icon"
)

// A snippet is code that shows the icon. ID is part of its test id. Long code is empty: the script
// fills it in, and without a script a link leads to the SVG.
type snippet struct {
	ID, Label, Code string
	Fill            bool
}

// Long reports whether the code can be long, so that its box scrolls.
func (s snippet) Long() bool { return s.ID == "svg" || s.ID == "datauri" }

// maxSnippet is the length of an SVG, in bytes, up to which pages contain it. With longer ones they
// would weigh more than 7 kB compressed.
const maxSnippet = 3000

// snippets returns the code for an icon. image is its SVG with the customisation.
func snippets(v iconView, image []byte) []snippet {
	address, color := v.Address(), ""
	switch {
	case v.Custom.Color != "":
		color = string(v.Custom.Color)
	case v.Text():
		color = "currentColor"
	}
	list := []snippet{
		{ID: "html", Label: "HTML", Code: fmt.Sprintf(`<img src="%s" alt="" width="%d" height="%d">`, address,
			whole(v.Width), whole(v.Height))},
		{ID: "css", Label: "CSS", Code: cssRule(v, color)},
		{ID: "react", Label: "React", Code: reactComponent(v, color)},
		{ID: "vue", Label: "Vue", Code: fmt.Sprintf("<script setup>\nimport { Icon, addAPIProvider } from "+
			"'@iconify/vue'\naddAPIProvider('', { resources: ['%s'] })\n</script>\n\n<template>\n  <Icon icon=\"%s:%s\"%s />\n</template>",
			v.CDN, v.Ref.Pack, v.Ref.Name, iconifyProps(v))},
		{ID: "svelte", Label: "Svelte", Code: fmt.Sprintf("<script>\n  import Icon, { addAPIProvider } from "+
			"'@iconify/svelte'\n  addAPIProvider('', { resources: ['%s'] })\n</script>\n\n<Icon icon=\"%s:%s\"%s />",
			v.CDN, v.Ref.Pack, v.Ref.Name, iconifyProps(v))},
		{ID: "markdown", Label: "Markdown", Code: fmt.Sprintf("![%s](%s)", v.Ref.Name, markdownAddress(v))},
		{ID: "mcp", Label: "MCP", Code: mcpCall(v)},
		{ID: "cli", Label: "Command line", Code: fmt.Sprintf("npx @iconedge/react add %s --out src/icons --api %s", v.Ref, v.Site)},
	}
	drawing, uri := snippet{ID: "svg", Label: "SVG", Fill: true}, snippet{ID: "datauri", Label: "Data URI", Fill: true}
	if len(image) <= maxSnippet {
		drawing.Code, drawing.Fill = string(image), false
		uri.Code, uri.Fill = string(newDataURI(image)), false
	}
	return append(list, drawing, uri)
}

// markdownAddress returns the address of the icon in Markdown. An icon in the colour of the text is
// black in an image, and invisible on dark pages, so that it gets a colour for each kind of page.
func markdownAddress(v iconView) string {
	if v.Custom.Color != "" || !v.Text() {
		return v.Address()
	}
	return v.CDN + "/" + v.Ref.String() + ".svg?color=000&dark=fff" + strings.Replace(v.Custom.String(), "?", "&", 1)
}

// whole returns a length for an attribute of <img>, which takes whole pixels alone.
func whole(length float64) int { return max(1, int(math.Round(length))) }

// cssRule returns a rule that shows the icon as a mask over a colour; an icon in its own colours,
// or with a second one, as a background.
func cssRule(v iconView, color string) string {
	if color == "" || v.Custom.Secondary != "" {
		return fmt.Sprintf(".icon-%s {\n  width: %vpx;\n  height: %vpx;\n  background: url(\"%s\") center / contain no-repeat;\n}",
			v.Ref.Name, v.Width, v.Height, v.Address())
	}
	shape := v.Custom
	shape.Color = "" // of a mask only the shape counts
	return fmt.Sprintf(".icon-%s {\n  width: %vpx;\n  height: %vpx;\n  background-color: %s;\n  mask: url(\"%s\") "+
		"center / contain no-repeat;\n}",
		v.Ref.Name, v.Width, v.Height, color, v.CDN+"/"+v.Ref.String()+".svg"+shape.String())
}

func reactComponent(v iconView, color string) string {
	size := v.Height
	if color != "" {
		color = fmt.Sprintf(` color="%s"`, color)
	}
	if width := v.Custom.Stroke; width > 0 {
		color += fmt.Sprintf(" strokeWidth={%v}", width)
	}
	return fmt.Sprintf("import { configureIcons, Icon } from '@iconedge/react';\n\nconfigureIcons({ base: '%s' "+
		"});\n\nexport function %sIcon() {\n  return <Icon pack=\"%s\" name=\"%s\" size={%v}%s />;\n}",
		v.CDN, pascal(v.Ref.Name), v.Ref.Pack, v.Ref.Name, size, color)
}

// pascal returns a name as an identifier that begins with a capital.
func pascal(name string) string {
	var b strings.Builder
	if name[0] >= '0' && name[0] <= '9' {
		b.WriteString("The")
	}
	for part := range strings.SplitSeq(name, "-") {
		if part != "" {
			b.WriteString(strings.ToUpper(part[:1]) + part[1:])
		}
	}
	return b.String()
}

// iconifyProps returns the properties of Iconify's components for the customisation.
func iconifyProps(v iconView) string {
	p := ""
	if v.Custom.Color != "" {
		p += fmt.Sprintf(` color="%s"`, v.Custom.Color)
	}
	if v.Custom.Size > 0 {
		p += fmt.Sprintf(` height="%d"`, v.Custom.Size)
	}
	if v.Custom.Rotate > 0 {
		p += fmt.Sprintf(` rotate="%ddeg"`, v.Custom.Rotate)
	}
	if v.Custom.Flip != "" {
		p += fmt.Sprintf(` flip="%s"`, v.Custom.Flip)
	}
	return p
}

// mcpCall returns the call of the tool that fetches the icon.
func mcpCall(v iconView) string {
	type arguments struct {
		Pack   string     `json:"pack"`
		Name   string     `json:"name"`
		Format string     `json:"format"`
		Color  icon.Color `json:"color,omitempty"`
	}
	b, err := json.Marshal(struct {
		Name      string    `json:"name"`
		Arguments arguments `json:"arguments"`
	}{"get_icon", arguments{v.Ref.Pack, v.Ref.Name, "svg", v.Custom.Color}})
	if err != nil { // strings only: can't happen
		panic(err)
	}
	return string(b)
}

// A dataURI is the address of an SVG that contains it.
type dataURI = template.URL

// newDataURI escapes an SVG for a data URI (RFC 2397). It leaves most characters as they are,
// because the result compresses better than base64.
func newDataURI(image []byte) dataURI {
	var b strings.Builder
	b.WriteString("data:image/svg+xml,")
	for _, c := range image {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("-_.!~*;/?:@&=+$, ", c) >= 0 && c != ' ':
			b.WriteByte(c)
		case c == ' ':
			b.WriteString("%20")
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return dataURI(b.String())
}
