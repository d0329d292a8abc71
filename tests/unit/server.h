/* server: HTTP servers and a folder that they serve, for unit programs.
 *
 * One folder and one server a program; not for threads but server_url.
 */
#ifndef FW_TESTS_SERVER_H
#define FW_TESTS_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* data.bin in the folder: its bytes are known without reading it. */
#define SERVER_DATA 300000
extern uint8_t server_data[SERVER_DATA];

/* Makes the folder with data.bin, small.bin (its first 100 bytes), empty.bin and big.bin (sparse, one byte
 * more than HTTP_WHOLE). Ends the program when it cannot. */
const char *server_folder(void);

/* Writes a file into the folder: n bytes, then zeros up to size. */
void server_put(const char *name, const void *bytes, size_t n, off_t size);

/* Starts faultserver.py on the folder, with its log in the folder's file "log". False when there is no Python. */
bool server_start_faults(void);

/* Starts nginx on the folder, with `more` in its http block, where %u is a second free port. Also
 * /norange/ is the folder without ranges, /away/ redirects to data.bin. False when there is no nginx. */
bool server_start_nginx(const char *more);

/* URL of a file; fault is "" or "~FAULT", or for nginx any folder. Overwritten by this thread's next call. */
const char *server_url(const char *fault, const char *name);
/* nginx's second port. */
unsigned server_second_port(void);

/* Ends the server, removes the folder. */
void server_end(void);

int64_t server_ms(void); /* of a clock that only goes forward */

#endif
