/* fuzz_tree: names and inode numbers from anywhere. The first 8 bytes are a number, the rest is a name. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/span.h"
#include "tree/inode.h"
#include "tree/name.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void try_name(const char *name)
{
	uint32_t number, again;
	char written[NAME_SIZE];
	enum name_kind kind = name_parse(name, &number);
	if (kind == NAME_OTHER)
		return;
	/* What is listed for it is found as the same. */
	name_write(kind, number, written);
	if (name_parse(written, &again) != kind || again != number)
		abort();
	/* Only a batch has more than one name. */
	if (strncmp(name, "batch_", 6) != 0 && strcmp(name, written) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	struct inode i;
	if (n < 8)
		return 0;
	uint64_t number = load_u64(bytes);
	if (inode_unpack(number, &i) && inode_pack(i) != number)
		abort();
	char *name = malloc(n - 8 + 1);
	if (name == NULL)
		return 0;
	memcpy(name, bytes + 8, n - 8);
	name[n - 8] = 0;
	try_name(name);
	free(name);
	return 0;
}
