package launcher

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"slices"
	"time"

	client "github.com/iconedge/iconedge/clients/go"
)

// A Clip is the content that Copy puts on the clipboard. Its media type is empty for a text.
type Clip struct {
	MediaType string
	Data      []byte
}

const typePNG = "image/png"

// clipboards lists programs that put their input on the clipboard. On Wayland and X the owner of a
// selection has to stay; these programs leave a process of theirs behind.
var clipboards = []struct {
	variable string // that is set where the program works; empty: everywhere
	command  []string
	typed    string // the flag for the media type; empty: the program takes only text
}{
	{"WAYLAND_DISPLAY", []string{"wl-copy"}, "--type"},
	{"DISPLAY", []string{"xclip", "-selection", "clipboard"}, "-target"},
	{"DISPLAY", []string{"xsel", "--clipboard", "--input"}, ""},
	{"", []string{"pbcopy"}, ""},
}

// Copy puts a text or a picture on the clipboard.
func Copy(ctx context.Context, clip Clip) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	for _, c := range clipboards {
		program, err := exec.LookPath(c.command[0])
		if err != nil || c.variable != "" && os.Getenv(c.variable) == "" || clip.MediaType != "" && c.typed == "" {
			continue
		}
		args := c.command[1:]
		if clip.MediaType != "" {
			args = append(slices.Clone(args), c.typed, clip.MediaType)
		}
		// Without an output of ours: the launcher waits until the last process has closed it.
		cmd := exec.CommandContext(ctx, program, args...)
		cmd.Stdin = bytes.NewReader(clip.Data)
		if err := cmd.Run(); err == nil {
			return nil
		}
	}
	if clip.MediaType != "" {
		return &client.Error{Sentence: "The picture could not be copied; install wl-clipboard (Wayland) or xclip (X)."}
	}
	return &client.Error{Sentence: "The text could not be copied; install wl-clipboard (Wayland), xclip or xsel (X)."}
}
