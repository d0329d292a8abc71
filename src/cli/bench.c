/* bench: what the machine can do, and what of it arrives. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/log.h"
#include "base/span.h"
#include "cli/arguments.h"
#include "cli/bench_mount.h"
#include "cli/sheet.h"
#include "cli/subcommands.h"
#include "dataset/blocking.h"
#include "dataset/settings.h"
#include "order/epoch.h"
#include "token/decoder.h"
#include "token/tokenizer.h"

#define PART ((size_t)1 << 20)
#define VOCAB 50257

struct bench {
	const struct arguments *arguments;
	const char *where; /* --folder */
	uint64_t size;     /* bytes of the file */
	double seconds;    /* of a measurement */
	char *folder, *path, *mount;
	bool mounted;
	uint64_t known; /* batches of the file */
	int fd;
	uint64_t state; /* of random numbers */
	uint8_t *batch;
	size_t row; /* bytes */
	struct sheet sheet;
	double base; /* bytes a second of raw warm batches, for ratios */
};

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* xorshift64: cheap, and the same on every machine. */
static uint64_t draw(struct bench *b)
{
	b->state ^= b->state << 13;
	b->state ^= b->state >> 7;
	b->state ^= b->state << 17;
	return b->state;
}

/* ---- the file that is read ---- */

static atomic_bool stop;

static void on_signal(int number)
{
	(void)number;
	atomic_store(&stop, true);
}

/* The rest of a measurement that goes on: the time is not over, and nobody wants an end. */
static bool goes_on(const struct bench *b, double seconds)
{
	return seconds < b->seconds && !atomic_load(&stop);
}

static int fill_file(struct bench *b, struct error *err)
{
	uint8_t *part = malloc(PART);
	int r = part == NULL ? fail(err, ENOMEM, "out of memory") : 0;
	for (uint64_t done = 0; done < b->size && r == 0 && !atomic_load(&stop); done += PART) {
		for (size_t i = 0; i < PART; i += 2)
			store_u16(part + i, (uint16_t)(draw(b) % VOCAB));
		if (write(b->fd, part, PART) != (ssize_t)PART)
			r = fail(err, errno != 0 ? errno : EIO, "%s: %s", b->path,
			         strerror(errno != 0 ? errno : EIO));
	}
	free(part);
	if (r == 0 && fsync(b->fd) != 0)
		r = fail(err, errno, "%s: %s", b->path, strerror(errno));
	return r;
}

/* FOLDER/fineweb-bench-XXXXXX with all that is made: the file, a cache, the point of a mount. */
static int make_folder(struct bench *b, struct error *err)
{
	const struct sigaction a = { .sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND };
	if (asprintf(&b->folder, "%s/fineweb-bench-XXXXXX", b->where) < 0) {
		b->folder = NULL;
		return fail(err, ENOMEM, "out of memory");
	}
	if (mkdtemp(b->folder) == NULL) {
		int code = errno;
		free(b->folder);
		b->folder = NULL;
		return fail(err, code, "--folder %s: %s", b->where, strerror(code));
	}
	sigaction(SIGINT, &a, NULL);
	sigaction(SIGTERM, &a, NULL);
	sigaction(SIGHUP, &a, NULL);
	if (asprintf(&b->path, "%s/tokens.bin", b->folder) < 0 ||
	    asprintf(&b->mount, "%s/mount", b->folder) < 0)
		return fail(err, ENOMEM, "out of memory");
	b->fd = open(b->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (b->fd < 0 || mkdir(b->mount, 0700) != 0)
		return fail(err, errno, "%s: %s", b->folder, strerror(errno));
	return fill_file(b, err);
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *where)
{
	(void)st;
	(void)kind;
	(void)where;
	return remove(path);
}

static void remove_folder(struct bench *b)
{
	if (b->mounted)
		bench_unmount(b->mount);
	if (b->fd >= 0)
		close(b->fd);
	if (b->folder != NULL)
		nftw(b->folder, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
	free(b->folder);
	free(b->path);
	free(b->mount);
}

static void drop_pages(struct bench *b)
{
	posix_fadvise(b->fd, 0, 0, POSIX_FADV_DONTNEED);
}

/* ---- one line of the table ---- */

static void add(struct bench *b, const char *key, const char *label, double seconds, double batches)
{
	double bytes = batches * (double)b->arguments->options.batch_size * (double)b->row / seconds;
	char text[SHEET_NUMBER];
	if (b->base == 0)
		b->base = bytes;
	sheet_json(&b->sheet, key,
	           json_pack("{s:f,s:f,s:f}", "microseconds_per_batch", 1e6 * seconds / batches,
	                     "bytes_per_second", bytes, "ratio", bytes / b->base));
	sheet_plain(&b->sheet, "%-42s%9.1f us%12s/s%8.2f", label, 1e6 * seconds / batches,
	            sheet_bytes_text(bytes, text), bytes / b->base);
}

/* ---- raw ---- */

/* Reads rows at random places until the time is over. */
static int raw(struct bench *b, bool cold, const char *key, const char *label, struct error *err)
{
	uint32_t B = b->arguments->options.batch_size;
	uint64_t rows = b->size / b->row;
	double begun, t = 0;
	uint64_t batches = 0;
	if (cold)
		drop_pages(b);
	posix_fadvise(b->fd, 0, 0, POSIX_FADV_RANDOM);
	for (begun = now(); goes_on(b, t); t = now() - begun, batches++)
		for (uint32_t i = 0; i < B; i++)
			if (pread(b->fd, b->batch + i * b->row, b->row, (off_t)(draw(b) % rows * b->row)) !=
			    (ssize_t)b->row)
				return fail(err, EIO, "%s: cannot be read", b->path);
	add(b, key, label, t, (double)batches);
	return 0;
}

/* ---- batches ---- */

static int batches(struct bench *b, struct dataset *d, bool cold, const char *key, const char *label,
                   struct error *err)
{
	struct dataset_object o = { .kind = OBJECT_BATCH };
	struct dataset_facts f;
	double begun, t = 0;
	uint64_t n = 0, known;
	bool final;
	int stopped, r = 0;
	dataset_facts(d, &f);
	dataset_batches_now(d, false, 0, &known, &final, &stopped);
	b->known = known;
	if (cold)
		drop_pages(b);
	/* Cold batches go through the file at most once. */
	for (begun = now(); goes_on(b, t) && r == 0 && (!cold || n < known); t = now() - begun, n++) {
		o.number = cold ? n : n % known;
		r = dataset_read_now(d, &o, 0, b->batch, (size_t)f.batch_bytes);
		if (r == -EAGAIN)
			r = blocking_read(d, &o, 0, b->batch, (size_t)f.batch_bytes, err);
		else if (r != 0)
			fail(err, -r, "%s: %s", b->path, errno_name(-r));
	}
	if (r == 0)
		add(b, key, label, t, (double)n);
	return r;
}

static int bench_batches(struct bench *b, struct error *err)
{
	struct options o;
	struct dataset *d = NULL;
	struct dataset_object all = { .kind = OBJECT_EPOCH };
	char number[24];
	options_init(&o);
	snprintf(number, sizeof number, "%" PRIu32, b->arguments->options.seq_len);
	int r = options_set(&o, "source", b->path, err);
	if (r == 0)
		r = options_set(&o, "seq_len", number, err);
	snprintf(number, sizeof number, "%" PRIu32, b->arguments->options.batch_size);
	if (r == 0)
		r = options_set(&o, "batch_size", number, err);
	if (r == 0)
		r = options_set(&o, "cache", b->folder, err);
	if (r == 0)
		r = dataset_inspect(&o, false, &d, err);
	if (r == 0)
		r = blocking_cover(d, &all, err);
	if (r == 0)
		r = batches(b, d, true, "batches_cold", "batches in order, cold", err);
	if (r == 0)
		r = batches(b, d, false, "batches_warm", "batches in order, warm", err);
	dataset_close(d);
	options_free(&o);
	return r;
}

/* ---- a mount ---- */

/* Reads batches through the mount: new ones, at most as many as there are, or again those before `most`. */
static int through_mount(struct bench *b, bool again, uint64_t *most, const char *key, const char *label,
                         struct error *err)
{
	size_t bytes = b->arguments->options.batch_size * b->row;
	double begun, t = 0;
	uint64_t n = 0;
	int r = 0;
	for (begun = now(); goes_on(b, t) && r == 0 && (again || n < b->known); t = now() - begun, n++)
		r = bench_read(b->mount, again ? n % *most : n, b->batch, bytes, err);
	if (r == 0 && n > 0)
		add(b, key, label, t, (double)n);
	if (!again)
		*most = n;
	return r;
}

static int bench_mounted(struct bench *b, struct error *err)
{
	const struct options *o = &b->arguments->options;
	struct error cause = { 0 };
	char *options = NULL;
	uint64_t read = 0;
	if (asprintf(&options, "config=/dev/null,seq_len=%" PRIu32 ",batch_size=%" PRIu32, o->seq_len,
	             o->batch_size) < 0)
		return fail(err, ENOMEM, "out of memory");
	b->mounted = bench_mount(b->path, b->mount, b->folder, options, &cause) == 0;
	free(options);
	if (!b->mounted) {
		sheet_json(&b->sheet, "mount_first", json_null());
		sheet_json(&b->sheet, "mount_again", json_null());
		sheet_plain(&b->sheet, "through a mount: not measured: %s", cause.text);
		return 0;
	}
	int r = through_mount(b, false, &read, "mount_first", "through a mount, each batch once", err);
	if (r == 0 && read > 0)
		r = through_mount(b, true, &read, "mount_again", "through a mount, again", err);
	bench_unmount(b->mount);
	b->mounted = false;
	return r;
}

/* ---- tokenizer ---- */

/* Text of the source: the first batches, decoded. */
static int read_text(struct bench *b, struct tokenizer *t, struct buffer *text, struct error *err)
{
	struct dataset *d = NULL;
	struct dataset_facts f;
	struct dataset_object o = { .kind = OBJECT_BATCH };
	struct decoder decoder = { 0 };
	uint8_t *ids = NULL;
	int r = dataset_inspect(&b->arguments->options, b->arguments->sample, &d, err);
	if (r != 0)
		return r;
	dataset_facts(d, &f);
	o.epoch = f.options->epoch;
	if ((ids = malloc((size_t)f.batch_bytes)) == NULL)
		r = fail(err, ENOMEM, "out of memory");
	for (; r == 0 && text->n < 32 * PART && !atomic_load(&stop); o.number++) {
		r = blocking_cover(d, &o, err);
		if (r == 0)
			r = blocking_read(d, &o, 0, ids, (size_t)f.batch_bytes, err);
		for (uint64_t i = 0; r == 0 && i < f.batch_bytes; i += f.width) {
			size_t n;
			uint32_t id = f.width == 2 ? load_u16(ids + i) : load_u32(ids + i);
			const uint8_t *bytes = tokenizer_bytes(t, id, &n);
			r = n == 0 || id == (uint32_t)f.options->bos
			            ? 0
			            : decoder_put(&decoder, bytes, n, text, err);
		}
	}
	if (r == -ENOENT && o.number > 0)
		r = decoder_end(&decoder, text, err);
	else if (r == -ENOENT)
		fail(err, ENOENT, "%s: has no batch", f.options->source[0]);
	free(ids);
	dataset_close(d);
	return r;
}

static void add_tokenizer(struct bench *b, const char *key, const char *label, double bytes, double tokens,
                          double seconds)
{
	char text[SHEET_NUMBER];
	sheet_json(&b->sheet, key,
	           json_pack("{s:f,s:f}", "bytes_per_second", bytes / seconds, "tokens_per_second",
	                     tokens / seconds));
	sheet_plain(&b->sheet, "%-42s%7.1f Mt/s%12s/s", label, tokens / seconds / 1e6,
	            sheet_bytes_text(bytes / seconds, text));
}

static int bench_tokenizer(struct bench *b, struct error *err)
{
	const struct options *o = &b->arguments->options;
	struct tokenizer *t = NULL, *fresh = NULL;
	struct encoder *e = NULL;
	struct buffer text = { 0 };
	void *ids = NULL;
	int64_t n = 0;
	int r = tokenizer_open(o->tokenizer, o->pattern, &t, err);
	if (r == 0)
		r = read_text(b, t, &text, err);
	/* What the first tokenizer learned is not the second one's. */
	if (r == 0)
		r = tokenizer_open(o->tokenizer, o->pattern, &fresh, err);
	if (r == 0 && ((e = encoder_new(fresh)) == NULL || (ids = malloc(encoder_bound(text.n) * 4)) == NULL))
		r = fail(err, ENOMEM, "out of memory");
	for (int pass = 0; pass < 2 && r == 0; pass++) {
		double begun = now(), seconds = 0;
		unsigned times = 0;
		do {
			n = encoder_encode(e, text.at, text.n, ids);
			times++;
			seconds = now() - begun;
		} while (n >= 0 && pass == 1 && goes_on(b, seconds));
		if (n < 0)
			r = fail(err, (int)-n, "cannot encode %zu bytes", text.n);
		else
			add_tokenizer(b, pass == 0 ? "tokenizer_first" : "tokenizer_again",
			              pass == 0 ? "tokenizer, one thread, first pass"
			                        : "tokenizer, one thread, again",
			              (double)text.n * times, (double)n * times, seconds);
	}
	free(ids);
	encoder_free(e);
	tokenizer_close(fresh);
	tokenizer_close(t);
	buffer_free(&text);
	return r;
}

/* ---- order ---- */

#define FILES 400      /* of 100,000,000 tokens: the course guide's */
#define FILE_PIECES 96 /* of 2^20 tokens */

static int64_t pieces_of(void *arg, uint32_t file)
{
	(void)arg;
	(void)file;
	return FILE_PIECES;
}

static int64_t sequences_of(void *arg, uint32_t file, uint32_t piece)
{
	(void)file;
	(void)piece;
	return *(const int64_t *)arg;
}

static bool uniform(void *arg, uint32_t file, uint64_t *full)
{
	(void)file;
	*full = (uint64_t) * (const int64_t *)arg;
	return true;
}

static int bench_order(struct bench *b, struct error *err)
{
	const struct options *o = &b->arguments->options;
	int64_t full = (int64_t)max_u64(1, (1u << 20) / o->seq_len);
	const struct order_files files = { .arg = &full,
		                           .files = FILES,
		                           .pieces = pieces_of,
		                           .sequences = sequences_of,
		                           .uniform = uniform };
	const struct order_params p = {
		.seed = 1,
		.seq_len = o->seq_len,
		.world_size = 8,
		.batch_size = o->batch_size,
		.shuffle = SHUFFLE_BLOCK,
		.block = o->block,
		.mix_files = o->mix_files,
	};
	struct order_place *rows = calloc(o->batch_size, sizeof *rows);
	struct order_need need;
	struct epoch *e = NULL;
	bool final;
	double begun = now(), seconds = 0;
	uint64_t n = 0;
	int r = rows == NULL ? fail(err, ENOMEM, "out of memory") : epoch_new(&p, &files, &e, err);
	if (r == 0)
		epoch_cover(e, UINT64_MAX, &need);
	uint64_t known = r == 0 ? epoch_batches(e, &final) : 0;
	double opened = now() - begun;
	for (begun = now(); r == 0 && known > 0 && goes_on(b, seconds); seconds = now() - begun, n++)
		r = epoch_batch(e, (uint32_t)(n % 8), n % known, rows);
	if (r == 0 && n > 0) {
		double ns = 1e9 * seconds / ((double)n * o->batch_size);
		sheet_json(&b->sheet, "order",
		           json_pack("{s:f,s:f}", "nanoseconds_per_row", ns, "seconds_to_count", opened));
		sheet_plain(&b->sheet, "%-42s%9.1f ns a row; 40B tokens counted in %.1f ms", "order", ns,
		            1e3 * opened);
	}
	epoch_free(e);
	free(rows);
	return r;
}

/* ---- all ---- */

static void explain(struct bench *b)
{
	sheet_plain(&b->sheet, "%s",
	            "\nwarm: the file is in memory; cold: read from the disk. pread is what kernel and disk\n"
	            "give, and 1.00; `batches` is what this program makes of it, without a mount; through a\n"
	            "mount is what a trainer gets, `again` from the kernel's memory. The tokenizer's speed\n"
	            "counts where the source is text. `fineweb plan --bench FILE` reads --json.");
}

static int run(struct bench *b, struct error *err)
{
	const struct options *o = &b->arguments->options;
	b->row = ((size_t)o->seq_len + 1) * 2;
	b->batch = malloc(b->row * o->batch_size);
	if (b->batch == NULL)
		return fail(err, ENOMEM, "out of memory for a batch");
	if (b->size < 16 * b->row * o->batch_size)
		return fail(err, EINVAL, "--size %" PRIu64 ": expected 16 batches and more", b->size);
	b->size = ceil_div(b->size, PART) * PART;
	int r = make_folder(b, err);
	sheet_plain(&b->sheet, "batches of %" PRIu32 " x %" PRIu32 " tokens     a batch        bytes   ratio",
	            o->batch_size, o->seq_len + 1);
	if (r == 0)
		r = raw(b, false, "raw_warm", "rows at random from a file (pread), warm", err);
	if (r == 0)
		r = raw(b, true, "raw_cold", "rows at random from a file, cold", err);
	if (r == 0)
		r = bench_batches(b, err);
	if (r == 0)
		r = bench_mounted(b, err);
	remove_folder(b);
	if (r == 0)
		r = bench_tokenizer(b, err);
	if (r == 0)
		r = bench_order(b, err);
	if (r == 0)
		explain(b);
	return atomic_load(&stop) ? fail(err, EINTR, "stopped") : r;
}

int bench_run(int argc, char **argv, struct error *err)
{
	uint64_t seconds = 1;
	bool json = false;
	const char *tmp = getenv("TMPDIR");
	struct bench b = {
		.fd = -1, .size = 256 * PART, .state = 88172645463325252u, .where = tmp != NULL ? tmp : "/tmp"
	};
	const struct flag flags[] = {
		{ "folder", 0, "FOLDER", "where the file is made; default $TMPDIR, /tmp", FLAG_TEXT,
		  &b.where },
		{ "size", 0, "SIZE", "of the file; default 256M", FLAG_SIZE, &b.size },
		{ "seconds", 0, "N", "of each measurement, 1 to 600; default 1", FLAG_COUNT, &seconds },
		{ "json", 0, NULL, "as one JSON object", FLAG_SWITCH, &json },
	};
	const struct command command = {
		.name = "bench",
		.words = "[SOURCE]...",
		.about = "Measures what the machine can do, and what of it arrives: reading rows of a\n"
		         "file of tokens, raw, as batches, and through a mount where one can be made;\n"
		         "tokenising the text of SOURCE; and the order. Takes ten seconds.\n\n",
		.flags = flags,
		.n_flags = sizeof flags / sizeof flags[0],
		.most = SIZE_MAX,
		.sources = true,
	};
	struct tokenizer_info info;
	struct arguments a;
	int r = arguments_read(&command, argc, argv, &a, err);
	b.arguments = &a;
	b.seconds = (double)seconds;
	if (r == 0 && seconds > 600)
		r = fail(err, EINVAL, "--seconds %" PRIu64 ": expected 1 to 600", seconds);
	log_open(false, LOG_LEVEL_ERROR);
	if (r == 0)
		r = tokenizer_info(a.options.tokenizer, a.options.pattern, &info, err);
	if (r == 0)
		r = run(&b, err);
	if (r == 0)
		r = sheet_print(&b.sheet, json, err);
	sheet_free(&b.sheet);
	free(b.batch);
	arguments_free(&a);
	return r == ARGUMENTS_HELP ? 0 : r;
}
