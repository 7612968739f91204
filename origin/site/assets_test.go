package site

import (
	"bytes"
	"image/color"
	"image/png"
	"testing"
)

// The logo in pixels is transparent around the tiles, and has a ground where phones would show
// black.
func TestLogoFiles(t *testing.T) {
	files, err := logoFiles()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		file   []byte
		side   int
		corner color.NRGBA
	}{
		{files.touch, 180, color.NRGBA{255, 255, 255, 255}},
		{files.ico[bytes.Index(files.ico, []byte("\x89PNG")):], 16, color.NRGBA{}},
	} {
		img, err := png.Decode(bytes.NewReader(row.file))
		if err != nil || img.Bounds().Dx() != row.side || color.NRGBAModel.Convert(img.At(0, 0)) != row.corner {
			t.Errorf("%v, %v, corner %v, want a side of %d and %v", err, img.Bounds(), img.At(0, 0), row.side, row.corner)
		}
	}
}
