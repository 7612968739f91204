package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/iconedge/iconedge/internal/cli"
	"github.com/iconedge/iconedge/objectstore"
	"github.com/iconedge/iconedge/origin/token"
)

const tokenHelp = `
Issues, revokes and lists licence tokens. A token is printed once, alone on stdout, and stored nowhere: the store has its hash.

  iconedge token issue --plan lifetime
  iconedge token revoke iel_…            (the token, or its hash as list shows it)
  iconedge token list`

func tokens(ctx context.Context, std cli.Streams, args []string) error {
	what := ""
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		what, args = args[0], args[1:]
	}
	usage := map[string]string{"revoke": "TOKEN"}[what]
	fs := iconedge.Flags(strings.TrimSpace("token "+what), usage, tokenHelp)
	store := storeFlag(fs)
	plan := "lifetime"
	var valid time.Duration
	switch what {
	case "issue":
		fs.StringVar(&plan, "plan", plan, "`name` of the plan that the token grants")
		fs.DurationVar(&valid, "valid", 0, "how long the token is valid, such as 8760h (default forever)")
	case "revoke", "list", "":
	default:
		return cli.Usage("iconedge token takes issue, revoke or list; see iconedge token --help")
	}
	if err := fs.Parse(std, args); err != nil {
		return err
	}
	bucket, err := objectstore.Address(*store)
	if err != nil {
		return cli.Usage(cli.OneLine(err))
	}
	now := time.Now().UTC()
	switch {
	case what == "issue" && fs.NArg() == 0:
		return issueToken(ctx, std, bucket, plan, valid, now)
	case what == "revoke" && fs.NArg() == 1:
		return asUsage(token.Revoke(ctx, bucket, fs.Arg(0), now))
	case what == "list" && fs.NArg() == 0:
		return listTokens(ctx, std, bucket)
	}
	return cli.Usage("iconedge token takes issue, revoke TOKEN or list; see iconedge token --help")
}

func issueToken(ctx context.Context, std cli.Streams, bucket objectstore.Bucket, plan string, valid time.Duration, now time.Time) error {
	var until *time.Time
	if valid < 0 {
		return cli.Usage("--valid must be a positive duration")
	}
	if valid > 0 {
		end := now.Add(valid)
		until = &end
	}
	t, err := token.Issue(ctx, bucket, plan, until, now)
	if err != nil {
		return asUsage(err)
	}
	_, err = fmt.Fprintln(std.Out, t)
	return err
}

// asUsage turns the error for a malformed plan or token into a wrong call.
func asUsage(err error) error {
	if errors.Is(err, token.ErrPlan) || errors.Is(err, token.ErrForm) {
		return cli.Usage(cli.OneLine(err))
	}
	return err
}

func listTokens(ctx context.Context, std cli.Streams, bucket objectstore.Bucket) error {
	w := tabwriter.NewWriter(std.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "HASH\tPLAN\tSINCE\tUNTIL\tREVOKED")
	for r, err := range token.List(ctx, bucket) {
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", r.Hash, r.Plan, r.Since.Format(time.RFC3339), orDash(r.Until), orDash(r.Revoked))
	}
	return w.Flush()
}

func orDash(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return t.Format(time.RFC3339)
}
