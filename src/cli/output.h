/* output: the bytes that a subcommand writes to stdout. One thread.
 *
 * Who reads may go at any time: then every function says -EPIPE, and the program ends quietly.
 */
#ifndef FW_CLI_OUTPUT_H
#define FW_CLI_OUTPUT_H

#include <stddef.h>

#include "base/buffer.h"
#include "base/error.h"

/* Writes all n bytes. 0, -EPIPE without a text, or -errno. */
int output_write(const void *bytes, size_t n, struct error *err);
/* The same of a buffer, which is then empty (its room stays). */
int output_buffer(struct buffer *b, struct error *err);

/* Writes what was printed with stdio, and says whether all of it has arrived. 0, -EPIPE or -EIO as above. */
int output_flush(struct error *err);

#endif
