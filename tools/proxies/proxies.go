package main

import "net/http"

var proxies = []proxy{
	{
		// The VCL is the built-in one, as in Debian's default.vcl.
		name: "varnish", program: "varnishd", debian: "varnish", version: "-V",
		args: []string{
			"-F", "-j", "none", "-n", "{dir}/work", "-a", "127.0.0.1:{port}", "-b", "{backend}", "-s", "malloc,16m",
			"-p", "first_byte_timeout=1",
		},
	},
	nginx("nginx, error_page 504 =503", "error_page 504 =503 /down.html;",
		"location = /down.html { internal; root {dir}; add_header Retry-After 5 always; }"),
	// A static file is not for POST.
	nginx("nginx, error_page 504 @down", "error_page 504 @down;",
		"location @down { root {dir}; rewrite ^ /down.html break; }"),
	nginx("nginx", "", ""),
	{
		name: "Apache, 503 with Retry-After", program: "apache2", debian: "apache2", version: "-v",
		args: []string{"-DFOREGROUND", "-d", "{dir}", "-f", "{dir}/apache.conf"},
		files: map[string]string{"apache.conf": `
ServerName localhost
Listen 127.0.0.1:{port}
PidFile {dir}/pid
DefaultRuntimeDir {dir}
ErrorLog {dir}/error.log
LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
LoadModule headers_module /usr/lib/apache2/modules/mod_headers.so
LoadModule proxy_module /usr/lib/apache2/modules/mod_proxy.so
LoadModule proxy_http_module /usr/lib/apache2/modules/mod_proxy_http.so
LoadModule rewrite_module /usr/lib/apache2/modules/mod_rewrite.so
ProxyPass /down !
ProxyPass / http://{backend}/ timeout=1 retry=0
ErrorDocument 502 /down
ErrorDocument 504 /down
RewriteEngine on
RewriteRule ^/down$ - [R=503,L]
Header always set Retry-After 5 "expr=%{REQUEST_STATUS} -ge 500"
`},
	},
	{
		name: "HAProxy", program: "haproxy", debian: "haproxy", version: "-v",
		args: []string{"-db", "-f", "{dir}/haproxy.cfg"},
		files: map[string]string{"haproxy.cfg": `
defaults
	mode http
	option dontlognull
	timeout connect 5000
	timeout client 50000
	timeout server 1000
	errorfile 503 /etc/haproxy/errors/503.http
	errorfile 504 /etc/haproxy/errors/504.http
frontend api
	bind 127.0.0.1:{port}
	default_backend service
backend service
	server service {backend}
`},
	},
	hitch(http.StatusUnauthorized), hitch(http.StatusRequestEntityTooLarge),
}

func hitch(refuses int) proxy {
	return proxy{
		name: "hitch", program: "hitch", debian: "hitch", version: "--version", refuses: refuses,
		args: []string{"--config={dir}/hitch.conf"},
		files: map[string]string{"hitch.conf": `
frontend = "[127.0.0.1]:{port}"
backend = "[127.0.0.1]:{backend-port}"
pem-file = "{dir}/pair.pem"
{root} user = "nobody"
{root} group = "nogroup"
`},
	}
}

// nginx has a configuration with further settings of its location /, and the location of its page.
func nginx(name, besides, page string) proxy {
	return proxy{
		name: name, program: "nginx", debian: "nginx-light", version: "-v",
		args: []string{"-p", "{dir}", "-c", "{dir}/nginx.conf", "-e", "{dir}/error.log"},
		files: map[string]string{
			"down.html": "<html><title>Down</title></html>",
			"nginx.conf": `
daemon off; worker_processes 1; {root} user root;
pid {dir}/pid; error_log {dir}/error.log;
events {}
http {
	access_log off;
	client_body_temp_path {dir}/body; proxy_temp_path {dir}/proxy; fastcgi_temp_path {dir}/fastcgi;
	uwsgi_temp_path {dir}/uwsgi; scgi_temp_path {dir}/scgi;
	server {
		listen 127.0.0.1:{port};
		location / { proxy_pass http://{backend}; proxy_read_timeout 1s; ` + besides + ` }
		` + page + `
	}
}
`,
		},
	}
}
