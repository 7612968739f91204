# Varnish with its built-in rules. The parameters on its command line are the suite's: no freshness lifetime unless the origin states one.
vcl 4.1;

backend default {
	.host = "127.0.0.1";
	.port = "{{.OriginPort}}";
}
