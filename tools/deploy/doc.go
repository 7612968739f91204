// Package deploy tests what deploy/ has: by the parsers and validators of those who will read it (BuildKit, Compose, Helm, Kubernetes and its
// Prometheus operator, systemd, Prometheus), without any of them running, and against the program itself: each flag and variable that is
// set anywhere must be one of its own.
//
// It is a module of its own: nobody who builds the program needs what it imports.
package deploy
