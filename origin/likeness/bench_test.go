package likeness

import (
	"fmt"
	"image/color"
	"image/png"
	"io"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/iconedge/iconedge/icon/raster"
)

// BenchmarkLibrary draws 300 icons of all packs and encodes them as PNG. It reports the median and
// the worst of the time that the processors spend on one icon, each the best of three.
func BenchmarkLibrary(b *testing.B) {
	icons := library(b, 300)
	encoder := png.Encoder{CompressionLevel: png.BestSpeed}
	for _, size := range []int{64, 512, 1024} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			times := make([]time.Duration, len(icons))
			drawn := make([]time.Duration, len(icons))
			for b.Loop() {
				for i, d := range icons {
					for run := range 3 {
						start := spent(b)
						img, err := raster.Draw(d.svg, size, size, color.Black)
						if err != nil {
							b.Error(d.name, err)
							break
						}
						between := spent(b) - start
						if err := encoder.Encode(io.Discard, img); err != nil {
							b.Fatal(err)
						}
						whole := spent(b) - start
						if run == 0 || whole < times[i] {
							times[i], drawn[i] = whole, between
						}
					}
				}
			}
			worst := slices.Index(times, slices.Max(times))
			b.Logf("worst: %s", icons[worst].name)
			slices.Sort(times)
			slices.Sort(drawn)
			report := func(d time.Duration, name string) { b.ReportMetric(d.Seconds()*1000, name) }
			report(drawn[len(drawn)/2], "ms-drawn-median")
			report(drawn[len(drawn)-1], "ms-drawn-worst")
			report(times[len(times)/2], "ms-median")
			report(times[len(times)-1], "ms-worst")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// spent returns the time that processors have spent on this process, with the collection of
// garbage.
func spent(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
