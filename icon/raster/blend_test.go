package raster

import (
	"image/color"
	"testing"
)

// The colours are those of Compositing 1, section 9, for a green over a half grey.
func TestBlending(t *testing.T) {
	for mode, want := range map[string]color.RGBA{
		"normal": {0, 128, 0, 255}, "multiply": {0, 64, 0, 255}, "screen": {128, 192, 128, 255}, "darken": {0, 128, 0, 255},
		"lighten": {128, 128, 128, 255}, "difference": {128, 0, 128, 255}, "exclusion": {128, 127, 128, 255},
		"color-burn": {0, 2, 0, 255}, "color-dodge": {128, 255, 128, 255}, "hard-light": {0, 128, 0, 255},
		"overlay": {1, 128, 1, 255}, "soft-light": {64, 128, 64, 255}, "luminosity": {76, 76, 76, 255}, "saturation": {128, 128, 128, 255},
		"hue": {128, 128, 128, 255}, "color": {52, 180, 52, 255}, "nonsense": {0, 128, 0, 255},
	} {
		got, err := drawInside(`<path fill="#808080" d="M0 0h16v16H0z"/><path fill="green" d="M0 0h16v16H0z" style="mix-blend-mode:` + mode + `"/>`)
		if err != nil || got != want {
			t.Errorf("%s: %v, %v; want %v", mode, got, err, want)
		}
	}
	isolated, err := drawInside(`<path fill="#808080" d="M0 0h16v16H0z"/><g style="isolation:isolate">
		<path fill="green" d="M0 0h16v16H0z" style="mix-blend-mode:multiply"/></g>`)
	if want := (color.RGBA{0, 128, 0, 255}); err != nil || isolated != want {
		t.Errorf("isolated: %v, %v; want %v", isolated, err, want)
	}
}
