package picture

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"image"
	"image/color"
	"image/png"
	"testing"
	"testing/synctest"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/icon/raster"
)

const square = `<svg xmlns="http://www.w3.org/2000/svg" width="4" height="4" viewBox="0 0 4 4">` +
	`<path fill="#ff0000" fill-opacity=".5" d="M0 0h2v4H0z"/></svg>`

func TestPNG(t *testing.T) {
	p := NewPainter()
	for _, note := range []string{"Icons by A, MIT", "Icônes d'Ä, MIT"} {
		file, err := p.PNG(t.Context(), []byte(square), 8, 4, note)
		if err != nil {
			t.Fatal(err)
		}
		again, err := p.PNG(t.Context(), []byte(square), 8, 4, note)
		if err != nil || !bytes.Equal(file, again) {
			t.Errorf("the second picture differs, or %v", err)
		}
		for _, part := range []string{"sRGB\x00", "Copyright\x00", note} {
			if !bytes.Contains(file, []byte(part)) {
				t.Errorf("%q is missing: %q", part, file)
			}
		}
		img := decode(t, file)
		if img.Bounds() != image.Rect(0, 0, 8, 4) {
			t.Fatalf("its size is %v", img.Bounds())
		}
		// The icon lies in the middle, and its colour is not multiplied by its alpha.
		for x, want := range map[int]color.NRGBA{0: {}, 2: {255, 0, 0, 128}, 3: {255, 0, 0, 128}, 5: {}, 7: {}} {
			if got := color.NRGBAModel.Convert(img.At(x, 2)); got != want {
				t.Errorf("the pixel at %d is %v, want %v", x, got, want)
			}
		}
	}
}

func decode(t *testing.T, file []byte) image.Image {
	t.Helper()
	// Decode checks the sums of the chunks that it knows.
	img, err := png.Decode(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	return img
}

func TestICO(t *testing.T) {
	file, err := NewPainter().ICO(t.Context(), []byte(square), "MIT")
	if err != nil {
		t.Fatal(err)
	}
	if n := int(binary.LittleEndian.Uint16(file[4:])); n != len(icon.FaviconSizes) {
		t.Fatalf("it has %d pictures", n)
	}
	for i, side := range icon.FaviconSizes {
		entry := file[6+16*i:]
		size, offset := binary.LittleEndian.Uint32(entry[8:]), binary.LittleEndian.Uint32(entry[12:])
		if img := decode(t, file[offset:][:size]); img.Bounds() != image.Rect(0, 0, side, side) || int(entry[0]) != side {
			t.Errorf("picture %d has %v, and %d in its entry", i, img.Bounds(), entry[0])
		}
	}
}

func TestRefused(t *testing.T) {
	p := NewPainter()
	for _, row := range []struct {
		svg           string
		width, height float64
		want          error
	}{
		{square, icon.MaxPictureSide + 1, 1, ErrTooLarge},
		{square, 1e300, 1, ErrTooLarge},
		{`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 4 4"><text>A</text></svg>`, 4, 4, raster.ErrUnsupported},
		{"<svg", 4, 4, raster.ErrMalformed},
	} {
		if _, err := p.PNG(t.Context(), []byte(row.svg), row.width, row.height, ""); !errors.Is(err, row.want) {
			t.Errorf("%s at %v×%v: %v, want %v", row.svg, row.width, row.height, err, row.want)
		}
	}
}

// Pictures wait for each other in bounded memory, and clients that leave wait no longer.
func TestBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPainter()
		end, err := p.begin(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		for p.drawing.TryAcquire(1) { // the other processors
		}
		ctx, cancel := context.WithCancel(t.Context())
		left := make(chan error)
		go func() { _, err := p.begin(ctx, maxHeld-1); left <- err }()
		synctest.Wait()
		if _, err := p.begin(t.Context(), 1); !errors.Is(err, ErrBusy) {
			t.Errorf("beyond the memory: %v, want ErrBusy", err)
		}
		cancel()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("a client that left got %v", err)
		}
		if !p.held.TryAcquire(maxHeld - 1) {
			t.Error("what waited still holds memory")
		}
		end()
	})
}
