/* fingerprint: the hash of all that a layout depends on: the options, and the name and pin of each file.
 *
 * Made by the thread that counts, a part at a time, for a pin may have to be asked for.
 */
#ifndef FW_DATASET_FINGERPRINT_H
#define FW_DATASET_FINGERPRINT_H

#include <stdint.h>

#include "base/error.h"
#include "base/hash.h"

struct dataset;

enum { FINGERPRINT_DONE = 1 };

/* Begins with the options. */
struct hash *fingerprint_begin(struct dataset *d);
/* Adds some files from *at on; after the last the dataset has its fingerprint, and *h is NULL. 0: go on;
 * FINGERPRINT_DONE; or what a pin says. */
int fingerprint_step(struct dataset *d, uint32_t *at, struct hash **h, struct error *err);
/* Where listings told all pins: makes it at once, so that dataset.json need not wait until all is counted. */
void fingerprint_now(struct dataset *d);

#endif
