// Package devtools reads from the protocol of a browser's developer tools what the browser sent and
// received. Scripts of a page see decoded contents only.
package devtools

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// A Response is one that came over the network.
type Response struct {
	Coding     string // its Content-Encoding
	Dictionary string // Available-Dictionary of the request, without its colons
	Bytes      int    // of head and content as they were sent
}

// Record begins to record the responses of the tab of ctx. It returns a function that returns the
// first encoded response whose address ends in path, or the zero Response.
func Record(t *testing.T, ctx context.Context) func(path string) Response {
	t.Helper()
	var mu sync.Mutex
	urls, all := map[network.RequestID]string{}, map[network.RequestID]*Response{}
	of := func(id network.RequestID) *Response {
		if all[id] == nil {
			all[id] = new(Response)
		}
		return all[id]
	}
	if err := chromedp.Listen(ctx, func(event any) {
		mu.Lock()
		defer mu.Unlock()
		switch e := event.(type) {
		case *network.EventRequestWillBeSent:
			urls[e.RequestID] = e.Request.URL
		case *network.EventRequestWillBeSentExtraInfo:
			of(e.RequestID).Dictionary = strings.Trim(field(e.Headers, "Available-Dictionary"), ":")
		case *network.EventResponseReceivedExtraInfo:
			of(e.RequestID).Coding = field(e.Headers, "Content-Encoding")
		case *network.EventLoadingFinished:
			of(e.RequestID).Bytes = int(e.EncodedDataLength)
		}
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Run(ctx, chromedp.Navigate("about:blank")); err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(ctx, network.Enable, network.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	return func(path string) Response {
		mu.Lock()
		defer mu.Unlock()
		for id, url := range urls {
			if strings.HasSuffix(url, path) && of(id).Coding != "" {
				return *of(id)
			}
		}
		return Response{}
	}
}

func field(h network.Headers, name string) string {
	for one, value := range h {
		if strings.EqualFold(one, name) {
			return fmt.Sprint(value)
		}
	}
	return ""
}
