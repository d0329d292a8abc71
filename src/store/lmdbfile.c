#define _GNU_SOURCE
#include "store/lmdbfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC 0xBEEFC0DEu
#define DATA_VERSION 1
#define WORD sizeof(size_t)    /* page numbers, transaction ids */
#define PAGE_HEAD (WORD + 8)   /* number, pad u16, flags u16, lower u16 and upper u16 or pages u32 */
#define NODE_HEAD 8	       /* size or page u32, flags u16, key size u16 */
#define DB_SIZE (8 + 5 * WORD) /* pad u32, flags u16, depth u16, pages of three kinds, entries, root */
#define META_SIZE (8 + 2 * WORD + 2 * DB_SIZE + 2 * WORD)
#define NO_PAGE SIZE_MAX
#define DEEPEST 32 /* LMDB's cursor stack */

enum { IS_BRANCH = 1, IS_LEAF = 2, IS_OVERFLOW = 4, IS_META = 8 };
enum { NODE_BIG = 1 };
#define INTEGER_KEY 8
#define UNWRITTEN 65536 /* pages past the file's end at most */

struct tree {
	unsigned flags, depth;
	size_t root;
	bool is_free; /* the list of free pages */
};

struct walk {
	struct span file;
	size_t page_size, pages, last; /* pages: of the file; last: page number */
	uint8_t *used;		       /* a bit for each page */
};

struct page {
	const uint8_t *at;
	unsigned flags;
	size_t nodes; /* 0 when it is an overflow page */
};

struct node {
	struct span key, rest;
	uint32_t low;
	unsigned flags;
};

static uint16_t host_u16(const uint8_t *p)
{
	uint16_t v;
	memcpy(&v, p, sizeof v);
	return v;
}

static uint32_t host_u32(const uint8_t *p)
{
	uint32_t v;
	memcpy(&v, p, sizeof v);
	return v;
}

static size_t host_word(const uint8_t *p)
{
	size_t v;
	memcpy(&v, p, sizeof v);
	return v;
}

/* Marks n pages from `first` as used; false when one is past the last, a meta page, or used already. */
static bool use_pages(struct walk *w, size_t first, size_t n)
{
	if (first < 2 || first > w->last || n == 0 || n > w->last - first + 1)
		return false;
	for (size_t i = first; i < first + n; i++) {
		uint8_t bit = (uint8_t)(1u << (i & 7));
		if (w->used[i >> 3] & bit)
			return false;
		w->used[i >> 3] |= bit;
	}
	return true;
}

/* The page of a tree, as it should be; its node offsets are inside it. */
static bool open_page(struct walk *w, size_t number, unsigned kind, struct page *out)
{
	if (!use_pages(w, number, 1) || number >= w->pages)
		return false;
	const uint8_t *at = w->file.at + number * w->page_size;
	size_t lower = host_u16(at + WORD + 4), upper = host_u16(at + WORD + 6);
	if (host_word(at) != number || host_u16(at + WORD + 2) != kind || lower < PAGE_HEAD ||
	    lower % 2 != 0 || lower > upper || upper > w->page_size)
		return false;
	*out = (struct page){ .at = at, .flags = kind, .nodes = (lower - PAGE_HEAD) / 2 };
	/* LMDB keeps two keys or more in a branch. */
	return kind == IS_LEAF ? out->nodes >= 1 : out->nodes >= 2;
}

static bool open_node(const struct walk *w, const struct page *p, size_t i, struct node *out)
{
	size_t off = host_u16(p->at + PAGE_HEAD + 2 * i);
	size_t upper = host_u16(p->at + WORD + 6);
	if (off % 2 != 0 || off < upper || off + NODE_HEAD > w->page_size)
		return false;
	struct span rest = span_of(p->at + off, w->page_size - off);
	out->low = host_u32(rest.at);
	out->flags = host_u16(rest.at + 4);
	size_t key = host_u16(rest.at + 6);
	return span_skip(&rest, NODE_HEAD) && span_take(&rest, key, &out->key) && (out->rest = rest, true);
}

/* The value of a leaf's node, in the page or in a run of overflow pages of its own. */
static bool open_value(struct walk *w, const struct node *n, struct span *value)
{
	struct span rest = n->rest;
	if (n->flags == 0)
		return span_take(&rest, n->low, value);
	if (n->flags != NODE_BIG || rest.n < WORD)
		return false;
	size_t first = host_word(rest.at);
	size_t need = (PAGE_HEAD + (size_t)n->low + w->page_size - 1) / w->page_size;
	if (first >= w->pages || need > w->pages - first)
		return false;
	const uint8_t *at = w->file.at + first * w->page_size;
	/* A smaller value keeps the pages of the one it replaces. */
	size_t pages = host_u32(at + WORD + 4);
	*value = span_of(at + PAGE_HEAD, n->low);
	return pages >= need && use_pages(w, first, pages) && host_word(at) == first &&
	       host_u16(at + WORD + 2) == IS_OVERFLOW;
}

/* A transaction's freed pages: their number, then each, going down. */
static bool is_free_list(struct walk *w, const struct node *n, struct span value)
{
	if (n->key.n != WORD || value.n < WORD || value.n % WORD != 0)
		return false;
	size_t count = host_word(value.at), before = NO_PAGE;
	if (count > value.n / WORD - 1)
		return false;
	for (size_t i = 1; i <= count; i++) {
		size_t page = host_word(value.at + i * WORD);
		if (page >= before || !use_pages(w, page, 1))
			return false;
		before = page;
	}
	return true;
}

static bool is_leaf_whole(struct walk *w, const struct tree *t, size_t number)
{
	struct page p;
	if (!open_page(w, number, IS_LEAF, &p))
		return false;
	for (size_t i = 0; i < p.nodes; i++) {
		struct node n;
		struct span value;
		if (!open_node(w, &p, i, &n) || n.key.n == 0 || !open_value(w, &n, &value))
			return false;
		if (t->is_free && !is_free_list(w, &n, value))
			return false;
	}
	return true;
}

static size_t child_of(const struct node *n)
{
	uint64_t page = n->low;
	if (WORD > 4)
		page |= (uint64_t)n->flags << 32;
	return page > NO_PAGE ? NO_PAGE : (size_t)page;
}

/* Goes down to each leaf; every level has one kind of page. */
static bool is_tree_whole(struct walk *w, const struct tree *t)
{
	struct {
		struct page page;
		size_t next;
	} stack[DEEPEST];
	if (t->root == NO_PAGE)
		return t->depth == 0;
	if (t->depth == 0 || t->depth >= DEEPEST)
		return false;
	if (t->depth == 1)
		return is_leaf_whole(w, t, t->root);
	unsigned level = 0;
	if (!open_page(w, t->root, IS_BRANCH, &stack[0].page))
		return false;
	stack[0].next = 0;
	for (;;) {
		struct node n;
		if (stack[level].next == stack[level].page.nodes) {
			if (level-- == 0)
				return true;
			continue;
		}
		size_t i = stack[level].next++;
		if (!open_node(w, &stack[level].page, i, &n) || (i > 0 && n.key.n == 0) ||
		    (t->is_free && i > 0 && n.key.n != WORD))
			return false;
		if (level + 2 == t->depth) {
			if (!is_leaf_whole(w, t, child_of(&n)))
				return false;
			continue;
		}
		level++;
		if (!open_page(w, child_of(&n), IS_BRANCH, &stack[level].page))
			return false;
		stack[level].next = 0;
	}
}

static void read_tree(const uint8_t *at, bool is_free, struct tree *out)
{
	*out = (struct tree){
		.flags = host_u16(at + 4),
		.depth = host_u16(at + 6),
		.root = host_word(at + 8 + 4 * WORD),
		.is_free = is_free,
	};
}

struct meta {
	size_t page_size, last, transaction;
	struct tree trees[2]; /* free, main */
};

static bool read_meta(struct span file, size_t off, struct meta *out)
{
	if (off > file.n || file.n - off < PAGE_HEAD + META_SIZE)
		return false;
	const uint8_t *page = file.at + off, *at = page + PAGE_HEAD;
	const uint8_t *dbs = at + 8 + 2 * WORD;
	if (host_u16(page + WORD + 2) != IS_META || host_u32(at) != MAGIC || host_u32(at + 4) != DATA_VERSION)
		return false;
	out->page_size = host_u32(dbs);
	read_tree(dbs, true, &out->trees[0]);
	read_tree(dbs + DB_SIZE, false, &out->trees[1]);
	out->last = host_word(dbs + 2 * DB_SIZE);
	out->transaction = host_word(dbs + 2 * DB_SIZE + WORD);
	return out->page_size >= 512 && out->page_size <= 0x8000 &&
	       (out->page_size & (out->page_size - 1)) == 0 && out->trees[0].flags == INTEGER_KEY &&
	       out->trees[1].flags == 0;
}

int lmdbfile_validate(struct span file)
{
	struct meta first, second;
	if (!read_meta(file, 0, &first) || !read_meta(file, first.page_size, &second) ||
	    first.page_size != second.page_size)
		return -EBADMSG;
	const struct meta *m = first.transaction < second.transaction ? &second : &first;
	size_t pages = file.n / m->page_size;
	/* Free pages at the end need never have been written. */
	if (m->last < 1 || m->last >= pages + UNWRITTEN)
		return -EBADMSG;
	struct walk w = { .file = file, .page_size = m->page_size, .pages = pages, .last = m->last };
	w.used = calloc(m->last / 8 + 1, 1);
	if (w.used == NULL)
		return -ENOMEM;
	bool whole = is_tree_whole(&w, &m->trees[0]) && is_tree_whole(&w, &m->trees[1]);
	free(w.used);
	return whole ? 0 : -EBADMSG;
}

int lmdbfile_check(const char *path)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return errno == ENOENT ? 0 : errno == ELOOP ? -EBADMSG : -errno;
	int r = 0;
	if (fstat(fd, &st) != 0) {
		r = -errno;
	} else if (!S_ISREG(st.st_mode)) {
		r = -EBADMSG;
	} else if (st.st_size > 0) {
		size_t n = (size_t)st.st_size;
		void *at = mmap(NULL, n, PROT_READ, MAP_SHARED, fd, 0);
		if (at == MAP_FAILED) {
			r = -errno;
		} else {
			r = lmdbfile_validate(span_of(at, n));
			munmap(at, n);
		}
	}
	close(fd);
	return r;
}
