#include "format/npy.h"

#include <errno.h>
#include <inttypes.h>

#include "base/checked.h"

static void skip_space(struct span *s)
{
	while (s->n > 0 && (*s->at == ' ' || *s->at == '\t' || *s->at == '\n' || *s->at == '\r'))
		span_skip(s, 1);
}

/* The next character that is no white space, if it is c. */
static bool take_char(struct span *s, char c)
{
	skip_space(s);
	return s->n > 0 && *s->at == (uint8_t)c && span_skip(s, 1);
}

static bool take_word(struct span *s, const char *word)
{
	struct span before = *s, got;
	skip_space(s);
	if (span_take(s, strlen(word), &got) && span_is(got, word))
		return true;
	*s = before;
	return false;
}

/* A string in either quotes. NumPy writes none with an escape in it. */
static bool take_string(struct span *s, struct span *out)
{
	uint8_t quote, c;
	skip_space(s);
	if (!span_u8(s, &quote) || (quote != '\'' && quote != '"'))
		return false;
	const uint8_t *start = s->at;
	while (span_u8(s, &c)) {
		if (c == '\\' || c == '\n')
			return false;
		if (c == quote) {
			*out = span_of(start, (size_t)(s->at - start) - 1);
			return true;
		}
	}
	return false;
}

/* Python 2 wrote 10L. */
static bool take_number(struct span *s, uint64_t *out)
{
	uint64_t v = 0;
	size_t digits = 0;
	skip_space(s);
	for (; s->n > 0 && *s->at >= '0' && *s->at <= '9'; digits++) {
		if (!mul_u64(v, 10, &v) || !add_u64(v, (uint64_t)(*s->at - '0'), &v))
			return false;
		span_skip(s, 1);
	}
	if (digits > 0 && s->n > 0 && *s->at == 'L')
		span_skip(s, 1);
	*out = v;
	return digits > 0;
}

static bool take_shape(struct span *s, struct npy *out)
{
	uint64_t v;
	bool comma = true;
	if (!take_char(s, '('))
		return false;
	while (!take_char(s, ')')) {
		if (!comma || !take_number(s, &v))
			return false;
		if (out->dimensions++ == 0)
			out->elements = v;
		comma = take_char(s, ',');
	}
	/* (5) is a number in Python. */
	return out->dimensions != 1 || comma;
}

static int take_descr(struct span *s, struct npy *out, struct error *err)
{
	struct span text;
	skip_space(s);
	if (s->n > 0 && (*s->at == '[' || *s->at == '('))
		return fail(err, ENOTSUP,
			    "descr is a structure; '<u2', '<u4', '<i4' and '<i8' are supported");
	if (!take_string(s, &text))
		return fail(err, EBADMSG, "the header's descr is not a string");
	size_t n = text.n < NPY_DESCR - 1 ? text.n : NPY_DESCR - 1;
	memcpy(out->descr, text.at, n);
	out->descr[n] = 0;
	return 0;
}

enum { DESCR = 1, FORTRAN = 2, SHAPE = 4 };

/* One `'key': value` of the dict. Returns its bit, or -errno. */
static int take_entry(struct span *s, struct npy *out, struct error *err)
{
	struct span key;
	if (!take_string(s, &key) || !take_char(s, ':'))
		return fail(err, EBADMSG, "the header is not a dict");
	if (span_is(key, "descr")) {
		int r = take_descr(s, out, err);
		return r != 0 ? r : DESCR;
	}
	if (span_is(key, "fortran_order")) {
		out->fortran = take_word(s, "True");
		if (!out->fortran && !take_word(s, "False"))
			return fail(err, EBADMSG, "the header's fortran_order is neither True nor False");
		return FORTRAN;
	}
	if (span_is(key, "shape"))
		return take_shape(s, out)
			       ? SHAPE
			       : fail(err, EBADMSG, "the header's shape is not a tuple of numbers");
	return fail(err, EBADMSG, "the header has a key that is not descr, fortran_order or shape");
}

static int parse_dict(struct span s, struct npy *out, struct error *err)
{
	int seen = 0;
	bool comma = true;
	if (!take_char(&s, '{'))
		return fail(err, EBADMSG, "the header is not a dict");
	while (!take_char(&s, '}')) {
		int bit = comma ? take_entry(&s, out, err) : fail(err, EBADMSG, "the header is not a dict");
		if (bit < 0)
			return bit;
		if (seen & bit)
			return fail(err, EBADMSG, "the header has a key twice");
		seen |= bit;
		comma = take_char(&s, ',');
	}
	skip_space(&s);
	if (s.n > 0 || seen != (DESCR | FORTRAN | SHAPE))
		return fail(err, EBADMSG, "the header is not a dict of descr, fortran_order and shape");
	return 0;
}

int npy_parse(struct span in, struct npy *out, struct error *err)
{
	size_t all = in.n;
	struct span magic, dict;
	uint8_t major, minor;
	uint32_t n;
	if (!span_take(&in, 6, &magic) || !span_is(magic, "\x93NUMPY") || !span_u8(&in, &major) ||
	    !span_u8(&in, &minor))
		return fail(err, EBADMSG, "does not begin with NumPy's magic bytes");
	if (major < 1 || major > 3 || minor != 0)
		return fail(err, ENOTSUP, "version %u.%u of NumPy's format; 1.0, 2.0 and 3.0 are supported",
			    major, minor);
	if (major == 1 && in.n >= 2) {
		n = load_u16(in.at);
		span_skip(&in, 2);
	} else if (major == 1 || !span_u32(&in, &n)) {
		return fail(err, EBADMSG, "the file ends inside its header");
	}
	if (n > NPY_MOST - 12)
		return fail(err, ENOTSUP, "a header of %" PRIu32 " bytes; at most %d are supported", n,
			    NPY_MOST - 12);
	if (!span_take(&in, n, &dict))
		return fail(err, EBADMSG, "the file ends inside its header");
	*out = (struct npy){ .offset = all - in.n };
	return parse_dict(dict, out, err);
}
