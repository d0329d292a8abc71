/* Overlays, and pieces made of JSONL in memory: once for all who want them, again where that may help, and no
 * more often. */
#define _GNU_SOURCE
#include "unit/scratch.h"
#include "unit/unit.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/span.h"
#include "fetch/make.h"
#include "fetch/overlay.h"
#include "fetch/piece.h"
#include "fetch/textfile.h"
#include "fetch/window.h"
#include "token/tokenizer.h"

/* ---- a source that counts and fails on demand ---- */

static const char lines[] =
        "{\"text\": \"Hello, world!\"}\n{\"text\": \"\"}\n{\"text\": \"Hello, world!\"}\n";

static struct world {
	atomic_uint opens, reads, made, changed;
	atomic_uint reading, most; /* at once */
	unsigned slow_ms;          /* what a read takes */
	atomic_int nice;           /* of the thread that read last, after that */
	unsigned fail_reads; /* so many reads fail first */
	int fail_code;
	bool fail_again, remote;
	const char *bytes;
	atomic_int result;
	atomic_uint_fast64_t tokens, documents;
} w;

static int fake_read(struct source *s, uint64_t off, void *buf, size_t n, struct error *err)
{
	unsigned k = atomic_fetch_add(&w.reads, 1);
	if (k < w.fail_reads) {
		fail(err, w.fail_code, "%s: asked to fail", s->name);
		err->again = w.fail_again;
		return -w.fail_code;
	}
	unsigned now = atomic_fetch_add(&w.reading, 1) + 1;
	if (now > w.most)
		atomic_store(&w.most, now);
	usleep(w.slow_ms * 1000);
	atomic_store(&w.nice, getpriority(PRIO_PROCESS, (id_t)gettid()));
	atomic_fetch_sub(&w.reading, 1);
	memcpy(buf, w.bytes + off, n);
	return 0;
}

static void fake_close(struct source *s)
{
	free(s);
}

static int fake_open(void *arg, uint32_t file, struct source **out, enum file_kind *kind, struct error *err)
{
	static const struct source_ops ops = { .read_at = fake_read, .close = fake_close };
	(void)arg;
	(void)file;
	(void)err;
	struct source *s = malloc(sizeof *s);
	*s = (struct source){ .ops = &ops, .size = strlen(w.bytes), .name = "fake.jsonl" };
	atomic_fetch_add(&w.opens, 1);
	*kind = KIND_JSONL;
	*out = s;
	return 0;
}

static bool still(void *arg, uint32_t file)
{
	(void)arg;
	(void)file;
	return true;
}

static bool remote(void *arg, uint32_t file)
{
	(void)arg;
	(void)file;
	return w.remote;
}

static int pin(void *arg, uint32_t file, uint8_t out[32], struct error *err)
{
	(void)arg;
	(void)err;
	memset(out, (int)file, 32);
	return 0;
}

static bool uncounted(void *arg, uint32_t file, uint32_t piece)
{
	(void)arg;
	(void)file;
	(void)piece;
	return false;
}

static int made(void *arg, uint32_t file, uint32_t piece, int result, uint64_t tokens, uint64_t documents,
                struct error *err)
{
	(void)arg;
	(void)file;
	(void)piece;
	(void)err;
	atomic_fetch_add(&w.made, 1);
	atomic_store(&w.result, result);
	atomic_store(&w.tokens, tokens);
	atomic_store(&w.documents, documents);
	return result;
}

static void changed(void *arg)
{
	(void)arg;
	atomic_fetch_add(&w.changed, 1);
}

static struct textfiles *files;
static struct pieces *pieces;

static uint64_t memory = 64 << 20;

static void begin(const char *bytes, bool is_remote)
{
	struct tokenizer_info info;
	memset(&w, 0, sizeof w);
	w.bytes = bytes;
	w.remote = is_remote;
	struct textfiles_options fo = {
		.page = 1 << 20, .open = fake_open, .still = still, .remote = remote
	};
	CU_ASSERT_EQUAL_FATAL(textfiles_new(&fo, &files, NULL), 0);
	CU_ASSERT_EQUAL_FATAL(tokenizer_info("gpt2", NULL, &info, NULL), 0);
	struct pieces_options po = {
		.files = files,
		.tokenizer = "gpt2",
		.tokenizer_sha256 = info.sha256,
		.bos = 50256,
		.eos = -1,
		.width = 2,
		.groups = 1,
		.threads = 2,
		.retry_s = 5,
		.memory = memory,
		.pin = pin,
		.remote = remote,
		.any_remote = is_remote,
		.uncounted = uncounted,
		.made = made,
		.changed = changed,
	};
	CU_ASSERT_EQUAL_FATAL(pieces_new(&po, &pieces, NULL), 0);
}

static void end(void)
{
	pieces_free(pieces);
	textfiles_free(files);
}

static int get(struct piece_ref *ref, struct error *err)
{
	for (int i = 0; i < 1000; i++) {
		int r = pieces_get(pieces, 0, 0, PRIORITY_READER, ref, err);
		if (r != -EAGAIN)
			return r;
		usleep(10000);
	}
	return -EAGAIN;
}

/* ---- tests ---- */

static void test_overlay(void)
{
	struct source *base, *o;
	struct error err;
	char got[64];
	memset(&w, 0, sizeof w);
	w.bytes = "0123456789abcdefghijklmnopqrstuvwxyz";
	enum file_kind kind;
	fake_open(NULL, 0, &base, &kind, NULL);
	CU_ASSERT_EQUAL_FATAL(overlay_open(base, &o, &err), 0);
	CU_ASSERT_EQUAL(overlay_fill(o, 4, 8, &err), 0);
	CU_ASSERT_EQUAL(overlay_fill(o, 12, 100, &err), 0); /* cut at the end */
	CU_ASSERT_EQUAL(overlay_fill(o, 1000, 1, &err), 0);
	CU_ASSERT_EQUAL(w.reads, 2);
	CU_ASSERT_EQUAL(source_read(o, 5, got, 20, &err), 0); /* across two ranges */
	CU_ASSERT_EQUAL(memcmp(got, "56789abcdefghijklmno", 20), 0);
	CU_ASSERT_EQUAL(w.reads, 2);
	CU_ASSERT_EQUAL(source_read(o, 0, got, 10, &err), 0); /* before them */
	CU_ASSERT_EQUAL(memcmp(got, "0123456789", 10), 0);
	CU_ASSERT_EQUAL(w.reads, 3);
	struct source_view v, none;
	CU_ASSERT_FALSE(source_view(o, 11, 2, &none)); /* in two ranges */
	CU_ASSERT_FALSE(source_view(o, 0, 5, &none));
	CU_ASSERT_FALSE(source_view(o, 30, 7, &none));
	CU_ASSERT_TRUE_FATAL(source_view(o, 5, 7, &v));
	overlay_drop(o, 4);
	CU_ASSERT_FALSE(source_view(o, 5, 7, &none));
	CU_ASSERT_EQUAL(v.bytes.n, 7);
	CU_ASSERT_EQUAL(memcmp(v.bytes.at, "56789ab", 7), 0); /* they stay as long as they are looked at */
	source_unview(o, &v);
	source_unview(o, &none);
	overlay_drop(o, 4711);
	CU_ASSERT_EQUAL(source_read(o, 5, got, 2, &err), 0);
	CU_ASSERT_EQUAL(w.reads, 4);
	CU_ASSERT_EQUAL(source_read(o, 30, got, 7, &err), -EBADMSG);
	w.fail_reads = 100;
	w.fail_code = EIO;
	CU_ASSERT_EQUAL(overlay_fill(o, 0, 4, &err), -EIO);
	source_close(o);
}

/* "Hello, world!" is [15496, 11, 995, 0]: the course guide's example, made by tiktoken. */
static void check_tokens(struct piece_ref *ref)
{
	static const uint16_t want[] = { 50256, 15496, 11, 995, 0, 50256, 15496, 11, 995, 0 };
	uint8_t got[sizeof want];
	CU_ASSERT_EQUAL(ref->tokens, 10);
	CU_ASSERT_EQUAL(source_read(ref->source, ref->offset, got, sizeof got, NULL), 0);
	for (size_t i = 0; i < 10; i++)
		CU_ASSERT_EQUAL(got[2 * i] | got[2 * i + 1] << 8, want[i]);
}

static void *one_reader(void *arg)
{
	struct piece_ref ref;
	(void)arg;
	if (get(&ref, NULL) == 0) {
		CU_ASSERT_EQUAL(ref.tokens, 10);
		pieces_put(pieces, &ref);
	}
	return NULL;
}

static void test_once_for_all(void)
{
	for (int is_remote = 0; is_remote < 2; is_remote++) {
		pthread_t t[16];
		struct piece_ref ref;
		begin(lines, is_remote != 0);
		for (int i = 0; i < 16; i++)
			pthread_create(&t[i], NULL, one_reader, NULL);
		for (int i = 0; i < 16; i++)
			pthread_join(t[i], NULL);
		CU_ASSERT_EQUAL_FATAL(get(&ref, NULL), 0);
		check_tokens(&ref);
		pieces_put(pieces, &ref);
		CU_ASSERT_EQUAL(w.made, 1);
		CU_ASSERT_EQUAL(w.opens, 1);
		CU_ASSERT_EQUAL(w.documents, 2);
		struct pieces_counters c;
		pieces_counters(pieces, &c);
		CU_ASSERT_EQUAL(c.tokenized, 1);
		CU_ASSERT_EQUAL(c.queued, 0);
		end();
	}
}

static void test_tries_again(void)
{
	struct piece_ref ref;
	struct pieces_counters c;
	begin(lines, true);
	w.fail_reads = 3;
	w.fail_code = EIO;
	w.fail_again = true;
	CU_ASSERT_EQUAL_FATAL(get(&ref, NULL), 0);
	check_tokens(&ref);
	pieces_put(pieces, &ref);
	pieces_counters(pieces, &c);
	CU_ASSERT_EQUAL(c.retries, 3);
	CU_ASSERT_EQUAL(c.errors, 0);
	end();
}

static void test_failure_is_kept(void)
{
	struct piece_ref ref;
	struct error err;
	begin(lines, false);
	w.fail_reads = 1000;
	w.fail_code = EACCES;
	CU_ASSERT_EQUAL(get(&ref, &err), -EACCES);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "fake.jsonl: asked to fail"));
	unsigned reads = w.reads;
	for (int i = 0; i < 5; i++)
		CU_ASSERT_EQUAL(get(&ref, &err), -EACCES);
	CU_ASSERT_EQUAL(w.reads, reads);
	CU_ASSERT_EQUAL(w.made, 1);
	end();
}

static void test_damage_is_fetched_once_more(void)
{
	struct piece_ref ref;
	struct error err;
	for (int is_remote = 0; is_remote < 2; is_remote++) {
		begin("{\"text\": \"a\"}\n{\"text\": 1}\n", is_remote != 0);
		CU_ASSERT_EQUAL(get(&ref, &err), -EBADMSG);
		CU_ASSERT_EQUAL(w.opens, is_remote ? 2 : 1);
		CU_ASSERT_EQUAL(w.made, 1);
		end();
	}
}

static void test_ends_while_it_fetches(void)
{
	begin(lines, true);
	w.fail_reads = 1000000;
	w.fail_code = ETIMEDOUT;
	w.fail_again = true;
	CU_ASSERT_EQUAL(pieces_want(pieces, 0, 0, PRIORITY_PREFETCH), -EAGAIN);
	CU_ASSERT_EQUAL(pieces_want(pieces, 1, 0, PRIORITY_COUNT), -EAGAIN);
	usleep(50000);
	end();
}

/* As they are put beside a piece in the cache. */
static void test_starts(void)
{
	static const struct start starts[] = { { 0, 0 }, { 7, 2 }, { 7, 3 } };
	struct starts s = { 0 }, back;
	struct buffer bytes = { 0 };
	uint64_t text_bytes = 0;
	buffer_add(&s.list, starts, sizeof starts, 0, NULL);
	buffer_add(&s.ids, "a\0\0xyz", 7, 0, NULL);
	CU_ASSERT_EQUAL(starts_encode(&s, UINT64_C(0x1234567890), &bytes), 0);
	CU_ASSERT_EQUAL(bytes.n, 4 * 4 + 3 * 4 + 8);
	CU_ASSERT_EQUAL_FATAL(starts_decode(span_of(bytes.at, bytes.n), &back, &text_bytes), 0);
	CU_ASSERT_EQUAL(text_bytes, UINT64_C(0x1234567890));
	CU_ASSERT_EQUAL_FATAL(starts_number(&back), 3);
	for (size_t i = 0; i < 3; i++)
		CU_ASSERT(starts_at(&back, i)->token == starts[i].token &&
		          strcmp(starts_id(&back, i), starts_id(&s, i)) == 0);
	starts_free(&back);
	for (size_t n = 0; n < bytes.n; n++)
		CU_ASSERT(starts_decode(span_of(bytes.at, n), &back, &text_bytes) == -EBADMSG);
	starts_free(&s);
	buffer_free(&bytes);
}

/* Each takes 20 ms, whatever else is under way: the more at once the better, and a reader passes them all. */
static void test_many_at_once(void)
{
	struct pieces_counters c;
	memory = UINT64_C(8) << 30;
	begin(lines, true);
	w.slow_ms = 20;
	for (uint32_t i = 1; i <= 400; i++)
		CU_ASSERT_EQUAL(pieces_want(pieces, i, 0, PRIORITY_PREFETCH), -EAGAIN);
	for (int i = 0; i < 1000 && w.reads < 100; i++)
		usleep(5000);
	unsigned before = w.reads;
	struct piece_ref ref;
	CU_ASSERT_EQUAL_FATAL(get(&ref, NULL), 0);
	pieces_put(pieces, &ref);
	CU_ASSERT(before >= 100 && w.reads - before < 200);
	CU_ASSERT(w.most > 12 && w.most <= PIECE_FETCHERS);
	pieces_counters(pieces, &c);
	CU_ASSERT(c.window > WINDOW_FIRST);
	if (w.most <= 12)
		printf("# %u at once, window %.1f MB\n", w.most, (double)c.window / 1e6);
	end();
	memory = 64 << 20;
}

static void count_waits(void *arg, bool begins)
{
	unsigned *n = arg;
	CU_ASSERT_EQUAL(begins, *n % 2 == 0);
	(*n)++;
}

/* While a piece is synced to the disk its maker says so, and where its ids were the next piece's are. */
static void test_make(void)
{
	char *dir = scratch_make();
	struct cache *c = NULL;
	struct tokenizer *t = NULL;
	struct buffer spare = { 0 };
	unsigned waits = 0;
	begin(lines, false);
	CU_ASSERT_EQUAL_FATAL(cache_open(&(struct cache_options){ .dir = dir, .size = 1 << 20 }, &c, NULL), 0);
	CU_ASSERT_EQUAL_FATAL(tokenizer_open("gpt2", NULL, &t, NULL), 0);
	struct encoder *e = encoder_new(t);
	struct make_options mo = { .groups = 1, .bos = 50256, .eos = -1, .width = 2, .spill = 1 << 20, .most = 1 << 20,
		                   .cache = c, .waits = count_waits, .arg = &waits, .spare = &spare };
	uint8_t *place = NULL;
	for (uint8_t i = 0; i < 3; i++) {
		struct cache_key key = { .bytes = { i, 1 } };
		struct made m;
		uint8_t ids[10];
		CU_ASSERT_EQUAL_FATAL(make_piece(files, 0, 0, e, &mo, &key, &m, NULL), 0);
		CU_ASSERT_EQUAL(waits, 2u * (i + 1u));
		CU_ASSERT_PTR_NOT_NULL_FATAL(m.cached.source);
		CU_ASSERT_EQUAL(m.tokens, 10);
		CU_ASSERT_EQUAL(source_read(m.cached.source, CACHE_HEADER, ids, sizeof ids, NULL), 0);
		CU_ASSERT(load_u16(ids) == 50256 && load_u16(ids + 2) == 15496 && load_u16(ids + 8) == 0);
		CU_ASSERT(spare.at != NULL && (place == NULL || place == spare.at));
		place = spare.at;
		made_free(&m);
	}
	buffer_free(&spare);
	encoder_free(e);
	tokenizer_close(t);
	cache_close(c);
	end();
	scratch_remove(dir);
}

/* What is made for nobody has to wait for other programs, until somebody wants it. */
static void test_a_reader_hurries_what_is_being_made(void)
{
	struct rlimit limit = { 0 };
	struct piece_ref ref;
	getrlimit(RLIMIT_NICE, &limit);
	if (geteuid() != 0 && limit.rlim_cur < 20) {
		unit_skip("only root may raise a thread's priority");
		return;
	}
	begin(lines, false);
	w.slow_ms = 200;
	for (uint32_t round = 0; round < 2; round++) {
		unsigned seen = w.reads;
		bool hurry = round == 0;
		int r = pieces_want(pieces, 7 + round, 0, PRIORITY_PREFETCH);
		for (int i = 0; i < 1000 && w.reads == seen; i++)
			usleep(1000);
		if (hurry)
			pieces_want(pieces, 7 + round, 0, PRIORITY_READER);
		for (int i = 0; i < 1000 && r == -EAGAIN; i++) {
			usleep(2000);
			r = pieces_get(pieces, 7 + round, 0, PRIORITY_PREFETCH, &ref, NULL);
		}
		CU_ASSERT_EQUAL_FATAL(r, 0);
		CU_ASSERT_EQUAL(w.nice, hurry ? getpriority(PRIO_PROCESS, 0) : 10);
		pieces_put(pieces, &ref);
	}
	end();
}

int main(void)
{
	CU_TestInfo tests[] = {
		{ "an overlay reads from memory what it has", test_overlay },
		{ "a piece that goes to the disk", test_make },
		{ "a reader hurries what is being made", test_a_reader_hurries_what_is_being_made },
		{ "sixteen readers, one piece, one fetch", test_once_for_all },
		{ "what may pass is tried again", test_tries_again },
		{ "a failure is kept, with its text", test_failure_is_kept },
		{ "damage is fetched once more where it came over a network",
		  test_damage_is_fetched_once_more },
		{ "it ends while it fetches", test_ends_while_it_fetches },
		{ "where documents begin, as bytes and back", test_starts },
		{ "as many at once as pays, and a reader first", test_many_at_once },
		CU_TEST_INFO_NULL,
	};
	log_open(false, LOG_LEVEL_ERROR);
	return unit_main("fetch", tests);
}
