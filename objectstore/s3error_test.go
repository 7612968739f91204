package objectstore

import (
	"errors"
	"strings"
	"testing"
)

func TestS3Failure(t *testing.T) {
	for _, c := range []struct {
		status    int
		code      string
		anonymous bool
		want      error
	}{
		{404, "NoSuchKey", false, ErrNotExist},
		{404, "NoSuchKey", true, ErrNotExist},
		{404, "NoSuchBucket", false, ErrNoBucket},
		{403, "AccessDenied", false, ErrDenied},
		{403, "SignatureDoesNotMatch", false, ErrDenied},
		{403, "InvalidAccessKeyId", false, ErrDenied},
		{403, "RequestTimeTooSkewed", false, ErrDenied},
		{403, "AccessDenied", true, ErrDenied},
		{400, "ExpiredToken", false, ErrDenied}, // not a 403
		{400, "AuthorizationHeaderMalformed", false, ErrDenied},
		{409, "ObjectParentIsFile", false, ErrKey},
		{429, "TooManyRequests", false, ErrUnreachable},
		{500, "InternalError", false, ErrUnreachable},
		{503, "SlowDown", true, ErrUnreachable},
		{400, "EntityTooLarge", false, nil},
		{301, "PermanentRedirect", false, nil},
	} {
		err := s3Failure(c.status, c.code, "several\r\nlines "+strings.Repeat("ä", 5000), c.anonymous)
		for _, kind := range []error{ErrNotExist, ErrNoBucket, ErrDenied, ErrKey, ErrUnreachable, ErrChanged} {
			if errors.Is(err, kind) != (kind == c.want) {
				t.Errorf("%d %s: %v, want %v alone", c.status, c.code, err, c.want)
			}
		}
		if len(err.Error()) > 600 || strings.ContainsAny(err.Error(), "\r\n") {
			t.Errorf("%d %s: %q is longer than a log line", c.status, c.code, err)
		}
		if c.want == ErrDenied && strings.Contains(err.Error(), "several") {
			t.Errorf("%d %s: %q repeats the service's message about credentials", c.status, c.code, err)
		}
	}
}
