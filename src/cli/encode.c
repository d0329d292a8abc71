/* encode: text to ids, as `tokenizer=` makes them. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/span.h"
#include "cli/arguments.h"
#include "cli/output.h"
#include "cli/subcommands.h"
#include "token/tokenizer.h"
#include "token/utf8.h"

#define PART 65536 /* bytes that are read and written at once */

enum form { FORM_TEXT, FORM_U16, FORM_U32, FORM_COUNT, FORM_JSON };

struct encode {
	struct tokenizer *tokenizer;
	struct encoder *encoder;
	unsigned width;
	uint32_t vocab;
	enum form form;
	bool first; /* nothing of this text is written */
	uint64_t count;
	struct buffer ids, out;
};

static uint32_t id_at(const struct encode *e, size_t i)
{
	uint16_t narrow;
	uint32_t wide;
	if (e->width == 2) {
		memcpy(&narrow, e->ids.at + 2 * i, 2);
		return narrow;
	}
	memcpy(&wide, e->ids.at + 4 * i, 4);
	return wide;
}

static size_t put_number(uint8_t *to, uint32_t v)
{
	uint8_t digits[10];
	size_t n = 0;
	do
		digits[n++] = (uint8_t)('0' + v % 10);
	while ((v /= 10) > 0);
	for (size_t i = 0; i < n; i++)
		to[i] = digits[n - 1 - i];
	return n;
}

/* Valid UTF-8 as a JSON string; at most 6 bytes for each, and two. */
static size_t put_string(uint8_t *to, const uint8_t *text, size_t n)
{
	static const char hex[] = "0123456789abcdef";
	uint8_t *at = to;
	*at++ = '"';
	for (size_t i = 0; i < n; i++) {
		if (text[i] == '"' || text[i] == '\\')
			*at++ = '\\';
		if (text[i] >= ' ') {
			*at++ = text[i];
			continue;
		}
		memcpy(at, "\\u00", 4);
		at[4] = (uint8_t)hex[text[i] >> 4];
		at[5] = (uint8_t)hex[text[i] & 15];
		at += 6;
	}
	*at++ = '"';
	return (size_t)(at - to);
}

static int put_json(struct encode *e, uint32_t id, struct error *err)
{
	static const char hex[] = "0123456789abcdef";
	size_t n;
	const uint8_t *bytes = tokenizer_bytes(e->tokenizer, id, &n);
	int r = buffer_reserve(&e->out, 64 + 8 * n, 0, err);
	if (r != 0)
		return r;
	uint8_t *at = e->out.at + e->out.n;
	at += sprintf((char *)at, "%s{\"id\": %" PRIu32 ", \"bytes\": \"", e->first ? "" : ",\n ", id);
	for (size_t i = 0; i < n; i++) {
		*at++ = (uint8_t)hex[bytes[i] >> 4];
		*at++ = (uint8_t)hex[bytes[i] & 15];
	}
	at += sprintf((char *)at, "\", \"text\": ");
	if (utf8_valid(bytes, n) == n)
		at += put_string(at, bytes, n);
	else
		at += sprintf((char *)at, "null");
	*at++ = '}';
	e->out.n = (size_t)(at - e->out.at);
	return 0;
}

static int put_id(struct encode *e, uint32_t id, struct error *err)
{
	int r = e->form == FORM_JSON ? put_json(e, id, err) : buffer_reserve(&e->out, 16, 0, err);
	if (r != 0 || e->form == FORM_JSON)
		return r;
	uint8_t *at = e->out.at + e->out.n;
	if (e->form == FORM_TEXT && !e->first)
		*at++ = ' ';
	if (e->form == FORM_TEXT)
		at += put_number(at, id);
	else if (e->form == FORM_U16)
		store_u16(at, (uint16_t)id);
	else
		store_u32(at, id);
	at += e->form == FORM_U16 ? 2 : e->form == FORM_U32 ? 4 : 0;
	e->out.n = (size_t)(at - e->out.at);
	return 0;
}

/* Writes the ids so far. */
static int put_ids(struct encode *e, struct error *err)
{
	size_t n = e->ids.n / e->width;
	int r = 0;
	for (size_t i = 0; e->form != FORM_COUNT && i < n && r == 0; i++) {
		r = put_id(e, id_at(e, i), err);
		e->first = false;
		if (r == 0 && e->out.n >= PART)
			r = output_buffer(&e->out, err);
	}
	e->count += n;
	e->ids.n = 0;
	return r;
}

static int encode_file(struct encode *e, int fd, const char *name, struct error *err)
{
	static uint8_t part[PART];
	struct textstream s = { .e = e->encoder };
	ssize_t got;
	int r = 0;
	e->first = true;
	e->count = 0;
	do {
		got = read(fd, part, sizeof part);
		if (got < 0 && errno != EINTR)
			r = fail(err, errno, "%s: %s", name, strerror(errno));
		if (got > 0)
			r = textstream_put(&s, part, (size_t)got, &e->ids, err);
		if (r == -ENOTSUP)
			fail_in(err, "%s", name);
		if (r == 0)
			r = put_ids(e, err);
	} while (got != 0 && r == 0);
	if (r == 0)
		r = textstream_end(&s, &e->ids, err);
	buffer_free(&s.held);
	return r == 0 ? put_ids(e, err) : r;
}

static int frame(struct encode *e, const char *name, bool begin, bool many, struct error *err)
{
	int r = 0;
	if (e->form == FORM_TEXT && !begin)
		r = buffer_printf(&e->out, "\n");
	if (e->form == FORM_COUNT && !begin)
		r = many ? buffer_printf(&e->out, "%" PRIu64 " %s\n", e->count, name)
		         : buffer_printf(&e->out, "%" PRIu64 "\n", e->count);
	if (e->form == FORM_JSON)
		r = buffer_printf(&e->out, "%s", begin ? "[" : "]\n");
	return r == 0 ? output_buffer(&e->out, err) : fail(err, ENOMEM, "out of memory");
}

static int encode_one(struct encode *e, const char *name, bool many, struct error *err)
{
	bool standard = strcmp(name, "-") == 0;
	int fd = standard ? STDIN_FILENO : open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return fail(err, errno, "%s: %s", name, strerror(errno));
	int r = frame(e, name, true, many, err);
	if (r == 0)
		r = encode_file(e, fd, standard ? "stdin" : name, err);
	if (r == 0)
		r = frame(e, name, false, many, err);
	if (!standard)
		close(fd);
	return r;
}

static int choose_form(struct encode *e, const char *form, bool count, bool json, struct error *err)
{
	static const char *const names[] = { "text", "u16", "u32" };
	size_t i = 0;
	while (i < 3 && strcmp(form, names[i]) != 0)
		i++;
	if (i == 3)
		return fail(err, EINVAL, "--format %s: expected text, u16 or u32", form);
	if (count && json)
		return fail(err, EINVAL, "--count does not go with --json");
	if ((count || json) && i > 0)
		return fail(err, EINVAL, "%s does not go with --format %s", count ? "--count" : "--json",
		            form);
	e->form = count ? FORM_COUNT : json ? FORM_JSON : (enum form)i;
	if (e->form == FORM_U16 && e->width != 2)
		return fail(err, EINVAL, "--format u16: the vocabulary has %" PRIu32 " ids: expected u32",
		            e->vocab);
	return 0;
}

static int open_encoder(struct encode *e, const struct options *o, struct error *err)
{
	int r = tokenizer_open(o->tokenizer, o->pattern, &e->tokenizer, err);
	if (r == 0 && (e->encoder = encoder_new(e->tokenizer)) == NULL)
		r = fail(err, ENOMEM, "out of memory");
	return r;
}

int encode_run(int argc, char **argv, struct error *err)
{
	static char standard[] = "-";
	const char *form = "text";
	bool count = false, json = false;
	const struct flag flags[] = {
		{ "format", 0, "text|u16|u32", "ids as numbers, or little-endian; default text", FLAG_TEXT,
		  &form },
		{ "count", 0, NULL, "only the number of tokens", FLAG_SWITCH, &count },
		{ "json", 0, NULL, "a list with id, bytes (hex), text of each token", FLAG_SWITCH, &json },
	};
	const struct command command = {
		.name = "encode",
		.words = "[FILE]...",
		.about = "Prints the ids that --tokenizer (gpt2) gives the text of stdin, or of files, a\n"
		         "line each. No bos or eos is added, <|endoftext|> is text, invalid UTF-8 is\n"
		         "replaced.\n\n",
		.flags = flags,
		.n_flags = sizeof flags / sizeof flags[0],
		.most = SIZE_MAX,
	};
	struct arguments a;
	struct encode e = { 0 };
	struct tokenizer_info info;
	int r = arguments_read(&command, argc, argv, &a, err);
	if (r != 0)
		goto out;
	r = tokenizer_info(a.options.tokenizer, a.options.pattern, &info, err);
	if (r != 0)
		goto out;
	e.vocab = info.vocab;
	e.width = tokenizer_width(info.vocab);
	r = choose_form(&e, form, count, json, err);
	if (r == 0)
		r = open_encoder(&e, &a.options, err);
	if (r == 0 && a.n == 0)
		r = encode_one(&e, standard, false, err);
	for (size_t i = 0; i < a.n && r == 0; i++)
		r = encode_one(&e, a.words[i], a.n > 1, err);
out:
	buffer_free(&e.ids);
	buffer_free(&e.out);
	encoder_free(e.encoder);
	tokenizer_close(e.tokenizer);
	arguments_free(&a);
	return r == ARGUMENTS_HELP ? 0 : r;
}
