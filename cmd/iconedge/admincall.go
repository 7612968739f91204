package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/iconedge/iconedge/internal/admin"
	"github.com/iconedge/iconedge/internal/cli"
	"github.com/iconedge/iconedge/internal/hostport"
)

// An adminCall calls the admin listener of an edge.
type adminCall struct{ address, tokenFile *string }

// adminFlags adds the flags of an adminCall.
func adminFlags(fs *cli.Flags) adminCall {
	return adminCall{fs.String("admin", "127.0.0.1:8082", "`HOST:PORT` of the admin listener of the edge"),
		fs.String("admin-token-file", "", "`file` of its admin token (default none)")}
}

// do sends a request. The response has at most a megabyte of JSON, which do decodes into answer
// whatever its status is.
func (c adminCall) do(ctx context.Context, method, target string, answer any) (status int, err error) {
	if err := hostport.Check("--admin", *c.address); err != nil {
		return 0, cli.Usage(err.Error())
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, "http://"+*c.address+target, nil)
	if err != nil {
		return 0, err
	}
	if *c.tokenFile != "" {
		tokens, err := admin.ReadTokens(*c.tokenFile)
		if err != nil {
			return 0, cli.Usage("--admin-token-file: " + err.Error())
		}
		req.Header.Set("Authorization", "Bearer "+tokens[0])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(answer); err != nil {
		return 0, errors.New("the admin listener answered " + resp.Status + " without JSON")
	}
	return resp.StatusCode, nil
}

// get decodes the response to a GET, unless it is a problem, which is then the error.
func (c adminCall) get(ctx context.Context, target string, answer any) error {
	var body json.RawMessage
	status, err := c.do(ctx, http.MethodGet, target, &body)
	if err != nil {
		return err
	}
	if status != http.StatusOK {
		var p struct{ Detail string }
		if err := json.Unmarshal(body, &p); err != nil || p.Detail == "" {
			p.Detail = "the admin listener answered " + http.StatusText(status)
		}
		return errors.New(p.Detail)
	}
	return json.Unmarshal(body, answer)
}
