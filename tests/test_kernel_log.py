# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
# ruff: noqa: E501, W291 - kernel logs are quoted unchanged
"""Test reading kernel logs: recorded logs of the lab kernel 6.1 and logs of other kernels."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from grader.lab import kernel_log
from grader.lab.module import Module

NONE = Module("fibdrv", Path("/nowhere"))

CLEAN = "[    0.530000] fibdrv: loading out-of-tree module taints kernel.\n"

WARN = """\
[    0.250000] fibdrv: loading out-of-tree module taints kernel.
[    0.680000] ------------[ cut here ]------------
[    0.680000] WARNING: CPU: 0 PID: 37 at build/planted/1-warns/fib.c:15 fib_compute+0x85/0xa0 [fibdrv]
[    0.680000] Modules linked in: fibdrv(O) [last unloaded: fibdrv(O)]
[    0.680000] CPU: 0 PID: 37 Comm: fibctl Tainted: G           O       6.1.192 #1 
[    0.680000] Stack:
[    0.680000]  00000000 7d0bfc20 6022bcf8 601c6187
[    0.680000] Call Trace:
[    0.680000]  [<601c4408>] ? warn_slowpath_fmt+0xca/0xd8
[    0.680000]  [<600e60aa>] ? __kmem_cache_alloc_node+0x16a/0x4a0
[    0.680000]  [<8d014fc5>] ? fib_compute+0x85/0xa0 [fibdrv]
[    0.680000]  [<8d01436e>] ? fibdrv_read+0x8e/0x200 [fibdrv]
[    0.680000]  [<600f728e>] ? vfs_read+0x7e/0x160
[    0.680000] ---[ end trace 0000000000000000 ]---
"""

NULL = """\
[    0.480000] fibdrv: loading out-of-tree module taints kernel.
[    0.970000] 
[    0.970000] Modules linked in: fibdrv(O) [last unloaded: fibdrv(O)]
[    0.970000] Pid: 36, comm: fibctl Tainted: G           O       6.1.192
[    0.970000] RIP: 0033:fib_compute+0x%x/0x40 [fibdrv]
[    0.970000] RSP: 0000000080527de8  EFLAGS: 00010246
[    0.970000] RAX: 00000002ee333961 RBX: 000000007fca5900 RCX: 0000000000000000
[    0.970000] Kernel panic - not syncing: Kernel mode fault at addr 0x0, ip 0x8f814f6e
"""

DUPLICATE = """\
[    0.530000] fibdrv: loading out-of-tree module taints kernel.
[    0.530000] sysfs: cannot create duplicate filename '/class/fibonacci'
[    0.530000] CPU: 0 PID: 27 Comm: insmod Tainted: G           O       6.1.192 #1 
[    0.530000] Call Trace:
[    0.530000]  [<60159a55>] ? sysfs_create_dir_ns+0xf5/0x110
[    0.530000] kobject_add_internal failed for fibonacci with -EEXIST, don't try to register \
things with the same name in the same directory.
"""

BUG = """\
[    0.510000] fibdrv: loading out-of-tree module taints kernel.
[    1.880000] BUG: failure at build/planted/1-hits-bug/fib.c:15/fib_compute()!
[    1.880000] Kernel panic - not syncing: BUG!
"""

PANIC = """\
[    0.490000] fibdrv: loading out-of-tree module taints kernel.
[    0.490000] Kernel panic - not syncing: the mutant panics
"""

# An oops with a call trace, as a PC's kernel prints it. The tests insert the offsets.
PC_NULL = """\
[    1.873541] fibdrv: loading out-of-tree module taints kernel.
[    1.874422] fibdrv: module verification failed: signature and/or required key missing - tainting kernel
[    2.101010] BUG: kernel NULL pointer dereference, address: 0000000000000000
[    2.101110] #PF: supervisor write access in kernel mode
[    2.101310] Oops: 0002 [#1] PREEMPT SMP PTI
[    2.101510] RIP: 0010:memcpy+0xc/0x20
[    2.101610] Call Trace:
[    2.101710]  <TASK>
[    2.101810]  fib_free+0x%x/0x40 [fibdrv]
[    2.101910]  fib_compute+0x%x/0x40 [fibdrv]
[    2.102010]  vfs_read+0xb3/0x370
[    2.102110] Kernel panic - not syncing: Fatal exception
"""


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Module:
    """Link an object with debug information from a stage's source and a source of the kit."""
    folder = tmp_path_factory.mktemp("module")
    stage, kit = folder / "fib.c", folder / "account.c"
    stage.write_text(
        "int *place;\n"
        "void fib_free(void *p);\n"
        'static __attribute__((noinline)) void step(void) __asm__("step.isra.0");\n'
        "static void step(void)\n"
        "{\n"
        "\t*place = 6;\n"
        "}\n"
        "static inline __attribute__((always_inline)) void inner(int x)\n"
        "{\n"
        "\tplace[x] = 10;\n"
        "}\n"
        "int fib_compute(int n)\n"
        "{\n"
        "\tinner(n);\n"
        "\tstep();\n"
        "\tfib_free(place);\n"
        "\treturn 17;\n"
        "}\n"
    )
    kit.write_text("void fib_free(void *p)\n{\n\t*(int *)p = 3;\n}\n")
    objects = []
    for path, label in ((stage, "stages/9-x"), (kit, "common")):
        objects.append(path.with_suffix(".o"))
        subprocess.run(
            ["gcc", "-g", "-O1", f"-ffile-prefix-map={folder}={label}", "-c", "-o",
             str(objects[-1]), str(path)],
            check=True,
        )  # fmt: skip
    output = folder / "fibdrv.ko"
    subprocess.run(["ld", "-r", "-o", str(output), *map(str, objects)], check=True)
    return Module("fibdrv", folder, own=("stages/9-x",), support=("common",))


def instruction(module: Module, symbol: str, pattern: str) -> int:
    """Return the offset in the function of the first instruction that matches the pattern."""
    text = subprocess.run(
        ["objdump", "-d", "--no-show-raw-insn", f"--disassemble={symbol}", str(module.path)],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    begin = re.search(rf"^([0-9a-f]+) <{re.escape(symbol)}>", text, re.MULTILINE)
    at = re.search(rf"^\s*([0-9a-f]+):\s+{pattern}", text, re.MULTILINE)
    assert begin and at, text
    return int(at[1], 16) - int(begin[1], 16)


def after_call(module: Module, which: int) -> int:
    """Return the offset of a call's return address in fib_compute. A call takes 5 bytes."""
    text = subprocess.run(
        ["objdump", "-d", "--no-show-raw-insn", "--disassemble=fib_compute", str(module.path)],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    begin = re.search(r"^([0-9a-f]+) <fib_compute>", text, re.MULTILINE)
    assert begin
    calls = re.findall(r"^\s*([0-9a-f]+):\s+call", text, re.MULTILINE)
    return int(calls[which], 16) - int(begin[1], 16) + 5


def test_clean() -> None:
    assert kernel_log.suspects(CLEAN, NONE) == []
    assert kernel_log.first_problem(CLEAN, NONE) is None
    assert kernel_log.first_problem("", NONE) is None


@pytest.mark.parametrize(
    "line",
    [
        "fibdrv: F(10) leaves 16 bytes in 1 blocks unfreed",
        "BUG: sleeping function called from invalid context at mm/slab.h:1",
        "UBSAN: shift-out-of-bounds in stages/3-x/bignum.c:10:3",
        "WARNING: possible circular locking dependency detected",
        "kmemleak: 1 new suspected memory leaks (see /sys/kernel/debug/kmemleak)",
        "rcu: INFO: rcu_sched self-detected stall on CPU",
        "watchdog: BUG: soft lockup - CPU#0 stuck for 22s! [fibctl:40]",
        "fibctl[40]: segfault at 0 ip 0000000000401234 sp 00007ffc error 6",
        "Out of memory: Killed process 40 (fibctl)",
        "insmod: page allocation failure: order:9",
    ],
)
def test_dirty(line: str) -> None:
    finding = kernel_log.first_problem(f"{CLEAN}[    1.000000] {line}\n", NONE)
    assert finding is not None
    assert finding.cause == line
    assert finding.excerpt.splitlines()[-1] == line


def test_memory_that_has_run_out_outside() -> None:
    text = (
        "[    0.480000] Bus error - the host /dev/shm or /tmp mount likely just ran out of space\n"
        "[    0.480000] Kernel panic - not syncing: Kernel mode signal 7\n"
    )
    cause = kernel_log.crash(text, NONE).cause
    assert "no space is left for the machine's memory" in cause
    assert "set TMPDIR" in cause


@pytest.mark.parametrize("line", ["random: crng init done", "Freeing unused memory: 100K"])
def test_harmless(line: str) -> None:
    assert kernel_log.first_problem(f"[    1.000000] {line}\n", NONE) is None


def test_warning_names_its_place() -> None:
    finding = kernel_log.first_problem(WARN, NONE)
    assert finding is not None
    assert finding.cause == "WARNING in fib_compute, build/planted/1-warns/fib.c:15"
    assert "\n------------[ cut here ]" in f"\n{finding.excerpt}"
    assert finding.excerpt.endswith("---[ end trace 0000000000000000 ]---")


def test_warning_of_a_newer_kernel() -> None:
    text = (
        "[ 1.5] WARNING: stages/3-x/fib.c:15 at fib_compute.part.0+0x85/0xa0 [fibdrv], CPU#0: x/9\n"
    )
    finding = kernel_log.first_problem(text, NONE)
    assert finding is not None
    assert finding.cause == "WARNING in fib_compute, stages/3-x/fib.c:15"


def test_bug_names_its_place() -> None:
    cause = kernel_log.crash(BUG, NONE).cause
    assert cause == "BUG: failure at build/planted/1-hits-bug/fib.c:15/fib_compute()!"


def test_panic_without_a_place() -> None:
    assert kernel_log.crash(PANIC, NONE).cause == "kernel panic: the mutant panics"


def test_null_pointer_of_the_lab_kernel(module: Module) -> None:
    # The report names the innermost function, which the compiler has inlined into fib_compute.
    at = instruction(module, "fib_compute", r"movl\s+\$0xa")
    finding = kernel_log.crash(NULL % at, module)
    assert finding.cause == (
        "a null pointer is followed, or an index is far outside of its array (address 0x0)"
        " in inner, stages/9-x/fib.c:10"
    )
    assert "Kernel panic - not syncing" in finding.excerpt


def test_bad_pointer_of_the_lab_kernel(module: Module) -> None:
    at = instruction(module, "fib_compute", r"movl\s+\$0xa")
    text = (NULL % at).replace("addr 0x0,", "addr 0xdeadbeef00,")
    assert kernel_log.crash(text, module).cause.startswith(
        "a bad pointer is followed (address 0xdeadb"
    )
    text = (NULL % at).replace("addr 0x0,", "addr 0x8,")
    assert kernel_log.crash(text, module).cause.startswith(
        "a null pointer is followed (address 0x8)"
    )


def test_a_function_that_the_compiler_has_renamed(module: Module) -> None:
    at = instruction(module, "step.isra.0", r"movl\s+\$0x6")
    text = (NULL % at).replace("fib_compute", "step.isra.0")
    assert kernel_log.crash(text, module).cause.endswith("in step, stages/9-x/fib.c:6")


def test_a_place_that_is_not_known(module: Module) -> None:
    text = (NULL % 5).replace("fib_compute", "no_such_function")
    assert kernel_log.crash(text, module).cause == (
        "a null pointer is followed, or an index is far outside of its array (address 0x0)"
    )


FRAME = "fib_compute keeps 40,000 bytes on the stack, and a kernel's stack has 16 KB in all"


def test_a_stack_that_overflows() -> None:
    """A stack overflow is recognised even if the lab kernel's last message does not mention it."""
    warned = replace(NONE, warnings=(f"work/1-x/fib.c:27:1: warning: {FRAME}",))
    no_mm = f"{CLEAN}[    1.0] Kernel panic - not syncing: Segfault with no mm\n"
    recursion = (NULL % 5).replace("Pid: 36", "Pid: -279598").replace("fib_compute", "um_timer")
    for text in (no_mm, recursion.replace(" [fibdrv]", ""), f"{CLEAN}-25\n"):
        cause = kernel_log.crash(text, warned).cause
        assert cause == f"the stack has probably overflowed: {FRAME} (work/1-x/fib.c:27)"
    for text in (no_mm, recursion):
        cause = kernel_log.crash(text, NONE).cause
        assert cause.startswith("the stack has probably overflowed: a kernel's has 16 KB in all")
        assert "function that calls itself" in cause
    assert "stack" not in kernel_log.crash(PANIC, NONE).cause


def test_a_large_frame_is_not_blamed_for_what_has_a_place(module: Module) -> None:
    warned = replace(module, warnings=(f"stages/9-x/fib.c:27:1: warning: {FRAME}",))
    at = instruction(module, "fib_compute", r"movl\s+\$0xa")
    cause = kernel_log.crash(NULL % at, warned).cause
    assert cause.startswith("a null pointer is followed")


def test_oops_of_a_pc(module: Module) -> None:
    """The cause of an oops in the kit's code also names the stage's line that called it."""
    within = instruction(module, "fib_free", r"movl\s+\$0x3") + 1
    finding = kernel_log.crash(PC_NULL % (within, after_call(module, 1)), module)
    assert finding.cause == (
        "BUG: kernel NULL pointer dereference, address: 0000000000000000"
        " in fib_free, common/account.c:3, called from fib_compute, stages/9-x/fib.c:16"
    )


def test_load_that_finds_leavings() -> None:
    finding = kernel_log.first_problem(DUPLICATE, NONE)
    assert finding is not None
    assert finding.cause == "sysfs: cannot create duplicate filename '/class/fibonacci'"


@pytest.mark.parametrize(
    ("console", "cause"),
    [
        ("", "the machine ended and printed nothing"),
        (CLEAN, "the machine ended and printed nothing"),
        (f"{CLEAN}[ 2.0] agent: the line is closed, powering off\n[ 2.0] \n",
         "the machine ended; the last line of its log: agent: the line is closed, powering off"),
        ("[ 2.0] Kernel panic - not syncing: Kernel mode signal 8\n",
         "kernel panic: an arithmetic fault, such as division by zero"),
    ],
)  # fmt: skip
def test_silent_ends(console: str, cause: str) -> None:
    assert kernel_log.crash(console, NONE).cause == cause


def test_excerpt_is_cut() -> None:
    text = "".join(f"[    1.0] fibdrv: line {i}\n" for i in range(100))
    lines = kernel_log.excerpt(text, NONE).splitlines()
    assert (lines[0], lines[-2], lines[-1]) == ("fibdrv: line 0", "fibdrv: line 29", "...")
    assert len(lines) == 31
    assert kernel_log.excerpt("a\nb\n", NONE) == "a\nb"
