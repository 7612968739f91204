//go:build linux

package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"math"
	"strconv"
	"strings"
	"text/template"
)

// A Chart shows lines over two axes, as SVG.
type Chart struct {
	Title string
	X, Y  Axis
	Lines []Line
}

// An Axis extends from its first mark to its last, and further if a line does.
type Axis struct {
	Label string
	Log   bool
	Marks []Mark // none: chosen to fit the lines
}

// A Mark is a labelled value of an axis.
type Mark struct {
	At    float64
	Label string
}

// A Line is a named series of points.
type Line struct {
	Name   string
	Points []XY
}

// An XY is a point of a line.
type XY struct{ X, Y float64 }

//go:embed chart.svg
var chartSVG string

var chartTemplate = template.Must(template.New("chart").Funcs(template.FuncMap{"text": xmlText}).Parse(chartSVG))

// Dimensions in pixels.
const (
	width, height = 860.0, 400.0
	left, right   = 64.0, 236.0 // line names are on the right
	top, bottom   = 40.0, 48.0
	lineHeight    = 16.0
)

// colours are those that people with colour blindness can distinguish (Okabe and Ito, "Color
// universal design", 2008).
var colours = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"}

// drawn is a chart in pixels, for the template.
type drawn struct {
	Chart
	Width, Height            float64
	Left, Right, Top, Bottom float64 // edges of the plot area
	Across, Up               []drawnMark
	Curves                   []curve
}

type drawnMark struct {
	At    float64
	Label string
}

type curve struct {
	Name, Colour, Points string
	NameY                float64
	Dots                 []XY
}

// SVG renders the chart.
func (c Chart) SVG() []byte {
	d := drawn{Chart: c, Width: width, Height: height, Left: left, Right: width - right, Top: top, Bottom: height - bottom}
	x := c.X.scale(c.Lines, func(p XY) float64 { return p.X }, d.Left, d.Right)
	y := c.Y.scale(c.Lines, func(p XY) float64 { return p.Y }, d.Bottom, d.Top)
	for _, m := range x.marks {
		d.Across = append(d.Across, drawnMark{x.at(m.At), m.Label})
	}
	for _, m := range y.marks {
		d.Up = append(d.Up, drawnMark{y.at(m.At), m.Label})
	}
	for i, l := range c.Lines {
		cv := curve{Name: l.Name, Colour: colours[i%len(colours)], NameY: d.Top + lineHeight*(float64(i)+0.5)}
		var points []string
		for _, p := range l.Points {
			at := XY{x.at(p.X), y.at(p.Y)}
			cv.Dots = append(cv.Dots, at)
			points = append(points, fmt.Sprintf("%.1f,%.1f", at.X, at.Y))
		}
		cv.Points = strings.Join(points, " ")
		d.Curves = append(d.Curves, cv)
	}
	var b bytes.Buffer
	if err := chartTemplate.Execute(&b, d); err != nil {
		panic(err) // the template does not fit its data
	}
	return b.Bytes()
}

// A scale converts values to pixels.
type scale struct {
	marks      []Mark
	log        bool
	low, high  float64 // values, or their logarithms
	start, end float64 // pixels
}

// scale fits an axis to the lines.
func (a Axis) scale(lines []Line, value func(XY) float64, start, end float64) scale {
	s := scale{marks: a.Marks, log: a.Log, start: start, end: end, low: math.Inf(1), high: math.Inf(-1)}
	for _, l := range lines {
		for _, p := range l.Points {
			s.low, s.high = min(s.low, s.value(value(p))), max(s.high, s.value(value(p)))
		}
	}
	if s.low > s.high { // no points
		s.low, s.high = 0, 1
	}
	if len(s.marks) == 0 {
		s.choose()
	}
	for _, m := range s.marks {
		s.low, s.high = min(s.low, s.value(m.At)), max(s.high, s.value(m.At))
	}
	return s
}

func (s *scale) value(v float64) float64 {
	if s.log {
		return math.Log10(max(v, 1e-9))
	}
	return v
}

func (s *scale) at(v float64) float64 {
	return s.start + (s.value(v)-s.low)/max(s.high-s.low, 1e-12)*(s.end-s.start)
}

// choose chooses marks. A logarithmic axis has powers of ten, and twice and five times those if
// there would be few. A linear one has four to eight round steps from zero.
func (s *scale) choose() {
	if s.log {
		s.chooseLog()
		return
	}
	step := math.Pow(10, math.Floor(math.Log10(max(s.high, 1e-9)/4)))
	for _, factor := range []float64{1, 2, 2.5, 5, 10} {
		if s.high/(step*factor) <= 8 {
			step *= factor
			break
		}
	}
	for i := 0.0; i <= math.Ceil(s.high/step-1e-9); i++ {
		s.marks = append(s.marks, Mark{i * step, short(i * step)})
	}
}

func (s *scale) chooseLog() {
	factors := []float64{1}
	if s.high-s.low < 2.5 {
		factors = []float64{1, 2, 5}
	}
	for power := math.Floor(s.low); power <= math.Ceil(s.high); power++ {
		for _, f := range factors {
			v := f * math.Pow(10, power)
			if at := math.Log10(v); at > s.low-0.4 && at < s.high+0.4 {
				s.marks = append(s.marks, Mark{v, short(v)})
			}
		}
	}
}

// short formats 1500 as 1.5k and 2000000 as 2M.
func short(v float64) string {
	unit := ""
	switch {
	case v >= 1e6:
		v, unit = v/1e6, "M"
	case v >= 1e3:
		v, unit = v/1e3, "k"
	}
	return strconv.FormatFloat(v, 'g', 4, 64) + unit
}

// xmlText escapes s for an XML document.
func xmlText(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;").Replace(s)
}
