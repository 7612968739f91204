package cachepolicy

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

// ProxyStatus is one proxy's member of the field Proxy-Status (RFC 9209, section 2).
type ProxyStatus struct {
	Proxy   string // its name, of letters, digits and ._-; empty: iconedge
	Error   ProxyError
	Details string // about the error, as text; all but visible ASCII and spaces is removed
}

// maxDetails bounds the details of a member, in bytes.
const maxDetails = 256

// AppendProxyStatus appends the member, such as "iconedge; error=dns_error", to dst.
func AppendProxyStatus(dst []byte, s ProxyStatus) []byte {
	switch {
	case s.Proxy == "":
		dst = append(dst, "iconedge"...)
	case isLetter(s.Proxy[0]):
		dst = append(dst, s.Proxy...)
	default: // a token begins with a letter (RFC 9651, section 3.3.4)
		dst = appendString(dst, s.Proxy)
	}
	if s.Error != "" {
		dst = append(append(dst, "; error="...), s.Error...)
	}
	if s.Details != "" {
		dst = appendString(append(dst, "; details="...), s.Details[:min(len(s.Details), maxDetails)])
	}
	return dst
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
