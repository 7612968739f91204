package launcher

import (
	"bytes"
	"context"
	"html"
	"io"
	"strings"

	"github.com/iconedge/iconedge/clients/go/output"
	"github.com/iconedge/iconedge/icon"
)

// A RofiCall is one call of the script by rofi (rofi-script(5)).
type RofiCall struct {
	Retv string // ROFI_RETV: why rofi calls
	Info string // ROFI_INFO: of the selected row
	Data string // ROFI_DATA: of the call before
	Text string // the selected row, or the typed words
}

const (
	rofiSelected = "1"
	rofiTyped    = "2"
	rofiForms    = "10" // the first custom key, Alt+1

	accepted = "accepted" // in ROFI_DATA: the user has accepted a non-commercial licence
)

// Rofi answers a call of rofi's script mode. A failure is a message in rofi; the error is only that
// of a write.
func Rofi(ctx context.Context, cfg Config, call RofiCall, out io.Writer) error {
	l := newLauncher(cfg)
	var b bytes.Buffer
	switch call.Retv {
	case rofiTyped:
		l.rofiSearch(ctx, &b, call)
	case rofiSelected, rofiForms:
		l.rofiSelect(ctx, &b, call)
	default:
		rofiOption(&b, "prompt", "icon")
		rofiMessage(&b, "Type words and press Enter. Then Enter copies an icon, Alt+1 asks for the form.")
	}
	_, err := out.Write(b.Bytes())
	return err
}

func (l *launcher) rofiSearch(ctx context.Context, b *bytes.Buffer, call RofiCall) {
	hits, err := l.search(ctx, call.Text, icon.MaxLimit)
	rofiOption(b, "prompt", "icon")
	rofiOption(b, "use-hot-keys", "true")
	rofiOption(b, "data", call.Data)
	switch {
	case err != nil:
		rofiMessage(b, sentence(err))
	case len(hits) == 0:
		rofiMessage(b, "No icon was found; try other words.")
	default:
		rofiMessage(b, "Enter copies an icon, Alt+1 asks for the form.")
	}
	for _, r := range l.pictures(ctx, hits) {
		text := r.ref().String() + "  " + r.licence()
		fields := []string{"info", r.ref().String(), "meta", r.licence() + " " + r.PackName}
		if r.Picture != "" {
			fields = append([]string{"icon", r.Picture}, fields...)
		}
		rofiRow(b, text, fields...)
	}
}

// rofiSelect copies the selected icon, or shows the forms in which it can be copied. The info of a
// row is the icon, and the form after a space.
func (l *launcher) rofiSelect(ctx context.Context, b *bytes.Buffer, call RofiCall) {
	chosen := call.Info
	if chosen == "" {
		chosen, _, _ = strings.Cut(call.Text, " ")
	}
	name, form, _ := strings.Cut(chosen, " ")
	form, accept := strings.CutSuffix(form, " "+accepted)
	ref, err := icon.ParseRef(name)
	if err != nil {
		rofiMessage(b, "This row is no icon; type words and press Enter.")
		return
	}
	if form == "" {
		form = l.cfg.InsertAs
	}
	if call.Retv == rofiForms {
		rofiOption(b, "prompt", "form")
		rofiOption(b, "data", call.Data)
		for _, form := range output.Forms {
			rofiRow(b, form, "info", name+" "+form)
		}
		return
	}
	h, err := l.find(ctx, ref)
	if err != nil {
		rofiMessage(b, sentence(err))
		return
	}
	if !h.CommercialUse && !accept && call.Data != accepted {
		rofiOption(b, "data", accepted)
		rofiMessage(b, name+" is licensed "+h.License+": non-commercial use only.")
		rofiRow(b, "Copy it", "info", name+" "+form+" "+accepted)
		return
	}
	clip, err := l.clip(ctx, h, form)
	if err == nil {
		err = l.cfg.Copy(ctx, clip)
	}
	if err != nil {
		rofiMessage(b, sentence(err))
	}
}

// rofiMessage sets the message above the rows, which is Pango markup.
func rofiMessage(b *bytes.Buffer, text string) { rofiOption(b, "message", html.EscapeString(text)) }

func rofiOption(b *bytes.Buffer, name, value string) {
	b.WriteString("\x00" + name + "\x1f" + rofiClean(value) + "\n")
}

func rofiRow(b *bytes.Buffer, text string, fields ...string) {
	for i, f := range fields {
		fields[i] = rofiClean(f)
	}
	b.WriteString(rofiClean(text) + "\x00" + strings.Join(fields, "\x1f") + "\n")
}

// rofiClean removes the characters that end a field or row.
func rofiClean(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
}
