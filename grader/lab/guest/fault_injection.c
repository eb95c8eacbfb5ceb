// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Make allocations fail on demand: see fault_injection.h.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fault_injection.h"

#define DEBUGFS "/sys/kernel/debug/"

static const char *const injectors[] = { "failslab", "fail_page_alloc" };

static int fail_nth = -1;
static int starved = -1;

static void give_up(const char *what)
{
	printf("no allocation can be made to fail: %s: %s\n", what,
	       strerror(errno));
	exit(2);
}

static void store(const char *injector, const char *name, const char *value)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), DEBUGFS "%s/%s", injector, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, value, strlen(value)) < 0)
		give_up(path);
	close(fd);
}

void fault_begin(void)
{
	for (int i = 0; i < 2; i++) {
		store(injectors[i], "ignore-gfp-wait", "N");
		store(injectors[i], "verbose", "0");
	}
	store("fail_page_alloc", "ignore-gfp-highmem", "N");
	store("fail_page_alloc", "min-order", "0");
	fail_nth = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	if (fail_nth < 0)
		give_up("/proc/thread-self/fail-nth");
}

void fault_arm(unsigned int k)
{
	char text[16];
	int size = snprintf(text, sizeof(text), "%u", k);

	if (pwrite(fail_nth, text, (size_t)size, 0) != size)
		give_up("fail-nth");
}

unsigned int fault_disarm(void)
{
	char text[16] = "";

	if (pread(fail_nth, text, sizeof(text) - 1, 0) <= 0)
		give_up("fail-nth");
	fault_arm(0);
	return (unsigned int)atoi(text);
}

void fault_random(const char *percent)
{
	/*
	 * Open the file before faults are enabled, because open() itself
	 * allocates memory.
	 */
	if (starved < 0)
		starved = open("/proc/self/make-it-fail", O_RDWR | O_CLOEXEC);
	if (starved < 0)
		give_up("/proc/self/make-it-fail");
	for (int i = 0; i < 2; i++) {
		store(injectors[i], "task-filter", "Y");
		store(injectors[i], "times", "-1");
		store(injectors[i], "probability", percent);
	}
}

void fault_this_process(bool enable)
{
	if (pwrite(starved, enable ? "1" : "0", 1, 0) != 1)
		give_up("make-it-fail");
}
