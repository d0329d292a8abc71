#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mount/cmdline.h"
#include "unit/unit.h"

static struct cmdline line;
static struct error err;

/* Reads a command line of at most 15 words, with `environment` (FINEWEB_CONFIG=/dev/null is added to it). */
static const char *program = "fineweb";
static int read_words(const char *variable, const char *const *words)
{
	char *argv[16] = { strdup(program) }, *environment[3] = { strdup("FINEWEB_CONFIG=/dev/null") };
	int argc = 1;
	while (words[argc - 1] != NULL && argc < 15) {
		argv[argc] = strdup(words[argc - 1]);
		argc++;
	}
	if (variable != NULL)
		environment[1] = strdup(variable);
	err = (struct error){ 0 };
	int r = cmdline_read(argc, argv, environment, &line, &err);
	for (int i = 0; i < argc; i++)
		free(argv[i]);
	free(environment[0]);
	free(environment[1]);
	return r;
}

#define READ(variable, ...) read_words(variable, (const char *const[]){ __VA_ARGS__, NULL })

static void test_words(void)
{
	CU_ASSERT_EQUAL(READ(NULL, "/dev/null", "/mnt/fw", "-o", "rw,dev,suid", "-f"), 0);
	CU_ASSERT_STRING_EQUAL(line.mountpoint, "/mnt/fw");
	CU_ASSERT(line.options.sources == 1 && strcmp(line.options.source[0], "/dev/null") == 0);
	CU_ASSERT(line.foreground && !line.debug && !line.sample);
	CU_ASSERT_STRING_EQUAL(line.device, "/dev/null");
	cmdline_free(&line);
	CU_ASSERT_EQUAL(READ(NULL, "-o", "seq_len=7,source=/dev/null", "-obatch_size=3", "-d", "--", "-x"),
	                0);
	CU_ASSERT_STRING_EQUAL(line.mountpoint, "-x");
	CU_ASSERT(line.options.seq_len == 7 && line.options.batch_size == 3 && line.debug);
	cmdline_free(&line);
	CU_ASSERT_EQUAL(READ(NULL, "none", "/mnt/fw", "-o", "source=/dev/null,source=/dev/zero"), 0);
	CU_ASSERT(line.options.sources == 2 && strcmp(line.options.source[1], "/dev/zero") == 0);
	cmdline_free(&line);
}

/* mount(8), "External helpers": mount.suffix spec dir [-sfnv] [-N namespace] [-o options] [-t type.subtype]
 */
static void test_helper(void)
{
	CU_ASSERT(cmdline_is_helper("/sbin/mount.fineweb") && cmdline_is_helper("mount.fineweb"));
	CU_ASSERT_FALSE(cmdline_is_helper("/mount./fineweb"));
	CU_ASSERT_EQUAL(READ(NULL, "/dev/null", "/mnt/fw", "-f"), 0);
	CU_ASSERT(line.foreground && !line.fake);
	cmdline_free(&line);
	program = "/usr/sbin/mount.fineweb";
	CU_ASSERT_EQUAL(READ(NULL, "/dev/null", "/mnt/fw", "-s", "-nv", "-N", "/proc/1/ns/mnt", "-t",
	                     "fineweb.x", "-o", "rw,seed=5"),
	                0);
	CU_ASSERT_STRING_EQUAL(line.mountpoint, "/mnt/fw");
	CU_ASSERT(line.options.seed == 5 && !line.foreground && !line.fake && !line.debug);
	cmdline_free(&line);
	CU_ASSERT_EQUAL(READ(NULL, "/dev/null", "/mnt/fw", "-f", "-v", "-o", "rw"), 0);
	CU_ASSERT(line.fake && !line.foreground);
	cmdline_free(&line);
	CU_ASSERT_EQUAL(READ(NULL, "/dev/null", "/mnt/fw", "-sx"), -EINVAL);
	cmdline_free(&line);
	program = "fineweb";
}

static void test_commas(void)
{
	CU_ASSERT_EQUAL(READ(NULL, "/mnt/fw", "-o", "source=http://x/a\\,b c\\d,,seed=5,"), 0);
	CU_ASSERT(line.options.sources == 1 && strcmp(line.options.source[0], "http://x/a,b c\\d") == 0);
	CU_ASSERT_STRING_EQUAL(line.device, "http://x/a_b_c_d");
	CU_ASSERT_EQUAL(line.options.seed, 5);
	cmdline_free(&line);
}

/* What mount(8) and fstab pass, and what belongs to FUSE. */
static void test_options_of_mount(void)
{
	CU_ASSERT_EQUAL(READ(NULL, "/dev/null", "/mnt/fw", "-o",
	                     "rw,dev,suid,exec,auto,noauto,nouser,user,users,_netdev,nofail,relatime,"
	                     "lazytime,nodiratime,"
	                     "strictatime,silent,owner,group,comment=x,x-systemd.automount,x-gvfs-show,"
	                     "uhelper=u,helper=h,"
	                     "ro,nosuid,nodev,defaults,fsname=a,subtype=b"),
	                0);
	CU_ASSERT(!line.allow_other && !line.noexec && !line.noatime);
	cmdline_free(&line);
	CU_ASSERT_EQUAL(READ(NULL, "/dev/null", "/mnt/fw", "-o", "allow_other,auto_unmount,noexec,noatime"),
	                0);
	CU_ASSERT(line.allow_other && line.auto_unmount && line.noexec && line.noatime && !line.allow_root);
	cmdline_free(&line);
}

static void fails(int r, int code, const char *a, const char *b)
{
	CU_ASSERT_EQUAL(r, -code);
	if (strstr(err.text, a) == NULL || strstr(err.text, b) == NULL) {
		printf("# '%s' without '%s' or '%s'\n", err.text, a, b);
		CU_FAIL("the message does not say it");
	}
	cmdline_free(&line);
}

static void test_mistakes(void)
{
	fails(READ(NULL, "-f"), EINVAL, "mountpoint", "MOUNTPOINT");
	fails(READ(NULL, "a", "b", "c"), EINVAL, "'c'", "source=");
	fails(READ(NULL, "a", "b", "-o"), EINVAL, "-o", "options");
	fails(READ(NULL, "a", "b", "-q"), EINVAL, "'-q'", "--help");
	fails(READ(NULL, "/dev/null", "b", "-o", "batchsize=4"), EINVAL, "batchsize", "batch_size");
	fails(READ(NULL, "/dev/null", "b", "-o", "remount"), EINVAL, "remount", "unmount first");
	fails(READ(NULL, "/dev/null", "b", "-o", "stride=piece,shuffle=torch"), EINVAL, "stride", "torch");
	fails(READ(NULL, "/nowhere/at/all", "b"), ENOENT, "/nowhere/at/all", "No such file");
	fails(READ(NULL, "/dev/null", "b", "-o", "config=/nowhere/x.conf"), ENOENT, "/nowhere/x.conf",
	      "No such file");
	fails(READ("FINEWEB_SEQLEN=4", "/dev/null", "b"), EINVAL, "FINEWEB_SEQLEN", "FINEWEB_SEQ_LEN");
}

/* File, environment, command line: the later wins, and a source takes the place of earlier ones. */
static void test_precedence(void)
{
	char path[] = "/tmp/test_cmdline.XXXXXX", option[64];
	int fd = mkstemp(path);
	CU_ASSERT_FATAL(fd >= 0);
	static const char text[] =
	        "source = /dev/zero\nsource = /dev/full\nseq_len = 1\nbatch_size = 1\nworld_size = 1\n";
	CU_ASSERT_EQUAL(write(fd, text, sizeof text - 1), (ssize_t)sizeof text - 1);
	close(fd);
	snprintf(option, sizeof option, "world_size=3,config=%s", path);
	CU_ASSERT_EQUAL(READ("FINEWEB_BATCH_SIZE=2", "/mnt/fw", "-o", option), 0);
	CU_ASSERT(line.options.seq_len == 1 && line.options.batch_size == 2 && line.options.world_size == 3);
	CU_ASSERT(line.options.sources == 2 && !line.sample);
	cmdline_free(&line);
	CU_ASSERT_EQUAL(READ("FINEWEB_SOURCE=/dev/tty", "/dev/null", "/mnt/fw", "-o", option), 0);
	CU_ASSERT(line.options.sources == 1 && strcmp(line.options.source[0], "/dev/null") == 0);
	cmdline_free(&line);
	unlink(path);
}

/* The daemon changes its folder. */
static void test_paths(void)
{
	char here[4096], want[4200];
	CU_ASSERT_FATAL(getcwd(here, sizeof here) != NULL);
	CU_ASSERT_EQUAL(READ(NULL, "./.", "/mnt/fw", "-o", "cache=c/d,source=*.bin,source=http://h/p"), 0);
	snprintf(want, sizeof want, "%s/.", strcmp(here, "/") == 0 ? "" : here);
	CU_ASSERT_STRING_EQUAL(line.options.source[0], want);
	snprintf(want, sizeof want, "%s/*.bin", strcmp(here, "/") == 0 ? "" : here);
	CU_ASSERT_STRING_EQUAL(line.options.source[1], want);
	CU_ASSERT_STRING_EQUAL(line.options.source[2], "http://h/p");
	snprintf(want, sizeof want, "%s/c/d", strcmp(here, "/") == 0 ? "" : here);
	CU_ASSERT_STRING_EQUAL(line.options.cache, want);
	CU_ASSERT_STRING_EQUAL(line.options.tokenizer, "gpt2");
	cmdline_free(&line);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{ "words and options", test_words },
		{ "the convention of mount helpers", test_helper },
		{ "commas in values", test_commas },
		{ "options of mount(8), fstab and FUSE", test_options_of_mount },
		{ "mistakes say what is wrong", test_mistakes },
		{ "file, environment, command line", test_precedence },
		{ "paths are absolute", test_paths },
		CU_TEST_INFO_NULL,
	};
	return unit_main("cmdline", tests);
}
