# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test grader.lab with a module that is not part of the kit, on every kind of machine.

The test builds the module from a directory, loads it, calls it and measures the calls; the module
also crashes, hangs and leaks. Only grader.lab and grader.base are used.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.base import scratch
from grader.base.errors import MachineError
from grader.lab import cost, failure_classification, kernel_log, leak_scan, machines, module
from grader.lab.guest_program import compiled
from grader.lab.machines import Contents, Running
from grader.lab.module import Module

pytestmark = [pytest.mark.machine, pytest.mark.timeout(900)]
SECONDS = 60.0
KO = "/lib/knock.ko"
DOOR = "/proc/knock"

# A module that obeys commands: "w 1000" works for 1,000 steps, "l" leaks memory, "c" crashes.
KNOCK = r"""
#include <linux/module.h>
#include <linux/proc_fs.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
static noinline void crash(volatile int *nowhere) { *nowhere = 1; }
static noinline void lose(void)
{
	void *block = kmalloc(40, GFP_KERNEL);
	OPTIMIZER_HIDE_VAR(block);
}
static ssize_t knock(struct file *f, const char __user *buf, size_t size, loff_t *at)
{
	char text[16] = "";
	unsigned int steps = 0;
	if (copy_from_user(text, buf, min(size, sizeof(text) - 1)))
		return -EFAULT;
	if (text[0] == 'c')
		crash(NULL);
	if (text[0] == 'l')
		lose();
	if (sscanf(text, "w %u", &steps) == 1)
		for (; steps; steps--)
			asm volatile("" ::: "memory");
	return size;
}
static const struct proc_ops ops = { .proc_write = knock };
static int __init begin(void)
{
	return proc_create("knock", 0600, NULL, &ops) ? 0 : -ENOMEM;
}
static void __exit end(void) { remove_proc_entry("knock", NULL); }
module_init(begin);
module_exit(end);
MODULE_LICENSE("GPL");
"""

ANSWERS = """\
#include <stdio.h>
int main(void)
{
	char line[100];
	setvbuf(stdout, NULL, _IOLBF, 0);
	while (fgets(line, sizeof(line), stdin) && line[0] != 'q')
		printf("you said %s", line);
	return 0;
}
"""


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lab") / "knocker"
    folder.mkdir()
    (folder / "knock.c").write_text(KNOCK)
    (folder / "answers.txt").write_text(ANSWERS)
    return folder


@pytest.fixture(params=["uml", "qemu", "uml-debug"])
def loaded(request: pytest.FixtureRequest, sources: Path) -> Iterator[tuple[Running, Module]]:
    """Yield a machine that has the module loaded and a program of the test."""
    machine = machines.get(request.param)
    built = module.build(module.from_directory(sources, "knock"), machine.kernel())
    assert built.ok, built.log
    program = sources.parent / "answers.c"
    program.write_text(ANSWERS)
    answers = compiled("test-answers", [program])
    guest = machine.boot(Contents({KO: built.stripped, "/bin/answers": answers}, "knock"))
    guest.channel.check(f"insmod {KO}", SECONDS)
    yield guest, built
    guest.stop()
    scratch.remove_all()


def test_a_module_of_a_directory(loaded: tuple[Running, Module]) -> None:
    guest, built = loaded
    answers = guest.channel.stream_requests("answers", ["a", "b"], SECONDS)
    assert [answer.strip() for answer in answers] == ["you said a", "you said b"]
    assert kernel_log.first_problem(guest.console(), built) is None
    few = cost.time_writes(guest, DOOR, "w 1000", 3, SECONDS)
    many = cost.time_writes(guest, DOOR, "w 3000000", 3, SECONDS)
    assert min(many) > min(few)
    guest.channel.check("rmmod knock", SECONDS)
    assert guest.channel.run(f"test -e {DOOR}", SECONDS).status == 1
    with pytest.raises(MachineError, match="exit 1"):
        cost.time_writes(guest, DOOR, "w", 1, SECONDS)


def test_a_crash_is_told_with_its_line(loaded: tuple[Running, Module]) -> None:
    guest, built = loaded
    with pytest.raises(MachineError) as error:
        guest.channel.check(f"echo c >{DOOR}", SECONDS)
    found = failure_classification.classify(error.value, guest, built)
    assert found.status == "crashed"
    line = 1 + KNOCK.splitlines().index(next(x for x in KNOCK.splitlines() if "*nowhere = 1" in x))
    assert f"knocker/knock.c:{line}" in found.cause
    assert not guest.alive()


def test_no_answer_is_no_crash(loaded: tuple[Running, Module]) -> None:
    guest, built = loaded
    with pytest.raises(MachineError) as error:
        # A sleep would end at once, because an idle machine that counts time in instructions skips
        # it.
        guest.channel.run("while :; do :; done", 0.5)
    assert failure_classification.classify(error.value, guest, built).status == "timeout"
    assert guest.alive()


def test_a_source_that_does_not_compile(sources: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.c").write_text("#include <linux/module.h>\nint x = y;\n")
    built = module.build(module.from_directory(tmp_path, "bad"), machines.get("uml").kernel())
    assert not built.ok
    assert "bad.c:2:9: error: 'y' undeclared" in built.cause


def test_instructions_are_the_same_each_time(sources: Path) -> None:
    machine = machines.counting()
    built = module.build(module.from_directory(sources, "knock"), machine.kernel())
    counts = []
    for _ in range(2):
        guest = machine.boot(Contents({KO: built.stripped}, "knock"), digits=0)
        guest.channel.check(f"insmod {KO}", SECONDS)
        counts += cost.count_writes(guest, DOOR, "w 100000", 3, SECONDS)
        guest.stop()
    assert counts == counts[:1] * 6
    assert counts[0] > 100_000


def test_lost_memory_is_found(sources: Path) -> None:
    machine = machines.get("uml-debug")
    built = module.build(module.from_directory(sources, "knock"), machine.kernel())
    guest = machine.boot(Contents({KO: built.stripped}, "knock"))
    guest.channel.check(f"insmod {KO} && echo l >{DOOR} && echo l >{DOOR}", SECONDS)
    found = leak_scan.read(guest.channel.check(leak_scan.COMMAND, SECONDS), built)
    guest.stop()
    assert found.blocks >= 1
    assert "allocated in lose" in found.meaning and "never freed" in found.meaning
