# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Check the rules of stage.h that a stage can break although all its digits are right."""
