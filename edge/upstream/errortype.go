package upstream

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"syscall"

	"github.com/iconedge/iconedge/cachepolicy"
)

// errorTypes are the types of errors (RFC 9209, section 2.3), by an error in the chain. The first
// that fits is the type.
var errorTypes = []struct {
	is  error
	typ cachepolicy.ProxyError
}{
	{ErrBusy, cachepolicy.ConnectionLimitReached},
	{ErrOpen, cachepolicy.DestinationUnavailable},
	{ErrRefused, cachepolicy.ProxyConfigurationError},
	{ErrRequest, cachepolicy.HTTPRequestError},
	{ErrTooLarge, cachepolicy.HTTPResponseBodySize},
	{errLongHead, cachepolicy.HTTPResponseHeaderSectionSize},
	{errNoAddress, cachepolicy.DNSError},
	{errIdle, cachepolicy.ConnectionReadTimeout},
	{syscall.ECONNREFUSED, cachepolicy.ConnectionRefused},
	{syscall.EHOSTUNREACH, cachepolicy.DestinationUnroutable},
	{syscall.ENETUNREACH, cachepolicy.DestinationUnroutable},
	{syscall.ECONNRESET, cachepolicy.ConnectionTerminated},
	{syscall.EPIPE, cachepolicy.ConnectionTerminated},
	{errLost, cachepolicy.ConnectionTerminated},
	{io.ErrUnexpectedEOF, cachepolicy.HTTPResponseIncomplete},
}

// TypeOf returns the type of an error of this package (RFC 9209, section 2.3).
func TypeOf(err error) cachepolicy.ProxyError {
	if name, ok := errors.AsType[*net.DNSError](err); ok {
		if name.IsTimeout {
			return cachepolicy.DNSTimeout
		}
		return cachepolicy.DNSError
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return cachepolicy.TLSCertificateError
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return cachepolicy.TLSProtocolError
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		switch {
		case op.Op == "remote error": // as crypto/tls calls an alert
			return cachepolicy.TLSAlertReceived
		case op.Op == "dial" && op.Timeout():
			return cachepolicy.ConnectionTimeout
		}
	}
	for _, row := range errorTypes {
		if errors.Is(err, row.is) {
			return row.typ
		}
	}
	switch classOf(err) {
	case ErrTimeout:
		return cachepolicy.HTTPResponseTimeout
	case ErrUnreachable:
		return cachepolicy.DestinationUnavailable
	}
	return cachepolicy.HTTPProtocolError
}
