// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * /dev/first, a notebook of Fibonacci numbers that all who open it share:
 * first.h says what each call answers.
 */
#include <linux/cdev.h>
#include <linux/device.h>
#include <linux/fs.h>
#include <linux/kstrtox.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/sysfs.h>
#include <linux/uaccess.h>

#include "first.h"

/* The notebook. */
static char *first_text; /* FIRST_BYTES of memory */
static size_t first_used; /* bytes of it */
static u32 first_lines;

/* What is kept for each open file, in its private_data. */
struct first_file {
	u32 lines; /* that it has written */
};

/*
 * Task 5, two callers. Two CPUs can be in this driver at the same time. What
 * belongs together must be read and changed by one of them at a time: between
 * first_enter and first_leave. A call may sleep there, for read and write copy
 * to and from a user's memory, which may have to be fetched from a disk first.
 * The counter is a single number, and needs no lock to be right.
 */
/* task 5 { */
static DEFINE_MUTEX(first_mutex);
static atomic64_t first_calls;
/* } task 5, until then: static u64 first_calls; */

static void first_enter(void)
{
	/* task 5 { */
	mutex_lock(&first_mutex);
	/* } task 5 */
}

static void first_leave(void)
{
	/* task 5 { */
	mutex_unlock(&first_mutex);
	/* } task 5 */
}

/* One more call. */
static void first_count(void)
{
	/* task 5 { */
	atomic64_inc(&first_calls);
	/* } task 5, until then: first_calls++; */
}

static u64 first_counted(void)
{
	/* task 5 { */
	return atomic64_read(&first_calls);
	/* } task 5, until then: return first_calls; */
}

static void first_count_anew(void)
{
	/* task 5 { */
	atomic64_set(&first_calls, 0);
	/* } task 5, until then: first_calls = 0; */
}

/* Given: F(@n) and a newline, in @line. Returns how many bytes that is. */
static size_t first_line(char line[FIRST_LINE + 1], unsigned int n)
{
	u64 a = 0, b = 1;

	while (n--) {
		u64 sum = a + b;

		a = b;
		b = sum;
	}
	return scnprintf(line, FIRST_LINE + 1, "%llu\n", a);
}

/* Given: puts the line F(@n) at the end of the text, which has room for it. */
static void first_append(const char *line, size_t size)
{
	memcpy(first_text + first_used, line, size);
	first_used += size;
	first_lines++;
}

/* Given: the lines that the notebook has at load. */
static void first_begin(void)
{
	char line[FIRST_LINE + 1];

	first_used = 0;
	first_lines = 0;
	for (unsigned int n = 0; n < FIRST_BEGINNING; n++) {
		size_t size = first_line(line, n);

		first_append(line, size);
	}
}

/*
 * Task 2, open, release and lseek. Each open file has a struct first_file of
 * its own, all zero at first. What open takes, release gives back. lseek: see
 * first.h; the position is file->f_pos.
 */
static int first_open(struct inode *inode, struct file *file)
{
	/* task 2 { */
	struct first_file *mine = kzalloc(sizeof(*mine), GFP_KERNEL);

	if (!mine)
		return -ENOMEM;
	file->private_data = mine;
	/* } task 2 */
	return 0;
}

static int first_release(struct inode *inode, struct file *file)
{
	/* task 2 { */
	kfree(file->private_data);
	/* } task 2 */
	return 0;
}

static loff_t first_llseek(struct file *file, loff_t offset, int whence)
{
	/* task 2 { */
	first_enter();
	switch (whence) {
	case SEEK_SET:
		break;
	case SEEK_CUR:
		offset += file->f_pos;
		break;
	case SEEK_END:
		offset += first_used;
		break;
	default:
		offset = -EINVAL;
	}
	if (offset < 0 || offset > first_used) {
		offset = -EINVAL;
	} else {
		while (offset && first_text[offset - 1] != '\n')
			offset--;
		file->f_pos = offset;
	}
	first_leave();
	return offset;
	/* } task 2, until then: return -ESPIPE; */
}

/*
 * Task 3, read. @buf is an address in the caller's memory: it may be wrong, and
 * only copy_to_user may follow it. *@position is where to begin; it moves when
 * all has gone well. It can be behind the end: the text may have been cleared.
 */
static ssize_t first_read(struct file *file, char __user *buf, size_t size,
			  loff_t *position)
{
	ssize_t ret = 0;

	first_count();
	/* task 3 { */
	first_enter();
	if (*position < first_used) {
		size = min_t(size_t, size, first_used - *position);
		if (copy_to_user(buf, first_text + *position, size)) {
			ret = -EFAULT;
		} else {
			*position += size;
			ret = size;
		}
	}
	first_leave();
	/* } task 3 */
	return ret;
}

/*
 * Task 4, write. Fetch the caller's bytes with copy_from_user, put a '\0' behind
 * them, and let kstrtouint find out whether they are a number: it takes a
 * newline at the end. first_line and first_append do the rest. private_data has
 * this file's own count.
 */
static ssize_t first_write(struct file *file, const char __user *buf,
			   size_t size, loff_t *position)
{
	/* task 4 { */
	struct first_file *mine = file->private_data;
	char input[FIRST_INPUT + 1], line[FIRST_LINE + 1];
	unsigned int n;
	size_t count;
	/* } task 4 */
	ssize_t ret = -EINVAL;

	first_count();
	/* task 4 { */
	if (!size || size > FIRST_INPUT)
		return -EINVAL;
	if (copy_from_user(input, buf, size))
		return -EFAULT;
	input[size] = '\0';
	if (kstrtouint(input, 10, &n) || n > FIRST_MAX_N)
		return -EINVAL;
	count = first_line(line, n);
	first_enter();
	if (count > FIRST_BYTES - first_used) {
		ret = -ENOSPC;
	} else {
		first_append(line, count);
		mine->lines++;
		ret = size;
	}
	first_leave();
	/* } task 4 */
	return ret;
}

/*
 * Task 7, ioctl: FIRST_IOC_INFO fills a struct first_info at the address @arg,
 * FIRST_IOC_CLEAR empties the notebook. See first.h.
 */
static long first_ioctl(struct file *file, unsigned int request,
			unsigned long arg)
{
	/* task 7 { */
	struct first_file *mine = file->private_data;
	struct first_info info;
	long ret;

	switch (request) {
	case FIRST_IOC_INFO:
		first_enter();
		info.lines = first_lines;
		info.bytes = first_used;
		info.room = FIRST_BYTES - first_used;
		info.mine = mine->lines;
		first_leave();
		if (copy_to_user((void __user *)arg, &info, sizeof(info)))
			return -EFAULT;
		return 0;
	case FIRST_IOC_CLEAR:
		first_enter();
		ret = first_lines;
		first_lines = 0;
		first_used = 0;
		first_leave();
		return ret;
	default:
		return -ENOTTY;
	}
	/* } task 7, until then: return -EINVAL; */
}

/* Task 1: one line is missing, which keeps the module while a file is open. */
static const struct file_operations first_fops = {
	/* task 1 { */
	.owner = THIS_MODULE,
	/* } task 1 */
	.open = first_open,
	.release = first_release,
	.llseek = first_llseek,
	.read = first_read,
	.write = first_write,
	.unlocked_ioctl = first_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
};

/*
 * Task 6, sysfs: a file for each attribute, lines (DEVICE_ATTR_RO) and calls
 * (DEVICE_ATTR_RW). These macros want functions of certain names, lines_show
 * and so on; a show function writes to buf with sysfs_emit, a number and a
 * newline. Then name them in the list.
 */
/* task 6 { */
static ssize_t lines_show(struct device *dev, struct device_attribute *attr,
			  char *buf)
{
	u32 lines;

	first_enter();
	lines = first_lines;
	first_leave();
	return sysfs_emit(buf, "%u\n", lines);
}
static DEVICE_ATTR_RO(lines);

static ssize_t calls_show(struct device *dev, struct device_attribute *attr,
			  char *buf)
{
	return sysfs_emit(buf, "%llu\n", first_counted());
}

static ssize_t calls_store(struct device *dev, struct device_attribute *attr,
			   const char *buf, size_t count)
{
	u64 value;

	if (kstrtou64(buf, 10, &value) || value)
		return -EINVAL;
	first_count_anew();
	return count;
}
static DEVICE_ATTR_RW(calls);
/* } task 6 */

static struct attribute *first_attrs[] = {
	/* task 6 { */
	&dev_attr_lines.attr,
	&dev_attr_calls.attr,
	/* } task 6 */
	NULL,
};
ATTRIBUTE_GROUPS(first);

static struct class first_class = {
	.name = "first",
	.dev_groups = first_groups,
};
static dev_t first_number;
static struct cdev first_cdev;

/*
 * Task 1, init and exit. In init, one step after the other: memory for the
 * notebook (kmalloc with GFP_KERNEL; then first_begin), a device number
 * (alloc_chrdev_region, named "first"), the class (class_register), the
 * functions (cdev_init and cdev_add), and last, when all is ready, the device
 * "first" (device_create), by which users find it. Where a step fails, all
 * before it is undone, in reverse, and its error returned. exit undoes
 * everything.
 */
static int __init first_init(void)
{
	/* task 1 { */
	struct device *device;
	int err;

	first_text = kmalloc(FIRST_BYTES, GFP_KERNEL);
	if (!first_text)
		return -ENOMEM;
	first_begin();
	err = alloc_chrdev_region(&first_number, 0, 1, "first");
	if (err)
		goto free_text;
	err = class_register(&first_class);
	if (err)
		goto unregister_region;
	cdev_init(&first_cdev, &first_fops);
	err = cdev_add(&first_cdev, first_number, 1);
	if (err)
		goto unregister_class;
	device = device_create(&first_class, NULL, first_number, NULL, "first");
	if (IS_ERR(device)) {
		err = PTR_ERR(device);
		goto delete_cdev;
	}
	return 0;

delete_cdev:
	cdev_del(&first_cdev);
unregister_class:
	class_unregister(&first_class);
unregister_region:
	unregister_chrdev_region(first_number, 1);
free_text:
	kfree(first_text);
	return err;
	/* } task 1, until then: return 0; */
}

static void __exit first_exit(void)
{
	/* task 1 { */
	device_destroy(&first_class, first_number);
	cdev_del(&first_cdev);
	class_unregister(&first_class);
	unregister_chrdev_region(first_number, 1);
	kfree(first_text);
	/* } task 1 */
}

module_init(first_init);
module_exit(first_exit);

MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("A notebook of Fibonacci numbers");
