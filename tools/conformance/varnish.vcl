# Varnish with its built-in rules; the parameters on its command line are the suite's own: no life where the origin states none.
vcl 4.1;

backend default {
	.host = "127.0.0.1";
	.port = "{{.OriginPort}}";
}
