package main

import (
	"errors"
	"log/slog"
	"math"
	"os"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// memoryPart is the share of the control group's memory that becomes the runtime's limit. The rest
// is for memory that the runtime does not count, such as the buffers of sockets.
const memoryPart = 0.9

// limitMemory sets the runtime's memory limit to memoryPart of the limit of the process's control
// group (version 1 or 2), unless GOMEMLIMIT is in the environment. Without either there is no
// limit.
func limitMemory(log *slog.Logger, group memlimit.Provider) {
	source := "cgroup"
	if _, set := os.LookupEnv("GOMEMLIMIT"); set {
		source = "GOMEMLIMIT"
	}
	limit, err := memlimit.Set(memlimit.WithRatio(memoryPart), memlimit.WithProvider(group))
	switch {
	case err != nil && !errors.Is(err, errors.ErrUnsupported):
		log.Warn("memory limit unknown; set GOMEMLIMIT", "err", err)
	case err != nil || limit == math.MaxInt64:
		log.Info("no memory limit")
	default:
		log.Info("memory limit", "bytes", limit, "source", source)
	}
}
