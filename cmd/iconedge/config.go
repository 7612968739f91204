package main

import (
	"cmp"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/iconedge/iconedge/config"
	"github.com/iconedge/iconedge/config/convert"
	"github.com/iconedge/iconedge/config/flags"
	siterules "github.com/iconedge/iconedge/config/rules"
	"github.com/iconedge/iconedge/edge"
	"github.com/iconedge/iconedge/internal/certs"
	"github.com/iconedge/iconedge/internal/cli"
)

const configHelp = `
Checks a configuration file of an edge, prints its JSON Schema, explains its decision about one request, prints flags and their
environment, or a configuration of nginx, as a file, or makes a running edge read its file again.

  iconedge config check edge.yaml
  iconedge config schema > iconedge.schema.json
  iconedge config explain edge.yaml https://shop.example.org/static/app.js -H "Cookie: session=1" --json
  iconedge config convert --proxy-all --origin http://10.0.0.5:3000 > edge.yaml
  iconedge config convert --from nginx /etc/nginx/nginx.conf > edge.yaml
  iconedge config reload --admin 127.0.0.1:8082

check prints one line a finding, FILE:LINE: FIELD: the error; the correct form, and exits with status 2 if there is one. Warnings go
to stderr and keep the status 0. It accepts a file with which an edge would start in this environment: variables of flags count.

convert --from nginx translates what it can keep exactly, and prints the other lines with their reasons to stderr. Requests that a
line may protect which it can't translate get a 503 (REFUSED) until you write a rule for them.`

func configure(ctx context.Context, std cli.Streams, args []string) error {
	action := ""
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		action, args = args[0], args[1:]
	}
	switch action {
	case "check":
		return configCheck(std, args)
	case "schema":
		return configSchema(std, args)
	case "explain":
		return configExplain(std, args)
	case "convert":
		return configConvert(std, args)
	case "reload":
		return configReload(ctx, std, args)
	case "":
		fs := iconedge.Flags("config", "", configHelp)
		if err := fs.Parse(std, args); err != nil {
			return err
		}
	}
	return cli.Usage("iconedge config takes check FILE, schema, explain FILE URL, convert or reload; see iconedge config --help")
}

// edgeFlags returns the flags of an edge with their defaults.
func edgeFlags() *flag.FlagSet {
	fs := iconedge.Flags("edge", "", "")
	var cfg edge.Config
	cfg.Flags(fs.FlagSet)
	logFlags(fs, cli.Streams{Out: os.Stdout, Err: os.Stderr})
	return fs.FlagSet
}

func configCheck(std cli.Streams, args []string) error {
	fs := iconedge.Flags("config check", "FILE", configHelp)
	if err := fs.Parse(std, args); err != nil {
		return err
	}
	if fs.NArg() != 1 {
		return cli.Usage("iconedge config check takes one FILE")
	}
	var cfg edge.Config
	values := iconedge.Flags("edge", "", "")
	cfg.Flags(values.FlagSet)
	logger := logFlags(values, std)
	if err := values.Environment(os.LookupEnv); err != nil {
		return err
	}
	loaded, err := useFile(std, values, &cfg, fs.Arg(0))
	if err != nil {
		return err
	}
	wrong := unusable(loaded.File, time.Now())
	if len(wrong) == 0 { // else the certificates would be reported twice
		_, err := logger()
		wrong = refused(loaded.File, errors.Join(err, cfg.Validate()))
	}
	if len(wrong) > 0 {
		return report(std, loaded, wrong)
	}
	return nil
}

// flagName matches the name of a flag in an error.
var flagName = regexp.MustCompile(`--([a-z0-9-]+)`)

// refused returns findings about the settings of a file that an edge refuses when it starts. Each
// is at the first place of the flags that its text names.
func refused(f *config.File, err error) (all config.Findings) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range joined.Unwrap() {
			all = append(all, refused(f, one)...)
		}
		return all
	}
	if err == nil {
		return nil
	}
	place := "file"
	for _, name := range flagName.FindAllStringSubmatch(err.Error(), -1) {
		if at := flags.Place(name[1]); f.Has(at) {
			place = at
			break
		}
	}
	return config.Findings{f.Find(place, cli.OneLine(err))}
}

// unusable returns findings about the certificates of sites that can't be used. An edge reads them
// when it opens its listeners, and flags can take their place, so reading the file does not.
func unusable(f *config.File, now time.Time) (all config.Findings) {
	for _, s := range f.Sites {
		if s.TLS.Cert == "" {
			continue
		}
		if _, err := certs.Open([]certs.Pair{{Cert: s.TLS.Cert, Key: s.TLS.Key}}, x509.ExtKeyUsageServerAuth, now); err != nil {
			all = append(all, f.Find(s.At+".tls", cli.OneLine(err)+"; must be the readable files of a certificate and its key"))
		}
	}
	return all
}

// loadFile reads a configuration file. It prints warnings, and the findings of a wrong file, of
// which the error is a summary.
func loadFile(std cli.Streams, name string) (*flags.Loaded, error) {
	loaded, err := flags.Load(name, edgeFlags)
	return loaded, report(std, loaded, err)
}

func configSchema(std cli.Streams, args []string) error {
	fs := iconedge.Flags("config schema", "", configHelp)
	if err := fs.Parse(std, args); err != nil {
		return err
	}
	text, err := config.Schema(flags.Options(edgeFlags))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(std.Out, "%s\n", text)
	return err
}

// headers are the values of -H.
type headers http.Header

func (h headers) String() string { return "" }

func (h headers) Set(line string) error {
	name, value, ok := strings.Cut(line, ":")
	if !ok || !config.IsToken(name) {
		return errors.New(`must be a field such as "Cookie: session=1"`)
	}
	http.Header(h).Add(name, strings.TrimSpace(value))
	return nil
}

func (h headers) Repeatable() bool { return false }

func configExplain(std cli.Streams, args []string) error {
	fs := iconedge.Flags("config explain", "FILE URL", configHelp)
	method := fs.String("X", http.MethodGet, "`METHOD` of the request")
	fields := headers{}
	fs.Var(fields, "H", "`FIELD` of the request, such as \"Cookie: session=1\"; may be repeated")
	client := fs.String("client", "127.0.0.1", "`ADDRESS` of the client")
	asJSON := fs.Bool("json", false, "print JSON")
	if err := fs.Parse(std, args); err != nil {
		return err
	}
	if fs.NArg() != 2 {
		return cli.Usage("iconedge config explain takes FILE and URL")
	}
	addr, err := netip.ParseAddr(*client)
	if err != nil {
		return cli.Usage("--client must be an address, such as 192.0.2.1")
	}
	u, err := url.Parse(fs.Arg(1))
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.Fragment != "" {
		return cli.Usage("the URL must be http://HOST/PATH or https://HOST/PATH, without a fragment")
	}
	loaded, err := loadFile(std, fs.Arg(0))
	if err != nil {
		return err
	}
	e, err := siterules.Explain(loaded.Table, u, siterules.Request{Method: *method, Client: addr,
		Header: http.Header(fields), Now: time.Now()})
	if err != nil {
		return cli.Usage(err.Error())
	}
	if !*asJSON {
		_, err = std.Out.Write([]byte(e.Text()))
		return err
	}
	out := json.NewEncoder(std.Out)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	return out.Encode(e)
}

// useFile sets the settings of an edge by a configuration file, which it returns.
func useFile(std cli.Streams, fs *cli.Flags, cfg *edge.Config, name string) (*flags.Loaded, error) {
	given := flags.Given(fs.FlagSet)
	delete(given, flags.File)
	values := iconedge.Flags("edge", "", "") // as they were given: Apply changes the others
	var of edge.Config
	of.Flags(values.FlagSet)
	logFlags(values, std)
	for flag := range given {
		for _, one := range flags.Texts(fs.Lookup(flag)) {
			if err := values.Set(flag, one); err != nil {
				return nil, err
			}
		}
	}
	load := func() (*flags.Loaded, error) {
		loaded, err := flags.Load(name, edgeFlags)
		if err != nil {
			return nil, err
		}
		return loaded, loaded.Override(values.FlagSet, given)
	}
	loaded, err := load()
	if err := report(std, loaded, err); err != nil {
		return nil, err
	}
	if err := loaded.Apply(fs.FlagSet, given); err != nil {
		return nil, cli.Usage(cli.OneLine(err))
	}
	cfg.Load = load
	return loaded, fs.Strict(os.Environ())
}

// report prints the warnings of a file, or its findings, of which the error is a summary.
func report(std cli.Streams, loaded *flags.Loaded, err error) error {
	var findings config.Findings
	switch {
	case errors.As(err, &findings):
		for _, f := range findings {
			fmt.Fprintln(std.Err, f)
		}
		return cli.ErrReported
	case err != nil:
		return cli.Usage(cli.OneLine(err))
	}
	for _, w := range loaded.Warnings {
		fmt.Fprintln(std.Err, "warning:", w)
	}
	return nil
}

func configConvert(std cli.Streams, args []string) error {
	fs := iconedge.Flags("config convert", "[FILE]", configHelp)
	var cfg edge.Config
	cfg.Flags(fs.FlagSet)
	logFlags(fs, std)
	from := fs.String("from", "", "`nginx`: translate the file of nginx that is the argument, in place of flags")
	if err := fs.Parse(std, args); err != nil {
		return err
	}
	switch {
	case *from == "nginx" && fs.NArg() == 1:
		return convertNginx(std, fs.Arg(0))
	case *from != "":
		return cli.Usage("iconedge config convert --from takes nginx and one FILE")
	case fs.NArg() > 0:
		return cli.Usage("iconedge config convert takes no FILE without --from nginx")
	}
	text, err := flags.Convert(fs.FlagSet, flags.Given(fs.FlagSet))
	if err != nil {
		return err
	}
	if _, err := flags.Parse("converted", text, edgeFlags); err != nil {
		return cli.Usage(cli.OneLine(err))
	}
	_, err = std.Out.Write(text)
	return err
}

// convertNginx prints a file of nginx as one of sites, and the lines that it leaves out.
func convertNginx(std cli.Streams, name string) error {
	text, notes, err := convert.Nginx(name)
	count := map[convert.Kind]int{}
	for _, n := range notes {
		fmt.Fprintln(std.Err, n)
		count[n.Kind]++
	}
	if err != nil {
		return cli.Usage(cli.OneLine(err))
	}
	if loaded, err := flags.Parse("converted", text, edgeFlags); err != nil {
		return report(std, loaded, err)
	}
	if len(notes) > 0 {
		fmt.Fprintf(std.Err, "%d lines left out, %d changed, %d refused\n", count[convert.LeftOut], count[convert.Changed],
			count[convert.Refused])
	}
	_, err = std.Out.Write(text)
	return err
}

func configReload(ctx context.Context, std cli.Streams, args []string) error {
	fs := iconedge.Flags("config reload", "", configHelp)
	call := adminFlags(fs)
	if err := fs.Parse(std, args); err != nil {
		return err
	}
	var answer struct {
		SHA256, Detail string
		Findings       []string
	}
	status, err := call.do(ctx, http.MethodPost, "/config/reload", &answer)
	if err != nil {
		return err
	}
	if status != http.StatusOK {
		for _, line := range answer.Findings {
			fmt.Fprintln(std.Err, line)
		}
		return errors.New(cmp.Or(answer.Detail, http.StatusText(status)))
	}
	_, err = fmt.Fprintln(std.Out, answer.SHA256)
	return err
}
