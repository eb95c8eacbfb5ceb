# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test the elective memblock: the kernel's tests, the random test, and the counts."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import catalogue
import pytest
from catalogue import Fault

from electives import source_folder
from electives.memblock import (
    callgrind,
    contract,
    kernels,
    measure,
    points,
    runner,
    sample,
    splice,
    variants,
    verbs,
)
from electives.memblock.kernels import BuiltTests, VariantNotBuiltError
from electives.memblock.variants import Variant
from grader.base import marked_regions, paths, scratch
from grader.base.errors import LabError
from grader.base.progress import Progress
from grader.course import skeleton

EXERCISE = "memblock"

SEEDS = 1000


@pytest.fixture(autouse=True)
def _no_folders_left() -> Iterator[None]:
    """Remove the build folders of the variants, which otherwise exist until pytest ends."""
    yield
    scratch.remove_all()


@pytest.fixture(scope="session")
def kernel() -> Path:
    """Return the part of the kernel source that the elective needs."""
    subprocess.run([str(paths.SCRIPTS / "setup.sh"), "memblock"], check=True)
    return kernels.source()


def built(kernel: Path, way: kernels.Way) -> BuiltTests:
    """Build the kernel's tests with these build options."""
    return kernels.tests(kernel, way, Progress())


def kits(name: str) -> Variant:
    """Return one of the kit's own variants."""
    if name == "delayed":
        return variants.of_file(variants.DELAYED, "delayed", "")
    return variants.of_file(kernels.HERE / "solution" / variants.SOLUTION, "look", "")


def faulty(fault: Fault) -> Variant:
    """Return the kit's variant with the planted fault."""
    base = kits(fault.options["variant"])
    (text,) = catalogue.texts(fault).values() if fault.changes else (base.text,)
    return Variant(fault.name, "", text, base.where)


def mode(fault: Fault) -> str:
    """Return the option letters of the random test; the default is all letters."""
    return str(getattr(runner, fault.options.get("mode", "ALL"), fault.options.get("mode")))


@pytest.mark.sampled
@pytest.mark.once
@pytest.mark.parametrize("fault", catalogue.found_by("random test"), ids=lambda fault: fault.name)
def test_the_kernels_tests_let_a_fault_pass_and_the_random_test_does_not(
    kernel: Path, fault: Fault
) -> None:
    source = (kernel / "mm/memblock.c").read_text()
    part = "start_rgn" in splice.definition(source, "memblock_merge_regions", "").group()[:200]
    if not fault.options.get("on_later" if part else "on_early", True):
        pytest.skip("this is not a fault in the lab kernel's version")
    tests = built(kernel, kernels.NUMA if fault.options.get("numa") else kernels.UMA)
    out = variants.build(kernel, tests, faulty(fault))
    assert runner.kernels_tests(out).wrong == ""
    seeds = fault.options.get("seeds", SEEDS)
    said = runner.random_test(out, mode(fault), 0, seeds).wrong
    assert said.startswith("seed "), said
    assert re.search(fault.says, said)


# This code ends the test program inside memblock_add_range() with a status of success.
ENDINGS = {
    "at once": "exit(0);",
    "after a while": "static int calls;\n\tif (++calls == 100)\n\t\t_exit(0);",
    "with a record of its own": 'dprintf(1, "record: 150000 checks, digest 0123456789abcdef\\n"),'
    " _exit(0);",
}


@pytest.mark.once
@pytest.mark.parametrize("ending", ENDINGS)
def test_a_function_that_ends_its_tests_has_proved_nothing(kernel: Path, ending: str) -> None:
    before, brace, behind = kits("look").text.partition("\n{\n")
    include = "#include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>\n"
    text = f"{before}{brace}\t{ENDINGS[ending]}\n{behind}"
    source = (kernel / "mm/memblock.c").read_text()
    spliced = splice.spliced(source, text, "mm/memblock.c", "x.c", told=True)
    out = scratch.folder()
    built(kernel, kernels.UMA).variant(include + spliced, "x.c", out)
    for outcome in (runner.random_test(out, "", 0, 1000), runner.kernels_tests(out)):
        assert re.search("no record|of [0-9,]+ checks|not that of this run", outcome.wrong), outcome
        assert not outcome.did or outcome.did.isdigit()


def test_no_source_makes_the_search_for_a_definition_slow() -> None:
    begin = time.process_time()
    for line in ("int f(int a,\n", "int f(void)\n{\n", "int f\n"):
        with pytest.raises(splice.NotOneError):
            splice.definition(line * 20_000, "f", "x.c")
    assert time.process_time() - begin < 5


@pytest.mark.once
@pytest.mark.parametrize(
    "way",
    [kernels.UMA, pytest.param(kernels.NUMA, marks=pytest.mark.long)],
    ids=lambda way: way.name,
)
def test_the_kernels_function_and_the_kits_are_right(kernel: Path, way: kernels.Way) -> None:
    passed = set()
    for variant in (variants.KERNEL, kits("look")):
        out = variants.build(kernel, built(kernel, way), variant)
        own = runner.kernels_tests(out)
        assert own.wrong == ""
        passed.add(own.did)
        for letters, seeds in ((runner.MANY_REGIONS, SEEDS // 10), (runner.HUGE, 4)):
            assert runner.random_test(out, runner.ALL + letters, SEEDS, seeds).wrong == ""
        for letters in (runner.ALL, runner.ALL + runner.SINGLE_BYTES):
            random = runner.random_test(out, letters, SEEDS, SEEDS)
            assert random.wrong == ""
            # Each counted event happens many times, and a failure of the second growth at least 10.
            *counts, late = (int(word) for word in random.did.split() if word.isdigit())
            assert len(counts) == 5 and min(counts) > SEEDS / 2 and late >= 10
    assert len(passed) == 1 and int(passed.pop()) >= 150


@pytest.mark.once
def test_two_runs_count_the_same_and_the_kits_is_better(kernel: Path) -> None:
    tests = built(kernel, kernels.PLAIN)
    counts = {}
    for variant in (variants.KERNEL, kits("look")):
        runs = [measure.states(variants.build(kernel, tests, variant)) for _ in range(2)]
        assert runs[0] == runs[1]
        counts[variant.name] = runs[0]
    # Accept 10 % more for at most four regions. A binary search saves little there, and GCC 14
    # compiles the kernel's loop over the regions to slightly fewer instructions.
    worse = {
        (call, regions): of
        for (call, regions), of in counts["kernel"].items()
        if counts["look"][call, regions] >= of * (1 if regions > 4 else 1.1)
    }
    assert worse == {}


@pytest.mark.once
def test_points_follow_the_tasks_that_are_solved(
    kernel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each solved task of the skeleton earns its points, and all tasks together earn 100."""
    text = kits("look").text
    monkeypatch.setattr(source_folder, "WORK", tmp_path / "work")
    skeleton.write("memblock", tmp_path / "work")
    own = tmp_path / "work/memblock" / variants.SOLUTION
    assert own.read_text() == marked_regions.skeleton(text, "x")
    expected: dict[int, list[int]] = {5: [1, 2, 3, 4, 5]}
    if os.environ.get("LAB_TESTS") == "long":
        expected |= {0: [], 1: [1], 2: [1, 2], 3: [1, 2, 3], 4: [1, 2, 3, 4]}
    for solved, right in expected.items():
        own.write_text(_with(text, solved))
        found = points.judge(Progress(), 1)
        done = [number for number, wrong in enumerate(found, 1) if wrong is None]
        assert done == right, found


# A piece that continues the region before it needs no place, even if the array is full and cannot
# grow. The code comes after the pieces are counted.
EXTENDS = """
	if (missing == 1 && idx > 0 && (idx == type->cnt || type->regions[idx].base >= end)) {
		struct memblock_region *before = &type->regions[idx - 1];
		struct memblock_region piece = { .base = base, .size = size, .flags = flags };

		memblock_set_region_node(&piece, nid);
		if (memblock_goes_on(before, &piece)) {
			before->size += size;
			type->total_size += size;
			if (idx < type->cnt && memblock_goes_on(before, before + 1)) {
				before->size += before[1].size;
				memmove(before + 1, before + 2,
					(type->cnt - idx - 1) * sizeof(*before));
				type->cnt--;
			}
			return 0;
		}
	}
"""


@pytest.mark.once
def test_a_region_may_become_longer_in_a_full_array(
    kernel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kit = kits("look")
    counted = "\tif (!missing)\n\t\treturn 0;\n"
    assert kit.text.count(counted) == 1
    text = kit.text.replace(counted, counted + EXTENDS)
    monkeypatch.setattr(variants, "solution", lambda: Variant("x", "", text, kit.where))
    assert points.judge(Progress(), 1) == [None] * points.INSTRUCTIONS


# Special cases for three kinds of calls. The kernel's function, renamed, handles all other calls.
SPECIAL_CASES = """
{
	phys_addr_t end = base + memblock_cap_size(base, &size);
	struct memblock_region *last = &type->regions[type->cnt - 1], *to = NULL;
	struct memblock_region *middle = &type->regions[type->cnt / 2];

	if (!size || !last->size)
		return plainly(type, base, size, nid, flags);
	if (last->base <= base && end <= last->base + last->size)
		return 0;
	if (type->cnt < type->max && last->base + last->size < base)
		to = last + 1;
	if (!to && type->cnt < type->max && type->cnt > 2 && end < middle->base &&
		middle[-1].base + middle[-1].size < base)
		to = middle;
	if (!to)
		return plainly(type, base, size, nid, flags);
	memmove(to + 1, to, (last + 1 - to) * sizeof(*to));
	to->base = base;
	to->size = size;
	to->flags = flags;
	memblock_set_region_node(to, nid);
	type->cnt++;
	type->total_size += size;
	return 0;
}
"""


@pytest.mark.once
@pytest.mark.parametrize("special", [True, pytest.param(False, marks=pytest.mark.long)])
def test_the_kernels_own_function_is_right_but_has_no_idea_of_a_task(
    kernel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, special: bool
) -> None:
    """The kernel's function earns only tasks 1, 3 and 4, even with added special cases."""
    text = splice.definition((kernel / "mm/memblock.c").read_text(), splice.FUNCTION, "").group()
    if special:
        head = text[: text.index("{")]
        plain = text.replace(splice.FUNCTION, "plainly", 1)
        text = f"{plain}\n{head.rstrip()}{SPECIAL_CASES}"
    monkeypatch.setattr(source_folder, "WORK", tmp_path / "work")
    own = tmp_path / "work/memblock" / variants.SOLUTION
    own.parent.mkdir(parents=True)
    own.write_text(text)
    found = points.judge(Progress(), 1)
    assert [number for number, wrong in enumerate(found, 1) if wrong is None] == [1, 3, 4], found
    for number in (2, 5):
        finding = found[number - 1]
        assert finding and "times fewer" in finding.cause, found


SEARCH = "memblock_first_above"
# Bodies of memblock_first_above(): a linear search from the end and in steps, and a search that is
# linear in the front half of the array only.
IN_STEPS = """
	unsigned long idx = type->cnt;

	while (idx >= 8 && memblock_end(type, idx - 8) > base)
		idx -= 8;
	while (idx && memblock_end(type, idx - 1) > base)
		idx--;
	return idx;
"""
IN_FRONT = """
	unsigned long low = 0, high = type->cnt;

	if (memblock_end(type, high / 2) > base) {
		while (memblock_end(type, low) <= base)
			low++;
		return low;
	}
	while (low < high) {
		unsigned long mid = (low + high) / 2;

		if (memblock_end(type, mid) <= base)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
"""

# The place is estimated as if all distances were equal; then a walk corrects it.
ESTIMATED = """
	unsigned long cnt = type->cnt, idx;
	phys_addr_t first = type->regions[0].base, end = memblock_end(type, cnt - 1);

	if (end <= base)
		return cnt;
	if (base < first)
		return 0;
	idx = (base - first) * cnt / (end - first);
	while (idx && memblock_end(type, idx - 1) > base)
		idx--;
	while (memblock_end(type, idx) <= base)
		idx++;
	return idx;
"""
# The place is estimated again and again. That takes few steps only if all distances are similar.
FALSE_POSITION = """
	unsigned long low = 0, high = type->cnt - 1;

	if (memblock_end(type, high) <= base)
		return type->cnt;
	if (memblock_end(type, low) > base)
		return 0;
	while (low + 1 < high) {
		phys_addr_t from = memblock_end(type, low) >> 12, to = memblock_end(type, high) >> 12;
		unsigned long steps = ((base >> 12) - from) * (high - low) / (to - from + 1);
		unsigned long mid = clamp(low + steps, low + 1, high - 1);

		if (memblock_end(type, mid) > base)
			high = mid;
		else
			low = mid;
	}
	return high;
"""


@pytest.mark.sampled
@pytest.mark.once
@pytest.mark.parametrize(
    ("body", "name"),
    [(body, SEARCH) for body in (IN_STEPS, IN_FRONT, ESTIMATED, FALSE_POSITION)]
    + [(IN_STEPS, "_Z1av"), (IN_STEPS, "_vgr00000ZU_none_first")],
)
def test_a_linear_search_takes_too_many_instructions(kernel: Path, body: str, name: str) -> None:
    """A tool could show the last names as those of a C++ function and of the function first()."""
    kit = kits("look")
    text = re.sub(
        r"\t/\* task 5 \{.*?\} task 5,.*?\*/\n", lambda _: body, kit.text, flags=re.DOTALL
    )
    text = text.replace(f"\n{SEARCH}(", f"\n__attribute__((noipa)) {SEARCH}(")
    linear = Variant("linear", "", text.replace(SEARCH, name), kit.where)
    tests = built(kernel, kernels.PLAIN)
    plain, *own = (variants.build(kernel, tests, one) for one in (variants.KERNEL, kit, linear))
    counted = [
        points._Counted([plain, out], kit, 5, points.MANY_REGIONS, points.PARTS) for out in own
    ]
    part = points.REGIONS_A_FACTOR
    right, wrong = (one.too_many(points.STATES, lambda n: n // part, "x") for one in counted)
    assert not right and "are required" in wrong


# Additional walks through the array for a range in one third of it.
SLOW_PART = """
	phys_addr_t from = type->regions[type->cnt * FROM / 3].base;
	phys_addr_t to = type->regions[(type->cnt - 1) * TO / 3].base;

	for (volatile unsigned long i = 0; from < base && base < to && i < 4 * type->cnt; i++)
		;
"""


@pytest.mark.once
@pytest.mark.parametrize("begin", range(3))
def test_a_third_of_the_array_may_not_be_slow(kernel: Path, begin: int) -> None:
    kit = kits("look")
    walks = SLOW_PART.replace("FROM", str(begin)).replace("TO", str(begin + 1))
    slow = Variant("slow", "", kit.text.replace("\nrepeat:\n", f"{walks}\nrepeat:\n"), kit.where)
    tests = built(kernel, kernels.PLAIN)
    plain, own = (variants.build(kernel, tests, one) for one in (variants.KERNEL, slow))
    counted = points._Counted([plain, own], slow, 5, points.FEW_REGIONS, points.PARTS)
    found = counted.too_many(points.ACROSS, lambda _: points.ENOUGH_ACROSS, "x")
    assert "2 are required" in found


@pytest.mark.once
@pytest.mark.parametrize("kind", ["memory", "reserved"])
def test_one_of_the_lists_may_not_be_slow(kernel: Path, kind: str) -> None:
    kit = kits("look")
    walks = f"""
	for (volatile unsigned long i = 0; type == &memblock.{kind} && i < 4 * type->cnt; i++)
		;
"""
    slow = Variant("slow", "", kit.text.replace("\nrepeat:\n", f"{walks}\nrepeat:\n"), kit.where)
    tests = built(kernel, kernels.PLAIN)
    plain, own = (variants.build(kernel, tests, one) for one in (variants.KERNEL, slow))
    for regions, calls in ((points.FEW_REGIONS, points.ACROSS), (points.MANY_REGIONS, ("append",))):
        counted = points._Counted([plain, own], slow, 5, regions, points.PARTS)
        assert "2 are required" in counted.too_many(calls, lambda _: points.ENOUGH_ACROSS, "x")


# Ways to move the regions from `to` to `from` that need additional memory, or that work for at most
# 256 regions: the code that replaces memmove(), and the expected problem of tasks 1 to 4.
MOVED = "memmove(from, to, (type->cnt - idx) * sizeof(*to));"
COPIED = "memcpy(from, memcpy(copy, to, bytes), bytes);"
MOVES = {
    "at most 256": (MOVED.replace("type->cnt - idx", "min(type->cnt - idx, 256ul)"), "^seed "),
    "kmalloc": (
        f"void *copy = kmalloc(bytes, GFP_KERNEL);\n{COPIED}\nkfree(copy);",
        r"^it calls kmalloc\(\) before the slab allocator is available$",
    ),
    "a static table": (
        f"static struct memblock_region copy[8300];\n{COPIED}",
        "^it has 199,200 bytes of static variables; at most 1,024 are allowed",
    ),
    "a static table of another section": (
        f"static struct memblock_region copy[8300] __attribute__((noinit));\n{COPIED}",
        "^it has 199,200 bytes of static variables; at most 1,024 are allowed",
    ),
    "a local array": (
        f"struct memblock_region copy[8300];\n{COPIED}",
        r"add_range.c:\d+:\d+: error: the frame size of \d+ bytes is larger than 2048 bytes",
    ),
    "a variable-length array": (f"char copy[bytes];\n{COPIED}", r"\[-Werror=vla"),
    "alloca": (
        f"void *copy = __builtin_alloca(bytes);\n{COPIED}",
        "__builtin_alloca is not allowed",
    ),
    "recursion": ("moved(from, to, type->cnt - idx);", "^AddressSanitizer: stack-overflow"),
}
RECURSION = """
static void moved(struct memblock_region *from, struct memblock_region *to, unsigned long count)
{
	if (count) {
		struct memblock_region copy = *to;

		moved(from + 1, to + 1, count - 1);
		*from = copy;
	}
}
"""


@pytest.mark.sampled
@pytest.mark.once
@pytest.mark.parametrize("name", MOVES)
def test_the_regions_may_be_many_and_move_in_place(
    kernel: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    move, problem = MOVES[name]
    kit = kits("look")
    text = kit.text.replace(
        MOVED, f"size_t bytes __maybe_unused = (type->cnt - idx) * sizeof(*to);\n{move}"
    ).replace("\nstatic ", f"{RECURSION}\nstatic ", 1)
    assert move in text
    monkeypatch.setattr(variants, "solution", lambda: Variant(name, "", text, kit.where))
    for number, finding in enumerate(points.judge(Progress(), 1)[: points.LAST_MODE], 1):
        assert finding and re.search(problem, finding.cause), (number, finding)


def _with(text: str, solved: int) -> str:
    """Return the solution up to this task, with the marked regions of later tasks left to write."""
    for number in range(1, solved + 1):
        text = text.replace(f"/* task {number} {{ */\n", "")
        text = re.sub(rf"[ \t]*/\* }} task {number}\b.*?\*/\n", "", text, flags=re.DOTALL)
    return marked_regions.skeleton(text, "x")


def test_what_does_not_compile_is_said_in_one_line(kernel: Path) -> None:
    text = kits("look").text.replace("unsigned long idx, missing;", "unsigned long idx;")
    with pytest.raises(VariantNotBuiltError) as caught:
        variants.build(kernel, built(kernel, kernels.UMA), Variant("x", "", text, "x.c"))
    said = str(caught.value)
    assert "\n" not in said
    assert "x.c:" in said and "missing" in said


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("#ifdef __SANITIZE_ADDRESS__\n\tint sanitized;\n#endif", "a macro that differs between"),
        ("__attribute__((no_sanitize_address)) extern int other(void);", "no_sanitize_address"),
        ('extern int other(void) __attribute__((alias("memblock_insert_region")));', "alias"),
        ('# 9 "mm/memblock.c"', "#line"),
        ('#\\ \nline 9 "slab.c"', "#line"),
        ('asm volatile("xchgq %%rbx, %%rbx" : : : "memory");', "asm"),
        ('__attribute__((target("sse3"))) extern int other(void);', "target"),
        ("__builtin_ia32_movnti64((long long *)type->regions, 0);", "__builtin_ia32_movnti64"),
        ("void *frame = __builtin_frame_address(0);", "__builtin_frame_address"),
    ],
)
def test_a_function_cannot_tell_its_builds_apart(kernel: Path, line: str, said: str) -> None:
    text = kits("look").text.replace(
        "\tunsigned long idx, missing;", f"{line}\n\tunsigned long idx, missing;"
    )
    assert line in text
    with pytest.raises(
        VariantNotBuiltError, match=rf"^x.c:\d+: {said}.* is not allowed|^x.c:\d+: {said} "
    ):
        variants.build(kernel, built(kernel, kernels.PLAIN), Variant("x", "", text, "x.c"))


# Code that could lead into the middle of an instruction, where a constant can hide another one, or
# that could tell the builds apart by their code; and right code with a switch and a constant table.
POINTERS = {
    "volatile long at = (long)memblock_goes_on;": "it uses the address of a function",
    "static int (*volatile at)(struct memblock_type *, phys_addr_t, phys_addr_t) ="
    " memblock_double_array;\n\tif (!at)\n\t\treturn 0;": "it uses the address of a function",
    "volatile long at = (long)memblock_reserve;": "it uses the address of a function",
    "((void (*)(void))base)();": "it calls a function through a pointer",
    "static const short table[] = { 7, 3, 9, 1 };\n\tvolatile int hash = table[size % 4];\n"
    "\tswitch (size % 8) {\n"
    + "".join(f"\tcase {n}: hash += {n * n}; hash ^= hash << {n}; break;\n" for n in range(1, 8))
    + "\t}": "",
}


@pytest.mark.parametrize("line", POINTERS)
def test_a_function_calls_others_by_their_names_only(kernel: Path, line: str) -> None:
    text = kits("look").text.replace(
        "unsigned long idx, missing;", f"unsigned long idx, missing;\n\t{line}"
    )
    own = Variant("x", "", text, "x.c")
    tests = built(kernel, kernels.PLAIN)
    plain, out = (variants.build(kernel, tests, one) for one in (variants.KERNEL, own))
    found = contract.violation(out, plain)
    assert found.startswith(POINTERS[line]) and bool(found) == bool(POINTERS[line])


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("#define memblock_dbg(...) CALLGRIND_STOP_INSTRUMENTATION", "#define"),
        ("# \\\n undef min", "#undef"),
        ("%:include <valgrind/callgrind.h>", "#include"),
        ('_Pragma("push_macro(\\"min\\")")', "_Pragma"),
    ],
)
def test_a_function_cannot_change_the_code_after_it(kernel: Path, line: str, said: str) -> None:
    """A macro of the function would also expand in the kernel's code, where nothing is refused."""
    text = f"{kits('look').text}\n{line}\n"
    with pytest.raises(VariantNotBuiltError, match=rf"^x.c:\d+: {said} would change"):
        variants.build(kernel, built(kernel, kernels.PLAIN), Variant("x", "", text, "x.c"))


def test_a_function_that_hangs_or_writes_outside_is_told(kernel: Path) -> None:
    tests = built(kernel, kernels.UMA)
    # Write one element past the end of memblock's initial array.
    outside = kits("look").text.replace("*to++ = next;", "to[128 - idx] = next, to++;")
    out = variants.build(kernel, tests, Variant("x", "", outside, "x.c"))
    assert "-buffer-overflow" in runner.random_test(out, "", 0, 1).wrong


@pytest.mark.parametrize(
    "skips",
    [
        "\tif (size == 2048) {\n\t\ttype->total_size += size;\n\t\treturn 0;\n\t}\n",
        "\tif (size == 2048) {\n\t\ttype->regions[type->cnt - 1].size += size;\n"
        "\t\ttype->total_size += size;\n\t\treturn 0;\n\t}\n",
    ],
)
def test_what_is_counted_must_be_done(kernel: Path, skips: str) -> None:
    """`measure` checks the resulting regions and not only their total size."""
    text = kits("look").text.replace("repeat:\n", f"{skips}repeat:\n")
    variant = Variant("x", "", text, "x.c")
    out = variants.build(kernel, built(kernel, kernels.PLAIN), variant)
    with pytest.raises(LabError):
        measure.states(out, {64: ""})


def test_a_file_without_the_function_is_the_learners_fault(kernel: Path, tmp_path: Path) -> None:
    file = tmp_path / "add_range.c"
    file.write_bytes(b"/* \xff */\n")
    variant = variants.of_file(file, "x", "")
    with pytest.raises(VariantNotBuiltError, match="0 definitions of memblock_add_range"):
        variants.build(kernel, built(kernel, kernels.PLAIN), variant)


def test_the_splice_wants_one_function_of_that_name() -> None:
    new = kits("look").text
    with pytest.raises(Exception, match="0 definitions of memblock_add_range"):
        splice.spliced("int main(void)\n{\n}\n", new, "mm/memblock.c", "x.c")


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("/nowhere", "does not exist"),
        ("/usr", "has no arch/um"),
        ("/dev/null", "no kernel version"),
    ],
)
def test_a_source_that_is_none_is_refused_in_one_line(source: str, said: str) -> None:
    completed = subprocess.run(
        [str(paths.SCRIPTS / "memblock-source.sh")],
        env={**os.environ, "KSRC": source},
        capture_output=True,
        text=True,
    )
    assert completed.returncode == 2
    assert said in completed.stderr and completed.stderr.count("\n") == 1


def test_the_share_is_read_from_perfs_table() -> None:
    table = "     1.20%  [.] memblock_add_range.isra.0\n     0.50%  [.] memblock_add\n"
    assert sample.share(table) == 1.2
    assert sample.share("") == 0


def test_callgrinds_file_is_read() -> None:
    text = (
        "desc: Trigger: Client Request: append 64\nob=/y/states\nfl=/x/memblock.c\nfn=outer\n10 5\n"
        "cob=/lib/libc.so\ncfn=inner.isra.0'2\ncalls=1 20\n11 30\n12 1\nfn=inner.isra.0\n20 30\n"
        "fl=/x/states.c\nfn=main\n1 4\nob=/lib/libc.so\nfl=string.c\nfn=memmove\n1 7\n"
    )
    part = callgrind.parse(text)
    assert part.name == "append 64"
    assert (part.total(), part.instructions_of("inner"), part.instructions_of("outer")) == (
        47,
        30,
        6,
    )
    assert part.inside("states", ["states.c"]) == 36
    assert part.with_called("inner", "other") == 30
    assert part.with_called("inner", "outer") == 0


def test_ctrl_c_leaves_nothing_half_built(kernel: Path, tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "electives", "memblock", "run"],
        cwd=paths.ROOT,
        env={**os.environ, "LAB_BUILD": str(tmp_path), "PYTHONPATH": str(paths.ROOT)},
        stderr=subprocess.PIPE,
        text=True,
    )
    for _ in range(600):
        if list(tmp_path.rglob("tools/testing/memblock/main.o")):
            break
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said.splitlines()[-1] == "elective: stopped; no process is left running"
    assert [path for path in (tmp_path / "memblock").rglob("*") if path.is_file()] == []


@pytest.mark.long
def test_make_memblock_says_all(kernel: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert verbs.run([]) == 0
    said = capsys.readouterr().out
    for words in ("tests passed", "insert in front", "look: look first", "Picture: "):
        assert words in said
