package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/iconedge/iconedge/internal/cli"
	"github.com/iconedge/iconedge/objectstore"
	"github.com/iconedge/iconedge/origin/publish"
)

const publishHelp = `
Builds a release of an icon library and makes it current; the store's readers see the old or the new release, never a mixture.
SOURCE is the folder of @iconify/json or of one @iconify-json/PACK, a folder of SVGs with a pack.json or a
package.json, a folder that has such a folder for each pack, or npm:NAME@VERSION, a package of npm in one of these forms.
KEY=SOURCE gives its pack that key. Names of files become valid names: arrow_back.svg is arrow-back, and arrow_back its
alias. Icons that can't be cleaned are left out and reported. A pack that can't be published does not stop the others; the
exit status is then 1. The output lists the packs and icons that are added, changed and removed. You can stop the command at
any moment; the next run continues.

  iconedge publish tools/library/node_modules/@iconify/json my-icons
  iconedge publish npm:lucide-static@1.62.0 tabler-icons=npm:@tabler/icons
  iconedge publish --init my-icons/brand
  iconedge publish --store 's3://icons?endpoint=10.0.0.9:9000&tls=false' --keep 10 my-icons
  iconedge publish --dry-run my-icons
  iconedge publish --list
  iconedge publish --rollback 5b1c7f0e`

func publishRelease(ctx context.Context, std cli.Streams, args []string) error {
	fs := iconedge.Flags("publish", "SOURCE…", publishHelp)
	store := storeFlag(fs)
	keep := fs.Int("keep", publish.DefaultKeep, "`number` of releases to keep, including the current one")
	dry := fs.Bool("dry-run", false, "do everything except writing to the store")
	removal := fs.Bool("allow-removal", false, "publish although a pack, or more than 5 % of the icons, of the current release are missing")
	rollback := fs.Bool("rollback", false, "make an earlier release current: the one before the current one, or the "+
		"one with the ID that is given in place of SOURCE")
	verbose := fs.Bool("verbose", false, "name the icons of folders that are recoloured by default, multicoloured, or changed by "+
		"cleaning, as --dry-run does")
	list := fs.Bool("list", false, "list the stored releases")
	var tags cli.List
	fs.Var(&tags, "tags", "`folder` of an npm package whose tags the search learns too, besides the lexicon of the "+
		"program; none leaves that out; may be repeated")
	folders := fs.String("folders", publish.FoldersSuffix, "what the folders within a pack add to the names of its icons, unless its "+
		"pack.json says it: suffix (outline/home.svg is home-outline), prefix (outline-home), ignore (home), or packs (each folder "+
		"is a pack of its own, KEY-outline)")
	strict := fs.Bool("strict-names", false, "leave out icons whose names are not lower-case letters, digits and single hyphens, "+
		"instead of mending the names")
	failFast := fs.Bool("fail-fast", false, "publish nothing if a pack can't be published")
	initialise := fs.Bool("init", false, "write a pack.json into the folder SOURCE from its package.json, its LICENSE file and its "+
		"name, for review, and publish nothing")
	work := fs.String("work", "", "`folder` for temporary files; the finished packs of a publication that ends early "+
		"stay there for the next one (default that of the system, where none stay)")
	if err := fs.Parse(std, args); err != nil {
		return err
	}
	bucket, err := objectstore.Address(*store)
	switch {
	case err != nil:
		return cli.Usage("--store: " + cli.OneLine(err))
	case *keep < 1:
		return cli.Usage("--keep must be at least 1")
	case *list && (*rollback || *dry || fs.NArg() > 0):
		return cli.Usage("--list takes no SOURCE, --rollback or --dry-run")
	case *rollback && (*dry || fs.NArg() > 1):
		return cli.Usage("--rollback takes at most the ID of one release, and no --dry-run; iconedge publish --list lists releases")
	case !slices.Contains(publish.Layouts, *folders):
		return cli.Usage("--folders must be " + strings.Join(publish.Layouts, ", "))
	case *initialise && (*list || *rollback || *dry || fs.NArg() != 1):
		return cli.Usage("--init takes one folder, and no --list, --rollback or --dry-run")
	case *initialise:
		return initFolder(ctx, std, fs.Arg(0))
	case *list:
		return listReleases(ctx, std, bucket)
	case *rollback:
		return rollBack(ctx, std, bucket, fs.Arg(0))
	case fs.NArg() == 0:
		return cli.Usage("publish needs a SOURCE; see iconedge publish --help")
	}
	sum, err := publish.Publish(ctx, publish.Options{
		Sources: fs.Args(), Store: bucket, Tags: tags, Keep: *keep, DryRun: *dry, AllowRemoval: *removal, Work: *work,
		Folders: *folders, StrictNames: *strict, FailFast: *failFast,
		Now: time.Now(), Progress: publish.NewProgress(std.Err),
	})
	if errors.Is(err, publish.ErrNoSource) {
		return cli.Usage(cli.OneLine(err))
	}
	if sum.Release != "" {
		sum.Verbose = *verbose
		if err := sum.Write(std.Out); err != nil {
			return err
		}
	}
	if errors.Is(err, publish.ErrNoPackFile) {
		fmt.Fprintf(std.Err, "A pack.json has these lines, with the licence of your icons:\n%s", publish.PackFileExample)
	}
	// After an interruption the exit says only that it has stopped.
	if errors.Is(err, context.Canceled) && errors.Is(err, publish.ErrKept) {
		fmt.Fprintf(std.Err, "%s: %v\n", *work, publish.ErrKept)
	}
	if errors.Is(err, publish.ErrRemoval) && len(sum.Failed) == 0 {
		return cli.Usage(cli.OneLine(err))
	}
	return err
}

// initFolder writes a pack.json and shows it.
func initFolder(ctx context.Context, std cli.Streams, folder string) error {
	d, err := publish.Init(ctx, folder)
	if errors.Is(err, publish.ErrNoSource) {
		return cli.Usage(cli.OneLine(err))
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(std.Out, "%swritten to %s, for %d SVG files\n", d.Content, d.Path, d.Icons)
	for _, point := range d.Review {
		fmt.Fprintf(std.Out, "review    %s\n", point)
	}
	return nil
}

func rollBack(ctx context.Context, std cli.Streams, bucket objectstore.Bucket, id string) error {
	now, err := publish.Rollback(ctx, bucket, id, time.Now())
	if errors.Is(err, publish.ErrNoRelease) {
		return cli.Usage(cli.OneLine(err))
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(std.Out, "release %s is current again\n", now.ID)
	return err
}

func listReleases(ctx context.Context, std cli.Streams, bucket objectstore.Bucket) error {
	kept, damaged := publish.List(ctx, bucket)
	if len(kept) == 0 && damaged != nil {
		return damaged
	}
	w := tabwriter.NewWriter(std.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "RELEASE\tCREATED\tPACKS\tICONS\tCURRENT")
	for _, k := range kept {
		current := ""
		if k.Current {
			current = "current"
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%s\n", k.ID, k.Created.UTC().Format(time.RFC3339), k.Packs, k.Icons, current)
	}
	return errors.Join(w.Flush(), damaged)
}
