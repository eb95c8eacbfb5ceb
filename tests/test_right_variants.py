# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test that other right solutions than the kit's earn all points of all tasks.

Each variant keeps what the handout, the comments and stage.h require, and lost points once.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from grader.base import scratch
from grader.exercise.files import stages, tasks
from grader.scoring import pipeline, points

pytestmark = [pytest.mark.sampled, pytest.mark.once, pytest.mark.machine]

# The stage, a file of it, and the changes of this file.
RIGHT_VARIANTS: dict[str, tuple[int, str, dict[str, str]]] = {
    "a product limb by limb, a shift with a condition": (
        3,
        "bignum.c",
        {
            "\t\tdlimb_t two = (dlimb_t)a[i] << LIMB_BITS | a[i - 1];\n\n": "",
            "two << shift >> LIMB_BITS;\n\t}\n\tc[0]": (
                "a[i] << shift;\n"
                "\t\tc[i] |= shift ? a[i - 1] >> (LIMB_BITS - shift) : 0;\n\t}\n\tc[0]"
            ),
            """\
/* Free @old, from which @new was computed; @new may be an ERR_PTR. */
static struct bignum *bn_replace(struct bignum *old, struct bignum *new)
{
	bn_free(old);
	return new;
}
""": "",
            "bn_dup(b); /* for the top bit, which is 1 */": (
                "bn_create(a->call, a->size + b->size);"
            ),
            "for (size_t i = bn_bits(a) - 1; i-- > 0;) {\n": (
                "for (size_t i = 0; i < a->size; i++) {\n\t\tdlimb_t carry = 0;\n\n"
            ),
            "c->size + b->size": "b->size",
            """\
		c = bn_replace(c, bn_lshift(c, 1));
		if (IS_ERR(c))
			return c;
		if (!bn_bit(a, i))
			continue;
		c = bn_replace(c, bn_add(c, b));
		if (IS_ERR(c))
			return c;
	}
	return c;
""": """\
		for (size_t j = 0; j < b->size; j++) {
			carry += (dlimb_t)a->limb[i] * b->limb[j];
			carry += c->limb[i + j];
			c->limb[i + j] = carry;
			carry >>= LIMB_BITS;
		}
		c->limb[i + b->size] = carry;
	}
	return bn_trim(c);
""",
        },
    ),
    "bn_reserve makes room for a power of two": (
        4,
        "bignum.c",
        {
            "\tlimb = fib_alloc(a->call, size, sizeof(*limb));\n": (
                "\tsize_t room = 1;\n\n\twhile (room < size)\n\t\troom *= 2;\n\tsize = room;\n"
                "\tlimb = fib_alloc(a->call, size, sizeof(*limb));\n"
            )
        },
    ),
    "bn_add reserves a limb for the carry": (
        4,
        "bignum.c",
        {"\terr = bn_reserve(c, a->size);\n": "\terr = bn_reserve(c, a->size + 1);\n"},
    ),
    "without a carry the other limbs are copied": (
        6,
        "bignum.c",
        {
            "\tfor (; i < a_size; i++) {\n\t\tc[i] = a[i] + carry;\n": (
                "\tif (!carry && c != a)\n"
                "\t\tmemcpy(c + i, a + i, (a_size - i) * sizeof(*c));\n"
                "\tfor (; i < a_size && carry; i++) {\n\t\tc[i] = a[i] + carry;\n"
                "\t\tif (c[i] && c != a)\n"
                "\t\t\tmemcpy(c + i + 1, a + i + 1, (a_size - i - 1) * sizeof(*c));\n"
            )
        },
    ),
    "a shift by whole limbs is a copy": (
        6,
        "bignum.c",
        {
            "\tlimb_t top = a[size - 1] >> 1 >> down;\n": (
                "\tlimb_t top = a[size - 1] >> 1 >> down;\n\n"
                "\tif (!shift) {\n\t\tmemmove(c, a, size * sizeof(*c));\n\t\treturn 0;\n\t}\n"
            )
        },
    ),
    "the quotient of a chunk by two wide products": (
        6,
        "decimal.c",
        {
            """\
	limb_t q0, q1, back;

	q0 = limb_mul(&q1, CHUNK_RECIPROCAL, high);
	q0 += low;
	q1 += high + (q0 < low);
	q1++; /* may wrap to 0; then q1 -= back corrects it */
	low -= q1 * CHUNK;
	/* No branch, because no CPU can predict this comparison. */
	back = low > q0;
	q1 -= back;
	low = back ? low + CHUNK : low;
	if (low >= CHUNK) {
		q1++;
		low -= CHUNK;
	}
	*rest = low;
	return q1;
""": """\
	unsigned __int128 dividend = (unsigned __int128)high << 64 | low, left;
	unsigned __int128 estimate =
		(unsigned __int128)CHUNK_RECIPROCAL * high + dividend;
	limb_t quotient = estimate >> 64; /* never too large */

	left = dividend - (unsigned __int128)quotient * CHUNK;
	while (left >= CHUNK) {
		left -= CHUNK;
		quotient++;
	}
	*rest = left;
	return quotient;
"""
        },
    ),
    "a product that has failed has its new size, but not all limbs": (
        10,
        "bignum.c",
        {
            """\
	if (err)
		return err;
	c->size = a->size + b->size;
	bn_trim(c);
	return 0;
""": """\
	c->size = a->size + b->size;
	if (err)
		return err;
	bn_trim(c);
	return 0;
"""
        },
    ),
}


@pytest.mark.parametrize("name", RIGHT_VARIANTS)
def test_it_earns_all_points(name: str, tmp_path: Path) -> None:
    number, file, changes = RIGHT_VARIANTS[name]
    directory = tmp_path / stages.kit(number).directory.name
    shutil.copytree(stages.kit(number).directory, directory)
    path = directory / file
    text = path.read_text()
    for old, new in changes.items():
        assert text.count(old) >= 1, old
        text = text.replace(old, new, 1)
    path.write_text(text)
    try:
        tried = pipeline.try_operations(stages.single(directory, directory.name, number), 7)
    finally:
        scratch.remove_all()
    lines = points.task_lines(tasks.course(number), tried)
    assert all(line.earned == line.possible for line in lines), [line.remark for line in lines]
