// Package lsp serves icons to editors over the Language Server Protocol 3.17, on stdin and stdout:
// completion, hover, links, diagnostics with quick fixes, and the command iconedge.insert.
//
// It decides which parts of a document are checked and when, and how answers look in an editor. It
// makes no request before a document has a word that may name an icon. stdout carries the protocol
// alone. The settings that an editor sends may come from the files of a project, so they can't
// change the service's address or the token.
//
// frame.go has the framing, conn.go requests and responses, document.go texts and positions,
// icons.go the calls of the API; the other files have a feature each.
package lsp

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	client "github.com/iconedge/iconedge/clients/go"
)

// Config is the configuration of a server.
type Config struct {
	Client  client.Config
	In      io.Reader
	Out     io.Writer
	Log     *slog.Logger
	Version string // of the program
}

// drainTime is the time that open requests have after the editor has closed stdin.
const drainTime = 3 * time.Second

// ErrExit means that the editor sent exit without shutdown: the exit status is to be 1 (LSP 3.17,
// exit notification).
var ErrExit = errors.New("the editor sent exit before shutdown")

// Run serves one editor until it sends exit or closes stdin, or until the context ends.
func Run(ctx context.Context, cfg Config) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := newServer(ctx, cfg)
	ended := make(chan error, 1)
	go func() { ended <- s.conn.read(ctx, cfg.In, s.handle) }()
	select {
	case err := <-ended:
		if errors.Is(err, io.EOF) {
			s.conn.drain(drainTime)
			return nil
		}
		if errors.Is(err, errExit) && s.isShutdown() {
			return nil
		}
		if errors.Is(err, errExit) {
			return ErrExit
		}
		return err
	case <-ctx.Done():
		return nil
	}
}
