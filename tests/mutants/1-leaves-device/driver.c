// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Mutant: unloading leaves the device behind. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt
#include <linux/device.h>

#define device_destroy(class, number) ((void)(number))
#define class_unregister(class) ((void)(class))
#include "kit_driver.c"
