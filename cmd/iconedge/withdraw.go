package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"text/tabwriter"
	"time"

	"github.com/iconedge/iconedge/internal/cli"
	"github.com/iconedge/iconedge/objectstore"
	"github.com/iconedge/iconedge/origin/publish"
	"github.com/iconedge/iconedge/origin/withdrawal"
)

const withdrawHelp = `
Withdraws an icon with its aliases, or a whole pack, in every release that the store has or will have. Within 10 s all
origins and edges answer 410 for it and leave it out of lists and search. Copies in browsers live until their max-age, a
day by default, ends. The store keeps who withdrew what, when and why; clients are not told the reason.

  iconedge withdraw mdi/home --reason "request 2026-17"
  iconedge withdraw mdi/home --undo
  iconedge withdraw --list`

func withdraw(ctx context.Context, std cli.Streams, args []string) error {
	fs := iconedge.Flags("withdraw", "PACK/NAME|PACK", withdrawHelp)
	store := storeFlag(fs)
	reason := fs.String("reason", "", "`text` for the record, such as the number of a request")
	by := fs.String("by", "", "`name` of the person for the record (default the user and the machine)")
	undo := fs.Bool("undo", false, "end the withdrawal")
	listed := fs.Bool("list", false, "list all withdrawals, those that were undone too")
	if err := fs.Parse(std, args); err != nil {
		return err
	}
	target := fs.Arg(0)
	if fs.NArg() > 1 {
		return cli.Usage("iconedge withdraw takes one icon or pack; see iconedge withdraw --help")
	}
	if (target == "") != *listed || *listed && *undo {
		return cli.Usage("iconedge withdraw takes PACK/NAME or PACK, or --list; see iconedge withdraw --help")
	}
	bucket, err := objectstore.Address(*store)
	if err != nil {
		return cli.Usage(cli.OneLine(err))
	}
	if *listed {
		return listWithdrawals(ctx, std, bucket)
	}
	now := time.Now().UTC()
	if *by == "" {
		*by = person()
	}
	did := "withdrawn"
	if *undo {
		did = "withdrawal ended"
		err = withdrawal.Undo(ctx, bucket, target, *by, now)
	} else {
		err = withdrawal.Withdraw(ctx, bucket, target, *reason, *by, now)
	}
	switch {
	case errors.Is(err, withdrawal.ErrTarget):
		return cli.Usage(cli.OneLine(err))
	case errors.Is(err, withdrawal.ErrAlready):
		fmt.Fprintln(std.Err, err)
		return nil
	case err != nil:
		return err
	}
	if !*undo {
		warnUnknown(ctx, std, bucket, target)
	}
	_, err = fmt.Fprintf(std.Out, "%s %s target=%s by=%q reason=%q\n", now.Format(time.RFC3339), did, target, *by, *reason)
	return err
}

// warnUnknown warns of a target that no release has, because the operator may have mistyped it. The
// withdrawal stands, for the releases to come.
func warnUnknown(ctx context.Context, std cli.Streams, bucket objectstore.Bucket, target string) {
	known, err := publish.Contains(ctx, bucket, target)
	switch {
	case err != nil:
		fmt.Fprintf(std.Err, "iconedge: %s is withdrawn, but the releases in the store can't be read, so it is not "+
			"known whether one has it: %s\n", target, cli.OneLine(err))
	case !known:
		fmt.Fprintf(std.Err, "iconedge: no release in the store has %s, so nothing changes now; check the name, and "+
			"end a mistaken withdrawal with --undo\n", target)
	}
}

// person returns USER@MACHINE.
func person() string {
	name, machine := "unknown", "unknown"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if h, err := os.Hostname(); err == nil {
		machine = h
	}
	return name + "@" + machine
}

func listWithdrawals(ctx context.Context, std cli.Streams, bucket objectstore.Bucket) error {
	items, err := withdrawal.Load(ctx, bucket)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(std.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "TARGET\tWITHDRAWN\tBY\tUNDONE\tBY\tREASON")
	for _, i := range items {
		undoneBy := i.UndoneBy
		if undoneBy == "" {
			undoneBy = "-"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", i.Target(), i.At.Format(time.RFC3339), i.By, orDash(i.UndoneAt), undoneBy, i.Reason)
	}
	return w.Flush()
}
