package main

import (
	"errors"
	"log/slog"
	"math"
	"os"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// memoryPart is the share of the control group's or machine's memory that becomes the runtime's
// limit. The rest
// is for memory that the runtime does not count, such as the buffers of sockets.
const memoryPart = 0.9

// limitMemory sets the runtime's memory limit to memoryPart of the limit of the process's control
// group (version 1 or 2), or of the machine's memory if the group has no limit, unless GOMEMLIMIT
// is in the environment. So the metric of the limit always means something, and the alert
// MemoryNearLimit can fire everywhere.
func limitMemory(log *slog.Logger, group, machine memlimit.Provider) {
	source := "cgroup"
	provider := func() (uint64, error) {
		limit, err := group()
		if errors.Is(err, memlimit.ErrNoLimit) {
			source = "machine"
			return machine()
		}
		return limit, err
	}
	limit, err := memlimit.Set(memlimit.WithRatio(memoryPart), memlimit.WithProvider(provider))
	if _, set := os.LookupEnv("GOMEMLIMIT"); set {
		source = "GOMEMLIMIT"
	}
	switch {
	case err != nil && !errors.Is(err, errors.ErrUnsupported):
		log.Warn("memory limit unknown; set GOMEMLIMIT", "err", err)
	case err != nil || limit == math.MaxInt64:
		log.Info("no memory limit")
	default:
		log.Info("memory limit", "bytes", limit, "source", source)
	}
}
