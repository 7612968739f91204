package problem

import (
	"net/http"
	"strings"
)

// A ProxyError is the type of an error of a proxy (RFC 9209, section 2.3).
type ProxyError string

// The types of errors that this proxy has.
const (
	DNSTimeout                    ProxyError = "dns_timeout"
	DNSError                      ProxyError = "dns_error"
	DestinationUnavailable        ProxyError = "destination_unavailable"
	DestinationUnroutable         ProxyError = "destination_ip_unroutable"
	ConnectionRefused             ProxyError = "connection_refused"
	ConnectionTerminated          ProxyError = "connection_terminated"
	ConnectionTimeout             ProxyError = "connection_timeout"
	ConnectionReadTimeout         ProxyError = "connection_read_timeout"
	ConnectionLimitReached        ProxyError = "connection_limit_reached"
	TLSProtocolError              ProxyError = "tls_protocol_error"
	TLSCertificateError           ProxyError = "tls_certificate_error"
	TLSAlertReceived              ProxyError = "tls_alert_received"
	HTTPRequestError              ProxyError = "http_request_error"
	HTTPRequestDenied             ProxyError = "http_request_denied"
	HTTPResponseIncomplete        ProxyError = "http_response_incomplete"
	HTTPResponseHeaderSectionSize ProxyError = "http_response_header_section_size"
	HTTPResponseBodySize          ProxyError = "http_response_body_size"
	HTTPResponseTimeout           ProxyError = "http_response_timeout"
	HTTPUpgradeFailed             ProxyError = "http_upgrade_failed"
	HTTPProtocolError             ProxyError = "http_protocol_error"
	ProxyInternalResponse         ProxyError = "proxy_internal_response"
	ProxyInternalError            ProxyError = "proxy_internal_error"
	ProxyConfigurationError       ProxyError = "proxy_configuration_error"
	ProxyLoopDetected             ProxyError = "proxy_loop_detected"
)

// OfType sets the type of the error for Proxy-Status, and returns p.
func (p *Problem) OfType(e ProxyError) *Problem {
	p.proxyError = e
	return p
}

// ProxyError returns the type of the error. A problem without one has that of its status.
func (p *Problem) ProxyError() ProxyError {
	switch {
	case p.proxyError != "":
		return p.proxyError
	case p.Status >= http.StatusInternalServerError:
		return ProxyInternalError
	case p.Status == http.StatusUnauthorized, p.Status == http.StatusForbidden, p.Status == http.StatusTooManyRequests:
		return HTTPRequestDenied
	}
	return HTTPRequestError
}

// maxDetails bounds the details of a Proxy-Status, in bytes.
const maxDetails = 256

// ProxyStatus returns the field Proxy-Status of the answer (RFC 9209, section 2), such as
// "iconedge; error=dns_error". node is the name of the proxy, of letters, digits and ._-; details
// adds the cause, for a client that the operator trusts.
func (p *Problem) ProxyStatus(node string, details bool) string {
	if !details || p.Err == nil {
		return name(node) + "; error=" + string(p.ProxyError())
	}
	text := strings.Map(func(r rune) rune {
		if ' ' <= r && r < 0x7f {
			return r
		}
		return -1
	}, p.Err.Error())
	text = escaped.Replace(text[:min(len(text), maxDetails)])
	return name(node) + "; error=" + string(p.ProxyError()) + `; details="` + text + `"`
}

// escaped escapes the text of a string (RFC 9651, section 3.3.3).
var escaped = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// name returns the name of a proxy as a token, or as a string if it does not begin with a letter
// (RFC 9651, section 3.3.4).
func name(node string) string {
	if c := node[0] | 0x20; 'a' <= c && c <= 'z' {
		return node
	}
	return `"` + node + `"`
}
