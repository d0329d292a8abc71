/* decode: ids to text. */
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
#include "token/decoder.h"
#include "token/tokenizer.h"

#define WRITE 65536 /* bytes that are written at once */

struct decode {
	struct tokenizer *tokenizer;
	struct decoder decoder;
	unsigned width; /* bytes of an id; 0: numbers as text */
	const char *name;
	uint64_t count; /* ids so far */
	uint64_t number;
	bool digits; /* in a number */
	uint8_t part[4];
	unsigned n_part;
	struct buffer raw, out;
};

/* Writes what the tokens so far say. */
static int put_text(struct decode *d, struct error *err)
{
	int r = decoder_put(&d->decoder, d->raw.at, d->raw.n, &d->out, err);
	d->raw.n = 0;
	return r == 0 ? output_buffer(&d->out, err) : r;
}

static int put_id(struct decode *d, uint64_t id, struct error *err)
{
	size_t n = 0;
	const uint8_t *bytes = id > UINT32_MAX ? NULL : tokenizer_bytes(d->tokenizer, (uint32_t)id, &n);
	if (bytes == NULL)
		return fail(err, EBADMSG, "%s: id %" PRIu64 ", number %" PRIu64 ", is not in the vocabulary",
		            d->name, id, d->count);
	d->count++;
	int r = buffer_add(&d->raw, bytes, n, 0, err);
	return r == 0 && d->raw.n >= WRITE ? put_text(d, err) : r;
}

/* Raw ids for text are the likely mistake. */
static int refuse_byte(const struct decode *d, uint8_t c, struct error *err)
{
	if (c > ' ' && c < 0x7F)
		return fail(err, EBADMSG,
		            "%s: found '%c' behind %" PRIu64 " ids: expected numbers, blanks and commas",
		            d->name, c, d->count);
	return fail(err, EBADMSG,
	            "%s: found byte 0x%02x behind %" PRIu64
	            " ids: expected numbers, blanks and commas; raw ids need --format",
	            d->name, c, d->count);
}

/* Numbers with anything but digits between them that lists are written with. */
static int take_text(struct decode *d, const uint8_t *p, size_t n, struct error *err)
{
	int r = 0;
	for (size_t i = 0; i < n && r == 0; i++) {
		if (p[i] >= '0' && p[i] <= '9') {
			d->number = d->number * 10 + (uint64_t)(p[i] - '0');
			d->digits = true;
			if (d->number > UINT32_MAX)
				r = put_id(d, d->number, err);
		} else if (strchr(" \t\r\n,[]", p[i]) == NULL || p[i] == 0) {
			r = refuse_byte(d, p[i], err);
		} else if (d->digits) {
			r = put_id(d, d->number, err);
			d->number = 0;
			d->digits = false;
		}
	}
	return r;
}

static int take_bytes(struct decode *d, const uint8_t *p, size_t n, struct error *err)
{
	int r = 0;
	for (size_t i = 0; i < n && r == 0; i++) {
		d->part[d->n_part++] = p[i];
		if (d->n_part < d->width)
			continue;
		r = put_id(d, d->width == 2 ? load_u16(d->part) : load_u32(d->part), err);
		d->n_part = 0;
	}
	return r;
}

static int end(struct decode *d, struct error *err)
{
	int r = d->digits ? put_id(d, d->number, err) : 0;
	d->digits = false;
	d->number = 0;
	if (r == 0 && d->n_part != 0)
		r = fail(err, EBADMSG, "%s: ends inside an id of %u bytes", d->name, d->width);
	return r;
}

static int decode_file(struct decode *d, int fd, struct error *err)
{
	static uint8_t buf[WRITE];
	int r = 0;
	while (r == 0) {
		ssize_t got = read(fd, buf, sizeof buf);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return fail(err, errno, "%s: %s", d->name, strerror(errno));
		if (got == 0)
			return end(d, err);
		r = d->width == 0 ? take_text(d, buf, (size_t)got, err)
		                  : take_bytes(d, buf, (size_t)got, err);
		/* What is decoded appears at once, whoever feeds the pipe. */
		if (r == 0)
			r = put_text(d, err);
	}
	return r;
}

static int decode_one(struct decode *d, const char *name, struct error *err)
{
	bool standard = strcmp(name, "-") == 0;
	int fd = standard ? STDIN_FILENO : open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return fail(err, errno, "%s: %s", name, strerror(errno));
	d->name = standard ? "stdin" : name;
	d->count = 0;
	int r = decode_file(d, fd, err);
	if (!standard)
		close(fd);
	return r;
}

int decode_run(int argc, char **argv, struct error *err)
{
	const char *form = "text";
	const struct flag flags[] = {
		{ "format", 0, "text|u16|u32", "ids as numbers, or little-endian; default text", FLAG_TEXT,
		  &form },
	};
	const struct command command = {
		.name = "decode",
		.words = "[FILE]...",
		.about = "Prints the text of the ids of --tokenizer (gpt2) on stdin or in files: numbers\n"
		         "with blanks or commas between them, or raw ids. What is no UTF-8, as a\n"
		         "character that is cut at either end, becomes U+FFFD.\n\n",
		.flags = flags,
		.n_flags = sizeof flags / sizeof flags[0],
		.most = SIZE_MAX,
	};
	struct arguments a;
	struct tokenizer_info info;
	struct decode d = { 0 };
	int r = arguments_read(&command, argc, argv, &a, err);
	if (r != 0)
		goto out;
	if (strcmp(form, "u16") == 0 || strcmp(form, "u32") == 0)
		d.width = form[1] == '1' ? 2 : 4;
	else if (strcmp(form, "text") != 0)
		r = fail(err, EINVAL, "--format %s: expected text, u16 or u32", form);
	if (r == 0)
		r = tokenizer_info(a.options.tokenizer, a.options.pattern, &info, err);
	if (r == 0 && d.width == 2 && tokenizer_width(info.vocab) != 2)
		r = fail(err, EINVAL, "--format u16: the vocabulary has %" PRIu32 " ids: expected u32",
		         info.vocab);
	if (r == 0)
		r = tokenizer_open(a.options.tokenizer, a.options.pattern, &d.tokenizer, err);
	if (r == 0 && a.n == 0)
		r = decode_one(&d, "-", err);
	for (size_t i = 0; i < a.n && r == 0; i++)
		r = decode_one(&d, a.words[i], err);
	/* What was read before a failure is text all the same. */
	if (r != ARGUMENTS_HELP && r != -EPIPE && d.tokenizer != NULL) {
		int ended = put_text(&d, r == 0 ? err : NULL);
		if (ended == 0)
			ended = decoder_end(&d.decoder, &d.out, r == 0 ? err : NULL);
		if (ended == 0)
			ended = output_buffer(&d.out, r == 0 ? err : NULL);
		if (r == 0)
			r = ended;
	}
out:
	buffer_free(&d.raw);
	buffer_free(&d.out);
	tokenizer_close(d.tokenizer);
	arguments_free(&a);
	return r == ARGUMENTS_HELP ? 0 : r;
}
