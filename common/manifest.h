/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * What the driver needs from a stage's manifest. Only manifest.c is compiled
 * for each stage; the other files of the kit are compiled once for all stages.
 */
#ifndef FIBDRV_MANIFEST_H
#define FIBDRV_MANIFEST_H

extern const unsigned int fibdrv_stage;
extern const unsigned int fibdrv_max_n;

#endif
