package scheme

import (
	_ "embed" // shortcodes.txt
	"strings"
	"sync"
)

// shortcode is the form of emoji in chats and Markdown.
const shortcode = ":*:"

// shortcodesText has, from gemoji 8.1.0 (MIT), the shortcodes that differ from the name that CLDR
// gives to the emoji, and that name, by which packs of emoji name their icons.
//
//go:embed shortcodes.txt
var shortcodesText string

var shortcodes = sync.OnceValue(func() map[string]string {
	of := map[string]string{}
	for line := range strings.Lines(shortcodesText) {
		code, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		of[code] = name
		of[strings.ReplaceAll(code, "_", "-")] = name
	}
	return of
})

// emoji returns the name of an icon for a shortcode.
func emoji(code string) string {
	if name, known := shortcodes()[code]; known {
		return name
	}
	return strings.ReplaceAll(code, "_", "-")
}
