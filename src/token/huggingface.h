/* huggingface: reads a tokenizer.json of a byte-level BPE.
 *
 * Source: the tokenizer.json of HF tokenizers (models/bpe, pre_tokenizers, normalizers) as of 0.23, and
 * GPT-2's table of bytes to characters.
 */
#ifndef FW_TOKEN_HUGGINGFACE_H
#define FW_TOKEN_HUGGINGFACE_H

#include "base/error.h"
#include "base/span.h"
#include "token/merges.h"
#include "token/model.h"

/* Fills t->info's vocab and bos, vocab, split, whole and nfc from the whole file, whose name is only for
 * messages, and the merges, which make the pairs. Only info when merges is NULL. 0,
 * -ENOMEM, -EBADMSG (damaged), -ENOTSUP (a model, pre-tokenizer, pattern or normalizer that is not known: it
 * is named). What is filled belongs to its owner also after a failure. */
int huggingface_read(struct tokenizer *t, struct span file, const char *name, struct merges *merges,
                     struct error *err);

#endif
