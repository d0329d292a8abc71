/* nfctables: Unicode 9.0's canonical decompositions, compositions and combining classes. Written by mknfc.py;
 * constant. */
#ifndef FW_TOKEN_NFCTABLES_H
#define FW_TOKEN_NFCTABLES_H

#include <stdint.h>

#define NFC_DECOMPOSITIONS 2060
#define NFC_COMPOSITIONS 940
#define NFC_CLASSES 333
#define NFC_SECONDS 23

/* c is a and then b; b is 0 when c is only another name of a. By c. */
struct nfc_decomposition {
	uint32_t c, a, b;
};
extern const struct nfc_decomposition nfc_decomposition[NFC_DECOMPOSITIONS];

/* The places in nfc_decomposition of those that compose again, by (a, b). */
extern const uint16_t nfc_composition[NFC_COMPOSITIONS];

/* The code points first ... last have this combining class, all others 0. By first. */
struct nfc_class {
	uint32_t first, last, k;
};
extern const struct nfc_class nfc_class[NFC_CLASSES];

/* Code points of class 0 that compose with one before them, but for Hangul's. Ascending. */
extern const uint32_t nfc_second[NFC_SECONDS];

#endif
