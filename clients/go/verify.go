package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
)

// A Verdict is the API's answer about a token.
type Verdict struct {
	Valid bool
	Plan  string
}

// Verify asks the API about a token. The error of a response that gives no verdict has
// its Status.
func (c *Client) Verify(ctx context.Context, token string) (Verdict, error) {
	body, err := json.Marshal(map[string]string{"token": token})
	if err != nil {
		return Verdict{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/auth/verify", bytes.NewReader(body))
	if err != nil {
		return Verdict{}, unreachable(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, data, err := c.do(req)
	if err != nil {
		return Verdict{}, err
	}
	if resp.StatusCode == http.StatusTooManyRequests {
		return Verdict{}, fault(resp, data, "")
	}
	var v struct {
		Valid *bool
		Plan  string
	}
	if resp.StatusCode != http.StatusOK || json.Unmarshal(data, &v) != nil || v.Valid == nil {
		return Verdict{}, &Error{Status: resp.StatusCode,
			Sentence: fmt.Sprintf("The icon service gave no valid answer (status %d).", resp.StatusCode)}
	}
	return Verdict{*v.Valid, v.Plan}, nil
}
