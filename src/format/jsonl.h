/* jsonl: texts of files with a JSON object (RFC 8259) on each line.
 *
 * Any thread; each call stands alone. jansson does not serve here: it needs a whole document in
 * memory as a tree and refuses what the format allows (lone surrogates), and a line can be as
 * large as `memory`; one pass that decodes only the wanted strings is simpler and bounded.
 */
#ifndef FW_FORMAT_JSONL_H
#define FW_FORMAT_JSONL_H

#include <stddef.h>
#include <stdint.h>

#include "base/share.h"
#include "format/document.h"
#include "io/codec.h"
#include "io/source.h"

#define JSONL_PIECE (4u << 20) /* bytes of a piece of a plain file */

struct jsonl_options {
	const char *column; /* the key of the text; NULL: the first that is there of text, raw_content, content */
	size_t line;        /* bytes of a line at most; 0: 512 MiB. Longer: -ENOTSUP, the text names `memory` */
	struct share *share; /* what the buffers count against, and what bounds a line then; NULL: `line` does */
};

/* Pieces of a plain file of that size: max(1, ceil(size / JSONL_PIECE)). */
uint64_t jsonl_pieces(uint64_t size);

/* Documents of the lines that start in piece `piece` of a plain file (a line belongs to the piece
 * in which it starts; the bytes before a piece tell whether one starts at its first byte).
 * document.row is the line's number within the piece. A blank line (only JSON white space) is no
 * document. A BOM at the start of the file is dropped. '\r' before '\n' is white space. Of a key
 * that is there twice the last counts; null or absent gives text.at == NULL; a text of another
 * type, or a line that is no JSON object, is -EBADMSG with file, line's byte offset and what was
 * expected; a lone surrogate escape is U+FFFD; raw bytes in strings are passed on unchecked. 0,
 * -EBADMSG, -ENOTSUP, what source_read says or what fn returned. */
int jsonl_texts(struct source *s, uint64_t piece, const struct jsonl_options *options,
		document_fn *fn, void *arg, struct error *err);

/* The same of a compressed file, whole, streamed. row is the line's number. codec: CODEC_GZIP or
 * CODEC_ZSTD. */
int jsonl_stream_texts(struct source *s, int codec, const struct jsonl_options *options,
		       document_fn *fn, void *arg, struct error *err);

#endif
