# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Judge by counts from the emulator whether a stage's operations use the method of their task.

A result can be right although it was computed by the method of the stage before. Therefore an idea
in tasks.toml is a bound on a count: the number of an operation's instructions, of its
multiplications of 32-bit words, of its divisions, or of another unit in UNITS (files/tasks.py). The
number of multiplications depends on the method and hardly on how the code is written: slow code
meets such a bound, and fast code with another method does not. A module of the stage's own objects
calls the operations on random numbers (see counted/counted.c), and QEMU's plugin counts (see
lab/plugin/count.c). Instructions of the kernel are not counted, so that a count is the same in
every run.
"""

from __future__ import annotations

import itertools
import math
import random
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from grader.base.errors import MachineError
from grader.base.finding import Finding
from grader.exercise.build import c_flags, preprocess, stage_module
from grader.exercise.build.stage_module import BuiltStage
from grader.exercise.files import device, expected_values, near_numbers, stages
from grader.exercise.files.stages import Stage
from grader.exercise.files.tasks import COMPUTE, DECIMAL, UNITS, CountedCall, Idea
from grader.exercise.operations import test_cases, test_cases_decimal, test_program
from grader.lab import failure_classification, module, plugin
from grader.lab.machines import CountingMachine, Running
from grader.lab.module import Kernel, Module, Recipe
from grader.sandbox import MACHINE as MACHINE_LIMITS

NAME = "fibcounted"
MODULE = f"{device.MODULES}/{NAME}.ko"
PARAMETERS = f"/sys/module/{NAME}/parameters"
FILES = Path(__file__).with_name("counted")
# The number of multiplications modulo the prime of stage 11; counted.c has the same number.
TIMES = 32
# The operations' names in enum tested_operation of bignum_adapter.h, and functions that compute a
# number that is congruent to the right result from residues of the operands and the number `extra`
# of _Shape. FIFTH is apart.
OPERATIONS: Mapping[str, tuple[str, Callable[[int, int, int], int]]] = {
    "add": ("TESTED_ADD", lambda a, b, x: a + b),
    "add-in-place": ("TESTED_ADD", lambda a, b, x: a + b),
    "sub": ("TESTED_SUB", lambda a, b, x: a - b),
    "sub-in-place": ("TESTED_SUB", lambda a, b, x: a - b),
    "lshift": ("TESTED_LSHIFT", lambda a, b, x: a << x),
    "mul": ("TESTED_MUL", lambda a, b, x: a * b),
    "mul-balanced": ("TESTED_MUL", lambda a, b, x: a * b),
    "mul-sparse": ("TESTED_MUL", lambda a, b, x: a * b),
    "square": ("TESTED_SQUARE", lambda a, b, x: a * a),
    "increase": ("TESTED_INCREASE", lambda a, b, x: a + x),
    "decrease": ("TESTED_DECREASE", lambda a, b, x: a - x),
    "digit-sum": ("TESTED_TWICE_PLUS", lambda a, b, x: 2 * a + b),
    "digit-difference": ("TESTED_TWICE_MINUS", lambda a, b, x: 2 * b - a),
    "digit-unique": ("TESTED_UNIQUE", lambda a, b, x: a),
    "digit-unique-sparse": ("TESTED_UNIQUE", lambda a, b, x: a),
    "digit-text": ("TESTED_TEXT", lambda a, b, x: a),
    "fft": ("TESTED_FFT_MUL", lambda a, b, x: a * b),
}
# Multiplications modulo the prime of stage 11, and how many results are allowed, which differ by
# the prime.
MODULO_PRIME = {"solinas": ("TESTED_SOLINAS", 3), "shoup": ("TESTED_SHOUP", 2)}
# A balanced product has factors of one size. Bit by bit, the time of others depends on which factor
# is longer.
# The operands of an operation with this ending have few one bits, between these numbers and the top
# bit. The result of an operation with the other ending replaces the first operand.
SPARSE, IN_PLACE = "-sparse", "-in-place"
ONES = (1, 5)
# The digits of a run of zeros, if the number consists of digits.
RUNS = (9, 16)
# The ratio of the sizes of two factors is between these, if it is not 1; a term may have one word.
# Without a seed the ratio is not below COMPARED, because another method is then compared, for which
# no bound is known at far sizes. Half of the drawn sizes that differ have a larger ratio than
# RATIOS[1]: their difference is drawn.
RATIOS, COMPARED = (0.02, 0.8), 0.25
# If tasks.toml has a size of the second operand, the drawn size is at least this part of it.
NEARLY = 0.95
# The most bytes that are free behind the digits of a number.
LARGEST_ROOM = 1 << 20
# A number with runs of equal words has runs of at most this many words.
LONGEST_RUN = 40
# How many sizes near numbers that the code compares are counted. Each octave has smaller sizes.
NEAR, LEAST_NEAR = 10, 32
# How many consecutive sizes are counted, and from which least size on.
RUN, SMALL = 16, 40
WORD_BITS = 64
# Special contents of operands; each size is counted with random numbers, too. No upper bound
# depends on the contents, unless a method goes through a factor bit by bit. Lower bounds are for
# random numbers, because a right method may leave out zeros.
FEW_ONES, RUNS_OF_WORDS = "with few one bits", "with runs of equal words"
ITSELF, EQUAL_WORDS = "a number with itself", "with equal words below the top one"
# A call that may not use vectors, and the largest n of it. A larger one takes much longer to count.
SCALAR, LARGEST_SCALAR = "without AVX2", 1_000_000
# The bits of a shift: 1, as for F(2k), or up to the first number, or one of the others; to some of
# them, any number of words is added.
MOST_SHIFT, WHOLE_SHIFTS = 63, (0, 32, 64)
# Where the result goes: a number with room for it, one of the operands, or a number without room.
WITH_ROOM, INTO_FIRST, INTO_SECOND, WITHOUT_ROOM = range(4)
# Operations with these names are called on digits in base 10^4.
DIGITS = ("digit-", "fft")
FIFTH, DIFFERENCE = "digit-fifth", "digit-difference"
# Operations on a multiple of 5, and their names in enum tested_operation.
FIFTHS = {FIFTH: "TESTED_FIFTH", "div5": "TESTED_DIV5"}
MODULUS_BITS = 31
# The bound on divisions in each counted call. The kit's stages take at most one for 40 words.
DIVISIONS_PER_WORD = 10
# The bound on instructions in functions of the kernel: a number for each call and one for each
# allocation, a part of the module's instructions, and those that copy two words of 8 bytes, byte by
# byte, for each word of the first operand.
IN_KERNEL, ALLOCATING, PART_IN_KERNEL, COPIED = 500, 40_000, 4, 16
# When a machine has recorded this many bytes, the next call runs in a new one, because the sandbox
# limits the size of a file. A call of stage 3 can make 40,000 allocations, each with its event.
MOST_RECORDED = MACHINE_LIMITS.file_bytes // 2
# The number of calls that one command makes in a stage whose calls take microseconds.
WORDS_AT_ONCE = 16
NOT_ONCE = "are not executed once each"
# The time limit of one operation on the lab machine, in seconds.
TIMEOUT = 6.0
# The plugin names events after the watched addresses, which are those in the parameter "marks".
# Address 0 is never executed.
BEGIN, END, ALLOCATION, YIELD = "a0", "a1", "a2", "a3"
MULTIPLY = {"bn_mul": "a4", "bn_square": "a5"}
# The template of an asm statement, and the multiplications in it that can be marked.
_MULTIPLICATION = re.compile(rb'((?:"|;|\s|\\[nt]))(i?mul[blqwx]?\b)')
_ANY_MULTIPLICATION = re.compile(rb"mul")
# The plugin counts multiplications with this prefix apart. A processor ignores it.
MARKED = rb"\1ds \2"


@dataclass(frozen=True)
class OperationCost:
    """The number of instructions and of other events in one call of an operation."""

    instructions: int
    products: int
    allocations: int
    divisions: int = 0
    vectors: int = 0
    multiplications: int = 0
    calls: int = 0
    pause: int = 0
    assembly: int = 0
    accesses: int = 0
    share: int = 0
    stretch: int = 0
    kernel: int = 0
    at: CountedCall | None = None  # the counted call, with its drawn size


class NotCountedError(Exception):
    """A stage's module that counts instructions does not compile, although its module does."""

    def __init__(self, cause: str) -> None:
        super().__init__(f"the module that counts its instructions does not compile: {cause}")


# The costs of each call at its drawn sizes. A finding ends them if a size could not be counted.
Costs = tuple[OperationCost | Finding, ...]
Counts = dict[CountedCall, Costs]


def counted_module(built: BuiltStage, kernel: Kernel, assembly: bool = False) -> Module:
    """Build the module that calls the operations of a stage, from the stage's own objects.

    assembly: compile the stage's texts again, so that multiplications in assembly can be counted.
    """
    stage = built.stage
    own: dict[str, bytes] = {}
    if stage.traits.numbers:
        sources = list(stage_module.sources(stage, []))
        made = preprocess.adapted(stage, sources, test_program.ADAPTER)
        if made.cause:
            raise NotCountedError(made.cause)
        own = {f"adapter/{name}": content for name, content in made.files.items()}
    texts = _marked_texts(stage) if assembly else {}
    for path in stage_module.stage_objects(built):
        if path.with_suffix(".c").name in texts:
            own[f"stage/{path.stem}.c"] = texts[path.with_suffix(".c").name]
            continue
        own[f"stage/{path.stem}.o_shipped"] = path.read_bytes()
        # modpost fails without this file, in which it looks for the sources of an object.
        own[f"stage/.{path.stem}.o.cmd"] = b"# It is compiled already.\n"
    names = [name.rsplit(".", 1)[0] for name in own if not name.endswith(".cmd")]
    compiled = [name[:-2] for name in own if name.endswith(".c")]
    shared = _kit(stage, kernel)
    recipe = Recipe(
        name=NAME,
        folder=f"{built.module.directory.name}/counted",  # this folder is removed with the module's
        files=own,
        objects=tuple(names),
        flags=(*shared.flags, *c_flags.language()),
        settings=(
            *shared.settings,
            *(f"CFLAGS_{name}.o := {preprocess.PREPROCESSED}" for name in compiled),
        ),
        labels={"stage": stages.place(stage), **shared.labels},
        support=("common",),
        dialect=device.DIALECT,
        isolated=stage.isolated,
        shared=shared,
    )
    return module.build(recipe, kernel)


def _marked_texts(stage: Stage) -> dict[str, bytes]:
    """Return the stage's texts in which multiplications in assembly are marked."""
    made = preprocess.texts(stage, list(stage_module.sources(stage, [])))
    return {name: marked(text) for name, text in made.files.items() if _multiplications(text)}


def _kit(stage: Stage, kernel: Kernel) -> Recipe:
    """Return the recipe of the kit's objects, compiled once for all stages of the same kind."""
    driver = stage_module.kit(stage.manifest, kernel)
    files = {name: text for name, text in driver.files.items() if name != "kit/driver.c"}
    for path in (FILES / "counted.c", test_program.ADAPTER.with_suffix(".h")):
        files[f"kit/{path.name}"] = path.read_bytes()
    return Recipe(
        name=NAME,
        folder=f"counted-{_kind(stage)}{'-vector' * bool(stage.traits.vector)}",
        files=files,
        # counted.c includes vector.c.
        objects=(
            "kit/counted",
            *(name for name in driver.objects if name not in ("kit/driver", "kit/vector")),
        ),
        flags=(
            *driver.flags,
            f"-DSTAGE_HAS_NUMBERS={int(_kind(stage) != 'word')}",
            f"-DSTAGE_HAS_FFT={int(_kind(stage) == 'fft')}",
            f"-DSTAGE_HAS_VECTORS={int(bool(stage.traits.vector))}",
        ),
        settings=driver.settings,
        labels=driver.labels,
    )


def _kind(stage: Stage) -> str:
    """Return what kind of functions counted.c can call: of a word, of numbers, also of an FFT."""
    if not stage.traits.numbers:
        return "word"
    return "fft" if "fft" in stage.traits.operations else "numbers"


def counts(
    machine: CountingMachine,
    stage: Stage,
    wanted: Collection[CountedCall],
    seed: int | None,
    decided: Callable[[CountedCall, Counts], bool] = lambda call, found: False,
) -> Counts:
    """Count the instructions of the given calls. Return the costs for each call.

    If a call crashes its machine, its larger sizes are not counted, and the next call runs in a new
    machine.
    seed: draws the sizes; None for sizes that are spread over each range.
    decided: whether no further size of a call needs to be counted, because its points are lost. A
    slow method would take minutes at the largest sizes.
    """
    kernel = machine.kernel()
    built = stage_module.build(stage, kernel)
    if built.rejection:
        return dict.fromkeys(wanted, (Finding("wrong", built.rejection),))
    assembly = bool(_marked_texts(stage))
    try:
        made = counted_module(built, kernel, assembly)
        if assembly and not made.ok:
            # The marks do not fit the stage's assembly, so it does not count as multiplications.
            assembly = False
            made = counted_module(built, kernel)
        if not made.ok:
            raise NotCountedError(made.cause)
    except NotCountedError as error:
        return dict.fromkeys(wanted, (Finding("wrong", str(error)),))
    contents = device.contents({NAME: made.stripped}, vectors=bool(stage.traits.vector))
    costs: dict[CountedCall, list[OperationCost | Finding]] = {one: [] for one in wanted}
    ordered = sorted(costs, key=lambda one: (one.operation, one.size))
    left = [
        (one, call)
        for one in ordered
        for drawn in sorted(_varied(built, one, seed), key=lambda call: call.size)
        for call in (drawn, *_special(stage, drawn, seed))
    ]
    at_once = 1 if stage.traits.numbers else WORDS_AT_ONCE
    while left:
        guest = machine.boot(contents, digits=0)
        try:
            timeout = TIMEOUT * guest.speed_factor
            _load(guest, stage, timeout)
            while left and plugin.recorded(guest.folder) < MOST_RECORDED:
                one, _ = left[0]
                several = [call for of, call in left if of == one][:at_once]
                found = _several(guest, stage, several, seed or 1, timeout)
                # If the kit has marked no multiplication, the marks are the stage's own.
                costs[one] += found if assembly else map(_without_marks, found)
                del left[: len(found)]
                if decided(one, {key: tuple(of) for key, of in costs.items()}):
                    left = [rest for rest in left if rest[0] != one]
        except MachineError as error:
            if at_once > 1:
                at_once = 1  # to find out which call crashes the machine
                continue
            one, call = left[0]
            cause = failure_classification.classify(error, guest, made)
            costs[one].append(cause.within(f"count {call.call}"))
            left = [rest for rest in left if rest[0] != one]
        finally:
            guest.stop()
    return {one: tuple(of) for one, of in costs.items()}


def _varied(built: BuiltStage, wanted: CountedCall, seed: int | None) -> list[CountedCall]:
    """Return the calls to count. In each second one, the operands have different sizes.

    If a method saves products, the number of products depends on the ratio of the sizes. The bounds
    of such a stage are for one ratio, so there the sizes are equal or nearly as in tasks.toml.
    """
    stage = built.stage
    calls = [*wanted.drawn(seed), *_near(built, wanted, seed), *_consecutive(wanted, seed)]
    drawing = random.Random(f"{seed} {wanted} sizes")
    if wanted.second:
        least = max(1, int(wanted.second * NEARLY))
        return [replace(call, second=drawing.randint(least, wanted.second)) for call in calls]
    name = re.sub(f"{IN_PLACE}|{SPARSE}", "", wanted.operation)
    if name not in ("add", "sub", "mul") or stage.traits.subquadratic:
        return calls
    farthest = COMPARED if seed is None else RATIOS[0] if name == "mul" else 0.0
    for i in range(drawing.randrange(2), len(calls), 2):
        # A method for long numbers need not be good for much shorter ones.
        nearest = wanted.least * COMPARED / calls[i].size
        ends = max(nearest, farthest), RATIOS[1]
        ratio = math.exp(drawing.uniform(*map(math.log, ends)))
        second = int(calls[i].size * ratio)
        if seed is not None and drawing.random() < 0.5:
            least = int(calls[i].size * ends[1])
            second = calls[i].size - test_cases.any_length(drawing, 1, calls[i].size - least)
        calls[i] = replace(calls[i], second=max(1, second))
    return calls


def _near(built: BuiltStage, wanted: CountedCall, seed: int | None) -> list[CountedCall]:
    """Return calls whose sizes are near the numbers that the code compares, at most NEAR."""
    stage, drawing = built.stage, random.Random(f"{seed} {wanted} near")
    if seed is None or not wanted.least:
        return []
    sizes: set[int] = set()
    long = [number for number in built.compared if number >= LEAST_NEAR]
    for number in near_numbers.chosen(long, drawing):
        if wanted.operation == COMPUTE:
            near = near_numbers.n_near(stage.manifest, [number], drawing)
        else:
            bits = 1 if stage.traits.decimal else WORD_BITS
            ends = wanted.least * bits, wanted.size * bits
            near = [
                -(-length // bits)
                for length in near_numbers.lengths(stage.traits, [number], *ends, drawing)
            ]
        sizes.update(size for size in near if wanted.least <= size <= wanted.size)
    chosen = drawing.sample(sorted(sizes), min(NEAR, len(sizes)))
    return [CountedCall(wanted.operation, size, wanted.second) for size in chosen]


def _consecutive(wanted: CountedCall, seed: int | None) -> list[CountedCall]:
    """Return calls of consecutive small sizes, because code may select sizes by their remainder."""
    if seed is None or wanted.operation == COMPUTE or wanted.second:
        return []
    if not 0 < wanted.least <= SMALL or wanted.size < 2 * SMALL + RUN:
        return []
    drawing = random.Random(f"{seed} {wanted} consecutive")
    first = drawing.randint(wanted.least, 2 * SMALL)
    return [CountedCall(wanted.operation, size) for size in range(first, first + RUN)]


def _special(stage: Stage, call: CountedCall, seed: int | None) -> list[CountedCall]:
    """Return the call with special contents of its operands, or no call if there are none.

    Without a seed, other methods are compared, which may be fast for special contents. A call of
    compute has no operands; in a stage with vectors, the same call without AVX2 is returned.
    """
    if call.operation == COMPUTE and stage.traits.vector and seed is not None:
        return [replace(call, contents=SCALAR)] if call.size <= LARGEST_SCALAR else []
    name = call.operation.removesuffix(IN_PLACE)
    if seed is None or name not in ("add", "sub", "lshift", "mul", "square", DECIMAL):
        return []
    contents = [RUNS_OF_WORDS, *([FEW_ONES] if not stage.traits.decimal else [])]
    if name == "mul" and stage.traits.slow:
        contents = []
    if name in ("add", "sub", "mul"):
        contents.append(EQUAL_WORDS)
    if call.operation in ("add", "mul") and not call.second:
        contents.append(ITSELF)
    drawing = random.Random(f"{seed} {call} contents")
    return [replace(call, contents=drawing.choice(contents))] if contents else []


def _multiplications(text: bytes) -> int:
    """Return the number of multiplications in the asm statements of a text, however written."""
    found = preprocess.ASSEMBLY.finditer(text)
    return sum(len(_ANY_MULTIPLICATION.findall(statement[2])) for statement in found)


def marked(text: bytes) -> bytes:
    """Return a text in which each multiplication in an asm statement has a prefix.

    So the plugin counts the multiplications in assembly that are executed, and not those in
    statements without effect.
    """

    def of_statement(found: re.Match[bytes]) -> bytes:
        return _MULTIPLICATION.sub(MARKED, found[0])

    return preprocess.ASSEMBLY.sub(of_statement, text)


def _load(guest: Running, stage: Stage, timeout: float) -> None:
    blocks = 1 if stage.traits.results == "preallocated" else 3
    insert = f"insmod {MODULE} decimal={stage.traits.decimal:d} blocks={blocks}"
    marks = guest.channel.check(f"{insert} && cat {PARAMETERS}/marks", timeout).split()
    plugin.watch(guest.folder, [int(word, 16) for word in marks])
    guest.channel.check(f"echo ready | {device.CLIENT} batch", timeout)


def _several(
    guest: Running, stage: Stage, calls: Sequence[CountedCall], seed: int, timeout: float
) -> list[OperationCost | Finding]:
    """Count the instructions of each call. Return a finding for a call whose result is wrong."""
    asked = [_asked(stage, call, seed) for call in calls]
    ask = f"{PARAMETERS}/ask"
    known = plugin.recorded(guest.folder)
    # Only what the shell can do itself, because to start a program takes milliseconds.
    answers = guest.channel.check(
        " && ".join(
            f"echo {one.request} >{ask} && read -r answer <{ask} && echo $answer" for one in asked
        ),
        timeout * len(asked),
    ).splitlines()
    events = plugin.events(guest.folder, known)
    begins = [i for i, event in enumerate(events) if event.name == BEGIN]
    parts = [events[i:j] for i, j in itertools.pairwise([*begins, len(events)])]
    if len(parts) != len(asked):
        return [Finding("wrong", f"the marks around {asked[0].call.call} {NOT_ONCE}")] * len(asked)
    return [_cost_of(*one) for one in zip(asked, answers, parts)]


def _without_marks(cost: OperationCost | Finding) -> OperationCost | Finding:
    return cost if isinstance(cost, Finding) else replace(cost, assembly=0)


@dataclass(frozen=True)
class _Asked:
    """A counted call, its request to the module, and the right values of its answer."""

    call: CountedCall
    request: str
    right: list[list[int]]


def _cost_of(one: _Asked, answer: str, events: list[plugin.Event]) -> OperationCost | Finding:
    """Return the cost of a call from its answer and its events, of which the first is BEGIN."""
    returned, *residues, allocated = map(int, answer.split())
    if returned or not _match(residues, one.right):
        return Finding("wrong", f"{one.call.call} is wrong, so its method is not judged")
    marks = [i for i, event in enumerate(events) if event.name in (BEGIN, END)]
    if [events[i].name for i in marks] != [BEGIN, END]:
        return Finding("wrong", f"the marks around {one.call.call} {NOT_ONCE}")
    return _cost(events[: marks[1] + 1], one.call, allocated)


def _asked(stage: Stage, call: CountedCall, seed: int) -> _Asked:
    """Draw a call's operands, and compute its right result from them.

    The operands are generated here, too, because the call may change them in the machine.
    """
    modulus = expected_values.new_modulus(MODULUS_BITS)
    drawing = random.Random(f"{seed} {call.size}")
    state = drawing.getrandbits(63)
    ones = 0
    if call.operation.endswith(SPARSE) or call.contents == FEW_ONES:
        ones = drawing.randint(*(RUNS if call.operation.startswith(DIGITS) else ONES))
    elif call.contents == RUNS_OF_WORDS:
        ones = -test_cases.any_length(drawing, 1, LONGEST_RUN)
    shape = _shape(stage, call, drawing)
    words = operands(stage, call, shape, state, ones)
    extra = shape.extra
    if call.operation == DECIMAL:
        rooms = (
            0,
            drawing.randrange(10 * call.size),
            test_cases.any_length(drawing, 1, LARGEST_ROOM),
        )
        extra = drawing.choice(rooms) + _digits(stage, words[0])
    alike = call.contents in (EQUAL_WORDS, SCALAR)
    request = (
        f"{_verb(call.operation)} {shape.first} {shape.second} {state} {ones} {alike:d}"
        f" {shape.into} {extra} {modulus}"
    )
    return _Asked(call, request, _right(stage, call, shape, words, modulus, ones))


@dataclass(frozen=True)
class _Shape:
    """The sizes of a counted call's operands, the place of its result, and its last argument."""

    first: int  # the size of the first operand in words, or n
    second: int  # the size of the second operand, or 0 if it is the first one
    into: int  # WITH_ROOM, INTO_FIRST, INTO_SECOND or WITHOUT_ROOM
    extra: int  # the bits of a shift, or the limb that is added or subtracted


def _shape(stage: Stage, call: CountedCall, drawing: random.Random) -> _Shape:
    """Draw the shape of a call. The right method keeps its bounds for each shape."""
    first, second = call.size, call.second or call.size
    name = call.operation.removesuffix(IN_PLACE)
    if name in ("add", "mul") and drawing.randrange(2):
        first, second = second, first
    if call.contents == ITSELF:
        second = 0
    into = WITH_ROOM
    if call.operation.endswith(IN_PLACE):
        into = drawing.choice((INTO_FIRST, INTO_SECOND)) if name == "add" else INTO_FIRST
    elif name in ("add", "sub") and call.contents != ITSELF:
        count = test_cases.overwritten(stage, ordered=name == "sub")
        into = drawing.choice((WITH_ROOM, INTO_SECOND, INTO_FIRST)[: 1 + count])
    elif name == "div5" or (name == "lshift" and "a" in stage.traits.overwrites):
        into = drawing.choice((WITH_ROOM, INTO_FIRST))
    elif name in ("mul", "square") and stage.traits.results == "grown":
        into = drawing.choice((WITH_ROOM, WITHOUT_ROOM))
    extra = drawing.choice((1, drawing.randint(1, MOST_SHIFT), drawing.choice(WHOLE_SHIFTS)))
    if name == "lshift" and first > 1 and not drawing.randrange(4):
        # The result has as many words as the call says.
        shifted = test_cases.any_length(drawing, 1, first - 1)
        first, extra = first - shifted, extra + WORD_BITS * shifted
    if name in ("increase", "decrease"):
        extra = drawing.randrange(drawing.choice((3, _base(stage))))
    return _Shape(first, second, into, extra)


def _digits(stage: Stage, words: list[int]) -> int:
    """Return how many decimal digits a number has."""
    if stage.traits.decimal:
        return (len(str(_base(stage))) - 1) * (len(words) - 1) + len(str(words[-1]))
    value = 0
    for word in reversed(words):
        value = value * _base(stage) + word
    return len(str(value))


def _verb(operation: str) -> str:
    """Return the name of an operation in a request: see counted/counted.c."""
    if operation in FIFTHS:
        name = FIFTHS[operation]
    elif operation in MODULO_PRIME:
        name = MODULO_PRIME[operation][0]
    elif operation in OPERATIONS:
        name = OPERATIONS[operation][0]
    else:
        return operation
    header = test_program.ADAPTER.with_suffix(".h").read_text(encoding="utf-8")
    return str(re.findall(r"^\t(TESTED_\w+),", header, re.MULTILINE).index(name))


def _right(
    stage: Stage,
    call: CountedCall,
    shape: _Shape,
    words: tuple[list[int], list[int]],
    modulus: int,
    ones: int,
) -> list[list[int]]:
    """Return the allowed values of each residue of a right answer.

    Compute with residues, because a product of long numbers takes this program a second.
    """
    a, b = (_residue(row, _base(stage), modulus) for row in words)
    if call.operation == COMPUTE:
        if stage.traits.numbers:
            return [[expected_values.residue(call.size, modulus)]]
        return [[expected_values.residue(call.size, 2**64) % modulus]]
    if call.operation == DECIMAL:
        return [[a]]
    if call.operation in FIFTHS:
        # counted.c makes the number a multiple of 5, as it does with the lowest word.
        a = (a - words[0][0] % 5) % modulus
        fifth = a * pow(5, -1, modulus) % modulus
        kept = [[a], [b]] if shape.into == WITH_ROOM else [[b]]
        return [[fifth]] if call.operation == FIFTH else [*kept, [fifth]]
    if call.operation in MODULO_PRIME:
        product = words[0][0] * words[1][0] ** TIMES
        below = MODULO_PRIME[call.operation][1]
        values = test_cases_decimal.modulo_prime(product, below)
        return [[a], [b], [value % modulus for value in values]]
    if call.operation not in OPERATIONS:
        return []
    if call.operation.startswith(DIGITS) and call.operation.endswith(SPARSE):
        digits = (call.size + 1) // 2 * 9 + 1  # see runs_of_zeros() in counted.c
        ends = [0, *range(digits // 4, digits + 1, ones)]
        runs = (
            pow(10_000, end - 1, modulus) - pow(10_000, first, modulus)
            for first, end in itertools.pairwise(ends)
        )
        return [[sum(runs) % modulus]]
    result = OPERATIONS[call.operation][1](a, b, shape.extra) % modulus
    if call.operation.startswith(DIGITS):
        return [[result]]  # The result replaces one operand, or is text.
    kept = {INTO_FIRST: [[b]], INTO_SECOND: [[a]]}.get(shape.into, [[a], [b]])
    return [*kept, [result]]


def _match(residues: list[int], right: list[list[int]]) -> bool:
    """Return whether each residue belongs to one of the correct values."""
    return len(residues) == len(right) and all(
        residue in values for residue, values in zip(residues, right)
    )


def _cost(events: list[plugin.Event], call: CountedCall, allocated: int) -> OperationCost:
    """Return the cost of a call from its events; the first and the last one are the marks.

    allocated: the number of blocks by the kit's account, which counts no failed allocation.
    """
    first, *inner, last = events
    took = last.counts - first.counts
    names = [event.name for event in inner]
    multiplied, squared = (names.count(MULTIPLY[name]) for name in ("bn_mul", "bn_square"))
    yields = [e.counts for e in events if e.name in (BEGIN, YIELD, END)]
    pauses = [after - before for before, after in itertools.pairwise(yields)]
    calls = [e.counts.module for e in events if e.name in (BEGIN, END, *MULTIPLY.values())]
    longest = max(after - before for before, after in zip(calls, calls[1:]))
    return OperationCost(
        took.module,
        took.products,
        max(names.count(ALLOCATION), allocated),
        took.divisions,
        took.vectors,
        sum(name in MULTIPLY.values() for name in names),
        # Each bn_square calls bn_mul, unless the compiler has inlined bn_mul there.
        multiplied if multiplied >= squared else multiplied + squared,
        max(pause.products for pause in pauses),
        took.assembly,
        took.accesses,
        1000 * longest // max(took.module, 1),
        max(pause.module for pause in pauses),
        took.work - took.module,
        call,
    )


def _base(stage: Stage) -> int:
    return test_cases_decimal.B if stage.traits.decimal else 2**64


def operands(
    stage: Stage, call: CountedCall, shape: _Shape, state: int, ones: int = 0
) -> tuple[list[int], list[int]]:
    """Return the words of the operands that random_number() in counted/counted.c generates.

    The lowest word is first. Of operands of one size, the first is the larger one, except for a
    difference of digits, which is 2 b - a.
    """
    base = _base(stage)
    drop = state % (61 if base == 2**64 else 58)
    least_words = [base // 2, base // 4]
    if call.operation == DIFFERENCE:
        least_words.reverse()
    found: list[list[int]] = []
    same = state
    for least, size in zip(least_words, (shape.first, shape.second)):
        drawn: list[int] = []
        if call.contents == EQUAL_WORDS:
            state = same
        for _ in range(max(ones, 0) or (1 if call.operation == COMPUTE else size)):
            state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
            drawn.append(state ^ state >> 32)
        if ones < 0:
            drawn = _with_runs(drawn, -ones, base)
        if ones > 0:
            row = [0] * (size - 1) + [least]
            for place in (word % (64 * size - 2) for word in drawn):
                row[place // 64] |= 1 << place % 64
        else:
            row = [word % base for word in drawn]
            if size:
                row[-1] = (row[-1] % least + least) >> drop
        found.append(row)
    return found[0], found[1] if shape.second else found[0]


def _with_runs(drawn: list[int], longest: int, base: int) -> list[int]:
    """Return words of which runs of at most `longest` are 0, or the largest word, or random."""
    words: list[int] = []
    while len(words) < len(drawn):
        at = len(words)
        kind, length = drawn[at] % 3, 1 + (drawn[at] >> 2) % longest
        words += {0: [0] * length, 1: [base - 1] * length}.get(kind, drawn[at : at + length])
    return words[: len(drawn)]


def _residue(words: list[int], base: int, modulus: int) -> int:
    """Return the residue of a number that is given by its words, the lowest first."""
    value = 0
    for word in reversed(words):
        value = (value * base + word) % modulus
    return value


def calls(asked: Iterable[Idea]) -> set[CountedCall]:
    """Return the calls that some ideas refer to."""
    return {idea.takes for idea in asked}


def unmet(idea: Idea, found: Counts) -> str:
    """Return a message if a count exceeds the bound of an idea, else ""."""
    for cost in found[idea.takes]:
        if isinstance(cost, Finding):
            return cost.cause
        call = cost.at or idea.takes
        if cost.divisions > (most := _most_divisions(call)):
            return (
                f"{call.call} takes {cost.divisions:,} divisions; expected at most {most:,},"
                " because a division takes as long as twenty multiplications"
            )
        if cost.kernel > (most := _most_in_kernel(cost, call)):
            return (
                f"{call.call} takes {cost.kernel:,} instructions in functions of the kernel, as"
                f" memmove; expected at most {most:,}, because the stage has to do the work"
            )
        if bound := _bound_broken(idea, cost):
            took = getattr(cost, idea.unit)
            return (
                f"{call.call} takes {took:,} {UNITS[idea.unit]}; expected {bound},"
                f" because {idea.text}"
            )
    return ""


def _most_divisions(call: CountedCall) -> int:
    """Return the largest number of divisions in a call, whatever the idea counts.

    So no method divides for each product of two limbs. A division for each limb has the bounds of
    the task that reduces the limbs, and must not cost the points of other tasks.
    """
    return DIVISIONS_PER_WORD * (call.size + 1)


def _most_in_kernel(cost: OperationCost, call: CountedCall) -> int:
    """Return the largest number of instructions in functions of the kernel, whatever is counted.

    The instructions of a module are counted apart, because those of an allocation vary. So memmove,
    for example, must not do the work, but it may copy numbers. The kit's stages take 4 % of their
    instructions in the kernel, and in addition up to 32,000 for the allocation of a product.
    """
    return (
        IN_KERNEL
        + COPIED * call.size
        + cost.instructions // PART_IN_KERNEL
        + cost.allocations * (ALLOCATING + call.size)
    )


def _bound_broken(idea: Idea, counted: OperationCost) -> str:
    """Return a description of the bound that a count violates; "" if it is within both bounds."""
    took = getattr(counted, idea.unit)
    call = counted.at or idea.takes
    least, at_most = idea.bounds(call)
    if took < least and not call.contents:
        return f"at least {least:,}"
    return f"at most {at_most:,}" if took > at_most else ""


def inconsistent(idea: Idea, own: Costs, plain: Costs | None) -> str:
    """Return why an idea's bounds do not separate the kit's method from the plain one, or ""."""
    if message := unmet(idea, {idea.takes: own}):
        return f"the kit's own stage does not meet the bound: {message}"
    if plain is None or idea.plain is None:
        return ""
    for cost in plain:
        if isinstance(cost, Finding):
            return f"{idea.plain.takes.call} of stage {idea.plain.stage}: {cost.cause}"
        if not _bound_broken(idea, cost):
            call = f"{(cost.at or idea.plain.takes).call} of stage {idea.plain.stage}"
            took = f"{getattr(cost, idea.unit):,} {UNITS[idea.unit]}"
            return f"{idea.text}: the plain method meets it, too: {call} takes {took}"
    return ""
