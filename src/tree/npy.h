/* npy: the header of a NumPy file, version 1.0, of two dimensions.
 *
 * Specification: numpy.lib.format ("NEP 1"): magic, version, length of the text as two bytes little-endian, a
 * Python dict literal padded with blanks so that all is a multiple of 64, and a newline.
 */
#ifndef FW_TREE_NPY_H
#define FW_TREE_NPY_H

#include <stdint.h>

/* Bytes of the header, whatever the numbers are: the dict of two numbers of ten digits still fits 128. */
#define NPY_HEADER 128

/* The header of `rows` times `columns` unsigned integers of `width` bytes (2 or 4), little-endian. */
void npy_header(unsigned width, uint32_t rows, uint32_t columns, uint8_t out[NPY_HEADER]);

#endif
