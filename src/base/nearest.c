#include "base/nearest.h"

#include <string.h>

static size_t distance(const char *a, size_t na, const char *b, size_t nb)
{
	size_t row[NEAREST_LENGTH + 1];
	for (size_t j = 0; j <= nb; j++)
		row[j] = j;
	for (size_t i = 1; i <= na; i++) {
		size_t diagonal = row[0];
		row[0] = i;
		for (size_t j = 1; j <= nb; j++) {
			size_t best = diagonal + (a[i - 1] != b[j - 1]);
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			diagonal = row[j];
			row[j] = best;
		}
	}
	return row[nb];
}

bool nearest_is(const char *word, const char *candidate, size_t *least)
{
	size_t n = strlen(word), m = strlen(candidate);
	if (n > NEAREST_LENGTH || m > NEAREST_LENGTH)
		return false;
	size_t d = distance(word, n, candidate, m);
	if (d > ((n > m ? n : m) + 2) / 3 || d >= *least)
		return false;
	*least = d;
	return true;
}
