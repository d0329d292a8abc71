/* agree: whether all ways to encode give the ids of another tokenizer; differential.py talks to it.
 *
 * Usage: agree TOKENIZER [PATTERN]. First it prints a line: the names of the checks, with blanks between
 *them. Then it reads commands, whose numbers are little-endian, of 4 bytes but where it says otherwise; LIST
 *is the number of strings, their lengths, and all their bytes.
 *
 *	D LIST                     documents, of which texts are made
 *	M seed8 chunk8 n           makes n texts; the answer is a LIST
 *	C LIST LIST n counts ids   checks texts: the second list is what they are when they are decoded again;
 *then the number of ids of each text, and all ids. The answer is for each check five numbers of 8 bytes:
 *	                           strings, bytes, ids, differences, nanoseconds; then how many differences
 *follow, and for each the text's number and the check's.
 *
 * A text, and the ids that are made of it, lie between pages that cannot be read: at the end of the one
 *before, or at the beginning of the one behind.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/span.h"
#include "token/decoder.h"
#include "tests/token/texts.h"
#include "token/tokenizer.h"

#define PATHS 8
#define SHOWN 16 /* differences of an answer */

/* Strings with the bytes of all of them one behind another. */
struct list {
	uint32_t n;
	uint8_t *lengths;
	uint8_t *bytes;
	size_t size;
};

/* Memory between two pages that cannot be read. */
struct fence {
	uint8_t *at;
	size_t size;
};

enum how { WHOLE, STREAM, DECODE, REPLACE };

struct check {
	char name[24];
	enum how how;
	uint32_t each; /* of so many texts one is checked */
	struct encoder *e;
	uint64_t strings, bytes, ids, differences, nanoseconds;
};

struct agree {
	struct tokenizer *t[3]; /* with room for words, with little, with none */
	unsigned width;
	struct check check[PATHS + 5];
	uint32_t checks;
	struct texts texts;
	struct fence text, ids;
	struct buffer out, decoded;
};

/* A text, and what is right. */
struct sample {
	const uint8_t *p, *plain, *want;
	size_t n, plain_n, count;
};

static void die(const char *what)
{
	fprintf(stderr, "agree: %s\n", what);
	exit(2);
}

static bool get(void *p, size_t n)
{
	return fread(p, 1, n, stdin) == n;
}

static uint64_t number(unsigned n)
{
	uint8_t b[8] = { 0 };
	if (!get(b, n))
		die("the input ends");
	return load_u64(b);
}

static void *need(size_t n)
{
	void *p = malloc(n > 0 ? n : 1);
	if (p == NULL)
		die("out of memory");
	return p;
}

static struct list get_list(void)
{
	struct list l = { .n = (uint32_t)number(4) };
	l.lengths = need((size_t)l.n * 4);
	if (!get(l.lengths, (size_t)l.n * 4))
		die("the input ends");
	for (uint32_t i = 0; i < l.n; i++)
		l.size += load_u32(l.lengths + 4 * (size_t)i);
	l.bytes = need(l.size);
	if (!get(l.bytes, l.size))
		die("the input ends");
	return l;
}

static void list_free(struct list *l)
{
	free(l->lengths);
	free(l->bytes);
}

static void fence_room(struct fence *f, size_t n)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	n = (n + page) / page * page;
	if (n <= f->size)
		return;
	n *= 2;
	if (f->at != NULL)
		munmap(f->at - page, f->size + 2 * page);
	uint8_t *p = mmap(NULL, n + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED || mprotect(p + page, n, PROT_READ | PROT_WRITE) < 0)
		die("out of memory");
	*f = (struct fence){ p + page, n };
}

static uint8_t *fence_end(const struct fence *f, size_t n)
{
	return f->at + f->size - n;
}

static uint32_t id_at(const struct agree *a, const uint8_t *ids, size_t i)
{
	uint16_t two;
	uint32_t four;
	if (a->width == 2) {
		memcpy(&two, ids + 2 * i, 2);
		return two;
	}
	memcpy(&four, ids + 4 * i, 4);
	return four;
}

static bool same_ids(const struct agree *a, const struct sample *s, const uint8_t *ids, size_t count)
{
	if (count != s->count)
		return false;
	for (size_t i = 0; i < count; i++)
		if (id_at(a, ids, i) != load_u32(s->want + 4 * i))
			return false;
	return true;
}

/* The same text is always cut alike. */
static void seed_cuts(struct agree *a, const struct sample *s)
{
	uint64_t h = s->n;
	for (size_t i = 0; i < s->n; i++)
		h = (h ^ s->p[i]) * UINT64_C(0x100000001B3);
	texts_seed(&a->texts, h, 0);
}

static size_t some_part(struct agree *a, size_t left)
{
	size_t n = 1 + texts_below(&a->texts, texts_below(&a->texts, 4) == 0 ? 300 : 12);
	return n < left ? n : left;
}

static bool whole_is_right(struct agree *a, const struct check *c, const struct sample *s)
{
	uint8_t *ids = fence_end(&a->ids, encoder_bound(s->n) * a->width);
	int64_t count = encoder_encode(c->e, s->p, s->n, ids);
	return count >= 0 && same_ids(a, s, ids, (size_t)count);
}

static bool stream_is_right(struct agree *a, const struct check *c, const struct sample *s)
{
	struct textstream stream = { .e = c->e };
	a->out.n = 0;
	seed_cuts(a, s);
	int r = 0;
	for (size_t i = 0, part; r == 0 && i < s->n; i += part) {
		part = some_part(a, s->n - i);
		r = textstream_put(&stream, s->p + i, part, &a->out, NULL);
	}
	if (textstream_end(&stream, &a->out, NULL) < 0 || r < 0)
		die("a stream failed");
	return same_ids(a, s, a->out.at, a->out.n / a->width);
}

/* Bytes that come in parts, cut anywhere, are the text as it is when what is no UTF-8 was replaced. */
static bool valid_is_right(struct agree *a, const struct sample *s, const uint8_t *p, size_t n)
{
	struct decoder d = { .n = 0 };
	a->decoded.n = 0;
	seed_cuts(a, s);
	for (size_t i = 0, part; i < n; i += part) {
		part = some_part(a, n - i);
		if (decoder_put(&d, p + i, part, &a->decoded, NULL) < 0)
			die("out of memory");
	}
	if (decoder_end(&d, &a->decoded, NULL) < 0)
		die("out of memory");
	return a->decoded.n == s->plain_n &&
	       (s->plain_n == 0 || memcmp(a->decoded.at, s->plain, s->plain_n) == 0);
}

static bool decoded_is_right(struct agree *a, const struct sample *s)
{
	a->out.n = 0;
	for (size_t i = 0; i < s->count; i++) {
		size_t n;
		const uint8_t *p = tokenizer_bytes(a->t[0], load_u32(s->want + 4 * i), &n);
		if (p == NULL || buffer_add(&a->out, p, n, 0, NULL) < 0)
			return false;
	}
	return valid_is_right(a, s, a->out.at, a->out.n);
}

static bool is_right(struct agree *a, const struct check *c, const struct sample *s)
{
	if (c->how == DECODE)
		return decoded_is_right(a, s);
	if (c->how == REPLACE)
		return valid_is_right(a, s, s->p, s->n);
	return c->how == STREAM ? stream_is_right(a, c, s) : whole_is_right(a, c, s);
}

static uint64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static bool check_one(struct agree *a, struct check *c, struct sample s)
{
	fence_room(&a->text, s.n);
	fence_room(&a->ids, encoder_bound(s.n) * a->width);
	uint8_t *at = s.n % 4 == 0 ? a->text.at : fence_end(&a->text, s.n);
	memcpy(at, s.p, s.n);
	s.p = at;
	c->strings++;
	c->bytes += s.n;
	c->ids += s.count;
	bool right = is_right(a, c, &s);
	c->differences += !right;
	return right;
}

static void check_all(struct agree *a, struct check *c, uint32_t which, const struct list *texts,
                      const struct list *plain, const uint8_t *counts, const uint8_t *ids,
                      uint8_t (*shown)[8], uint32_t *n_shown)
{
	const uint8_t *p = texts->bytes, *q = plain->bytes;
	uint64_t begin = now();
	for (uint32_t i = 0; i < texts->n; i++) {
		struct sample s = { .p = p, .plain = q, .want = ids };
		s.n = load_u32(texts->lengths + 4 * (size_t)i);
		s.plain_n = load_u32(plain->lengths + 4 * (size_t)i);
		s.count = load_u32(counts + 4 * (size_t)i);
		if ((texts->n == 1 || i % c->each == which % c->each) && !check_one(a, c, s) &&
		    *n_shown < SHOWN) {
			store_u32(shown[*n_shown], i);
			store_u32(shown[(*n_shown)++] + 4, which);
		}
		p += s.n;
		q += s.plain_n;
		ids += 4 * s.count;
	}
	c->nanoseconds += now() - begin;
}

static void put(const void *p, size_t n)
{
	if (fwrite(p, 1, n, stdout) != n)
		die("nobody reads");
}

static void check_texts(struct agree *a)
{
	struct list texts = get_list(), plain = get_list();
	uint8_t shown[SHOWN][8];
	uint32_t n_shown = 0, n = (uint32_t)number(4);
	size_t n_ids = 0;
	uint8_t *counts = need((size_t)n * 4);
	if (n != texts.n || n != plain.n || !get(counts, (size_t)n * 4))
		die("not as many texts as counts");
	for (uint32_t i = 0; i < n; i++)
		n_ids += load_u32(counts + 4 * (size_t)i);
	uint8_t *ids = need(n_ids * 4);
	if (!get(ids, n_ids * 4))
		die("the input ends");
	for (uint32_t k = 0; k < a->checks; k++) {
		struct check *c = &a->check[k];
		c->strings = c->bytes = c->ids = c->differences = c->nanoseconds = 0;
		check_all(a, c, k, &texts, &plain, counts, ids, shown, &n_shown);
		uint8_t head[40];
		store_u64(head, c->strings);
		store_u64(head + 8, c->bytes);
		store_u64(head + 16, c->ids);
		store_u64(head + 24, c->differences);
		store_u64(head + 32, c->nanoseconds);
		put(head, sizeof head);
	}
	uint8_t head[4];
	store_u32(head, n_shown);
	put(head, 4);
	put(shown, 8 * (size_t)n_shown);
	free(ids);
	free(counts);
	list_free(&texts);
	list_free(&plain);
}

static void make_texts(struct agree *a)
{
	uint64_t seed = number(8), chunk = number(8);
	uint32_t n = (uint32_t)number(4);
	uint8_t *lengths = need(4 * (size_t)n + 4);
	struct buffer bytes = { 0 };
	store_u32(lengths, n);
	texts_seed(&a->texts, seed, chunk);
	for (uint32_t i = 0; i < n; i++) {
		size_t begin = bytes.n;
		if (texts_make(&a->texts, &bytes) < 0)
			die("out of memory");
		store_u32(lengths + 4 * ((size_t)i + 1), (uint32_t)(bytes.n - begin));
	}
	put(lengths, 4 * (size_t)n + 4);
	put(bytes.at, bytes.n);
	free(lengths);
	buffer_free(&bytes);
}

static void add_documents(struct agree *a)
{
	struct list l = get_list();
	const uint8_t *p = l.bytes;
	for (uint32_t i = 0; i < l.n; i++) {
		size_t n = load_u32(l.lengths + 4 * (size_t)i);
		if (texts_add(&a->texts, p, n) < 0)
			die("out of memory");
		p += n;
	}
	list_free(&l);
}

static void add_check(struct agree *a, const char *name, enum how how, uint32_t each, struct tokenizer *t,
                      const char *path)
{
	struct check *c = &a->check[a->checks++];
	*c = (struct check){ .how = how, .each = each, .e = t != NULL ? encoder_new(t) : NULL };
	snprintf(c->name, sizeof c->name, "%s", name);
	if (t != NULL && (c->e == NULL || (path != NULL && encoder_use(c->e, path) < 0)))
		die("no encoder");
}

static void open_all(struct agree *a, const char *name, const char *pattern)
{
	/* A cache that is soon full, and none. */
	static const size_t room[] = { 0, 65536, 0 };
	struct tokenizer_info info;
	struct error err;
	for (size_t i = 0; i < 3; i++)
		if (tokenizer_open(name, pattern, &a->t[i], &err) < 0 ||
		    (i > 0 && tokenizer_cache(a->t[i], room[i]) < 0))
			die(err.text);
	if (tokenizer_info(name, pattern, &info, &err) < 0)
		die(err.text);
	a->width = tokenizer_width(info.vocab);
	a->texts.t = a->t[0];
	a->texts.vocab = info.vocab;
	const char *const *path = encoder_paths();
	for (size_t i = 0; i < PATHS && path[i] != NULL; i++)
		add_check(a, path[i], WHOLE, 1, a->t[0], path[i]);
	add_check(a, "cache-full", WHOLE, 4, a->t[1], NULL);
	add_check(a, "cache-off", WHOLE, 4, a->t[2], NULL);
	add_check(a, "stream", STREAM, 4, a->t[0], NULL);
	add_check(a, "decode", DECODE, 4, NULL, NULL);
	/* A tokenizer.json may normalise the text too. */
	size_t n = strlen(name);
	if (n < 5 || strcmp(name + n - 5, ".json") != 0)
		add_check(a, "replace", REPLACE, 4, NULL, NULL);
}

static void close_all(struct agree *a)
{
	for (uint32_t i = 0; i < a->checks; i++)
		encoder_free(a->check[i].e);
	for (size_t i = 0; i < 3; i++)
		tokenizer_close(a->t[i]);
	texts_free(&a->texts);
	buffer_free(&a->out);
	buffer_free(&a->decoded);
}

int main(int argc, char **argv)
{
	static struct agree a;
	if (argc < 2)
		die("usage: agree TOKENIZER [PATTERN]");
	open_all(&a, argv[1], argc > 2 && argv[2][0] != '\0' ? argv[2] : NULL);
	for (uint32_t i = 0; i < a.checks; i++)
		printf("%s%c", a.check[i].name, i + 1 < a.checks ? ' ' : '\n');
	fflush(stdout);
	for (int command; (command = getchar()) != EOF; fflush(stdout)) {
		if (command == 'D')
			add_documents(&a);
		else if (command == 'M')
			make_texts(&a);
		else if (command == 'C')
			check_texts(&a);
		else
			die("not a command");
	}
	close_all(&a);
	return 0;
}
