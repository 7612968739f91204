package harness

import (
	"os"
	"strconv"
	"strings"
)

// Resident returns the memory of a process in bytes, as Linux reports it (proc_pid_status(5),
// VmRSS); zero where /proc does not show it.
func Resident(pid int) int64 {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return 0
	}
	_, line, _ := strings.Cut(string(status), "VmRSS:")
	fields := strings.Fields(line)
	if len(fields) == 0 {
		return 0
	}
	kib, _ := strconv.ParseInt(fields[0], 10, 64)
	return kib << 10
}
