package edge

import (
	"flag"

	"github.com/iconedge/iconedge/config/flags"
)

// FromFile returns the configuration of an edge with a configuration file, which the edge reads
// again when its Reload receives a signal. A program may change fields before it calls New, such as
// Listener and Log. The error is config.Findings if the file is wrong.
func FromFile(name string) (Config, error) {
	return from(func() (*flags.Loaded, error) { return flags.Load(name, freshFlags) })
}

// FromText does for the text of a configuration file what FromFile does.
func FromText(text string) (Config, error) {
	return from(func() (*flags.Loaded, error) { return flags.Parse("configuration", []byte(text), freshFlags) })
}

func from(load func() (*flags.Loaded, error)) (cfg Config, err error) {
	loaded, err := load()
	if err != nil {
		return cfg, err
	}
	fs := flag.NewFlagSet("edge", flag.ContinueOnError)
	cfg.Flags(fs)
	if err := loaded.Apply(fs, nil); err != nil {
		return cfg, err
	}
	cfg.Load = load
	return cfg, cfg.Validate()
}

// freshFlags returns the flags of an edge with their defaults.
func freshFlags() *flag.FlagSet {
	fs := flag.NewFlagSet("edge", flag.ContinueOnError)
	new(Config).Flags(fs)
	return fs
}
