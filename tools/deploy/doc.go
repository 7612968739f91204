// Package deploy tests the files of deploy/ without running them: with the parsers and validators
// of the tools that read them (BuildKit, Compose, Helm, Kubernetes and its Prometheus operator,
// systemd, Prometheus), and against the program itself, which must have each flag and variable that
// they set.
//
// It is a module of its own, because building the program needs none of its dependencies.
package deploy
