# Varnish before an origin that may fail, as a careful operator has it: bodies are held until they are whole, stale answers are used, a
# failure is remembered for a second and never takes a good answer's place, deadlines as iconedge has them.
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
