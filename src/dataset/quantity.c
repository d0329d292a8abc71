#include "dataset/quantity.h"

#include <stddef.h>
#include <string.h>

#include "base/checked.h"

/* Takes digits of the base; false when there is none or the number does not fit. */
static bool take_digits(const char **text, unsigned base, uint64_t *value)
{
	const char *p = *text;
	for (;; p++) {
		unsigned digit;
		if (*p >= '0' && *p <= '9')
			digit = (unsigned)(*p - '0');
		else if (base == 16 && (*p | 32) >= 'a' && (*p | 32) <= 'f')
			digit = (unsigned)((*p | 32) - 'a') + 10;
		else
			break;
		if (!mul_u64(*value, base, value) || !add_u64(*value, digit, value))
			return false;
	}
	bool some = p != *text;
	*text = p;
	return some;
}

static bool whole(const char *text, unsigned base, uint64_t *out)
{
	uint64_t v = 0;
	if (!take_digits(&text, base, &v) || *text != '\0')
		return false;
	*out = v;
	return true;
}

bool quantity_number(const char *text, uint64_t *out)
{
	return whole(text, 10, out);
}

bool quantity_bits(const char *text, uint64_t *out)
{
	if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
		return whole(text + 2, 16, out);
	return whole(text, 10, out);
}

/* Digits with an optional fraction: the value is *value / 10^*places, in lowest terms of 10. */
static bool take_decimal(const char **text, uint64_t *value, unsigned *places)
{
	*value = 0;
	*places = 0;
	if (!take_digits(text, 10, value))
		return false;
	if (**text == '.') {
		const char *from = ++*text;
		if (!take_digits(text, 10, value))
			return false;
		*places = (unsigned)(*text - from);
	}
	while (*places > 0 && *value % 10 == 0) {
		*value /= 10;
		--*places;
	}
	return true;
}

/* value * unit / 10^places, if that is a whole number. */
static bool scale(uint64_t value, uint64_t unit, unsigned places, uint64_t *out)
{
	if (!mul_u64(value, unit, &value))
		return false;
	for (; places > 0; places--) {
		if (value % 10 != 0)
			return false;
		value /= 10;
	}
	*out = value;
	return true;
}

/* base^n of the unit letter at *text, which stands at n - 1 in letters; 1 without a letter. */
static uint64_t take_unit(const char **text, const char *letters, uint64_t base)
{
	char letter = **text;
	if (letter >= 'a' && letter <= 'z')
		letter = (char)(letter - 'a' + 'A');
	const char *at = letter == '\0' ? NULL : strchr(letters, letter);
	uint64_t unit = 1;
	if (at == NULL)
		return unit;
	++*text;
	for (const char *p = letters; p <= at; p++)
		unit *= base;
	return unit;
}

bool quantity_size(const char *text, uint64_t *out)
{
	uint64_t value;
	unsigned places;
	if (!take_decimal(&text, &value, &places))
		return false;
	uint64_t unit = take_unit(&text, "KMGT", 1024);
	return *text == '\0' && scale(value, unit, places, out);
}

bool quantity_tokens(const char *text, uint64_t *out)
{
	uint64_t value, exponent, unit = 1;
	unsigned places;
	if (!take_decimal(&text, &value, &places))
		return false;
	if (*text != 'e' && *text != 'E') {
		unit = take_unit(&text, "KMBT", 1000);
		return *text == '\0' && scale(value, unit, places, out);
	}
	text++;
	if (!quantity_number(text, &exponent) || exponent > 19)
		return false;
	for (; exponent > 0; exponent--)
		unit *= 10;
	return scale(value, unit, places, out);
}
