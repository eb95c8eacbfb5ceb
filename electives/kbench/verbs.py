# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Commands of make elective=kbench, and the tests of its tasks."""

from __future__ import annotations

import os
import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from electives import source_folder
from electives.kbench import __main__ as command
from electives.kbench import kernel, metrics, native, program_failure
from electives.kbench.kernel import KernelRun, ProgramTask
from electives.kbench.native import ProcessRun
from electives.kbench.program import CompileOptions, prepare
from grader.base import paths
from grader.base.errors import LabError
from grader.base.finding import Finding
from grader.lab import machines

PROGRAMS = Path(__file__).with_name("test_programs")
# The source of each task. Each task is tested in a module whose other sources are the kit's.
TASK_SOURCES = ("trampoline.S", "heap.c", "input.c")
# Two depths of recursion for 1.c, which uses 32 bytes of stack for each call: DEEP takes seven of
# the stack's eight megabytes, SHALLOW less than 16 KB.
DEEP, SHALLOW = 220_000, 50
NUMBERS, FEW_NUMBERS = 600, 40
# A block has up to 2**order bytes. Each of these groups of orders has its own tests.
ORDERS = (range(4, 9), range(9, 14), range(14, 19), range(19, 24))
# The orders of blocks that are freed twice. Order 0 has the size 0.
TWICE = (range(1), *ORDERS, range(24, 25))
MOST_ROUNDS = 1500  # of the history before a block is freed twice
MOST_EARLIER = 17  # Up to 2**17 blocks are freed before this history.
# The reason of kernel/heap.c that is wrong for a block that is freed twice.
OVERWRITTEN = "of a block whose header is overwritten"
# What kbench_on_stack has done wrong, by the word of kernel/module.c.
SWITCH = {
    "registers": "kbench_on_stack does not preserve one of rbx, rbp and r12 to r15",
    "flags": "one of the flags (IF, DF and others) changes in kbench_on_stack",
    "control": "kbench_on_stack changes the control bits of MXCSR, or the x87 control word",
    "result": "kbench_on_stack does not return the result of kbench_begin, or of kbench_leave",
    "interrupted": "kbench_on_stack loses a value when an interrupt comes:"
    " an interrupt writes below the stack pointer",
}
# With this macro, 2.c is the program for a process, which prints what it does not free.
IN_PROCESS = "#define IN_PROCESS\n"
_LEFT = re.compile(r"^left (\d+) (\d+)\n", re.M)
# Up to 2**MOST_ZEROS zeros precede a number. One number has up to 2**ALL_ZEROS zeros.
MOST_ZEROS, ALL_ZEROS = 14, 21
# The longest run of white space in the input of task 3.
MOST_BLANKS = 10_000
BLANKS = " \t\n\v\f\r"
# The kernel's isspace(), unlike the C library's, includes the byte 0xa0.
BYTES = [chr(byte) for byte in range(256) if chr(byte) not in "\n\xa0"]
# The sets of bytes of which a text is drawn. Those of ENDS could be taken for the end of the input.
ENDS = "\x00\x04\x1a\xff"
ALPHABETS = ("0123456789", "01", "abcdefABCDEF", "0xX", "+-", " \t\v\f\r", ENDS, BYTES)
# Numbers of this many digits fit in 63 bits, in each base.
FITTING_DIGITS = 15
# The limits of 3.c for a format.
MOST_CONVERSIONS, FORMAT_BYTES = 32, 255


@dataclass(frozen=True)
class _Test:
    """A task's test: its number, the program's input, and the module's parameters."""

    task: int
    program_input: str
    parameters: str = ""


def _tests(seed: int) -> list[_Test]:
    """Return the tests. Their inputs are random, so that no source can contain the answers."""
    draw = random.Random(seed)
    return [
        _Test(1, f"{seed} {DEEP} 0\n", "interrupts=1"),
        _Test(1, f"{seed} {DEEP - 1} {draw.randrange(1, 256)}\n"),
        _Test(1, f"{seed} {SHALLOW} 0\n", "kernel_stack=1"),
        _Test(2, "many\n"),
        _Test(2, "large\n"),
        _Test(2, "speed\n"),
        _Test(2, "long\n"),
        _Test(2, "full\n"),
        *(_Test(2, line) for line in (*_twice(draw), *_again(draw))),
        *(_Test(3, text) for text in _inputs(draw)),
    ]


def _source(task: int, seed: int, tells: bool = False) -> Path:
    """Return the program of a task. The seed of 2.c is drawn, so that malloc cannot know it.

    tells: the program for a process, which prints what it does not free.
    """
    path = PROGRAMS / f"{task}.c"
    text = path.read_text(encoding="utf-8")
    if "#define SEED 1\n" not in text:
        return path
    made = _shown() / f"{task}{'-left' * tells}.c"
    # Another process may read the file meanwhile.
    new = made.with_name(f".{os.getpid()}-{made.name}")
    defined = f"#define SEED {seed % 2**32}u\n{IN_PROCESS * tells}"
    new.write_text(text.replace("#define SEED 1\n", defined))
    new.replace(made)
    return made


def _shown() -> Path:
    """Return the folder of the files that a message names. Each folder of sources has its own."""
    folder = source_folder.folder("kbench", kernel.SOURCES)
    name = source_folder.build_name("kbench", folder, kernel.SOURCES)
    made = paths.BUILD / name.removesuffix("-work")
    made.mkdir(parents=True, exist_ok=True)
    return made


def _twice(draw: random.Random) -> Iterator[str]:
    """Yield input lines for 2.c: each frees one block twice, and a program can do so only once."""
    steps = draw.sample(range(len(TWICE)), len(TWICE))
    for orders, step in zip(TWICE, steps):
        rounds = int(2 ** draw.uniform(0, 1) * MOST_ROUNDS / 2)
        earlier = int(2 ** (MOST_EARLIER * (step + draw.random()) / len(TWICE)))
        yield f"twice {orders[0]} {orders[-1]} {rounds} {earlier}\n"


def _again(draw: random.Random) -> Iterator[str]:
    """Yield input lines for 2.c: each fills the heap twice, with blocks of one order.

    Each order of the first group has a line, because each has a limit for the memory of a block.
    """
    for order in ORDERS[0]:
        yield f"again {order}\n"
    for orders in ORDERS[1:]:
        yield f"again {draw.choice(orders)}\n"


def _inputs(draw: random.Random) -> Iterator[str]:
    """Yield inputs for 3.c, one byte for each character. The input may end at any byte."""
    count = NUMBERS
    seconds = draw.sample(("", "%lld", "_%lli", ",%x"), 4)
    for (kind, begin), second in zip((("u", ""), ("x", ""), ("o", ""), ("i", "0x")), seconds):
        base = "x" if begin else kind.replace("u", "d")
        number = f"{draw.choice(('', '-', '+'))}{begin}{draw.getrandbits(40) + 8:{base}}"
        yield f"{_lines(draw, count)}%ll{kind}{second} {number}"
        count = FEW_NUMBERS
    number = f"{draw.choice('-+')}0x{draw.getrandbits(40):x}"
    for end in (1, draw.randrange(len(number))):
        second = draw.choice(seconds)
        lines = f"{_lines(draw, FEW_NUMBERS)}%{draw.choice('dux')} z\n"
        yield f"{lines}%ll{draw.choice('xi')}{second} {number[:end]}"
    blank = "".join(draw.choices(BLANKS, k=_run(draw, MOST_BLANKS)))
    yield f"all\n{draw.getrandbits(9)}{blank}{draw.getrandbits(9)}{blank}"
    # A number with many zeros, and short numbers, fill the room for the input.
    zeros = "0" * int(2 ** draw.uniform(MOST_ZEROS, ALL_ZEROS))
    words = [
        f"{draw.choice(('', '', '-', '+'))}{draw.randrange(10 ** draw.randint(1, 6))}{space}"
        for space in (*BLANKS, "  ", "\r\n") * 250
    ]
    text = "".join(["all\n", zeros, *draw.choices(words, k=kernel.MOST_INPUT)])
    yield text[: kernel.MOST_INPUT]


def _run(draw: random.Random, most: int) -> int:
    """Draw a length from 1 to `most`, each octave as often as any other."""
    return int(most ** draw.random())


def _lines(draw: random.Random, count: int) -> str:
    return "".join(draw.choice((_number, _text))(draw) for _ in range(count))


def _kinds(draw: random.Random) -> list[str]:
    """Return the kinds of the numbers of a format: often one, or up to MOST_CONVERSIONS."""
    count = min(MOST_CONVERSIONS, int(2 ** draw.uniform(0, 6))) if draw.randrange(2) else 1
    return draw.choices("duxoi", k=count)


def _format(draw: random.Random, kinds: Sequence[str], between: str, most_width: int) -> str:
    """Return a format for these kinds; some numbers have a width, and some are not stored."""
    formats = [
        f"%{'' if draw.randrange(4 * len(kinds)) else '*'}"
        f"{'' if draw.randrange(2 * len(kinds)) else draw.randint(1, most_width)}"
        f"{draw.choice(('hh', 'h', '', 'l', 'll', 'll', 'z'))}{kind}"
        for kind in kinds
    ]
    while len(text := between.join(formats)) > FORMAT_BYTES:
        formats.pop()
    return text


def _text(draw: random.Random) -> str:
    """Return an input line for 3.c: a format of one or more numbers, and bytes of drawn sets.

    The text has no newline, because the program would read the bytes after it as a format.
    """
    sets = draw.sample(ALPHABETS, draw.randint(1, 4))
    size = draw.randint(0, FITTING_DIGITS)
    text = "".join(draw.choice(draw.choice(sets)) for _ in range(size))
    before = "".join(draw.choices(BLANKS.replace("\n", ""), k=draw.choice((0, _run(draw, 255)))))
    between = draw.choice(("", "", ",", "%%", "x", "_", "_,_"))
    if between and draw.randrange(2):
        middle = draw.randint(0, size)
        text = text[:middle] + between.replace("%%", "%").replace("_", " ") + text[middle:]
    return f"{_format(draw, _kinds(draw), between, size + size // 2 + 1)} {before}{text}\n"


def _number(draw: random.Random) -> str:
    """Return an input line for 3.c: a format of one or more numbers, their digits, and more text.

    A number may be read and not stored, and a character or white space may be required between two
    numbers.
    """
    kinds = _kinds(draw)
    between = draw.choice(("", "", ",", "%%", "x", "_")) if len(kinds) > 1 else ""
    words, bases = zip(*(_digits(draw, kind, len(kinds)) for kind in kinds))
    # White space may precede a number even if the format has none there.
    text = words[0] + "".join(
        f"{draw.choice(BLANKS if between in ('', '_') else between)}{word}" for word in words[1:]
    )
    follows = {"d": ("a", " 8", ".5"), "x": ("g", " f"), "o": ("8", "9", "a")}[bases[-1]]
    most_width = len(words[0]) * 3 // 2
    end = draw.choice(("", *follows))
    return f"{_format(draw, kinds, between, most_width)} {text}{end}\n"


def _digits(draw: random.Random, kind: str, count: int) -> tuple[str, str]:
    """Return one of `count` numbers of a line, and its base. One line in ten has no number.

    The bits of the value and the logarithm of the number of digits are uniformly distributed, and
    so is a width, up to 1.5 times the length. An upper limit for any of them is thus noticed.
    """
    base = {"i": draw.choice("dxo"), "u": "d"}.get(kind, kind)
    # The C standard promises nothing for a number that does not fit. A second format may read the
    # digits in another base: 45 bits have at most 15 digits, which fit in each base.
    most = 45 if count > 1 else 63 if kind in "di" else 64
    value = draw.getrandbits(draw.choice((draw.randint(1, most), most - draw.randrange(4))))
    digits = "".join(draw.choice(digit + digit.upper()) for digit in f"{value:{base}}")
    if draw.randrange(3 * count) == 0:
        digits = "0" * int(2 ** draw.uniform(0, MOST_ZEROS)) + digits
    if kind == "i" or (kind == "x" and draw.randrange(2)):
        digits = {"d": "", "x": draw.choice(("0x", "0X")), "o": "0"}[base] + digits
    no_number = draw.choice(("z", "z", " 5", ".", draw.choice(BYTES[128:])))
    word = digits if draw.randrange(10 * count) else no_number
    return f"{draw.choice(('', '-', '+'))}{word}", base


def judge(machine: str, seed: int) -> list[Finding | None]:
    """Run each task's programs in QEMU. After a program that crashes, boot a new machine.

    Return the problem of each task, or None, in order. `machine` is not used, because there is only
    one way to test.
    """
    found: dict[int, Finding] = {}
    for number, source in enumerate(TASK_SOURCES, 1):
        try:
            kernel.support(machines.get("qemu").kernel(), source)
        except LabError as error:  # the learner's source does not compile
            found[number] = Finding("build-failed", error.problem)
    # Compiling takes longer than most runs, so compile and link each program once.
    programs = {
        number: [prepare(_source(number, seed, tells), CompileOptions()) for tells in (False, True)]
        for number in range(1, len(TASK_SOURCES) + 1)
        if number not in found
    }
    for number, (program, _) in programs.items():
        try:
            kernel.link(program, machines.get("qemu").kernel(), TASK_SOURCES[number - 1])
        except LabError as error:  # the source defines a name of another file
            found[number] = Finding("build-failed", error.problem)
    runs = []
    for test in _tests(seed):
        if test.task in found:
            continue
        program, in_process = programs[test.task]
        given = test.program_input.encode("latin-1")
        ran = native.run(in_process, given)
        source = TASK_SOURCES[test.task - 1]
        task = ProgramTask.after(program, given, ran, test.parameters, source)
        told = _LEFT.search(ran.output)
        left = (int(told[1]), int(told[2])) if told else (0, 0)
        runs.append((test.task, task, replace(ran, output=_LEFT.sub("", ran.output)), left))
    outcomes = _outcomes([run[1] for run in runs])
    for outcome, (number, task, ran, left) in zip(outcomes, runs):
        if (message := _wrong(outcome, ran, left, task)) and number not in found:
            shown = _shown() / f"{number}.input"
            shown.write_bytes(task.program_input)
            where = f"; PROG={paths.shown(_source(number, seed))} INPUT={paths.shown(shown)}"
            found[number] = Finding("wrong", f"{number}.c: {message}{where}")
    return [found.get(number) for number, _ in enumerate(TASK_SOURCES, 1)]


def _outcomes(todo: list[ProgramTask]) -> Iterator[KernelRun | program_failure.ProgramFailure]:
    """Yield the result of each program in a kernel: the run, or the failure of the machine."""
    while todo:
        with kernel.session(machines.get("qemu"), todo) as session:
            while todo:
                try:
                    yield session.run(todo.pop(0))
                except program_failure.ProgramFailure as error:
                    yield error
                    break


def _wrong(
    run: KernelRun | program_failure.ProgramFailure,
    ran: ProcessRun,
    left: tuple[int, int],
    task: ProgramTask,
) -> str:
    """Return the difference between a run and the process, or ""."""
    if isinstance(run, program_failure.ProgramFailure):
        return str(run)
    if run.stack != "right":
        return (
            f"the stack is {run.stack} when the program begins ({task.parameters or 'own stack'})"
        )
    if run.switch != "right":
        return SWITCH[run.switch]
    if message := metrics.differs(run, ran):
        return message if run.why in message else f"{message} ({run.why})"
    if task.program_input.startswith(b"twice ") and OVERWRITTEN in run.why:
        return f'a block is freed twice: expected that it was freed, got "{run.why}"'
    blocks, size = left
    if (run.left_blocks, run.left_bytes) != left:
        return (
            f"{run.left_blocks} blocks of {run.left_bytes} bytes are counted as not freed,"
            f" and {blocks} of {size} bytes are"
        )
    return ""


def load(words: list[str]) -> int:
    """Load a program on the persistent machine."""
    return command.main([*words, "--load"])


VERBS: dict[str, Callable[[list[str]], int]] = {"run": command.main, "load": load}
