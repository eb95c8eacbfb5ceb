// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The driver of /dev/first, a notebook of Fibonacci numbers that all processes
 * share. first.h describes the result of each call.
 */
#include <linux/atomic.h>
#include <linux/device.h>
#include <linux/fs.h>
#include <linux/kstrtox.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/sysfs.h>
#include <linux/uaccess.h>

#include "first.h"

/* Protects the notebook, and the count in each struct first_file. */
static DEFINE_MUTEX(first_lock);

/* The notebook. */
static char *first_text; /* FIRST_BYTES of memory */
static size_t first_used; /* number of bytes of text in first_text */
static u32 first_lines;

/* Reads and writes since the last store to the attribute "calls". */
static atomic64_t first_calls;

/* The state of an open file, in its private_data. */
struct first_file {
	u32 lines; /* lines written by this open file */
};

/* Given: write F(@n) and a newline to @line. Return the number of bytes. */
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

/* Given: append a line to the text. There must be enough space for the line. */
static void first_append(const char *line, size_t size)
{
	memcpy(first_text + first_used, line, size);
	first_used += size;
	first_lines++;
}

/* Given: write the lines that the notebook contains after load. */
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

/* Create the counter of the open file: a struct first_file that is all zero. */
static int first_open(struct inode *inode, struct file *file)
{
	struct first_file *mine = kzalloc(sizeof(*mine), GFP_KERNEL);

	if (!mine)
		return -ENOMEM;
	file->private_data = mine;
	return 0;
}

/* Free the counter that first_open allocated. */
static int first_release(struct inode *inode, struct file *file)
{
	kfree(file->private_data);
	return 0;
}

/*
 * The position is file->f_pos. After an lseek it is the beginning of a line, or
 * the end of the text; after a read it may be anywhere.
 */
static loff_t first_llseek(struct file *file, loff_t offset, int whence)
{
	loff_t ret = -EINVAL;

	mutex_lock(&first_lock);
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
		goto unlock;
	}
	if (offset < 0 || offset > first_used)
		goto unlock;
	while (offset && first_text[offset - 1] != '\n')
		offset--;
	file->f_pos = offset;
	ret = offset;
unlock:
	mutex_unlock(&first_lock);
	return ret;
}

/*
 * @buf is an address in the caller's memory. It may be invalid, so only
 * copy_to_user may use it. *@position can be after the end of the text, because
 * the text may have been cleared. It must change only if the read succeeds.
 */
static ssize_t first_read(struct file *file, char __user *buf, size_t size,
			  loff_t *position)
{
	ssize_t ret = 0;

	atomic64_inc(&first_calls);
	mutex_lock(&first_lock);
	if (*position >= first_used)
		goto unlock;
	size = min_t(size_t, size, first_used - *position);
	if (copy_to_user(buf, first_text + *position, size)) {
		ret = -EFAULT;
		goto unlock;
	}
	*position += size;
	ret = size;
unlock:
	mutex_unlock(&first_lock);
	return ret;
}

/* The bytes at @buf are not a string: no '\0' follows them. */
static ssize_t first_write(struct file *file, const char __user *buf,
			   size_t size, loff_t *position)
{
	struct first_file *mine = file->private_data;
	char input[FIRST_INPUT + 1], line[FIRST_LINE + 1];
	unsigned int n;
	size_t length;
	ssize_t ret;

	atomic64_inc(&first_calls);
	if (!size || size > FIRST_INPUT)
		return -EINVAL;
	if (copy_from_user(input, buf, size))
		return -EFAULT;
	input[size] = '\0';
	if (kstrtouint(input, 10, &n) || n > FIRST_MAX_N)
		return -EINVAL;
	length = first_line(line, n);

	mutex_lock(&first_lock);
	if (length > FIRST_BYTES - first_used) {
		ret = -ENOSPC;
		goto unlock;
	}
	first_append(line, length);
	mine->lines++;
	ret = size;
unlock:
	mutex_unlock(&first_lock);
	return ret;
}

static long first_ioctl(struct file *file, unsigned int request,
			unsigned long arg)
{
	struct first_file *mine = file->private_data;
	struct first_info info;
	long ret;

	switch (request) {
	case FIRST_IOC_INFO:
		mutex_lock(&first_lock);
		info.lines = first_lines;
		info.bytes = first_used;
		info.room = FIRST_BYTES - first_used;
		info.mine = mine->lines;
		mutex_unlock(&first_lock);
		if (copy_to_user((void __user *)arg, &info, sizeof(info)))
			return -EFAULT;
		return 0;
	case FIRST_IOC_CLEAR:
		mutex_lock(&first_lock);
		ret = first_lines;
		first_lines = 0;
		first_used = 0;
		mutex_unlock(&first_lock);
		return ret;
	default:
		return -ENOTTY;
	}
}

/* The functions that the kernel calls for an open file. */
static const struct file_operations first_fops = {
	.owner = THIS_MODULE,
	.open = first_open,
	.release = first_release,
	.llseek = first_llseek,
	.read = first_read,
	.write = first_write,
	.unlocked_ioctl = first_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
};

static ssize_t lines_show(struct device *dev, struct device_attribute *attr,
			  char *buf)
{
	u32 lines;

	mutex_lock(&first_lock);
	lines = first_lines;
	mutex_unlock(&first_lock);
	return sysfs_emit(buf, "%u\n", lines);
}
static DEVICE_ATTR_RO(lines);

static ssize_t calls_show(struct device *dev, struct device_attribute *attr,
			  char *buf)
{
	return sysfs_emit(buf, "%llu\n", (u64)atomic64_read(&first_calls));
}

static ssize_t calls_store(struct device *dev, struct device_attribute *attr,
			   const char *buf, size_t count)
{
	u64 value;

	if (kstrtou64(buf, 10, &value) || value)
		return -EINVAL;
	atomic64_set(&first_calls, 0);
	return count;
}
static DEVICE_ATTR_RW(calls);

/* The files that the device has in sysfs. */
static struct attribute *first_attrs[] = {
	&dev_attr_lines.attr,
	&dev_attr_calls.attr,
	NULL,
};
ATTRIBUTE_GROUPS(first);

/* The device: its name in /dev, its functions, and its files in sysfs. */
static struct miscdevice first_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "first",
	.fops = &first_fops,
	.groups = first_groups,
};

static int __init first_init(void)
{
	int err;

	first_text = kmalloc(FIRST_BYTES, GFP_KERNEL);
	if (!first_text)
		return -ENOMEM;
	first_begin();
	/* Register last, because from here on users can open the device. */
	err = misc_register(&first_device);
	if (err)
		goto free_text;
	return 0;

free_text:
	kfree(first_text);
	return err;
}

static void __exit first_exit(void)
{
	misc_deregister(&first_device);
	kfree(first_text);
}

module_init(first_init);
module_exit(first_exit);

MODULE_LICENSE("Dual MIT/GPL");
MODULE_AUTHOR("The fibdrv lab kit");
MODULE_DESCRIPTION("A notebook of Fibonacci numbers");
