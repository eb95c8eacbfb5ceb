// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * file_transfer: prints QEMU's firmware configuration file opt/lab/files. A
 * machine that was restored from a snapshot gets its files in this way, because
 * QEMU's ports are approximately a hundred times as fast as the serial line.
 *
 * The protocol is QEMU's firmware configuration device (docs/specs/fw_cfg): a
 * write to one port selects an item by its key, and the other port returns the
 * bytes of the item.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/io.h>

#define NAME "opt/lab/files"
#define SELECT 0x510
#define DATA 0x511
#define DIRECTORY 0x19

/* An entry of the directory; its numbers are big-endian. */
struct entry {
	uint32_t size;
	uint16_t key;
	uint16_t reserved;
	char name[56];
};

static void take(void *to, uint32_t size)
{
	insb(DATA, to, size);
}

int main(void)
{
	static char chunk[1 << 16];
	struct entry entry;
	uint32_t count;

	if (ioperm(SELECT, 2, 1)) {
		perror("file_transfer: cannot use the ports of QEMU");
		return 1;
	}
	outw(DIRECTORY, SELECT);
	take(&count, sizeof(count));
	for (count = __builtin_bswap32(count); count; count--) {
		take(&entry, sizeof(entry));
		if (!strncmp(entry.name, NAME, sizeof(entry.name)))
			break;
	}
	if (!count) {
		fputs("file_transfer: QEMU has no file " NAME "\n", stderr);
		return 1;
	}
	outw(__builtin_bswap16(entry.key), SELECT);
	for (uint32_t left = __builtin_bswap32(entry.size); left;) {
		uint32_t size = left < sizeof(chunk) ? left : sizeof(chunk);

		take(chunk, size);
		if (fwrite(chunk, 1, size, stdout) != size)
			return 1;
		left -= size;
	}
	return fflush(stdout) ? 1 : 0;
}
