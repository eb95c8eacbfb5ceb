# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test stage 0: each task earns its points, and the reference earns all of them.

test_faults.py tests its planted faults.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.base import paths, scratch
from grader.base.finding import Code
from grader.course import check, results, skeleton
from grader.course.export import leaks
from grader.course.export.solutions import squeezed
from grader.exercise.build import stage_module
from grader.exercise.conformance.verify import Verified
from grader.exercise.driver import concurrency, verify
from grader.exercise.driver.call_trace import TracedCall
from grader.exercise.driver.session import WrongError
from grader.exercise.files import exercises, stages, tasks
from grader.lab import machines
from grader.lab.uml import Uml

pytestmark = [pytest.mark.machine, pytest.mark.timeout(600)]
TASKS = [task.number for task in tasks.course(0).tasks]
NUMBER = {task.name: task.number for task in tasks.course(0).tasks}


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    yield
    scratch.remove_all()


def tried(folder: Path, text: str, machine: str = "uml", only: list[int] | None = None) -> Verified:
    directory = folder / "0-first-module"
    directory.mkdir()
    (directory / "driver.c").write_text(text)
    stage = stages.single(directory, directory.name)
    where = machines.get(machine)
    return verify.verify(
        stage_module.build(stage, where.kernel()), where, 1, lambda _: None, only=only or ()
    )


def test_the_skeleton_earns_nothing(tmp_path: Path) -> None:
    directory = skeleton.write(0, tmp_path)
    stage = stages.single(directory, directory.name, 0)
    built = stage_module.build(stage, machines.get("uml").kernel())
    assert built.ok
    assert not built.violations
    assert not built.module.warnings
    result = check.check(exercises.find(0), directory, 0)
    assert (result.earned, result.possible) == (0, 100)
    assert "expected /dev/first, got no such file" in result.lines[0].remark
    assert results.next_step(result).startswith("next: task 1, device, at ")
    assert re.search(r"/driver\.c:\d+; make stage=0 hint$", results.next_step(result))


def test_no_line_of_the_solution_is_left() -> None:
    assert (paths.STAGES / "0-first-module/driver.c").is_file()
    owners = leaks.solution_lines()
    lines = {line for line, owner in owners.items() if owner.startswith("stage 0, task ")}
    # Do not search for the line of task 3, because the line also occurs in common/driver.c.
    assert {f"stage 0, task {task}" for task in TASKS if task != NUMBER["owner"]} == {
        owners[line] for line in lines
    }
    bare = squeezed(skeleton.sources(0)["driver.c"])
    assert len(lines) > 50
    assert not [line for line in lines if line in bare]


@pytest.mark.long
@pytest.mark.timeout(2400)
def test_each_task_solved_earns_its_points(tmp_path: Path) -> None:
    asked = tasks.course(0).tasks
    for last in range(1, len(asked) + 1):
        directory = skeleton.write(0, tmp_path / str(last), frozenset(range(1, last + 1)))
        earned = [line.earned for line in check.check(exercises.find(0), directory, 0).lines]
        assert earned[:last] == [task.points for task in asked[:last]], last
        assert not any(earned[last:]), last


@pytest.mark.parametrize("machine", ["uml", pytest.param("qemu-smp", marks=pytest.mark.long)])
def test_the_reference(machine: str, tmp_path: Path) -> None:
    text = (paths.STAGES / "0-first-module/driver.c").read_text()
    result = tried(tmp_path, text, machine)
    assert result.by_task == {}
    assert result.ok
    assert not result.built.module.warnings


# These replacements turn the misc device of the driver into a cdev with a class.
LONGER_WAY = {
    "#include <linux/miscdevice.h>\n": "#include <linux/cdev.h>\n",
    "static struct miscdevice first_device = {\n\t.minor = MISC_DYNAMIC_MINOR,\n"
    '\t.name = "first",\n\t.fops = &first_fops,\n\t.groups = first_groups,\n};\n': (
        'static struct class first_class = { .name = "first", .dev_groups = first_groups };\n'
        "static dev_t first_number;\nstatic struct cdev first_cdev;\n\n"
        "static int first_register(void)\n{\n\tstruct device *device;\n\tint err;\n\n"
        '\terr = alloc_chrdev_region(&first_number, 0, 1, "first");\n\tif (err)\n\t\treturn err;\n'
        "\terr = class_register(&first_class);\n\tif (err)\n\t\tgoto unregister_region;\n"
        "\tcdev_init(&first_cdev, &first_fops);\n"
        "\terr = cdev_add(&first_cdev, first_number, 1);\n"
        "\tif (err)\n\t\tgoto unregister_class;\n"
        '\tdevice = device_create(&first_class, NULL, first_number, NULL, "first");\n'
        "\tif (!IS_ERR(device))\n\t\treturn 0;\n\terr = PTR_ERR(device);\n"
        "\tcdev_del(&first_cdev);\nunregister_class:\n\tclass_unregister(&first_class);\n"
        "unregister_region:\n\tunregister_chrdev_region(first_number, 1);\n\treturn err;\n}\n"
    ),
    "misc_register(&first_device)": "first_register()",
    "\tmisc_deregister(&first_device);\n": (
        "\tdevice_destroy(&first_class, first_number);\n\tcdev_del(&first_cdev);\n"
        "\tclass_unregister(&first_class);\n\tunregister_chrdev_region(first_number, 1);\n"
    ),
}


@pytest.mark.long
def test_the_longer_way_to_a_device(tmp_path: Path) -> None:
    """A driver with a device number, a class and a cdev passes, and its faults are found too."""
    text = (paths.STAGES / "0-first-module/driver.c").read_text()
    for what, instead in LONGER_WAY.items():
        assert text.count(what) == 1, what
        text = text.replace(what, instead)
    assert tried(tmp_path, text).by_task == {}
    unwound = "goto unregister_region;\n"
    faulty = tmp_path / "faulty"
    faulty.mkdir()
    found = tried(faulty, text.replace(unwound, "return err;\n"), only=[NUMBER["device"]])
    assert re.search(
        "^init, when class_register fails: expected nothing left behind, got"
        " no unregister_chrdev_region for alloc_chrdev_region$",
        found.by_task[NUMBER["device"]].cause,
    )


@pytest.mark.sampled
def test_a_leak_belongs_to_the_task_that_allocates(tmp_path: Path) -> None:
    """A leak counts for the task whose function and line allocated the memory.

    The tasks that only open files keep their points.
    """
    text = (paths.STAGES / "0-first-module/driver.c").read_text()
    release = "\tkfree(file->private_data);\n"
    assert text.count(release) == 1
    wrong = text.replace(release, "")
    lines = wrong.splitlines()
    line = next(i for i, line in enumerate(lines, 1) if "kzalloc(sizeof(*mine)" in line)
    only = [NUMBER[name] for name in ("read", "position", "open")]
    found = tried(tmp_path, wrong, only=only).by_task
    assert list(found) == [NUMBER["open"]]
    place = rf"no kfree for the memory allocated in first_open \(driver\.c:({line}|{line + 1})\)"
    cause = found[NUMBER["open"]].cause
    assert re.search(rf"expected nothing left behind, got {place}$", cause), cause


def test_a_leak_of_a_task_that_is_not_tested_is_not_passed_over(tmp_path: Path) -> None:
    text = (paths.STAGES / "0-first-module/driver.c").read_text()
    wrong = text.replace("\tkfree(file->private_data);\n", "")
    found = tried(tmp_path, wrong, only=[NUMBER["read"]]).by_task
    assert "got no kfree for the memory allocated in first_open" in found[NUMBER["read"]].cause


@pytest.mark.parametrize("reads", ["first_calls++", "atomic64_inc((atomic64_t *)&first_calls)"])
@pytest.mark.long
def test_a_data_race_belongs_to_the_task_of_the_variable(reads: str, tmp_path: Path) -> None:
    """A data race counts for the variable's task, even if that task's test only reads."""
    text = (paths.STAGES / "0-first-module/driver.c").read_text()
    text = text.replace("static atomic64_t first_calls", "static s64 first_calls")
    text = text.replace("(u64)atomic64_read(&first_calls)", "(u64)READ_ONCE(first_calls)")
    text = text.replace("atomic64_set(&first_calls, 0)", "WRITE_ONCE(first_calls, 0)")
    text = text.replace("atomic64_inc(&first_calls)", reads, 1)
    wrong = text.replace("atomic64_inc(&first_calls)", "first_calls++")
    only = [NUMBER["two callers"], NUMBER["counter"]]
    found = tried(tmp_path, wrong, only=only).by_task
    assert list(found) == [NUMBER["counter"]]
    assert "an atomic64_t, or " in found[NUMBER["counter"]].cause


@pytest.mark.parametrize(
    ("accesses", "waited"),
    [([], []), ([800], []), ([], [100]), ([800, 800], [100]), ([800], [5, 1000])],
)
def test_each_count_of_the_race_detector_is_in_the_trace_once(
    accesses: list[int], waited: list[int]
) -> None:
    """A driver that adds lines to the trace, or that fills it, does not pass."""
    race = TracedCall("=", "race", concurrency.RACE)
    concurrency._was_raced([race, TracedCall("=", "accesses", 800), TracedCall("=", "waited", 100)])
    done = [race, *(TracedCall("=", "accesses", count) for count in accesses)]
    done += [TracedCall("=", "waited", count) for count in waited]
    with pytest.raises(WrongError, match="expected one count of accesses and one of waits, got"):
        concurrency._was_raced(done)


LOCK = "static DEFINE_MUTEX(first_lock);\n"
TAKEN, RELEASED = "\tmutex_lock(&first_lock);\n", "\tmutex_unlock(&first_lock);\n"
COPY = "\tif (copy_to_user(buf, first_text + *position, size)) {"
# Copy the text to other memory under the lock, because the owner of a spinlock must not sleep.
BOUNCED = {
    "\tssize_t ret = 0;\n\n\tatomic64_inc(&first_calls);\n": "\tssize_t ret = 0;\n\tchar *copy;\n\n"
    "\tatomic64_inc(&first_calls);\n\tcopy = kmalloc(FIRST_BYTES, GFP_KERNEL);\n"
    "\tif (!copy)\n\t\treturn -ENOMEM;\n",
    f"{COPY}\n\t\tret = -EFAULT;\n\t\tgoto unlock;\n\t}}\n\t*position += size;\n\tret = size;\n"
    f"unlock:\n{RELEASED}": "\tmemcpy(copy, first_text + *position, size);\n\tret = size;\n"
    f"unlock:\n{RELEASED}\tif (copy_to_user(buf, copy, ret))\n\t\tret = -EFAULT;\n\telse\n"
    "\t\t*position += ret;\n\tkfree(copy);\n",
}
MINE = "\tu32 lines; /* lines written by this open file */\n"
COUNTED = "\tmine->lines++;\n"
GIVEN_BACK = "\tkfree(file->private_data);\n"
INPUT = "\tchar input[FIRST_INPUT + 1], line[FIRST_LINE + 1];\n"
TO_NUMBER = "\tif (kstrtouint(input, 10, &n) || n > FIRST_MAX_N)\n"
# Other right drivers, each as texts of the driver and their replacements.
RIGHT_DRIVERS = {
    "the notebook in one structure": {
        LOCK: "static struct first_notebook {\n\tstruct mutex lock;\n\tsize_t used;\n"
        "\tu32 lines;\n\tchar text[FIRST_BYTES];\n} *first;\n"
        "#define first_lock (first->lock)\n#define first_text (first->text)\n"
        "#define first_used (first->used)\n#define first_lines (first->lines)\n",
        "static char *first_text; /* FIRST_BYTES of memory */\n"
        "static size_t first_used; /* number of bytes of text in first_text */\n"
        "static u32 first_lines;\n": "",
        "\tfirst_text = kmalloc(FIRST_BYTES, GFP_KERNEL);\n\tif (!first_text)\n"
        "\t\treturn -ENOMEM;\n": "\tfirst = kmalloc(sizeof(*first), GFP_KERNEL);\n"
        "\tif (!first)\n\t\treturn -ENOMEM;\n\tmutex_init(&first_lock);\n",
        "free_text:\n\tkfree(first_text);\n": "free_text:\n\tkfree(first);\n",
        "\tkfree(first_text);\n": "\tkfree(first);\n",
    },
    "an index of the lines": {
        "static u32 first_lines;\n": "static u32 first_lines;\n"
        "static u16 first_begins[FIRST_BYTES / 2];\n",
        "\tmemcpy(first_text + first_used, line, size);\n": (
            "\tfirst_begins[first_lines] = first_used;\n"
            "\tmemcpy(first_text + first_used, line, size);\n"
        ),
        "\twhile (offset && first_text[offset - 1] != '\\n')\n\t\toffset--;\n": (
            "\tif (offset < first_used) {\n\t\tu32 low = 0, high = first_lines;\n\n"
            "\t\twhile (high - low > 1) {\n\t\t\tu32 middle = (low + high) / 2;\n\n"
            "\t\t\tif (first_begins[middle] <= offset)\n\t\t\t\tlow = middle;\n"
            "\t\t\telse\n\t\t\t\thigh = middle;\n\t\t}\n"
            "\t\toffset = first_begins[low];\n\t}\n"
        ),
    },
    "a list of the open files, and an atomic number of lines": {
        "static u32 first_lines;\n": "static atomic64_t first_lines;\n"
        "static LIST_HEAD(first_files);\n",
        "\tfirst_lines++;\n": "\tatomic64_inc(&first_lines);\n",
        "\tfirst_lines = 0;\n\tfor": "\tatomic64_set(&first_lines, 0);\n\tfor",
        "\t\tfirst_lines = 0;\n": "\t\tatomic64_set(&first_lines, 0);\n",
        "\t\tinfo.lines = first_lines;\n": "\t\tinfo.lines = atomic64_read(&first_lines);\n",
        "\t\tret = first_lines;\n": "\t\tret = atomic64_read(&first_lines);\n",
        f"\tu32 lines;\n\n{TAKEN}\tlines = first_lines;\n{RELEASED}": (
            "\tu32 lines = atomic64_read(&first_lines);\n\n"
        ),
        MINE: f"\tstruct list_head list;\n{MINE}",
        "\tfile->private_data = mine;\n": f"{TAKEN}\tlist_add(&mine->list, &first_files);\n"
        f"{RELEASED}\tfile->private_data = mine;\n",
        GIVEN_BACK: f"\tstruct first_file *mine = file->private_data;\n\n{TAKEN}"
        f"\tlist_del(&mine->list);\n{RELEASED}\tkfree(mine);\n",
    },
    "a semaphore for readers and writers": {
        LOCK: "static DECLARE_RWSEM(first_lock);\n"
        "#define mutex_lock down_write\n#define mutex_unlock up_write\n",
        "\tatomic64_inc(&first_calls);\n" + TAKEN: "\tatomic64_inc(&first_calls);\n"
        "\tdown_read(&first_lock);\n",
        "\tret = size;\nunlock:\n" + RELEASED + "\treturn ret;\n}\n\n/* The bytes": (
            "\tret = size;\nunlock:\n\tup_read(&first_lock);\n\treturn ret;\n}\n\n/* The bytes"
        ),
    },
    "a spinlock": {
        LOCK: "static DEFINE_SPINLOCK(first_lock);\n"
        "#define mutex_lock spin_lock\n#define mutex_unlock spin_unlock\n",
        **BOUNCED,
    },
    "a lock that a signal interrupts": {
        f"{LOCK}": f"{LOCK}#define mutex_lock(lock) do {{ if (mutex_lock_interruptible(lock)) "
        "return -ERESTARTSYS; } while (0)\n",
    },
    "a lock of each file, always after the lock of the notebook": {
        MINE: f"{MINE}\tstruct mutex lock;\n",
        "\tfile->private_data = mine;\n": "\tmutex_init(&mine->lock);\n"
        "\tfile->private_data = mine;\n",
        COUNTED: f"\tmutex_lock(&mine->lock);\n{COUNTED}\tmutex_unlock(&mine->lock);\n",
        "\t\tinfo.mine = mine->lines;\n": "\t\tmutex_lock(&mine->lock);\n"
        "\t\tinfo.mine = mine->lines;\n\t\tmutex_unlock(&mine->lock);\n",
    },
    "accesses that need no lock": {
        "\tfirst_lines++;\n": "\tWRITE_ONCE(first_lines, first_lines + 1);\n",
        "\t\tfirst_lines = 0;\n": "\t\tWRITE_ONCE(first_lines, 0);\n",
        "\tmisc_deregister(&first_device);\n\tkfree(first_text);\n": (
            "\tmisc_deregister(&first_device);\n\tkfree(first_text);\n"
            "\tfirst_text = NULL;\n\tfirst_used = 0;\n"
        ),
    },
    "counters that no word of memory holds": {
        "\tlines = first_lines;\n": "\tlines = 0;\n\tfor (size_t i = 0; i < first_used; i++)\n"
        "\t\tlines += first_text[i] == '\\n';\n",
        "static atomic64_t first_calls;\n": "static atomic64_t first_calls = ATOMIC64_INIT(-1);\n",
        "\tatomic64_inc(&first_calls);\n\tmutex": "\tatomic64_dec(&first_calls);\n\tmutex",
        "\tatomic64_inc(&first_calls);\n\tif": "\tatomic64_dec(&first_calls);\n\tif",
        "(u64)atomic64_read(&first_calls)": "~(u64)atomic64_read(&first_calls)",
        "atomic64_set(&first_calls, 0)": "atomic64_set(&first_calls, -1)",
    },
    "a buffer from kmalloc in write": {
        INPUT: "\tchar *input, line[FIRST_LINE + 1];\n",
        "\tif (copy_from_user(input, buf, size))\n\t\treturn -EFAULT;\n": (
            "\tinput = kmalloc(FIRST_INPUT + 1, GFP_KERNEL);\n\tif (!input)\n"
            "\t\treturn -ENOMEM;\n\tif (copy_from_user(input, buf, size)) {\n"
            "\t\tkfree(input);\n\t\treturn -EFAULT;\n\t}\n"
        ),
        TO_NUMBER: "\tret = kstrtouint(input, 10, &n);\n\tkfree(input);\n"
        "\tif (ret || n > FIRST_MAX_N)\n",
    },
    "no lock where only one caller is left, and more of the kernel's functions": {
        GIVEN_BACK: "\tstruct first_file *mine = file->private_data;\n\n"
        f"\tmine->lines = 0;\n{GIVEN_BACK}",
        "static u32 first_lines;\n": "static u32 first_lines __read_mostly;\n",
        "\tinput[size] = '\\0';\n": "\tmemset(input + size, 0, sizeof(input) - size);\n"
        "\tif (strchr(input, '-') || strnlen(input, size) > FIRST_INPUT)\n\t\treturn -EINVAL;\n",
        '\treturn sysfs_emit(buf, "%u\\n", lines);\n': (
            "\tsize_t size = 1;\n\n\tfor (u32 rest = lines; rest > 9; rest /= 10)\n\t\tsize++;\n"
            "\tbuf[size] = '\\n';\n\tfor (size_t i = size; i; lines /= 10)\n"
            "\t\tbuf[--i] = '0' + lines % 10;\n\treturn size + 1;\n"
        ),
    },
}


@pytest.mark.parametrize("name", RIGHT_DRIVERS)
@pytest.mark.sampled
def test_other_right_drivers_earn_the_points(name: str, tmp_path: Path) -> None:
    text = (paths.STAGES / "0-first-module/driver.c").read_text()
    for old, new in RIGHT_DRIVERS[name].items():
        assert old in text, old
        text = text.replace(old, new, 1)
    assert tried(tmp_path, text).by_task == {}


KEPT = "\tif (length > FIRST_BYTES - first_used) {\n\t\tret = -ENOSPC;\n\t\tgoto unlock;\n"


@pytest.mark.parametrize("built", [False, pytest.param(True, marks=pytest.mark.long)])
def test_a_call_that_hangs_is_told_with_the_lines_that_take_the_lock(
    built: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`lockdep` names the lines if the debug kernel is built; else the cause names make debug."""
    text = (paths.STAGES / "0-first-module/driver.c").read_text()
    assert text.count(KEPT) == 1
    wrong = text.replace(KEPT, KEPT.replace("goto unlock", "return ret"))
    line = 1 + wrong[: wrong.index(KEPT.splitlines()[0])].count("\n") - 1
    monkeypatch.setattr(Uml, "is_built", lambda _: built)
    cause = tried(tmp_path, wrong, only=[NUMBER["write"]]).by_task[NUMBER["write"]].cause
    assert cause.startswith("a line one byte too long (write 0 10): no answer"), cause
    if built:
        place = rf"in first_write \(\S*driver\.c:{line}\)"
        assert re.search(
            f"first_lock is taken {place} by a task that took it already {place}", cause
        )
    else:
        assert cause.endswith("make stage=0 debug names the lines that take a lock")


@pytest.mark.sampled
def test_behind_two_tasks_that_hang_nothing_is_tried(tmp_path: Path) -> None:
    """After two time-outs, each of which takes the full time limit, later tasks are not tested."""
    text = (paths.STAGES / "0-first-module/driver.c").read_text()
    looked = "\tif (!mine)\n\t\treturn -ENOMEM;\n"
    assert text.count(looked) == 1
    hangs = text.replace(looked, f"{looked}\tfor (;;)\n\t\tcpu_relax();\n")
    found = tried(tmp_path, hangs).by_task
    assert [found[n].code for n in (3, 4)] == [Code.TIMEOUT] * 2
    assert {n: found[n].code for n in found if n > 4} == dict.fromkeys(TASKS[4:], Code.NOT_TRIED)
    assert found[5].cause.startswith("not tried: task 3 and task 4 hang")
