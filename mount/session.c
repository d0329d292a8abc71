#define _GNU_SOURCE
#include "mount/session.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/log.h"
#include "mount/channel.h"
#include "mount/mountpoint.h"
#include "mount/operations.h"
#include "mount/ready.h"

struct session {
	const struct cmdline *line;
	char *place; /* absolute path of the mountpoint */
	struct fuse_session *fuse;
	struct server server;
	struct ready ready;
	pthread_t loop;
	atomic_bool stop;    /* a signal asked to end */
	atomic_bool looping; /* the loop thread may be interrupted */
	atomic_bool ended;   /* the watching thread should end */
	bool busy;           /* a thread still works on facts or texts and may not lose the dataset under it */
};

/* libfuse's last complaint, which is the cause of a mount that fails; kept while there is one thread. */
static char complaint[256];
static bool serving;

__attribute__((format(printf, 2, 0))) static void log_of_fuse(enum fuse_log_level level, const char *format,
                                                              va_list args)
{
	char line[256];
	if (vsnprintf(line, sizeof line, format, args) < 0)
		return;
	line[strcspn(line, "\n")] = 0;
	if (level > FUSE_LOG_INFO)
		log_debug("%s", line);
	else if (level > FUSE_LOG_ERR)
		log_warning("%s", line);
	else if (serving)
		log_error("%s", line);
	else
		memcpy(complaint, line, sizeof complaint);
}

static int add_argument(struct fuse_args *args, const char *text)
{
	return fuse_opt_add_arg(args, "-o") == 0 && fuse_opt_add_arg(args, text) == 0 ? 0 : -ENOMEM;
}

static int fuse_arguments(const struct cmdline *c, struct fuse_args *args)
{
	char text[64], *names = NULL;
	int r = fuse_opt_add_arg(args, "fineweb") == 0 ? 0 : -ENOMEM;
	snprintf(text, sizeof text, "ro,nosuid,nodev,default_permissions,max_read=%d", READ_MAX);
	r |= add_argument(args, text);
	if (c->allow_other || (geteuid() == 0 && !c->allow_root))
		r |= add_argument(args, "allow_other");
	if (c->allow_root)
		r |= add_argument(args, "allow_root");
	if (c->auto_unmount)
		r |= add_argument(args, "auto_unmount");
	if (c->noexec)
		r |= add_argument(args, "noexec");
	if (c->noatime)
		r |= add_argument(args, "noatime");
	if (asprintf(&names, "subtype=fineweb,fsname=%s", c->device) < 0)
		names = NULL;
	r |= names == NULL ? -ENOMEM : add_argument(args, names);
	free(names);
	return r == 0 ? 0 : -ENOMEM;
}

static int mount_session(struct session *s, struct error *err)
{
	struct fuse_args args = FUSE_ARGS_INIT(0, NULL);
	int r = 0;
	fuse_set_log_func(log_of_fuse);
	s->server.uid = getuid();
	s->server.gid = getgid();
	s->server.calls = calls_new();
	s->server.page = aligned_alloc(4096, READ_MAX);
	if (s->server.calls == NULL || s->server.page == NULL || fuse_arguments(s->line, &args) != 0) {
		r = fail(err, ENOMEM, "no memory for the mount");
		goto out;
	}
	s->fuse = fuse_session_new(&args, &operations, sizeof operations, &s->server);
	if (s->fuse == NULL) {
		r = fail(err, EINVAL, "libfuse: %s", complaint);
		goto out;
	}
	if (fuse_session_mount(s->fuse, s->place) != 0)
		r = fail(err, EPERM, "mount on %s failed%s%s", s->place, complaint[0] != 0 ? ": " : "",
		         complaint);
out:
	fuse_opt_free_args(&args);
	return r;
}

static void wake(int signal_number)
{
	(void)signal_number;
}

/* Waits for the signals that end a mount. The loop thread may be between looking whether it should end and
 * reading the next request, so it is woken until it has seen it. */
static void *watch(void *arg)
{
	struct session *s = arg;
	sigset_t set;
	int signal_number;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	while (sigwait(&set, &signal_number) != 0)
		;
	if (!atomic_load(&s->ended))
		log_info("signal %d: unmounting %s", signal_number, s->place);
	atomic_store(&s->stop, true);
	fuse_session_exit(s->fuse);
	while (!atomic_load(&s->ended)) {
		if (atomic_load(&s->looping))
			pthread_kill(s->loop, SIGUSR1);
		nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
	}
	return NULL;
}

static int start_watch(struct session *s, pthread_t *thread, struct error *err)
{
	struct sigaction none = { .sa_handler = wake }, ignore = { .sa_handler = SIG_IGN };
	sigset_t set;
	sigaction(SIGUSR1, &none, NULL);
	sigaction(SIGPIPE, &ignore, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	s->loop = pthread_self();
	int r = pthread_create(thread, NULL, watch, s);
	return r == 0 ? 0 : fail(err, r, "thread: %s", strerror(r));
}

/* Every shard may be an open file. */
static void raise_files(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

/* Reads and answers one request. False when the session is over. */
static bool serve_one(struct session *s, struct fuse_buf *buf)
{
	int n = fuse_session_receive_buf(s->fuse, buf);
	if (n == -EINTR)
		return true;
	if (n < 0)
		log_error("%s: reading a request: %s", s->place, strerror(-n));
	if (n <= 0)
		return false;
	fuse_session_process_buf(s->fuse, buf);
	calls_reap(s->server.calls);
	return true;
}

/* The kernel has INIT ready at once; answered before all else, readahead can be set and a mount that the
 * kernel does not like fails early. */
static int shake_hands(struct session *s, struct fuse_buf *buf, struct error *err)
{
	if (!serve_one(s, buf) || (fuse_session_exited(s->fuse) && !atomic_load(&s->stop)))
		return fail(err, EPROTO, "%s: the kernel and libfuse do not agree, the log says more",
		            s->place);
	if (!mountpoint_read_ahead(s->place, READ_MAX / 1024))
		log_debug("%s: readahead stays at the kernel's default, only root can raise it", s->place);
	return 0;
}

static int exit_code_of(const struct error *err)
{
	return err->code == ENOMEM || err->code == EMFILE || err->code == ENFILE ? EXIT_SYSTEM
	                                                                         : EXIT_NOT_MOUNTED;
}

static int step_ahead(void *ahead)
{
	return ahead_step(ahead);
}

static void announce_options(const struct session *s, const struct options *o)
{
	struct buffer text = { 0 };
	char number[24];
	for (size_t i = 0; i < option_count; i++) {
		const char *value = options_text(o, option_definitions[i].name, number, sizeof number);
		if (value != NULL && buffer_printf(&text, " %s=%s", option_definitions[i].name, value) != 0)
			break;
	}
	log_debug("%s: options%s", s->place, text.at == NULL ? "" : (const char *)text.at);
	buffer_free(&text);
}

static void announce(const struct session *s, struct dataset *d)
{
	struct dataset_facts facts;
	dataset_facts(d, &facts);
	log_info("%s is mounted on %s", s->line->device, s->place);
	/* With -f stderr has it already. */
	if (s->line->sample && !s->line->foreground)
		log_warning("%s: no source is named: this is the bundled sample", s->place);
	if (facts.options->list == LIST_COUNTED)
		log_info("%s: listings end where counting has come to (list=counted)", s->place);
	for (size_t i = 0; i < facts.pins && i < 8; i++)
		log_info("%s: source=%s", s->place, facts.pinned[i]);
	announce_options(s, facts.options);
}

/* Opens, tells that it is ready, answers until the end. */
static int serve(struct session *s, struct error *err)
{
	struct fuse_buf buf = { .mem = NULL };
	struct dataset *d = NULL;
	int r = channel_open(s->fuse, err);
	if (r != 0)
		goto out;
	r = shake_hands(s, &buf, err);
	if (r != 0)
		goto out;
	r = dataset_open(&s->line->options, s->line->sample, &s->stop, &d, err);
	if (r != 0)
		goto out;
	r = tree_new(d, s->place, &s->server.tree, err);
	if (r != 0)
		goto out;
	r = ahead_new(s->server.tree, &s->server.ahead, err);
	if (r != 0)
		goto out;
	channel_idle(step_ahead, s->server.ahead);
	calls_serve(s->server.calls, d, s->server.tree, s->server.page);
	if (!ready_tell(&s->ready, EXIT_MOUNTED, NULL)) {
		r = fail(err, EINTR, "whoever mounted %s is gone", s->place);
		goto out;
	}
	announce(s, d);
	atomic_store(&s->looping, true);
	while (!fuse_session_exited(s->fuse) && serve_one(s, &buf))
		;
	atomic_store(&s->looping, false);
	s->busy = !calls_end(s->server.calls);
out:
	free(buf.mem);
	channel_idle(NULL, NULL);
	ahead_free(s->server.ahead);
	/* Every request is answered by then, so that no late answer meets a descriptor that means another
	 * file. */
	if (d != NULL && !s->busy) {
		dataset_close(d);
		tree_free(s->server.tree);
	}
	return r;
}

/* The daemon, or the only process with -f. */
static int run(struct session *s, struct error *err)
{
	pthread_t watcher;
	log_open(!s->line->foreground, s->line->debug ? LOG_LEVEL_DEBUG : LOG_LEVEL_INFO);
	raise_files();
	/* The parent passes on the signals of its terminal until the daemon is ready. */
	if (!s->line->foreground && (setsid() < 0 || chdir("/") != 0))
		log_warning("the daemon stays in the session and folder in which it was started");
	serving = true;
	int r = start_watch(s, &watcher, err);
	if (r == 0) {
		r = serve(s, err);
		atomic_store(&s->ended, true);
		pthread_kill(watcher, SIGTERM);
		pthread_join(watcher, NULL);
	}
	fuse_session_unmount(s->fuse);
	if (r != 0)
		log_error("%s: %s", s->place, err->text);
	else
		log_info("%s is unmounted", s->place);
	int code = r == 0 ? EXIT_MOUNTED : exit_code_of(err);
	if (s->busy)
		_exit(code);
	return code;
}

int session_run(const struct cmdline *c, struct error *err)
{
	/* Static, because the parent leaves all of it to the child without taking it apart: that would
	 * unmount. */
	static struct session s;
	int code = EXIT_MOUNTED;
	s = (struct session){ .line = c, .ready = { .pipe = -1 } };
	if (mountpoint_prepare(c->mountpoint, &s.place, err) != 0)
		return exit_code_of(err);
	if (mount_session(&s, err) != 0) {
		code = exit_code_of(err);
		goto out;
	}
	if (c->foreground) {
		code = run(&s, err);
		err->text[0] = 0;
	} else if (ready_fork(&s.ready, err) != 0) {
		fuse_session_unmount(s.fuse);
		code = EXIT_SYSTEM;
	} else if (s.ready.child > 0) {
		return ready_wait(&s.ready, EXIT_NOT_MOUNTED, err);
	} else {
		code = run(&s, err);
		ready_tell(&s.ready, code, err);
	}
out:
	if (s.fuse != NULL)
		fuse_session_destroy(s.fuse);
	calls_free(s.server.calls);
	free(s.server.page);
	free(s.place);
	return code;
}
