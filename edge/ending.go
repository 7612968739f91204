package edge

import (
	"errors"
	"flag"
	"time"
)

// Ending configures how an edge stops.
type Ending struct {
	ShutdownDelay time.Duration // between the signal to stop and the drain
	Drain         time.Duration // for requests in flight; 0: 15 s
}

const defaultDrain = 15 * time.Second

func (e *Ending) flags(fs *flag.FlagSet) {
	fs.DurationVar(&e.ShutdownDelay, "shutdown-delay", 0, "`time` for which the edge continues after the signal to "+
		"stop, while /readyz answers 503, so that load balancers stop sending requests before it drains")
	fs.DurationVar(&e.Drain, "drain", defaultDrain, "`time` that requests in flight have to finish when the edge stops")
}

func (e *Ending) validate() error {
	if e.Drain < 0 || e.ShutdownDelay < 0 {
		return errors.New("--drain and --shutdown-delay must not be negative")
	}
	return nil
}

// leave waits for the shutdown delay. The edge is not ready from now on, but answers as before.
func (s *Server) leave() {
	s.life.leaving.Store(true)
	if s.cfg.ShutdownDelay > 0 {
		s.cfg.Log.Info("stopping", "delay", s.cfg.ShutdownDelay)
		time.Sleep(s.cfg.ShutdownDelay)
	}
}
