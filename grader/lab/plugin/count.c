// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * count: a QEMU TCG plugin that counts the instructions that a guest executes,
 * by region of memory. No guest code can change the counters.
 *
 *	-plugin count.so,out=FILE,at=FILE,digits=NUMBER
 *
 * A program of the guest controls the plugin by marker instructions, which do
 * nothing: "nopl imm32(%rax)" with the bytes of marker.h. The plugin recognizes
 * them at user addresses only. Markers 0 to 9 send a decimal digit,
 * MARKER_READY makes the plugin read the file at=, and any other marker is an
 * event. The file at= has a list of addresses, a hexadecimal number on each
 * line. The execution of the instruction at one of these addresses is an event,
 * too; the instruction must not have been executed before MARKER_READY. The
 * plugin writes a line to the file out= for each event:
 *
 *	NAME USER KERNEL MODULE ELSEWHERE PRODUCTS DIVISIONS VECTORS ACCESSES
 *	ASSEMBLY INTERRUPTS INTERRUPTED
 *
 * NAME is "m" and the number of the marker, or "a" and the index of the address
 * in the list, both decimal. USER, KERNEL, MODULE and ELSEWHERE are the numbers
 * of instructions so far at user addresses, in the kernel's text, in modules,
 * and at all other addresses. PRODUCTS is the number of products of 32-bit
 * words that the instructions of MODULE have computed, see products_of(),
 * DIVISIONS is the number of their divisions, VECTORS is the number of their
 * instructions on vectors of 256 bits, ACCESSES is the number of their loads and
 * stores, and ASSEMBLY is the part of PRODUCTS whose instructions have the
 * prefix of the segment DS, which compilers do not emit. INTERRUPTS is the
 * number of interrupts and exceptions, and INTERRUPTED is the part of KERNEL
 * that was executed in them.
 *
 * If digits were sent since the event before, a line "digits TEXT" precedes the
 * line of the event. After EVENTS events or digits= digits the plugin writes a
 * line "full" and nothing more.
 *
 * No package contains qemu-plugin.h, so its declarations are repeated below
 * from QEMU's include/plugins/qemu-plugin.h: interface 1 (QEMU 6.0 to 8.2);
 * interfaces 2 to 5 (9.0 to 10.2), where inline counters are in a scoreboard;
 * and interface 7 (11.1), where each callback gets a pointer that was
 * registered with it. Functions that some versions lack are weak.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "marker.h"

#define EXPORT __attribute__((visibility("default")))
#define WEAK __attribute__((weak))

typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_plugin_scoreboard;

struct qemu_info {
	const char *target_name;
	struct {
		int min;
		int cur;
	} version;
	bool system_emulation;
};

struct qemu_plugin_u64 {
	struct qemu_plugin_scoreboard *score;
	size_t offset;
};

enum { QEMU_PLUGIN_CB_NO_REGS };
enum { QEMU_PLUGIN_INLINE_ADD_U64 };
enum { QEMU_PLUGIN_MEM_RW = 3 };

typedef void (*insn_cb)(unsigned int cpu, void *data);

/*
 * Before interface 7 this function takes only the first two arguments, and @cb
 * gets the ID and the block. From interface 7 on @cb gets the block and @data.
 */
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
					   void (*cb)(void), void *data);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *
qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t i);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);
/*
 * Before interface 3 this function takes only the first argument and returns
 * the bytes.
 */
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn, void *to,
				  size_t size);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
					    insn_cb cb, int flags, void *data);
/* These functions exist only in interfaces 0 and 1. */
WEAK void
qemu_plugin_register_vcpu_insn_exec_inline(struct qemu_plugin_insn *insn,
					   int op, void *counter, uint64_t add);
WEAK void qemu_plugin_register_vcpu_mem_inline(struct qemu_plugin_insn *insn,
					       int rw, int op, void *counter,
					       uint64_t add);
/* These functions exist only from interface 2 on. */
WEAK struct qemu_plugin_scoreboard *qemu_plugin_scoreboard_new(size_t size);
WEAK void *qemu_plugin_scoreboard_find(struct qemu_plugin_scoreboard *score,
				       unsigned int cpu);
WEAK void qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(
	struct qemu_plugin_insn *insn, int op, struct qemu_plugin_u64 counter,
	uint64_t add);
WEAK void qemu_plugin_register_vcpu_mem_inline_per_vcpu(
	struct qemu_plugin_insn *insn, int rw, int op,
	struct qemu_plugin_u64 counter, uint64_t add);
/* This function exists only from interface 4 on. */
WEAK bool qemu_plugin_read_memory_vaddr(uint64_t address, void *to,
					size_t size);

/* This function exists only from interface 6 on. */
WEAK void qemu_plugin_set_pc(uint64_t address);

/* QEMU checks this version before it calls qemu_plugin_install(). */
EXPORT int qemu_plugin_version;

/* Address ranges of x86-64 Linux: Documentation/arch/x86/x86_64/mm.rst. */
#define USER_END 0x0000800000000000
#define KERNEL_TEXT 0xffffffff80000000
#define MODULES 0xffffffffc0000000
#define MODULES_END 0xffffffffff000000

/*
 * The counters of instructions by region. The counters from PRODUCTS on are for
 * modules only.
 */
enum counter {
	USER,
	KERNEL,
	MODULE,
	ELSEWHERE,
	PRODUCTS,
	DIVISIONS,
	VECTORS,
	ACCESSES,
	ASSEMBLY,
	COUNTERS
};

#define EVENTS 524288 /* fewer than fit into the 64 MB of a file of a machine */
#define ADDRESSES 16
#define INSN_BYTES 15

static uint64_t own_counters[COUNTERS];
static uint64_t *counters = own_counters;
static struct qemu_plugin_scoreboard *score;
static bool copies_data; /* qemu_plugin_insn_data() copies the bytes */

static FILE *out;
static const char *addresses;
static uint64_t at[ADDRESSES];
static size_t at_count;
static char *digits;
static size_t digits_count, digits_room;
static unsigned int events;

/* Interrupts may be nested; only the outermost is measured. */
static unsigned int depth;
static uint64_t entered, interrupts, interrupted;

static enum counter region_of(uint64_t address)
{
	if (address < USER_END)
		return USER;
	if (address >= KERNEL_TEXT && address < MODULES)
		return KERNEL;
	if (address >= MODULES && address < MODULES_END)
		return MODULE;
	return ELSEWHERE;
}

static void print_digits(void)
{
	if (digits_count)
		fprintf(out, "digits %.*s\n", (int)digits_count, digits);
	digits_count = 0;
}

static void event(char kind, unsigned int number)
{
	if (events > EVENTS)
		return;
	if (events++ == EVENTS) {
		fputs("full\n", out);
	} else {
		print_digits();
		fprintf(out, "%c%u", kind, number);
		for (int i = 0; i < COUNTERS; i++)
			fprintf(out, " %llu", (unsigned long long)counters[i]);
		fprintf(out, " %llu %llu\n", (unsigned long long)interrupts,
			(unsigned long long)interrupted);
	}
	fflush(out);
}

static void read_addresses(void)
{
	unsigned long long address;
	FILE *file = fopen(addresses, "r");

	at_count = 0;
	if (!file)
		return;
	while (at_count < ADDRESSES && fscanf(file, "%llx", &address) == 1)
		at[at_count++] = address;
	fclose(file);
}

static void on_marker(unsigned int cpu, void *data)
{
	uintptr_t number = (uintptr_t)data;

	/* User code runs, so all interrupts have ended. */
	depth = 0;
	if (number == MARKER_READY) {
		read_addresses();
	} else if (number > 9) {
		event('m', number);
	} else if (digits_count < digits_room) {
		digits[digits_count++] = '0' + number;
	} else if (events <= EVENTS) {
		events = EVENTS;
		event(0, 0);
	}
}

static void on_address(unsigned int cpu, void *data)
{
	event('a', (uintptr_t)data);
}

static void on_entry(unsigned int cpu, void *data)
{
	if (!depth++)
		entered = counters[KERNEL];
}

static void on_return(unsigned int cpu, void *data)
{
	if (!depth || --depth)
		return;
	interrupts++;
	interrupted += counters[KERNEL] - entered;
}

static void count(struct qemu_plugin_insn *insn, enum counter counter,
		  uint64_t add)
{
	if (score) {
		struct qemu_plugin_u64 at = { score,
					      counter * sizeof(uint64_t) };

		qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(
			insn, QEMU_PLUGIN_INLINE_ADD_U64, at, add);
	} else {
		qemu_plugin_register_vcpu_insn_exec_inline(
			insn, QEMU_PLUGIN_INLINE_ADD_U64, &counters[counter],
			add);
	}
}

static void count_accesses(struct qemu_plugin_insn *insn)
{
	if (score) {
		struct qemu_plugin_u64 at = { score,
					      ACCESSES * sizeof(uint64_t) };

		qemu_plugin_register_vcpu_mem_inline_per_vcpu(
			insn, QEMU_PLUGIN_MEM_RW, QEMU_PLUGIN_INLINE_ADD_U64,
			at, 1);
	} else {
		qemu_plugin_register_vcpu_mem_inline(insn, QEMU_PLUGIN_MEM_RW,
						     QEMU_PLUGIN_INLINE_ADD_U64,
						     &counters[ACCESSES], 1);
	}
}

static bool is_prefix(uint8_t byte)
{
	return byte &&
	       strchr("\x26\x2e\x36\x3e\x64\x65\x66\x67\xf0\xf2\xf3", byte);
}

/*
 * Returns the number of products of 32-bit words that an instruction computes:
 * 4 for a product of 128 bits, 1 for any other multiplication of integers, else
 * 0. A product of 64 bits counts as one product of two 32-bit words. Sets
 * @divides if it is a division of integers. For the opcodes of MUL, IMUL, MULX,
 * DIV and IDIV see Intel's Software Developer's Manual, volume 2.
 */
static unsigned int products_of(const uint8_t *code, size_t size, bool *divides)
{
	size_t i = 0;
	bool wide;

	*divides = false;
	while (i < size && is_prefix(code[i]))
		i++;
	/* MULX: VEX.LZ.F2.0F38 F6 */
	if (i + 4 < size && code[i] == 0xc4 && (code[i + 1] & 0x1f) == 2 &&
	    (code[i + 2] & 3) == 3 && code[i + 3] == 0xf6)
		return code[i + 2] & 0x80 ? 4 : 1;
	wide = i < size && (code[i] & 0xf8) == 0x48; /* REX.W */
	if (i < size && (code[i] & 0xf0) == 0x40)
		i++;
	if (i + 1 >= size)
		return 0;
	if (code[i] == 0x69 || code[i] == 0x6b ||
	    (code[i] == 0x0f && code[i + 1] == 0xaf))
		return 1;
	/* F6 and F7: MUL and IMUL with /4 and /5, DIV and IDIV with /6 and /7 */
	if ((code[i] & 0xfe) != 0xf6 || !(code[i + 1] & 0x20))
		return 0;
	*divides = code[i + 1] & 0x10;
	return *divides ? 0 : wide && code[i] == 0xf7 ? 4 : 1;
}

/*
 * Returns whether an instruction has a VEX prefix of two or three bytes whose
 * bit L is set, which selects vectors of 256 bits.
 */
static bool is_vector(const uint8_t *code, size_t size)
{
	if (size < 4)
		return false;
	return (code[0] == 0xc5 && code[1] & 4) ||
	       (code[0] == 0xc4 && code[2] & 4);
}

/* Returns whether an instruction has the prefix of the segment DS. */
static bool has_ds_prefix(const uint8_t *code, size_t size)
{
	for (size_t i = 0; i < size && is_prefix(code[i]); i++) {
		if (code[i] == 0x3e)
			return true;
	}
	return false;
}

static void call(struct qemu_plugin_insn *insn, insn_cb cb, uintptr_t data)
{
	qemu_plugin_register_vcpu_insn_exec_cb(insn, cb, QEMU_PLUGIN_CB_NO_REGS,
					       (void *)data);
}

static void translate_insn(struct qemu_plugin_insn *insn)
{
	static const uint8_t marker[] = { MARKER_BYTES };
	uint64_t address = qemu_plugin_insn_vaddr(insn);
	enum counter region = region_of(address);
	size_t size = qemu_plugin_insn_size(insn);
	uint8_t room[INSN_BYTES];
	const uint8_t *bytes = room;
	unsigned int products = 0;
	bool divides = false;

	if (size > sizeof(room))
		size = sizeof(room);
	if (copies_data)
		qemu_plugin_insn_data(insn, room, size);
	else
		bytes = qemu_plugin_insn_data(insn, NULL, 0);
	count(insn, region, 1);
	if (region == MODULE)
		products = products_of(bytes, size, &divides);
	if (products)
		count(insn, PRODUCTS, products);
	if (products && has_ds_prefix(bytes, size))
		count(insn, ASSEMBLY, products);
	if (divides)
		count(insn, DIVISIONS, 1);
	if (region == MODULE && is_vector(bytes, size))
		count(insn, VECTORS, 1);
	if (region == MODULE)
		count_accesses(insn);
	for (size_t i = 0; i < at_count; i++) {
		if (at[i] == address)
			call(insn, on_address, i);
	}
	if (region == USER && size == sizeof(marker) &&
	    !memcmp(bytes, marker, MARKER_NUMBER) &&
	    !memcmp(bytes + MARKER_NUMBER + 1, marker + MARKER_NUMBER + 1,
		    sizeof(marker) - MARKER_NUMBER - 1))
		call(insn, on_marker, bytes[MARKER_NUMBER]);
	/* cld marks the start of the kernel's interrupt code, iretq its end. */
	if (region == KERNEL && size == 1 && bytes[0] == 0xfc)
		call(insn, on_entry, 0);
	if (region == KERNEL && size == 2 && !memcmp(bytes, "\x48\xcf", 2))
		call(insn, on_return, 0);
}

static void translate(struct qemu_plugin_tb *tb)
{
	size_t insns = qemu_plugin_tb_n_insns(tb);

	/* QEMU may have moved the counters when a processor was added. */
	if (score)
		counters = qemu_plugin_scoreboard_find(score, 0);
	for (size_t i = 0; i < insns; i++)
		translate_insn(qemu_plugin_tb_get_insn(tb, i));
}

static void translate_with_id(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	translate(tb);
}

static void translate_with_data(struct qemu_plugin_tb *tb, void *data)
{
	translate(tb);
}

/* Sets an option such as "out=FILE"; returns false if @text is not valid. */
static bool option(const char *text)
{
	const char *value = strchr(text, '=');
	char *end;

	if (!value++)
		return false;
	if (!strncmp(text, "out=", 4)) {
		out = fopen(value, "w");
		return out;
	}
	if (!strncmp(text, "digits=", 7)) {
		digits_room = strtoul(value, &end, 10);
		return !*end;
	}
	if (strncmp(text, "at=", 3))
		return false;
	addresses = value;
	return true;
}

static __attribute__((constructor)) void choose_version(void)
{
	qemu_plugin_version = qemu_plugin_set_pc	    ? 7 :
			      qemu_plugin_read_memory_vaddr ? 4 :
			      qemu_plugin_scoreboard_new    ? 2 :
							      1;
}

EXPORT int qemu_plugin_install(qemu_plugin_id_t id,
			       const struct qemu_info *info, int argc,
			       char **argv)
{
	for (int i = 0; i < argc; i++) {
		if (!option(argv[i])) {
			fprintf(stderr, "count: %s: no such option\n", argv[i]);
			return 1;
		}
	}
	digits = malloc(digits_room + 1);
	if (!out || !addresses || !digits ||
	    strcmp(info->target_name, "x86_64"))
		return 1;
	copies_data = info->version.cur >= 3;
	if (qemu_plugin_scoreboard_new)
		score = qemu_plugin_scoreboard_new(COUNTERS * sizeof(uint64_t));
	qemu_plugin_register_vcpu_tb_trans_cb(
		id,
		info->version.cur >= 7 ? (void (*)(void))translate_with_data :
					 (void (*)(void))translate_with_id,
		NULL);
	return 0;
}
