/* damage: which pieces of token files were looked through whole, and which of them have an id outside the
 * vocabulary.
 *
 * For on_error=skip, where such an id damages its piece. Bounded: DAMAGE_KEPT pieces, then it forgets and
 * looks again. Any thread.
 */
#ifndef FW_DATASET_DAMAGE_H
#define FW_DATASET_DAMAGE_H

#include <stdbool.h>
#include <stdint.h>

#define DAMAGE_KEPT (1u << 20)

struct damage;

struct damage *damage_new(void);    /* NULL: out of memory */
void damage_free(struct damage *d); /* NULL-safe */
/* False when the piece was not looked through; else *bad tells. */
bool damage_known(struct damage *d, uint32_t file, uint32_t piece, bool *bad);
void damage_note(struct damage *d, uint32_t file, uint32_t piece, bool bad);

#endif
