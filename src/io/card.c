#include "io/card.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/buffer.h"

#define NAMES_SHOWN 400 /* bytes of a list of names in a message */

struct reader {
	yaml_document_t document;
	struct card_files *out;
	struct error *err;
};

static int malformed(struct reader *r, const char *what, const char *expected)
{
	return fail(r->err, EBADMSG, "the card's configs: %s, %s is expected", what, expected);
}

static yaml_node_t *node_of(struct reader *r, int index)
{
	return yaml_document_get_node(&r->document, index);
}

static struct span scalar(const yaml_node_t *node)
{
	return node != NULL && node->type == YAML_SCALAR_NODE
	               ? span_of(node->data.scalar.value, node->data.scalar.length)
	               : span_of("", 0);
}

static bool is_scalar(const yaml_node_t *node, const char *text)
{
	return node != NULL && node->type == YAML_SCALAR_NODE && span_is(scalar(node), text);
}

/* A plain null, "~" or nothing. */
static bool is_null(const yaml_node_t *node)
{
	return node == NULL ||
	       (node->type == YAML_SCALAR_NODE && node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
	        (is_scalar(node, "") || is_scalar(node, "~") || is_scalar(node, "null") ||
	         is_scalar(node, "Null") || is_scalar(node, "NULL")));
}

static bool is_true(const yaml_node_t *node)
{
	static const char *const words[] = { "true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON" };
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (is_scalar(node, words[i]))
			return true;
	return false;
}

/* The value of a key; of one that is there twice the last, as PyYAML has it. */
static yaml_node_t *value_of(struct reader *r, const yaml_node_t *map, const char *key)
{
	yaml_node_t *found = NULL;
	if (map == NULL || map->type != YAML_MAPPING_NODE)
		return NULL;
	for (const yaml_node_pair_t *p = map->data.mapping.pairs.start; p < map->data.mapping.pairs.top; p++)
		if (is_scalar(node_of(r, p->key), key))
			found = node_of(r, p->value);
	return found;
}

static int copy_text(struct reader *r, struct span text, char **out)
{
	if (text.n > 0 && memchr(text.at, '\0', text.n) != NULL)
		return malformed(r, "a text has a zero byte", "a name or path");
	char *copy = malloc(text.n + 1);
	if (copy == NULL)
		return fail(r->err, ENOMEM, "out of memory for a card");
	memcpy(copy, text.at, text.n);
	copy[text.n] = '\0';
	free(*out);
	*out = copy;
	return 0;
}

/* A path without "./" in front, and none that leads out of the data set. */
static int local_path(struct reader *r, struct span *path)
{
	while (path->n >= 2 && path->at[0] == '.' && path->at[1] == '/')
		span_skip(path, 2);
	while (path->n > 0 && path->at[path->n - 1] == '/')
		path->n--;
	bool out = path->n > 0 && path->at[0] == '/';
	for (size_t i = 0; i + 1 < path->n; i++) {
		bool start = i == 0 || path->at[i - 1] == '/';
		bool end = i + 2 == path->n || path->at[i + 2] == '/';
		out |= path->at[i] == ':' && (path->at[i + 1] == ':' || path->at[i + 1] == '/');
		out |= start && end && path->at[i] == '.' && path->at[i + 1] == '.';
	}
	return out ? fail(r->err, ENOTSUP, "the card names %.*s, which is no file of the data set itself",
	                  (int)(path->n < 200 ? path->n : 200), (const char *)path->at)
	           : 0;
}

static int add_pattern(struct reader *r, const yaml_node_t *node)
{
	struct card_files *f = r->out;
	struct buffer b = { 0 };
	struct span path = scalar(node);
	if (path.n == 0)
		return malformed(r, "a path is no text", "a pattern of file names");
	int code = local_path(r, &path);
	if (code == 0 && f->n == CARD_PATTERNS)
		code = fail(r->err, ENOTSUP, "the card names more than %d patterns", CARD_PATTERNS);
	if (code != 0)
		return code;
	if ((f->n & (f->n + 1)) == 0) {
		char **more = realloc(f->patterns, (2 * f->n + 2) * sizeof *more);
		if (more == NULL)
			return fail(r->err, ENOMEM, "out of memory for a card");
		f->patterns = more;
	}
	if (f->data_dir[0] != '\0')
		code = buffer_printf(&b, "%s/", f->data_dir);
	if (code == 0)
		code = buffer_add(&b, path.at, path.n, 0, r->err);
	f->patterns[f->n] = NULL;
	if (code == 0)
		code = copy_text(r, span_of(b.at, b.n), &f->patterns[f->n]);
	if (code == 0)
		f->n++;
	buffer_free(&b);
	return code;
}

/* A pattern or a list of them. */
static int add_patterns(struct reader *r, const yaml_node_t *node)
{
	int code = 0;
	if (node == NULL || node->type != YAML_SEQUENCE_NODE)
		return add_pattern(r, node);
	const yaml_node_item_t *end = node->data.sequence.items.top;
	for (const yaml_node_item_t *i = node->data.sequence.items.start; code == 0 && i < end; i++)
		code = add_pattern(r, node_of(r, *i));
	return code;
}

/* "a, b, c" of what is there, cut at NAMES_SHOWN. */
static void show(struct buffer *b, struct span name)
{
	if (b->n > NAMES_SHOWN)
		return;
	if (buffer_printf(b, "%s%.*s%s", b->n > 0 ? ", " : "", (int)(name.n < 100 ? name.n : 100),
	                  (const char *)name.at, b->n > NAMES_SHOWN - 20 ? ", ..." : "") == 0 &&
	    b->n > NAMES_SHOWN - 20)
		b->n = NAMES_SHOWN + 1;
}

static const char *shown(const struct buffer *b)
{
	return b->n > 0 ? (const char *)b->at : "none";
}

/* {split: patterns}, or the {split, path} of a list, one a call. */
static int take_split(struct reader *r, const char *split, struct span name, const yaml_node_t *paths,
                      bool *found, struct buffer *names)
{
	show(names, name);
	if (!span_is(name, split))
		return 0;
	*found = true;
	return add_patterns(r, paths);
}

static int data_files(struct reader *r, const yaml_node_t *node, const char *split)
{
	struct buffer names = { 0 };
	bool found = false, listed = false;
	int code = 0;
	if (node->type == YAML_MAPPING_NODE) {
		const yaml_node_pair_t *end = node->data.mapping.pairs.top;
		for (const yaml_node_pair_t *p = node->data.mapping.pairs.start; code == 0 && p < end; p++)
			code = take_split(r, split, scalar(node_of(r, p->key)), node_of(r, p->value), &found,
			                  &names);
		listed = true;
	} else if (node->type == YAML_SEQUENCE_NODE) {
		const yaml_node_item_t *end = node->data.sequence.items.top;
		for (const yaml_node_item_t *i = node->data.sequence.items.start; code == 0 && i < end; i++) {
			const yaml_node_t *item = node_of(r, *i);
			if (item == NULL || item->type != YAML_MAPPING_NODE)
				continue;
			const yaml_node_t *name = value_of(r, item, "split"),
			                  *paths = value_of(r, item, "path");
			listed = true;
			if (name == NULL || paths == NULL)
				code = malformed(r, "a part of data_files without split and path", "both");
			else
				code = take_split(r, split, scalar(name), paths, &found, &names);
		}
	}
	if (code == 0 && !listed) {
		show(&names, span_text("train"));
		found = strcmp(split, "train") == 0;
		if (found)
			code = add_patterns(r, node);
	}
	if (code == 0 && !found)
		code = fail(r->err, ENOENT, "name=%s has no split=%s; its splits are: %s", r->out->name,
		            split, shown(&names));
	buffer_free(&names);
	return code;
}

static int use(struct reader *r, const yaml_node_t *config, const char *split)
{
	const yaml_node_t *dir = value_of(r, config, "data_dir"), *files = value_of(r, config, "data_files");
	struct span path = scalar(dir);
	r->out->configured = true;
	int code = copy_text(r, scalar(value_of(r, config, "config_name")), &r->out->name);
	if (code == 0 && !is_null(dir))
		code = local_path(r, &path);
	if (code == 0)
		code = copy_text(r, is_null(dir) ? span_of("", 0) : path, &r->out->data_dir);
	if (code == 0 && !is_null(files))
		code = data_files(r, files, split);
	return code;
}

static int choose(struct reader *r, const yaml_node_t *configs, const char *name, const char *split)
{
	const yaml_node_t *chosen = NULL;
	struct buffer names = { 0 };
	int code = 0;
	size_t n = (size_t)(configs->data.sequence.items.top - configs->data.sequence.items.start);
	for (size_t i = 0; code == 0 && i < n; i++) {
		const yaml_node_t *config = node_of(r, configs->data.sequence.items.start[i]);
		const yaml_node_t *its = value_of(r, config, "config_name");
		if (its == NULL || its->type != YAML_SCALAR_NODE) {
			code = malformed(r, "one without config_name", "a name for each");
			break;
		}
		bool standard =
		        n == 1 || is_scalar(its, "default") || is_true(value_of(r, config, "default"));
		show(&names, scalar(its));
		if (name != NULL && is_scalar(its, name))
			chosen = config;
		else if (name == NULL && standard && chosen != NULL)
			code = malformed(r, "more than one is the default", "one");
		else if (name == NULL && standard)
			chosen = config;
	}
	if (code == 0 && chosen == NULL && name != NULL)
		code = fail(r->err, ENOENT, "there is no name=%s; there are: %s", name, shown(&names));
	else if (code == 0 && chosen == NULL)
		code = fail(r->err, ENOENT,
		            "none of its configurations is the default, choose one with name=: %s",
		            shown(&names));
	if (code == 0)
		code = use(r, chosen, split);
	buffer_free(&names);
	return code;
}

/* The YAML between the first line and the next one of "---". False: there is none. */
static bool head_of(struct span card, struct span *yaml)
{
	size_t at = 0;
	if (card.n >= 3 && memcmp(card.at, "\xef\xbb\xbf", 3) == 0)
		span_skip(&card, 3);
	while (at < card.n && strchr(" \t\r\n", card.at[at]) != NULL && card.at[at] != '\0')
		at++;
	if (card.n - at < 4 || memcmp(card.at + at, "---", 3) != 0 ||
	    memchr("\r\n", card.at[at + 3], 2) == NULL)
		return false;
	span_skip(&card, at + 4);
	for (size_t i = 0; i + 3 <= card.n; i++) {
		bool start = i == 0 || card.at[i - 1] == '\n' || card.at[i - 1] == '\r';
		if (start && memcmp(card.at + i, "---", 3) == 0 &&
		    (i + 3 == card.n || memchr(" \t\r\n", card.at[i + 3], 4) != NULL))
			return span_take(&card, i, yaml);
	}
	return false;
}

int card_choose(struct span card, const char *name, const char *split, struct card_files *out,
                struct error *err)
{
	struct reader r = { .out = out, .err = err };
	yaml_parser_t parser;
	struct span yaml;
	int code = 0;
	*out = (struct card_files){ 0 };
	if (!head_of(card, &yaml))
		return 0;
	if (yaml.n > CARD_MAX)
		return fail(err, ENOTSUP, "a card of more than %u bytes", CARD_MAX);
	if (!yaml_parser_initialize(&parser))
		return fail(err, ENOMEM, "out of memory for a card");
	yaml_parser_set_input_string(&parser, yaml.at, yaml.n);
	if (!yaml_parser_load(&parser, &r.document)) {
		code = parser.error == YAML_MEMORY_ERROR
		               ? fail(err, ENOMEM, "out of memory for a card")
		               : fail(err, EBADMSG, "the card is no YAML: line %zu: %s",
		                      parser.problem_mark.line + 2,
		                      parser.problem != NULL ? parser.problem : "?");
		yaml_parser_delete(&parser);
		return code;
	}
	const yaml_node_t *configs = value_of(&r, yaml_document_get_root_node(&r.document), "configs");
	if (!is_null(configs) && configs->type != YAML_SEQUENCE_NODE)
		code = malformed(&r, "is no list", "a list");
	else if (!is_null(configs) && configs->data.sequence.items.top > configs->data.sequence.items.start)
		code = choose(&r, configs, name, split);
	yaml_document_delete(&r.document);
	yaml_parser_delete(&parser);
	if (code != 0)
		card_free(out);
	return code;
}

void card_free(struct card_files *f)
{
	for (size_t i = 0; i < f->n; i++)
		free(f->patterns[i]);
	free(f->patterns);
	free(f->data_dir);
	free(f->name);
	*f = (struct card_files){ 0 };
}
