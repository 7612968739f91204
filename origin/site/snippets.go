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
// would weigh more than 7 kB compressed, or 10 kB with the style sheet.
const maxSnippet = 2000

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
		{ID: "angular", Label: "Angular", Code: angularComponent(v)},
		{ID: "flutter", Label: "Flutter", Code: flutterWidget(v)},
		{ID: "swiftui", Label: "SwiftUI", Code: swiftView(v)},
		{ID: "android", Label: "Android", Code: composable(v)},
		{ID: "markdown", Label: "Markdown", Code: fmt.Sprintf("![%s](%s)", v.Ref.Name, markdownAddress(v))},
		{ID: "mcp", Label: "MCP", Code: mcpCall(v)},
		{ID: "cli", Label: "Command line", Code: command(v)},
	}
	drawing, uri := snippet{ID: "svg", Label: "SVG", Fill: true}, snippet{ID: "datauri", Label: "Data URI", Fill: true}
	if len(image) <= maxSnippet {
		drawing.Code, drawing.Fill = string(image), false
		uri.Code, uri.Fill = string(newDataURI(image)), false
	}
	return append(list, drawing, uri)
}

// command returns the command that copies the icon in as a component.
func command(v iconView) string {
	stroke := ""
	if v.Custom.Stroke > 0 {
		stroke = " --stroke " + icon.StrokeText(v.Custom.Stroke)
	}
	return fmt.Sprintf("npx @iconedge/react add %s --out src/icons --api %s%s", v.Ref, v.Site, stroke)
}

// markdownAddress returns the address of the icon in Markdown. An icon in the colour of the text is
// black in an image, and invisible on dark pages, so that it gets a colour for each kind of page,
// unless it has a ground of its own.
func markdownAddress(v iconView) string {
	if v.Custom.Color != "" || v.Custom.Background != "" || !v.Text() {
		return v.Address()
	}
	return v.CDN + "/" + v.Ref.String() + ".svg?color=000&dark=fff" + strings.Replace(v.Custom.String(), "?", "&", 1)
}

// whole returns a length for an attribute of <img>, which takes whole pixels alone.
func whole(length float64) int { return max(1, int(math.Round(length))) }

// cssRule returns a rule that shows the icon as a mask over a colour; an icon in its own colours,
// with a second one, or on a ground, as a background.
func cssRule(v iconView, color string) string {
	if color == "" || v.Custom.Secondary != "" || v.Custom.Background != "" {
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
	var style []string
	for _, d := range declarations(v.Custom.Frame) {
		style = append(style, d.react+": '"+d.value+"'")
	}
	if len(style) > 0 {
		color += " style={{ " + strings.Join(style, ", ") + " }}"
	}
	return fmt.Sprintf("import { configureIcons, Icon } from '@iconedge/react';\n\nconfigureIcons({ base: '%s' "+
		"});\n\nexport function %sIcon() {\n  return <Icon pack=\"%s\" name=\"%s\" size={%v}%s />;\n}",
		v.CDN, pascal(v.Ref.Name), v.Ref.Pack, v.Ref.Name, size, color)
}

// A declaration is one of CSS, with its name in React.
type declaration struct{ css, react, value string }

// declarations returns those by which an element that shows the icon has a frame, and keeps its
// size.
func declarations(f icon.Frame) (list []declaration) {
	if f.Background != "" {
		list = append(list, declaration{"background", "background", string(f.Background)})
	}
	if f.Padding > 0 {
		list = append(list, declaration{"padding", "padding", fmt.Sprintf("%dpx", f.Padding)},
			declaration{"box-sizing", "boxSizing", "border-box"})
	}
	if f.Radius > 0 {
		list = append(list, declaration{"border-radius", "borderRadius", fmt.Sprintf("%dpx", f.Radius)})
	}
	return list
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
	var style []string
	for _, d := range declarations(v.Custom.Frame) {
		style = append(style, d.css+": "+d.value)
	}
	if len(style) > 0 {
		p += ` style="` + strings.Join(style, "; ") + `"`
	}
	return p
}

// angularComponent returns a component with the element of the package iconify-icon, which takes
// the colour of the text, or that of its style.
func angularComponent(v iconView) string {
	shown := v
	shown.Custom.Color = ""
	shown.Custom.Frame = icon.Frame{}
	props := iconifyProps(shown)
	var style []string
	if v.Custom.Color != "" {
		style = append(style, "color: "+string(v.Custom.Color))
	}
	for _, d := range declarations(v.Custom.Frame) {
		style = append(style, d.css+": "+d.value)
	}
	if len(style) > 0 {
		props += ` style="` + strings.Join(style, "; ") + `"`
	}
	return fmt.Sprintf("import { Component, CUSTOM_ELEMENTS_SCHEMA } from '@angular/core';\nimport { addAPIProvider } from "+
		"'iconify-icon';\n\naddAPIProvider('', { resources: ['%s'] });\n\n@Component({\n  selector: 'app-%s-icon',\n  schemas: "+
		"[CUSTOM_ELEMENTS_SCHEMA],\n  template: `<iconify-icon icon=\"%s:%s\"%s></iconify-icon>`,\n})\nexport class %sIcon {}",
		v.CDN, v.Ref.Name, v.Ref.Pack, v.Ref.Name, props, pascal(v.Ref.Name))
}

// inText reports whether the icon is shown in the colour of the text around it, in its shape alone.
func (v iconView) inText() bool {
	return v.Text() && v.Custom.Color+v.Custom.Secondary+v.Custom.Background == ""
}

// flutterWidget returns a widget of the package flutter_svg.
func flutterWidget(v iconView) string {
	color := ""
	if v.Text() && v.Custom.Color == "" {
		color = "  theme: SvgTheme(currentColor: IconTheme.of(context).color ?? const Color(0xff000000)),\n"
	}
	return fmt.Sprintf("import 'package:flutter_svg/flutter_svg.dart';\n\nSvgPicture.network(\n  '%s',\n  width: %v,\n  "+
		"height: %v,\n%s)", v.Address(), v.Width, v.Height, color)
}

// swiftDensity is the number of pixels of a point on the densest screens.
const swiftDensity = 3

// swiftView returns a view of SwiftUI. It shows the PNG, because its images can't be SVGs from an
// address.
func swiftView(v iconView) string {
	mode := ""
	if v.inText() {
		mode = ".renderingMode(.template)"
	}
	picture := v.picture(int(math.Ceil(min(swiftDensity*v.Height, icon.MaxPicture, icon.MaxPictureSide*v.Height/v.Width))))
	return fmt.Sprintf("AsyncImage(url: URL(string: \"%s\")) { image in\n  image.resizable()%s\n} placeholder: {\n  Color.clear\n}\n"+
		".frame(width: %v, height: %v)", v.CDN+picture.Path, mode, v.Width, v.Height)
}

// composable returns a call of Jetpack Compose, with coil-compose; coil-svg draws the SVG.
func composable(v iconView) string {
	tint := ""
	if v.inText() {
		tint = "  colorFilter = ColorFilter.tint(LocalContentColor.current),\n"
	}
	return fmt.Sprintf("AsyncImage( // coil-compose, coil-svg\n  model = \"%s\",\n  contentDescription = null,\n  modifier = "+
		"Modifier.size(%v.dp, %v.dp),\n%s)", v.Address(), v.Width, v.Height, tint)
}

// mcpCall returns the call of the tool that fetches the icon.
func mcpCall(v iconView) string {
	type arguments struct {
		Pack   string     `json:"pack"`
		Name   string     `json:"name"`
		Format string     `json:"format"`
		Color  icon.Color `json:"color,omitempty"`
		Stroke float64    `json:"stroke,omitempty"`
		Second icon.Color `json:"secondary,omitempty"`
	}
	b, err := json.Marshal(struct {
		Name      string    `json:"name"`
		Arguments arguments `json:"arguments"`
	}{"get_icon", arguments{v.Ref.Pack, v.Ref.Name, "svg", v.Custom.Color,
		v.Custom.Stroke, v.Custom.Secondary}})
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
