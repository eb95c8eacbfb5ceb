// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * firstctl: the main program, see firstctl.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include "first.h"
#include "firstctl.h"

static const char usage[] =
	"usage: firstctl info    FIRST_IOC_INFO: describe the notebook\n"
	"       firstctl clear   FIRST_IOC_CLEAR: empty it\n"
	"       firstctl batch   calls from standard input, see firstctl.h\n";

static int complain(const char *what)
{
	fprintf(stderr, "firstctl: %s: %s%s\n", what, strerror(errno),
		errno == ENOENT ? " (make stage=0 load)" : "");
	return 1;
}

int main(int argc, char **argv)
{
	const char *verb = argc == 2 ? argv[1] : "";
	struct first_info info;
	int fd, ret;

	if (!strcmp(verb, "batch"))
		return firstctl_batch();
	ret = stress(argc, argv);
	if (ret >= 0)
		return ret;
	if (strcmp(verb, "info") && strcmp(verb, "clear")) {
		fputs(usage, stderr);
		return 2;
	}
	fd = open(FIRST_DEVICE, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return complain(FIRST_DEVICE);
	if (!strcmp(verb, "clear")) {
		ret = ioctl(fd, FIRST_IOC_CLEAR);
		if (ret < 0)
			return complain("FIRST_IOC_CLEAR");
		printf("%d lines are gone\n", ret);
	} else {
		if (ioctl(fd, FIRST_IOC_INFO, &info))
			return complain("FIRST_IOC_INFO");
		printf("%u lines, %u bytes, room for %u\n", info.lines,
		       info.bytes, info.room);
	}
	return 0;
}
