package launcher

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/iconedge/iconedge/client"
)

// clipboards lists programs that put their input on the clipboard. On Wayland and X the owner of a
// selection has to stay; these programs leave a process of theirs behind.
var clipboards = []struct {
	variable string // that is set where the program works; empty: everywhere
	command  []string
}{
	{"WAYLAND_DISPLAY", []string{"wl-copy"}},
	{"DISPLAY", []string{"xclip", "-selection", "clipboard"}},
	{"DISPLAY", []string{"xsel", "--clipboard", "--input"}},
	{"", []string{"pbcopy"}},
}

// Copy puts a text on the clipboard.
func Copy(ctx context.Context, text string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	for _, c := range clipboards {
		program, err := exec.LookPath(c.command[0])
		if err != nil || c.variable != "" && os.Getenv(c.variable) == "" {
			continue
		}
		// Without an output of ours: the launcher waits until the last process has closed it.
		cmd := exec.CommandContext(ctx, program, c.command[1:]...)
		cmd.Stdin = strings.NewReader(text)
		if err := cmd.Run(); err == nil {
			return nil
		}
	}
	return &client.Error{Sentence: "The text could not be copied; install wl-clipboard (Wayland), xclip or xsel (X)."}
}
