package apps

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"os"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/iconedge/iconedge/test/harness"
)

// A tab is one of a headless browser of the visit.
type tab struct {
	*testing.T
	ctx context.Context
}

func chromiumVersion(t *testing.T) string { return versionOf(t, harness.Browser(t), "--version") }

// browse opens a headless browser. It accepts every certificate, because it reads no file of
// authorities.
func browse(t *testing.T, more ...chromedp.ExecAllocatorOption) tab {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(harness.Browser(t)), chromedp.WindowSize(800, 800),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("ignore-certificate-errors", true),
		chromedp.Flag("autoplay-policy", "no-user-gesture-required"), chromedp.WSURLReadTimeout(time.Minute))
	options = append(options, more...)
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	ctx, cancel := context.WithTimeout(t.Context(), harness.Longest)
	t.Cleanup(cancel)
	ctx, end := chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(end)
	ctx, stop := chromedp.NewContext(ctx)
	t.Cleanup(stop)
	return tab{t, ctx}
}

// do runs an action in the tab and returns its result.
func do[T any](b tab, a chromedp.Action[T]) T {
	b.Helper()
	got, err := chromedp.Run(b.ctx, a)
	if err != nil {
		b.Fatal(err)
	}
	return got
}

func (b tab) open(address string) {
	b.Helper()
	do(b, chromedp.Navigate(address))
}

// until waits until a JavaScript expression is true. It is false while it throws, as in a page that
// has not arrived.
func (b tab) until(expression string) {
	b.Helper()
	if !harness.WaitFor(func() bool {
		return do(b, chromedp.Evaluate[bool]("(() => { try { return !!("+expression+") } catch { return false } })()"))
	}) {
		b.Fatalf("never: %s; the page is\n%s", expression, do(b, chromedp.Evaluate[string]("document.documentElement.outerHTML")))
	}
}

// text returns the value of a JavaScript expression.
func (b tab) text(expression string) string {
	b.Helper()
	return do(b, chromedp.Evaluate[string](expression))
}

// trust returns a configuration with the authority of a file.
func trust(t *testing.T, file string) *tls.Config {
	t.Helper()
	pem, err := os.ReadFile(file)
	pool := x509.NewCertPool()
	if err != nil || !pool.AppendCertsFromPEM(pem) {
		t.Fatalf("reading the authority: %v", err)
	}
	return &tls.Config{RootCAs: pool}
}
