#define _GNU_SOURCE
#include "unit/server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "io/http.h"

uint8_t server_data[SERVER_DATA];

static char dir[] = "/tmp/fineweb-http-XXXXXX";
static pid_t server;
static unsigned port, second;

int64_t server_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void server_put(const char *name, const void *bytes, size_t n, off_t size)
{
	char path[300];
	snprintf(path, sizeof path, "%s/%s", dir, name);
	FILE *f = fopen(path, "wb");
	if (f == NULL || (n > 0 && fwrite(bytes, 1, n, f) != n) || fclose(f) != 0 || truncate(path,
											      size) != 0) {
		perror(path);
		exit(99);
	}
}

const char *server_folder(void)
{
	/* A proxy of the environment is not what is tested. */
	setenv("no_proxy", "*", 1);
	if (mkdtemp(dir) == NULL)
		exit(99);
	for (uint32_t i = 0, x = 1; i < SERVER_DATA; i++, x = x * 1664525 + 1013904223)
		server_data[i] = (uint8_t)(x >> 24);
	server_put("data.bin", server_data, SERVER_DATA, SERVER_DATA);
	server_put("small.bin", server_data, 100, 100);
	server_put("empty.bin", server_data, 0, 0);
	server_put("big.bin", server_data, 0, HTTP_WHOLE + 1);
	return dir;
}

bool server_start_faults(void)
{
	int out[2];
	char script[4096], log[300], text[100] = "";
	const char *top = getenv("srcdir");
	snprintf(script, sizeof script, "%s/tests/faultserver.py", top == NULL ? "." : top);
	snprintf(log, sizeof log, "%s/log", dir);
	if (pipe(out) != 0)
		return false;
	server = fork();
	if (server == 0) {
		dup2(out[1], 1);
		close(out[0]);
		execlp("python3", "python3", script, dir, "--log", log, "--with-parent", (char *)NULL);
		_exit(127);
	}
	close(out[1]);
	FILE *f = fdopen(out[0], "r");
	bool up = f != NULL && fgets(text, sizeof text, f) != NULL && sscanf(text, "port %u", &port) == 1;
	if (f != NULL)
		fclose(f);
	return up;
}

/* A socket bound to a free port of the loopback; connects to one instead when *at is not 0. */
static int loopback(unsigned *at)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons((uint16_t)*at) };
	socklen_t n = sizeof a;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	int r = *at != 0 ? connect(fd, (struct sockaddr *)&a, n) : bind(fd, (struct sockaddr *)&a, n);
	if (r == 0 && *at == 0 && getsockname(fd, (struct sockaddr *)&a, &n) == 0)
		*at = ntohs(a.sin_port);
	if (r == 0)
		return fd;
	close(fd);
	return -1;
}

static void nginx_configure(const char *more)
{
	char block[1000] = "", text[3000];
	const char *mark = strstr(more, "%u");
	if (mark != NULL)
		snprintf(block, sizeof block, "%.*s%u%s", (int)(mark - more), more, second, mark + 2);
	int n = snprintf(text, sizeof text,
			 "daemon off; master_process off; pid %s/nginx.pid; error_log %s/nginx.log;\n"
			 "events { worker_connections 64; }\n"
			 "http { access_log off; gzip on; gzip_types *; gzip_min_length 1; etag on;\n"
			 "client_body_temp_path %s/b; proxy_temp_path %s/p; fastcgi_temp_path %s/f;\n"
			 "uwsgi_temp_path %s/u; scgi_temp_path %s/s;\n"
			 "server { listen 127.0.0.1:%u; root %s;\n"
			 "location /norange/ { alias %s/; max_ranges 0; }\n"
			 "location /away/ { return 307 http://127.0.0.1:%u/data.bin; } }\n"
			 "%s }\n", dir, dir, dir, dir, dir, dir, dir, port, dir, dir, port, block);
	server_put("nginx.conf", text, (size_t)n, n);
}

bool server_start_nginx(const char *more)
{
	char path[300];
	port = second = 0;
	int one = loopback(&port), two = loopback(&second);
	close(one);
	close(two);
	nginx_configure(more);
	snprintf(path, sizeof path, "%s/nginx.conf", dir);
	server = fork();
	if (server == 0) {
		int null = open("/dev/null", O_WRONLY);
		dup2(null, 2);
		execlp("nginx", "nginx", "-c", path, (char *)NULL);
		execl("/usr/sbin/nginx", "nginx", "-c", path, (char *)NULL);
		_exit(127);
	}
	for (int i = 0; i < 200; i++) {
		int fd = loopback(&port);
		if (fd >= 0) {
			close(fd);
			return true;
		}
		if (waitpid(server, NULL, WNOHANG) == server) {
			server = 0;
			break;
		}
		nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
	}
	return false;
}

const char *server_url(const char *fault, const char *name)
{
	static _Thread_local char text[600];
	snprintf(text, sizeof text, "http://127.0.0.1:%u/%s%s%s", port, fault, fault[0] != '\0' ? "/" : "",
		 name);
	return text;
}

unsigned server_second_port(void)
{
	return second;
}

void server_end(void)
{
	char command[300];
	if (server > 0) {
		kill(server, SIGTERM);
		waitpid(server, NULL, 0);
	}
	snprintf(command, sizeof command, "rm -rf '%s'", dir);
	if (system(command) != 0)
		exit(99);
}
