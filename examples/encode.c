/* encode: the ids of one text, with the tokenizer as a library.
 *
 *	cc encode.c $(pkg-config --cflags --libs fineweb-token) -o encode && ./encode 'Hello, world!'
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <token/tokenizer.h>

int main(int argc, char **argv)
{
	const char *text = argc > 1 ? argv[1] : "Hello, world!";
	struct error err;
	struct tokenizer *t;
	if (tokenizer_open("gpt2", NULL, &t, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	struct encoder *e = encoder_new(t);
	uint16_t *ids = malloc(encoder_bound(strlen(text)) * sizeof *ids);
	int64_t count = e != NULL && ids != NULL ? encoder_encode(e, text, strlen(text), ids) : -1;
	for (int64_t i = 0; i < count; i++)
		printf("%" PRIu16 "\n", ids[i]);
	free(ids);
	encoder_free(e);
	tokenizer_close(t);
	return count < 0;
}
