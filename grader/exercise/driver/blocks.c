// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The blocks of memory that the driver has allocated. They show whether the
 * driver writes behind a block, what an open file has in private_data, which
 * memory callers can share, and where the driver keeps a counter.
 */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/version.h>

#include "call_trace.h"
#include "first.h"

/* The maximum number of blocks at a time. */
#define MOST_BLOCKS 4096
/*
 * New memory is filled with this byte, unless it must be zero, so that the use
 * of uninitialised memory shows. The bytes behind a block have this value, too.
 */
#define UNSET 0xa5

/**
 * struct block - memory from kmalloc and the like
 * @hidden: the complement of its address, so that kmemleak does not take the
 *	entry for a pointer to the block
 * @size: the number of bytes that the driver asked for
 */
static struct block {
	unsigned long hidden;
	size_t size;
} blocks[MOST_BLOCKS];
static int used;
/* The notebook's memory in one of the blocks; NULL before the device is made. */
static char *notebook;

static unsigned long begin_of(const struct block *block)
{
	return ~block->hidden;
}

/* Return the block that contains an address, or NULL. */
static struct block *block_at(unsigned long address)
{
	for (int i = 0; i < used; i++)
		if (address - begin_of(&blocks[i]) < blocks[i].size)
			return &blocks[i];
	return NULL;
}

void block_taken(void *memory, size_t size, bool zero)
{
	struct block block = { ~(unsigned long)memory, size };
	unsigned long flags;

	if (!zero)
		memset(memory, UNSET, size);
	memset((char *)memory + size, UNSET, BEHIND_BLOCK);
	flags = kit_enter();
	if (used < MOST_BLOCKS)
		blocks[used++] = block;
	else
		report_full("full_blocks", MOST_BLOCKS);
	kit_leave(flags);
}

bool block_freed(const void *memory)
{
	struct block *block;
	unsigned long flags;
	bool overrun = false;

	flags = kit_enter();
	for (block = blocks; block < blocks + used; block++)
		if (begin_of(block) == (unsigned long)memory)
			break;
	if (block < blocks + used) {
		overrun = memchr_inv((const char *)memory + block->size, UNSET,
				     BEHIND_BLOCK);
		locks_forget((unsigned long)memory, block->size);
		if ((unsigned long)notebook - (unsigned long)memory <
		    block->size)
			notebook = NULL;
		*block = blocks[--used];
	}
	kit_leave(flags);
	return overrun;
}

bool is_notebook(unsigned long address)
{
	return notebook && address - (unsigned long)notebook < FIRST_BYTES;
}

bool is_in_block(unsigned long address)
{
	return block_at(address);
}

/* Return the memory in the block that begins with a text; NULL if none does. */
static char *text_in(const struct block *block, const char *text, size_t size)
{
	char *memory = (char *)begin_of(block);

	for (size_t i = 0; i + FIRST_BYTES <= block->size; i++)
		if (!memcmp(memory + i, text, size))
			return memory + i;
	return NULL;
}

bool find_notebook(const char *text, size_t size)
{
	unsigned long flags = kit_enter();

	notebook = NULL;
	for (int i = 0; i < used && !notebook; i++)
		notebook = text_in(&blocks[i], text, size);
	kit_leave(flags);
	return notebook;
}

/*
 * Change the digit at an offset of the notebook. A driver that keeps its text
 * elsewhere does not show the change.
 */
static int change_set(const char *value, const struct kernel_param *kp)
{
	unsigned int offset;
	unsigned long flags;
	int err = kstrtouint(value, 10, &offset);

	if (err)
		return err;
	flags = kit_enter();
	if (notebook && offset < FIRST_BYTES)
		notebook[offset] ^= 1;
	else
		err = -ENXIO;
	kit_leave(flags);
	return err;
}

static const struct kernel_param_ops change_ops = { .set = change_set };
module_param_cb(change, &change_ops, NULL, 0200);
MODULE_PARM_DESC(change, "change the digit at this offset of the notebook");

static int count_set(const char *value, const struct kernel_param *kp)
{
	report_step('=', "blocks", READ_ONCE(used), 0);
	return 0;
}

static const struct kernel_param_ops count_ops = { .set = count_set };
module_param_cb(blocks, &count_ops, NULL, 0200);
MODULE_PARM_DESC(blocks, "report the number of blocks that the driver has");

/* Return whether a 32-bit word of the block still holds the fill pattern. */
static bool is_unset(const struct block *block)
{
	static const u32 unset = 0x01010101u * UNSET;
	const char *memory = (const char *)begin_of(block);

	for (size_t i = 0; i + sizeof(unset) <= block->size; i += sizeof(unset))
		if (!memcmp(memory + i, &unset, sizeof(unset)))
			return true;
	return false;
}

/* Return a sum of all bytes of the block, which any change of one byte changes. */
static unsigned long content_of(const struct block *block)
{
	const unsigned char *memory = (const unsigned char *)begin_of(block);
	unsigned long sum = 0;

	for (size_t i = 0; i < block->size; i++)
		sum = 31 * sum + memory[i];
	return sum;
}

/* The maximum number of words of a block that are reported. */
#define MOST_REPORTED 32

/*
 * Report the block in the private_data of an open file of the writer, or 0 if
 * private_data is no address in a block; its content; its first words; and
 * whether the block is initialised.
 */
static int opened_set(const char *value, const struct kernel_param *kp)
{
	unsigned long flags, begin = 0, content = 0;
	u32 first[MOST_REPORTED] = {};
	const struct block *block;
	struct file *file;
	bool unset = false;
	unsigned int fd;
	int err = kstrtouint(value, 10, &fd);

	if (err)
		return err;
	file = fget(fd);
	if (!file)
		return -EBADF;
	flags = kit_enter();
	block = block_at((unsigned long)file->private_data);
	if (block) {
		begin = begin_of(block);
		unset = is_unset(block);
		content = content_of(block);
		memcpy(first, (const void *)begin,
		       min(block->size, sizeof(first)));
	}
	kit_leave(flags);
	report_step('=', "owner", file->f_op->owner == THIS_MODULE, 0);
	fput(file);
	report_step('=', "private", begin, 0);
	report_step('=', "content", content, 0);
	for (int i = 0; i < MOST_REPORTED; i++)
		report_step('=', "word", first[i], 0);
	if (unset)
		report_step('=', "unset", begin, 0);
	return 0;
}

static const struct kernel_param_ops opened_ops = { .set = opened_set };
module_param_cb(opened, &opened_ops, NULL, 0200);
MODULE_PARM_DESC(opened, "report the private_data of this open file");

/* The words that had the value of a counter so far, see counter_set(). */
#define MOST_WORDS 16
static u32 *words[MOST_WORDS];
static unsigned int words_used;

/* Return the module's writable static memory. */
static void *static_memory(size_t *size)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 4, 0)
	const struct module_memory *data = &THIS_MODULE->mem[MOD_DATA];

	*size = data->size;
	return data->base;
#else
	const struct module_layout *layout = &THIS_MODULE->core_layout;

	*size = layout->size - layout->ro_after_init_size;
	return layout->base + layout->ro_after_init_size;
#endif
}

/* KASAN forbids an access to the gaps between the module's variables. */
static __no_sanitize_address void find_words(char *begin, size_t size,
					     u32 value)
{
	u32 *end = (u32 *)(begin + size);

	for (u32 *word = (u32 *)PTR_ALIGN(begin, sizeof(u32)); word + 1 <= end;
	     word++)
		if (*word == value && words_used < MOST_WORDS)
			words[words_used++] = word;
}

/*
 * Take two numbers, the value of a counter and its new value. Keep the words
 * that have equalled the counter each time, and change them. So a few calls
 * show whether the driver counts up to large numbers. For a counter of 64 bits,
 * this changes the word with its lower bits. A counter of calls in these files
 * may change as well; no test depends on its value. Fail if no word is left.
 */
static int counter_set(const char *value, const struct kernel_param *kp)
{
	unsigned int old, new, kept = 0;
	unsigned long flags;
	size_t size;
	void *memory = static_memory(&size);

	if (sscanf(value, "%u %u", &old, &new) != 2)
		return -EINVAL;
	flags = kit_enter();
	if (!words_used) {
		find_words(memory, size, old);
		for (int i = 0; i < used; i++)
			find_words((char *)begin_of(&blocks[i]), blocks[i].size,
				   old);
	}
	for (unsigned int i = 0; i < words_used; i++) {
		unsigned long address = (unsigned long)words[i];

		/* The driver may have freed the block. */
		if (address - (unsigned long)memory >= size &&
		    !block_at(address))
			continue;
		if (*words[i] != old)
			continue;
		*words[i] = new;
		words[kept++] = words[i];
	}
	words_used = kept;
	kit_leave(flags);
	return kept ? 0 : -ENOENT;
}

/* Show the distance of each of these words from the symbol watches. */
static int counter_get(char *text, const struct kernel_param *kp)
{
	int length = 0;

	for (unsigned int i = 0; i < words_used; i++)
		length += scnprintf(text + length, PAGE_SIZE - length, "%ld\n",
				    from_watches((unsigned long)words[i]));
	return length;
}

static const struct kernel_param_ops counter_ops = {
	.set = counter_set,
	.get = counter_get,
};
module_param_cb(counter, &counter_ops, NULL, 0600);
MODULE_PARM_DESC(counter, "find a counter by its value, and change the value");
