package edge

import (
	"encoding/json"
	"net/http"

	"github.com/iconedge/iconedge/edge/library"
	"github.com/iconedge/iconedge/edge/routes"
	"github.com/iconedge/iconedge/edge/upstream"
	"github.com/iconedge/iconedge/icon"
)

// tokenCheck returns a function that asks the origin for its verdict on a token. Any response
// without a verdict is an error, and its errors are problems for the client. It sends the secret
// between tiers by the rule of sendsSecret.
func (o *fetcher) tokenCheck(l *library.Library, proxyAll bool) func(token string) (plan string, valid bool, err error) {
	return func(token string) (plan string, valid bool, err error) {
		return o.checkToken(token, !proxyAll || l.HasRelease())
	}
}

// checkToken asks the origin for its verdict on a token. Any response without a verdict is an
// error, and its errors are problems for the client.
func (o *fetcher) checkToken(token string, sendTierSecret bool) (plan string, valid bool, err error) {
	body, err := json.Marshal(map[string]string{"token": token})
	if err != nil {
		return "", false, err
	}
	header := http.Header{"Accept-Encoding": {"identity"}, "Content-Type": {"application/json"}}
	a, err := o.fetchWhole(nil, upstream.Request{Method: http.MethodPost, Target: routes.VerifyPath, Header: header, Body: body, SendTierSecret: sendTierSecret, StrictLength: true})
	if err != nil {
		return "", false, err
	}
	var said struct {
		icon.VerifyAnswer
		Valid *bool `json:"valid"`
	}
	if a.Status != http.StatusOK || json.Unmarshal(a.Content, &said) != nil || said.Valid == nil {
		return "", false, failed(a.Response)
	}
	return said.Plan, *said.Valid, nil
}
