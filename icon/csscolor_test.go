package icon

import "testing"

// The values are those that Chromium computes.
func TestCSSColor(t *testing.T) {
	for s, want := range map[string]Color{
		"ReD": "#ff0000", " #ABC ": "#aabbcc", "abcd": "#aabbccdd", "#aabbccff": "#aabbcc", "transparent": "#00000000",
		"rgb(1, 2, 3)": "#010203", "rgb(50% 50% 50% / 50%)": "#80808080", "rgba(300,-1,0,.3)": "#ff00004d",
		"hsl(40,100%,50%)": "#ffaa00", "hsl(400,100%,50%)": "#ffaa00", "hsl(176,100%,50%)": "#00ffee",
		"hsl(282,59%,52%)": "#a13ccd", "hsl(261,50%,50%)": "#6c40bf",
		"hsl(-120deg 100% 50% / 50%)": "#0000ff80", "hsl(0.5turn,100%,50%)": "#00ffff",
		"hsl(200grad 100% 50%)": "#00ffff", "hsla(3.14159rad,100%,50%,1)": "#00ffff",
		"hsl(1em,100%,50%)": "", "hsl(turn,100%,50%)": "", "hsl(inf,100%,50%)": "", "hsl(1,nan,50%)": "",
		"hsl(1,2%)": "", "rgb(1,2,x)": "", "#12": "", "inherit": "", "oklch(1 0 0)": "",
	} {
		if got, ok := CSSColor(s); got != want || ok != (want != "") {
			t.Errorf("CSSColor(%q) = %q, %v; want %q", s, got, ok, want)
		}
	}
}
