/* manifest_records: counts of whole files: set, found again in index, cache and an exported index, and put
 * there. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "dataset/manifest_state.h"
#include "dataset/packed.h"

/* The name under which a file's counts are stored: everything they depend on. damaged: those of a file with
 * pieces that cannot be counted, which only on_error=skip looks for. */
static int counts_key(struct manifest *m, uint32_t file, bool damaged, struct cache_key *out,
                      struct error *err)
{
	uint8_t pin[HASH_SIZE];
	int r = manifest_pin(m, file, pin, err);
	if (r != 0)
		return r;
	const struct options *o = m->o.options;
	struct hash *h = hash_new();
	hash_add_text(h, damaged ? "counts of what is damaged 1" : "counts 1");
	hash_add(h, pin, sizeof pin);
	hash_add_u64(h, m->o.groups);
	hash_add_text(h, m->o.tokenizer_sha256);
	hash_add_text(h, o->pattern == NULL ? "" : o->pattern);
	hash_add_u64(h, (uint64_t)o->bos);
	hash_add_u64(h, (uint64_t)o->eos);
	hash_add_u64(h, m->by_column);
	hash_add_text(h, o->column == NULL ? "" : o->column);
	if (m->o.tokenizer_revision > 0)
		hash_add_u64(h, m->o.tokenizer_revision);
	hash_end(h, out->bytes);
	return 0;
}

int manifest_record(struct manifest *m, uint32_t file, uint8_t key[HASH_SIZE], struct buffer *out,
                    struct error *err)
{
	struct state *s = &m->state[file];
	struct cache_key name;
	/* The record is one list of numbers: the tokens of each piece, then the documents of each. */
	struct counts c = { .n = 2 * s->pieces };
	int r = counts_key(m, file, GET(s->bad) > 0, &name, err);
	if (r == 0 && (s->pieces == 0 || s->known < s->pieces))
		r = fail(err, EINVAL, "%s: is not counted", m->files.files[file].where);
	if (r != 0)
		return r;
	memcpy(key, name.bytes, HASH_SIZE);
	c.numbers = malloc(2 * (size_t)s->pieces * sizeof *c.numbers);
	if (c.numbers == NULL)
		return fail(err, ENOMEM, "out of memory");
	for (uint32_t i = 0; i < s->pieces; i++) {
		c.numbers[i] = GET(s->tokens[i]);
		c.numbers[s->pieces + i] = manifest_state_documents(s, i);
		c.documents += c.numbers[s->pieces + i];
	}
	out->n = 0;
	r = counts_encode(&c, out);
	free(c.numbers);
	return r == 0 ? 0 : fail(err, -r, "%s: has too many pieces", m->files.files[file].where);
}

/* What is damaged stays so, for the bytes are pinned; any other error may pass. */
static bool may_publish(struct manifest *m, uint32_t file)
{
	uint32_t damaged = 0;
	pthread_mutex_lock(&m->lock);
	for (size_t i = 0; i < m->n_causes; i++)
		damaged += m->causes[i].file == file && m->causes[i].piece != ORDER_PIECES &&
		           m->causes[i].error.code == EBADMSG;
	bool all = damaged == m->state[file].bad;
	pthread_mutex_unlock(&m->lock);
	return all && (damaged == 0 || m->o.options->on_error == ON_ERROR_SKIP);
}

/* Puts the counts of a file that is counted whole where the next mount finds them. */
void manifest_publish(struct manifest *m, uint32_t file)
{
	struct cache_key key;
	struct buffer record = { 0 };
	if (!may_publish(m, file))
		return;
	if (manifest_record(m, file, key.bytes, &record, NULL) == 0) {
		if (m->o.index != NULL)
			index_put(m->o.index, key.bytes, sizeof key.bytes, record.at, record.n);
		if (m->o.cache != NULL)
			cache_put_counts(m->o.cache, &key, record.at, record.n, NULL);
	}
	buffer_free(&record);
}

int manifest_check_record(struct manifest *m, uint32_t file, bool *damaged, struct error *err)
{
	struct cache_key key;
	struct buffer a = { 0 }, b = { 0 };
	struct counts c;
	int r = counts_key(m, file, false, &key, err);
	if (r != 0)
		return r;
	bool in_index = m->o.index != NULL && index_get(m->o.index, key.bytes, sizeof key.bytes, &a) == 0,
	     in_cache = m->o.cache != NULL && cache_get_counts(m->o.cache, &key, &b, NULL) == 0;
	struct buffer *one = in_index ? &a : &b;
	*damaged = in_index && in_cache && (a.n != b.n || memcmp(a.at, b.at, a.n) != 0);
	if ((in_index || in_cache) && counts_decode(span_of(one->at, one->n), &c) != 0)
		*damaged = true;
	else if (in_index || in_cache)
		free(c.numbers);
	buffer_free(&a);
	buffer_free(&b);
	return in_index || in_cache ? 0 : -ENOENT;
}

/* Under the lock. Without memory a number is as large as it can be: nothing but what is shown depends on it. */
static void set_documents(struct state *s, uint32_t piece, uint32_t documents)
{
	s->documents[piece] = (uint16_t)min_u64(documents, UINT16_MAX);
	if (documents > UINT16_MAX && s->many == NULL) {
		uint32_t *many = calloc(s->pieces, sizeof *many);
		for (uint32_t i = 0; many != NULL && i < s->pieces; i++)
			many[i] = s->documents[i];
		SET(s->many, many);
	}
	if (s->many != NULL)
		s->many[piece] = documents;
}

void manifest_set_count(struct manifest *m, uint32_t file, uint32_t piece, uint32_t tokens,
                        uint32_t documents)
{
	struct state *s = &m->state[file];
	bool whole = false;
	pthread_mutex_lock(&m->lock);
	if (piece < s->pieces && s->tokens[piece] == UNKNOWN) {
		set_documents(s, piece, documents);
		SET(s->tokens[piece], tokens);
		s->known++;
		whole = s->known == s->pieces;
	}
	pthread_mutex_unlock(&m->lock);
	if (whole)
		manifest_publish(m, file);
}

void manifest_set_pin(struct manifest *m, uint32_t file, const uint8_t pin[HASH_SIZE])
{
	pthread_mutex_lock(&m->lock);
	memcpy(m->state[file].pin, pin, HASH_SIZE);
	SET(m->state[file].have_pin, 1);
	pthread_mutex_unlock(&m->lock);
}

void manifest_set_known(struct manifest *m, uint32_t file, uint32_t piece, uint32_t tokens,
                        uint32_t documents)
{
	struct state *s = &m->state[file];
	pthread_mutex_lock(&m->lock);
	if (piece < s->pieces && s->tokens[piece] == UNKNOWN) {
		set_documents(s, piece, documents);
		SET(s->tokens[piece], tokens);
		s->known++;
	}
	pthread_mutex_unlock(&m->lock);
}

int manifest_set_ids(struct manifest *m, uint32_t file, uint64_t ids, uint8_t width, struct error *err)
{
	struct state *s = &m->state[file];
	if (ceil_div(ids, m->full) > UINT32_MAX - 2)
		return fail(err, ENOTSUP, "%s: has too many pieces", m->files.files[file].where);
	pthread_mutex_lock(&m->lock);
	s->ids = ids;
	s->width = width;
	SET(s->have_header, 1);
	pthread_mutex_unlock(&m->lock);
	return 0;
}

uint32_t manifest_documents(struct manifest *m, uint32_t file, uint32_t piece)
{
	const struct state *s = &m->state[file];
	return GET(s->pieces) == 0 ? 0 : manifest_state_documents(s, piece);
}

static int use_record(struct manifest *m, uint32_t file, bool damaged, struct span bytes)
{
	struct state *s = &m->state[file];
	struct counts c;
	if (counts_decode(bytes, &c) != 0)
		return -ENOENT;
	int r = -ENOENT;
	uint32_t n = c.n / 2;
	if (c.n < 2 || c.n % 2 != 0)
		goto out;
	for (uint32_t i = 0; i < c.n; i++)
		if (c.numbers[i] >= UNKNOWN && !(damaged && i < n && c.numbers[i] == COUNTS_BAD))
			goto out;
	r = manifest_set_pieces(m, file, n, NULL);
	pthread_mutex_lock(&m->lock);
	if (r == 0 && s->pieces == n)
		for (uint32_t i = 0; i < n; i++)
			if (s->tokens[i] == UNKNOWN) {
				set_documents(s, i, c.numbers[n + i]);
				s->bad += c.numbers[i] == COUNTS_BAD;
				SET(s->tokens[i], c.numbers[i]);
				s->known++;
			}
	pthread_mutex_unlock(&m->lock);
out:
	free(c.numbers);
	return r;
}

/* Looks in the index, then in the cache and in an exported index, from where the index takes it. */
static int find_record(struct manifest *m, uint32_t file, bool damaged, const struct cache_key *key,
                       struct buffer *record)
{
	int r = -ENOENT;
	record->n = 0;
	if (m->o.index != NULL)
		r = index_get(m->o.index, key->bytes, sizeof key->bytes, record);
	if (r == 0)
		r = use_record(m, file, damaged, span_of(record->at, record->n));
	if (r != 0 && m->o.cache != NULL) {
		record->n = 0;
		r = cache_get_counts(m->o.cache, key, record, NULL);
		if (r == 0)
			r = use_record(m, file, damaged, span_of(record->at, record->n));
		if (r == 0 && m->o.index != NULL)
			index_put(m->o.index, key->bytes, sizeof key->bytes, record->at, record->n);
	}
	if (r != 0 && m->o.packed != NULL && packed_find(m->o.packed, key->bytes, record) == 0) {
		r = use_record(m, file, damaged, span_of(record->at, record->n));
		if (r == 0 && m->o.index != NULL)
			index_put(m->o.index, key->bytes, sizeof key->bytes, record->at, record->n);
	}
	return r;
}

int manifest_load(struct manifest *m, uint32_t file, struct error *err)
{
	struct state *s = &m->state[file];
	struct cache_key key;
	struct buffer record = { 0 };
	if (GET(s->looked))
		return -ENOENT;
	int r = counts_key(m, file, false, &key, err);
	if (r != 0)
		return r;
	SET(s->looked, 1);
	r = find_record(m, file, false, &key, &record);
	if (r != 0 && m->o.options->on_error == ON_ERROR_SKIP && counts_key(m, file, true, &key, NULL) == 0)
		r = find_record(m, file, true, &key, &record);
	buffer_free(&record);
	return r == 0 ? 0 : -ENOENT;
}
