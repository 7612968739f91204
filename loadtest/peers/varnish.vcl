# Varnish by its built-in rules, which keep what an icon's Cache-Control says. The storage and the threads are set by its flags.
vcl 4.1;

backend origin {
	.host = "{{.OriginHost}}";
	.port = "{{.OriginPort}}";
	.max_connections = 64;
}
