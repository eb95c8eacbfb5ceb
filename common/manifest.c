// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The build defines FIBDRV_STAGE, FIBDRV_NAME and FIBDRV_MAX_N from the stage's
 * manifest.
 */
#include "manifest.h"

const unsigned int fibdrv_stage = FIBDRV_STAGE;
const unsigned int fibdrv_max_n = FIBDRV_MAX_N;

/*
 * The same as MODULE_DESCRIPTION. linux/module.h defines this macro, but the
 * compiler would need much longer for that header than for this file.
 */
#define TEXT(number) #number
#define DESCRIPTION(number) "description=Stage " TEXT(number) ": " FIBDRV_NAME

static const char description[] __used __section(".modinfo")
	__aligned(1) = DESCRIPTION(FIBDRV_STAGE);
