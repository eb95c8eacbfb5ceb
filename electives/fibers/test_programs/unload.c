// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The module can be unloaded as soon as no process has it open, and not before.
 */
#include "test_program.h"

#define MODULE "/lib/fibers.ko"
#define ROUNDS 20

static void never(void *unused)
{
	(void)unused;
}

static long unload(void)
{
	return syscall(SYS_delete_module, "fibers", O_NONBLOCK) ? -errno : 0;
}

static void load(void)
{
	int file = open(MODULE, O_RDONLY | O_CLOEXEC);

	CHECK(file >= 0);
	SAME(syscall(SYS_finit_module, file, "", 0), 0);
	close(file);
}

static void while_open(void)
{
	long home, other;

	SAME(fibers_begin(), 0);
	SAME(unload(), -EWOULDBLOCK);
	home = fiber_test_convert();
	other = fiber_test_fiber(never, NULL);
	SAME(unload(), -EWOULDBLOCK);
	SAME(fiber_switch(home), -EBUSY);
	SAME(fiber_delete(other), 0);
}

/*
 * With expedited RCU, the kernel waits so briefly that the module's own RCU
 * callbacks may still be pending at unload: the module must wait for them.
 */
static void at_once(void)
{
	int quick = open("/sys/kernel/rcu_expedited", O_WRONLY);

	CHECK(quick < 0 || write(quick, "1", 1) == 1);
	for (int i = 0; i < ROUNDS; i++) {
		SAME(fibers_begin(), 0);
		fiber_test_convert();
		fiber_test_fiber(never, NULL);
		SAME(close(fibers_file), 0);
		SAME(unload(), 0);
		load();
	}
	CHECK(quick < 0 || write(quick, "0", 1) == 1);
	close(quick);
	usleep(100000); /* wait until RCU has run all callbacks */
}

/* An open file of /proc does not prevent unloading, and stays safe to read. */
static void while_listed(void)
{
	int list = open("/proc/fibers", O_RDONLY);
	char byte;

	CHECK(list >= 0);
	SAME(read(list, &byte, 1), 1);
	SAME(unload(), 0);
	SAME(read(list, &byte, 1), -1);
	load();
	SAME(close(list), 0);
}

int main(int argc, char **argv)
{
	static const struct test_function tests[] = {
		{ "open", while_open },
		{ "at-once", at_once },
		{ "listed", while_listed },
		{ NULL, NULL },
	};

	return fiber_test_main(argc, argv, tests);
}
