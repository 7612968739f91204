# Varnish in front of an origin that may fail, as a careful operator would configure it: bodies are held until they are complete,
# stale responses are served, a failure is cached for a second and never replaces a good response, and the deadlines are those of
# iconedge.
vcl 4.1;

backend origin {
	.host = "127.0.0.1";
	.port = "{{.OriginPort}}";
	.connect_timeout = 3s;
	.first_byte_timeout = 10s;
	.between_bytes_timeout = 10s;
}

sub vcl_backend_response {
	set beresp.do_stream = false;
	set beresp.grace = 10m;
	if (beresp.status >= 500 || beresp.status == 429) {
		if (bereq.is_bgfetch) {
			return (abandon);
		}
		set beresp.ttl = 1s;
		set beresp.grace = 0s;
		return (deliver);
	}
	if (beresp.status >= 400) {
		set beresp.ttl = 5s;
		set beresp.grace = 0s;
	}
}

sub vcl_backend_error {
	if (bereq.is_bgfetch) {
		return (abandon);
	}
	set beresp.ttl = 1s;
	set beresp.grace = 0s;
}
