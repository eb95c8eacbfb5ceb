# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Link a stage's objects with an account that checks every call, and run the contract tests.

The tests check the rules of stage.h in the machine: with failed allocations, with killed callers,
with a fill pattern in new memory, with guard bytes around each block, and with nested calls.
"""

from __future__ import annotations

import random
import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from grader import sandbox
from grader.base import paths, test_record
from grader.base.errors import LabError
from grader.base.finding import Code, Failure, Fault
from grader.base.test_record import Record
from grader.exercise.build import preprocess, stage_module
from grader.exercise.build.stage_module import BuiltStage, stage_objects
from grader.exercise.files import device, expected_values, near_numbers, octaves, tasks
from grader.exercise.files.stages import Stage
from grader.lab import module
from grader.lab.machines import Running
from grader.lab.module import Kernel, Module, Recipe
from grader.sandbox import COMPILER, SandboxView, kernel_build_paths

NAME = "fibcontract"
MODULE = f"{device.MODULES}/{NAME}.ko"
LEAK = "leak: "  # The prefix of messages about leaked memory, see contract_tests.h.
TEST = "promise"  # The name of the contract tests in the report.
FILES = Path(__file__).parent
# The limit of stack bytes of a call. A kernel stack has 16 KB, which the callers of the stage use,
# too. The kit's stages take up to 1,400 bytes, of which 600 belong to the contract tests.
STACK_BYTES = 4096
# The same for a stage with numbers of one word, which has no use for an array or a recursion. The
# kit's stages take up to 544 bytes, almost all in the contract tests.
STACK_BYTES_OF_WORD = 768
# The limit of bytes at the peak of a call for any n, in addition to the bytes for each digit that
# the trait bytes_per_digit allows. The kit's stages hold up to 2.8 bytes for each digit, and up to
# 12.9 bytes if products are subquadratic.
BYTES_BESIDE = 1024
# At most 10^5 products may be announced between two yields. An interval of the kit's stages takes
# up to 4 times as long as that many dependent multiplications. On an emulated machine it takes up
# to 19 times as long, in stage 3, which allocates within the interval.
PRODUCTS = 100_000
MOST_UNITS = 40
# vector.h allows a section 100 us, in which a processor makes about this many dependent
# multiplications. The kit's sections take as long as 16,000 of them, and 48,000 in the emulator.
MOST_SECTION = 100_000
# Both phases must call fib_account_work for a number of at least this many limbs. The emulator
# counts whether they do so for all work: see YIELDS in files/tasks.py.
ANNOUNCED_LIMBS = 20
# The n at which F(n) needs one more word, or at which a stage may switch its method.
WORD_ENDS = (0, 1, 2, 3, 47, 48, 93, 94)
# An n below which stage 12 does not use vectors.
LEAST_WITH_VECTORS = 16_000
# One random n is drawn from each octave above this n.
LEAST_DRAWN = 94
# Intervals are measured at one n in each of this many parts of an octave. A stage that multiplies
# by transforms has a length of transforms for each quarter of an octave, or longer ranges.
PACED_PARTS = 4
# How many n near numbers that a stage's code compares are drawn for tests at many n, and for tests
# at long ones, which take up to a second each.
NEAR = 6
# The bits of the modulus for comparing digits by residues.
MODULUS_BITS = 31
NO_MEMORY = "no memory"
# The verbs of yield_interval.c, which end with "-at" for a single n. The unit of time of INTERVAL
# is the time of 1000 products; the unit of VECTOR_INTERVAL is this time or the time of 1000
# multiply-adds of doubles, whichever is longer.
INTERVAL, VECTOR_INTERVAL = "yield-interval", "vector-interval"
ASK = f"/sys/module/{NAME}/parameters/ask"
RECORD = f"/sys/module/{NAME}/parameters/record"
# The names that one_call.c gives to an injected failure, in an answer and in the log of a panic.
_FAULTS = {"with a failed allocation,": "fail", "when killed at yield": "kill"}
_FAULT = re.compile(rf"({'|'.join(_FAULTS)}) (\d+) of (\d+)")
_LAST_WORDS = re.compile(rf"^.*\b{NAME}: F\((\d+)\) {_FAULT.pattern}$", re.MULTILINE)
# The possible widths of a limb, in bits, or in digits if limbs are decimal.
LIMB_BITS, LIMB_DIGITS, WORD_BITS = frozenset((32, 64)), frozenset((9, 18, 19)), frozenset((64,))
_WIDTH = re.compile(rb"^#define LIMB_(?:BITS|DIGITS)\s+(\d+)\s*$", re.MULTILINE)


def kit(kernel: Kernel) -> Module:
    """Build the kit's part of the module, which is the same for every stage."""
    sources = sorted(FILES.glob("*.[ch]"))
    files = {f"trial/{path.name}": path.read_bytes() for path in sources}
    shared = test_record.HEADERS
    files |= {f"trial/{name}": (test_record.INCLUDE / name).read_bytes() for name in shared}
    common = ("stage.h", "freestanding.h", "account.h", "notices.c", "vector.h", "vector.c")
    files |= {f"trial/{name}": (paths.COMMON / name).read_bytes() for name in common}
    label = FILES.relative_to(paths.ROOT).as_posix()
    made = module.build(
        Recipe(
            NAME,
            NAME,
            files,
            # vectors.c includes vector.c.
            tuple(
                name.removesuffix(".c")
                for name in files
                if name.endswith(".c") and name != "trial/vector.c"
            ),
            labels={"trial": label},
            support=(label,),
        ),
        kernel,
    )
    if not made.ok:
        raise LabError(f"the kit's own {NAME} does not compile: {made.cause}", "run make doctor")
    return made


def link(built: BuiltStage, kernel: Kernel) -> Module:
    """Link the objects of a stage's module with the contract tests instead of the driver."""
    ours = kit(kernel)
    folder = built.module.directory
    support = (*ours.support, *built.module.support)
    made = replace(built.module, name=NAME, support=support, log_patterns=device.DIALECT)
    room = None
    if built.stage.isolated:
        room = SandboxView(read=(ours.directory, *kernel_build_paths(kernel.tree)), write=(folder,))
    # Another run in the same checkout must not read a partly written file.
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        stage = Path(scratch, "stage.o")
        whole, bare = Path(scratch, "whole.ko"), Path(scratch, "bare.ko")
        _run(["ld", "-r", "-o", str(stage), *map(str, stage_objects(built))], room)
        if objtool := _objtool(built.module):
            there = f"--chdir={kernel.tree}"  # the path of the command may be relative
            _run(["env", there, f"SRCARCH={kernel.arch}", *objtool, str(stage)], room)
        _run(["ld", "-r", "-o", str(whole), str(ours.path), str(stage)], room)
        _run(["strip", "--strip-debug", "-o", str(bare), str(whole)], room)
        whole.replace(made.path)
        bare.replace(made.stripped)
    return made


def _objtool(made: Module) -> list[str]:
    """Return the command by which kbuild runs objtool on a whole module, or [].

    With indirect branch tracking, objtool runs only on the linked module and not on single objects.
    Without objtool the kernel warns about return instructions that it cannot patch.
    """
    output = (made.directory / f".{made.name}.o.cmd").read_text()
    match = re.search(r"; (\S*/objtool .*) \S+\.o$", output, re.MULTILINE)
    return match[1].split() if match else []


def _run(command: list[str], room: SandboxView | None) -> None:
    ours = None if room else module.environment()
    result = sandbox.run(command, COMPILER, room, environment=ours, together=True)
    if result.status or result.ended_by:
        raise LabError(f"{command[0]}: {result.cause or result.text.strip()}", "run make doctor")


def tried_n(stage: Stage, compared: Sequence[int], seed: int) -> list[int]:
    """Return the n to test: around the limits of words, and one random n of each size.

    At every second size, F(n) fills its limbs. Further n are near numbers that the code compares.
    """
    most = _longest_tried(stage)
    rng = random.Random(seed)
    found = {*WORD_ENDS, *(rng.randrange(2, min(most, 1000)) for _ in range(3))}
    drawn = list(octaves.drawn(LEAST_DRAWN, most, 1, rng)) if most > LEAST_DRAWN else []
    found.update(drawn[::2], (_filling(stage, n) for n in drawn[1::2]))
    found.update(_near(stage, compared, LEAST_DRAWN, most, rng))
    return sorted(n for n in found if n <= most)


def _length(stage: Stage, n: int) -> int:
    """Return the number of digits of F(n) in the base of the stage's limbs, 10 or 2; at least 1."""
    return expected_values.digit_count(n) if stage.traits.decimal else expected_values.bits(n) or 1


def _filling(stage: Stage, n: int) -> int:
    """Return the largest number up to n for which F has no free digit in its top limb."""
    # The kit's decimal limbs have 18 digits; limbs of 9 digits are full then, too.
    width = max(LIMB_DIGITS - {19} if stage.traits.decimal else LIMB_BITS)
    while _length(stage, n) % width:
        n -= 1
    return n


def _without_vectors(seed: int) -> int:
    """Return the n to compute without vectors: stage 12 then uses stage 11's transforms."""
    return random.Random(f"{seed} scalar").randrange(120_000, 1_000_000)


def _retained_n(stage: Stage, seed: int) -> list[int]:
    """Return long n at which compute must store the number: that of the speed, and one above it."""
    speed, top = tasks.judged_speed(stage.number, seed), stage.manifest.max_n
    if not speed or not stage.traits.numbers:
        return []
    rng = random.Random(f"{seed} retention")
    return [speed.n, *([round(speed.n * (top / speed.n) ** rng.random())] if speed.n < top else [])]


def _scalar_n(stage: Stage, seed: int) -> list[int]:
    """Return further n to compute without vectors, one of each octave above the least."""
    drawn = octaves.drawn(LEAST_WITH_VECTORS, stage.manifest.max_n, 1, random.Random(seed))
    return list(drawn) if stage.traits.vector else []


def once_n(stage: Stage, compared: Sequence[int], seed: int) -> list[int]:
    """Return further n at which the stack is measured: one of each half of an octave.

    The last step of an even n differs from that of an odd one, so each octave has an n of both.
    Further n are near the numbers that the code compares.
    """
    below, top = _longest_tried(stage), stage.manifest.max_n
    rng = random.Random(seed)
    odd = rng.randrange(2)
    drawn = octaves.drawn(below, top, 2, rng)
    found = {min(top, n + ((n + i + odd) % 2)) for i, n in enumerate(drawn)}
    return sorted(found.union(_near(stage, compared, below, top, rng)))


def _near(
    stage: Stage, compared: Sequence[int], below: int, top: int, rng: random.Random
) -> list[int]:
    """Draw some n near the numbers that the code compares, above `below` and up to `top`."""
    near = near_numbers.n_near(stage.manifest, compared, rng, few=2)
    within = [n for n in near if below < n <= top]
    return rng.sample(within, min(NEAR, len(within)))


def _longest_tried(stage: Stage) -> int:
    """Return the largest n at which all tests run."""
    # Limit n, because each failed allocation needs a separate call and stage 3 makes thousands of
    # allocations.
    if stage.traits.slow:
        return 1000
    # Above n = 10,000 stages use other methods: Karatsuba's method, blocks and transforms.
    most = 100_000 if stage.traits.subquadratic else 10_000
    return min(most, stage.manifest.max_n)


def long_n(stage: Stage, seed: int) -> list[int]:
    """Return the n of the tests for long calls: a random one and the largest one, or none."""
    top, tried = stage.manifest.max_n, _longest_tried(stage)
    if tried == top:
        return []
    # Log-uniform: an n from 10,000 to 20,000 is as likely as an n from 50,000 to 100,000.
    return [round(tried * (top / tried) ** random.Random(seed).random()), top]


def paced_n(stage: Stage, seed: int) -> list[int]:
    """Return the other n at which intervals are measured: one of each size of transform."""
    if not stage.traits.subquadratic:
        return []
    below, top = _longest_tried(stage), stage.manifest.max_n
    return list(octaves.drawn(below, top, PACED_PARTS, random.Random(seed)))


def questions(stage: Stage, compared: Sequence[int], seed: int, modulus: int) -> list[str]:
    """Return the requests to the contract tests."""
    top = stage.manifest.max_n
    interval = VECTOR_INTERVAL if stage.traits.vector else INTERVAL
    questions_asked = [
        *(f"try {n}" for n in tried_n(stage, compared, seed)),
        *(f"top {n}" for n in long_n(stage, seed)),
        *(f"once {n}" for n in once_n(stage, compared, seed)),
        *([f"scalar {_without_vectors(seed)}"] if stage.traits.vector else []),
        *(f"scalar-once {n}" for n in _scalar_n(stage, seed)),
        *(f"retention {n}" for n in _retained_n(stage, seed)),
        f"{interval} {top}",
        *(f"{interval}-at {n}" for n in paced_n(stage, seed)),
        f"concurrency {min(top, 100)}",
    ]
    return [f"{question} {seed} {modulus}" for question in questions_asked]


def judge(
    stage: Stage, questions_asked: Sequence[str], answers: Sequence[str]
) -> Iterator[Failure]:
    """Yield the failures in the answers; each names its n and the seed."""
    for failure in _judged(stage, questions_asked, answers):
        seed = questions_asked[0].split()[2]
        yield replace(failure, title=f"{failure.title} (seed {seed})")


def _widths(stage: Stage) -> set[int]:
    """Return the possible widths of a limb: the one that the stage's header defines, or all."""
    widths = set({"decimal": LIMB_DIGITS, "word": WORD_BITS}.get(stage.traits.limb, LIMB_BITS))
    made = preprocess.texts(stage, list(stage_module.sources(stage, [])))
    defined = {int(width) for text in made.defining.values() for width in _WIDTH.findall(text)}
    return widths & defined or widths


def _judged(
    stage: Stage, questions_asked: Sequence[str], answers: Sequence[str]
) -> Iterator[Failure]:
    """Yield the failures in the answers, by n."""
    widths = _widths(stage)
    for question, answer in zip(questions_asked, answers):
        verb, *numbers = question.split()
        n, _, modulus = map(int, numbers)
        if answer.startswith("wrong: "):
            message = answer.removeprefix("wrong: ")
            failure = _failure(n, "what stage.h requires", message.removeprefix(LEAK))
            yield replace(failure, kind=Code.LEAK) if message.startswith(LEAK) else failure
            continue
        if answer == NO_MEMORY:
            raise LabError(
                f"the machine has no memory to test F({n:,}), which is a fault of the kit",
                "report it",
            )
        got = {name: int(value) for name, value in re.findall(r"(\w+)=(\d+)", answer)}
        if verb in ("try", "top", "once", "scalar", "scalar-once"):
            # The numbers of limbs of all F(n) so far must be those of a single width of limbs.
            length = _length(stage, n)
            widths = {width for width in widths if -(-length // width) == got["limbs"]}
            if not widths:
                message = f"fib_limbs returns {got['limbs']}"
                yield _failure(n, "limbs without leading zeros, all of one width", message)
                return
            yield from _tried(stage, n, modulus, got)
        elif "interval" in verb:
            yield from _paced(stage, got)


def fault_in(failure: Failure) -> Fault | None:
    """Return the fault that was injected when a test failed; None if there was none."""
    found = _FAULT.match(failure.got)
    if found is None:
        return None
    return replace(_fault(failure.n or 0, found), then=failure.got[found.end() :].lstrip(", "))


def last_fault(console: str) -> Fault | None:
    """Return the fault that was injected when the machine with this log panicked, or None."""
    found = _LAST_WORDS.search(console)
    about = _FAULT.search(found[0]) if found else None
    return _fault(int(found[1]), about) if found and about else None


def _fault(n: int, found: re.Match[str]) -> Fault:
    return Fault(n, _FAULTS[found[1]], int(found[2]), int(found[3]))


def _failure(n: int, expected: str, got: str) -> Failure:
    return Failure(TEST, n, expected, got, f"F({n:,}): {got}")


def _tried(stage: Stage, n: int, modulus: int, got: dict[str, int]) -> Iterator[Failure]:
    right = expected_values.digit_count(n), expected_values.residue(n, modulus)
    if (got["digits"], got["residue"]) != right:
        yield _failure(n, expected_values.digits(n), "other digits than those of F(n)")
    if not stage.traits.numbers and got["word"] != expected_values.fibonacci(n):
        message = f"compute stores {got['word']:,} and leaves the work to decimal"
        yield _failure(n, "the number itself", message)
    stack = STACK_BYTES if stage.traits.numbers else STACK_BYTES_OF_WORD
    if got["stack"] > stack:
        yield _failure(n, f"at most {stack:,}", f"{got['stack']:,} bytes of the stack taken")
    yield from _memory(stage, n, got["peak"])
    yield from _announced(stage, n, got)


def _memory(stage: Stage, n: int, peak: int) -> Iterator[Failure]:
    most = BYTES_BESIDE + stage.traits.bytes_per_digit * expected_values.digit_count(n)
    if peak > most:
        yield _failure(
            n, f"at most {most:,}", f"{peak:,} bytes held at the peak, {most:,} are plenty"
        )


def _announced(stage: Stage, n: int, got: dict[str, int]) -> Iterator[Failure]:
    """Yield a failure for each phase that never calls fib_account_work."""
    if not stage.traits.numbers or got["limbs"] < ANNOUNCED_LIMBS:
        return
    for phase, products in (("compute", got["computing"]), ("decimal", got["converting"])):
        if not products:
            message = f"fib_{phase} never calls fib_account_work, itself or in another function"
            yield _failure(n, "calls of fib_account_work for all work", message)


def _paced(stage: Stage, got: dict[str, int]) -> Iterator[Failure]:
    unit = got["unit"] * PRODUCTS / 1000
    for which in ("", "top") if "top" in got else ("",):
        n, longest, peak = got[which or "n"], got[f"{which}longest"], got[f"{which}peak"]
        yield from _memory(stage, n, peak)
        if longest > MOST_UNITS * unit:
            took = f"{longest / unit:.0f} times as long as {PRODUCTS:,} products"
            yield _failure(
                n,
                "calls of fib_account_work for all work",
                f"work that is not passed to fib_account_work: {took}",
            )

    products = 1000 * got.get("section", 0) / got["unit"]
    if products > MOST_SECTION:
        message = (
            f"a section with vector registers takes as long as {products:,.0f} products;"
            f" {MOST_SECTION:,} are allowed, which take about 100 us"
        )
        yield _failure(got["n"], "short sections between fib_fpu_begin and fib_fpu_end", message)


def run(
    guest: Running, built: BuiltStage, seed: int, timeout: float, path: str = MODULE
) -> list[Failure]:
    """Load the contract tests, run them and unload. Return the failures."""
    stage, modulus = built.stage, expected_values.new_modulus(MODULUS_BITS)
    questions_asked = questions(stage, built.compared, seed, modulus)
    guest.channel.check(f"insmod {path}", timeout)
    words = " ".join(f"'{question}'" for question in questions_asked)
    nonce = test_record.draw()
    output = guest.channel.check(
        f"echo {test_record.line(nonce).strip()} >{RECORD};"
        # Only what the shell can do itself: to start a program takes 10 ms in UML.
        f" for q in {words}; do echo $q >{ASK}; read -r answer <{ASK}; echo $answer;"
        f" case $answer in wrong*) break;; esac; done; cat {RECORD}",
        10 * timeout,  # the limit for all answers together
    )
    guest.channel.check(f"rmmod {NAME}", timeout)
    text, record = test_record.split(output)
    answers = text.splitlines()
    found = list(judge(stage, questions_asked, answers))
    return found or list(_unproved(questions_asked, answers, record, nonce))


def _unproved(
    questions_asked: Sequence[str], answers: Sequence[str], record: Record | None, nonce: int
) -> Iterator[Failure]:
    """Yield a failure if answers are missing or the record does not match the answers."""
    fault = test_record.fault(record, nonce, test_record.texts(f"{line}\n" for line in answers))
    if not fault and len(answers) != len(questions_asked):
        fault = f"{len(answers)} of {len(questions_asked)} questions were answered"
    if fault:
        yield Failure(TEST, None, "the record of all answers", fault, f"contract tests: {fault}")
