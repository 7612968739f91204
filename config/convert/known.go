package convert

// translated are the directives whose meaning the package keeps, or of which it says in its notes
// what it does not keep.
var translated = set("listen", "server_name", "location", "proxy_pass", "return", "rewrite", "set", "if", "add_header",
	"proxy_cache", "proxy_cache_valid", "proxy_cache_bypass", "proxy_no_cache", "proxy_ignore_headers", "proxy_cache_key",
	"proxy_cache_use_stale", "proxy_set_header", "proxy_hide_header", "proxy_read_timeout", "proxy_intercept_errors",
	"expires", "auth_basic", "auth_basic_user_file",
	"allow", "deny", "satisfy", "limit_req", "limit_req_zone", "limit_req_status", "limit_except", "client_max_body_size", "gzip",
	"error_page", "root", "alias", "index", "try_files", "autoindex", "internal", "upstream", "server", "default_type",
	"ssl_certificate", "ssl_certificate_key", "ssl", "map", "geo", "http")

// harmless are the directives that neither protect anything nor change responses, and why an edge
// does without them.
var harmless = func() map[string]string {
	all := map[string]string{}
	for why, names := range map[string][]string{
		"the edge manages processes, connections and memory itself": {"user", "worker_processes", "worker_rlimit_nofile",
			"worker_cpu_affinity", "worker_priority", "worker_shutdown_timeout", "pid", "events", "load_module", "daemon",
			"master_process", "pcre_jit", "thread_pool", "timer_resolution", "sendfile", "sendfile_max_chunk", "tcp_nopush",
			"tcp_nodelay", "aio", "directio", "output_buffers", "keepalive_timeout", "keepalive_requests", "keepalive_time",
			"keepalive_disable", "reset_timedout_connection", "lingering_close", "lingering_time", "lingering_timeout",
			"types_hash_max_size", "types_hash_bucket_size", "server_names_hash_bucket_size", "server_names_hash_max_size",
			"variables_hash_max_size", "variables_hash_bucket_size", "map_hash_bucket_size", "map_hash_max_size",
			"proxy_headers_hash_max_size", "proxy_headers_hash_bucket_size", "large_client_header_buffers",
			"client_header_buffer_size", "client_body_buffer_size", "client_body_temp_path", "client_body_in_file_only",
			"client_body_in_single_buffer", "client_header_timeout", "client_body_timeout", "send_timeout", "resolver",
			"resolver_timeout", "open_file_cache", "open_file_cache_valid", "open_file_cache_min_uses", "open_file_cache_errors",
			"postpone_output", "connection_pool_size", "request_pool_size", "max_ranges", "env", "lock_file"},
		"the edge passes requests and bodies on in its own way": {"proxy_http_version", "proxy_buffering",
			"proxy_request_buffering", "proxy_buffers", "proxy_buffer_size", "proxy_busy_buffers_size", "proxy_temp_path",
			"proxy_max_temp_file_size", "proxy_temp_file_write_size", "proxy_connect_timeout", "proxy_send_timeout",
			"proxy_next_upstream", "proxy_next_upstream_tries", "proxy_next_upstream_timeout", "proxy_socket_keepalive",
			"proxy_ignore_client_abort", "proxy_force_ranges", "proxy_ssl_server_name", "proxy_ssl_session_reuse",
			"proxy_ssl_protocols", "proxy_ssl_ciphers", "proxy_bind", "proxy_pass_header", "proxy_pass_request_headers"},
		"the edge passes Location and cookies of the origin on as they are; let the origin use public addresses": {"proxy_redirect",
			"proxy_cookie_domain", "proxy_cookie_path", "proxy_cookie_flags"},
		"the edge verifies certificates of origins": {"proxy_ssl_verify", "proxy_ssl_trusted_certificate", "proxy_ssl_verify_depth",
			"proxy_ssl_name"},
		"the cache of the edge is set by cache.memory and cache.disk": {"proxy_cache_path", "proxy_cache_methods",
			"proxy_cache_min_uses", "proxy_cache_lock", "proxy_cache_lock_timeout", "proxy_cache_lock_age",
			"proxy_cache_revalidate", "proxy_cache_background_update", "proxy_cache_max_range_offset", "proxy_cache_convert_head",
			"slice", "proxy_store", "proxy_store_access"},
		"the edge chooses types, levels and lengths itself": {"gzip_types", "gzip_min_length", "gzip_comp_level", "gzip_proxied",
			"gzip_vary", "gzip_disable", "gzip_buffers", "gzip_http_version", "gzip_static", "gunzip", "brotli", "brotli_types",
			"brotli_comp_level", "brotli_static", "brotli_min_length", "zstd", "zstd_types", "zstd_comp_level"},
		"the access log of the edge is set by access_log, access_log_format and log": {"access_log", "log_format", "log_not_found",
			"log_subrequest", "error_log", "open_log_file_cache", "rewrite_log", "uninitialized_variable_warn"},
		"the edge has TLS settings of its own, HTTP/2, and HTTP/3 by http3": {"ssl_protocols", "ssl_ciphers",
			"ssl_prefer_server_ciphers", "ssl_session_cache", "ssl_session_timeout", "ssl_session_tickets", "ssl_session_ticket_key",
			"ssl_stapling", "ssl_stapling_verify", "ssl_trusted_certificate", "ssl_dhparam", "ssl_ecdh_curve", "ssl_buffer_size",
			"ssl_early_data", "ssl_conf_command", "http2", "http3", "quic_retry", "http2_max_concurrent_streams", "http2_push",
			"http2_push_preload", "http2_recv_buffer_size", "http2_body_preread_size", "http2_chunk_size", "http2_idle_timeout",
			"http2_max_field_size", "http2_max_header_size", "http2_max_requests"},
		"redirects of the edge are relative, and it names no version": {"server_tokens", "absolute_redirect",
			"server_name_in_redirect", "port_in_redirect", "etag", "if_modified_since", "charset", "charset_types", "override_charset",
			"source_charset", "msie_padding", "msie_refresh", "chunked_transfer_encoding", "types", "autoindex_exact_size",
			"autoindex_localtime", "autoindex_format"},
		"the edge counts requests, and not connections": {"limit_conn", "limit_conn_zone", "limit_conn_status",
			"limit_conn_log_level", "limit_req_log_level", "limit_rate", "limit_rate_after"},
		"a server of the upstream is chosen by policy, and its connections are pooled": {"keepalive", "zone", "state"},
		"trusted_proxies says which proxies the edge believes":                         {"real_ip_recursive"},
		"it is not about HTTP": {"stream", "mail"},
		"the edge has no FastCGI, so that nothing reads it": {"fastcgi_param", "fastcgi_index", "fastcgi_split_path_info",
			"fastcgi_buffers", "fastcgi_buffer_size", "fastcgi_read_timeout", "fastcgi_send_timeout", "fastcgi_connect_timeout",
			"fastcgi_hide_header", "fastcgi_intercept_errors", "fastcgi_busy_buffers_size", "fastcgi_temp_file_write_size",
			"fastcgi_request_buffering", "fastcgi_max_temp_file_size", "fastcgi_keep_conn", "fastcgi_cache_path", "fastcgi_cache_key",
			"fastcgi_cache", "fastcgi_cache_valid", "fastcgi_cache_bypass", "fastcgi_no_cache", "fastcgi_cache_use_stale",
			"fastcgi_ignore_headers", "uwsgi_param", "uwsgi_read_timeout", "scgi_param"},
		"the edge adds X-Forwarded-For, -Host and -Proto by itself": {"underscores_in_headers", "ignore_invalid_headers",
			"merge_slashes", "recursive_error_pages"},
	} {
		for _, name := range names {
			all[name] = why
		}
	}
	return all
}()

// hints say what to write in place of directives that protect something, or answer by a program.
var hints = map[string]string{
	"fastcgi_pass":      "the edge speaks no FastCGI; must be a server of HTTP, by proxy_pass",
	"uwsgi_pass":        "the edge speaks no uwsgi; must be a server of HTTP, by proxy_pass",
	"scgi_pass":         "the edge speaks no SCGI; must be a server of HTTP, by proxy_pass",
	"memcached_pass":    "the edge speaks no memcached; must be a server of HTTP, by proxy_pass",
	"grpc_pass":         "must be an origin with urls: [\"h2c://HOST:PORT\"]",
	"auth_request":      "must be auth: {forward: {url: …}} in its rule",
	"auth_jwt":          "must be auth: {jwt: …} in its rule",
	"secure_link":       "must be signed: {…} in its rule, whose signatures have another form",
	"valid_referers":    "must be a match of header Referer in its rule",
	"real_ip_header":    "must be trusted_proxies at the top of the file",
	"set_real_ip_from":  "must be trusted_proxies at the top of the file",
	"ssl_verify_client": "the edge asks clients for no certificates of people",
	"stub_status":       "the admin listener has /metrics",
	"dav_methods":       "a folder takes GET and HEAD alone; must be an origin that speaks WebDAV",
	"mirror":            "must be mirror: {to: ORIGIN} in its rule",
	"sub_filter":        "the edge changes no bodies",
	"split_clients":     "must be origin: {a: 90, b: 10} in its rule",
}

func set(names ...string) map[string]bool {
	all := map[string]bool{}
	for _, name := range names {
		all[name] = true
	}
	return all
}
