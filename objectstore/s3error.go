package objectstore

import (
	"fmt"
	"net/http"
	"strings"
	"unicode"
)

// s3Failure translates an error of S3 ("Error responses" in Amazon's API reference lists the
// codes). For errors about credentials it omits the message of the service, which may contain some
// of them, and passes on only the code.
func s3Failure(status int, code, message string, anonymous bool) error {
	code = oneLine(code)
	switch {
	case code == "NoSuchKey":
		return ErrNotExist
	case code == "NoSuchBucket":
		return ErrNoBucket
	case isDenied(status, code) && anonymous:
		return fmt.Errorf("%w: no credentials in the AWS environment variables or files", ErrDenied)
	case isDenied(status, code):
		return fmt.Errorf("%w (%s)", ErrDenied, code)
	case code == "AuthorizationHeaderMalformed" || code == "InvalidRegion":
		return fmt.Errorf("%w (%s): give the bucket's region in the address", ErrDenied, code)
	case code == "ObjectParentIsFile" || code == "ExistingObjectIsDirectory" || // versitygw
		code == "XMinioParentIsObject" || code == "XMinioObjectExistsAsDirectory": // MinIO
		return fmt.Errorf("%w: an object can't be the folder of another", ErrKey)
	case status >= http.StatusInternalServerError || status == http.StatusTooManyRequests || status == http.StatusRequestTimeout:
		return fmt.Errorf("%w: it answered %d (%s)", ErrUnreachable, status, code)
	}
	return fmt.Errorf("the endpoint answered %d (%s): %s", status, code, oneLine(message))
}

// isDenied reports whether the service refused the credentials. Expired ones cause a 400 instead of
// a 403, and an access key that versitygw does not know causes a 404.
func isDenied(status int, code string) bool {
	switch code {
	case "ExpiredToken", "InvalidToken", "TokenRefreshRequired", "XAdminUserNotFound":
		return true
	}
	return status == http.StatusUnauthorized || status == http.StatusForbidden
}

// oneLine makes a service's message fit for a log line: without control characters, and at most 200
// characters long.
func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, s)
	if runes := []rune(s); len(runes) > 200 {
		s = string(runes[:200]) + "…"
	}
	return s
}
