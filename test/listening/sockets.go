package listening

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// PassSockets changes cmd so that its program gets the files as listeners with these names, as from
// systemd (sd_listen_fds(3)). LISTEN_PID must be the number of the process itself, so a shell sets
// it and then executes the program. An empty cmd.Env stands for the environment of this process.
func PassSockets(cmd *exec.Cmd, names []string, files []*os.File) {
	cmd.Args = append([]string{"sh", "-c", `LISTEN_PID=$$ exec "$0" "$@"`, cmd.Path}, cmd.Args[1:]...)
	cmd.Path = "/bin/sh"
	cmd.Env = append(cmd.Environ(), "LISTEN_FDS="+strconv.Itoa(len(files)), "LISTEN_FDNAMES="+strings.Join(names, ":"))
	cmd.ExtraFiles = files
}
