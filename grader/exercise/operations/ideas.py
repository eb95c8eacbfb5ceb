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

import random
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from grader.base.errors import LabError, MachineError
from grader.base.finding import Finding
from grader.exercise.build import c_flags, preprocess, stage_module
from grader.exercise.build.stage_module import BuiltStage
from grader.exercise.files import device, expected_values, stages
from grader.exercise.files.stages import Stage
from grader.exercise.files.tasks import COMPUTE, DECIMAL, UNITS, CountedCall, Idea, Task
from grader.exercise.operations import test_cases_decimal, test_program
from grader.lab import failure_classification, module, plugin
from grader.lab.machines import CountingMachine, Running
from grader.lab.module import Kernel, Module, Recipe

NAME = "fibcounted"
MODULE = f"{device.MODULES}/{NAME}.ko"
PARAMETERS = f"/sys/module/{NAME}/parameters"
FILES = Path(__file__).with_name("counted")
# The operations' names in enum tested_operation of bignum_adapter.h, and functions that compute the
# right results.
OPERATIONS: Mapping[str, tuple[str, Callable[[int, int], Iterable[int]]]] = {
    "add": ("TESTED_ADD", lambda a, b: [a + b]),
    "sub": ("TESTED_SUB", lambda a, b: [a - b]),
    "lshift": ("TESTED_LSHIFT", lambda a, b: [a << 1]),
    "mul": ("TESTED_MUL", lambda a, b: [a * b]),
    "mul-power": ("TESTED_MUL", lambda a, b: [a * b]),
    "square": ("TESTED_SQUARE", lambda a, b: [a * a]),
    "increase": ("TESTED_INCREASE", lambda a, b: [a + 1]),
    "decrease": ("TESTED_DECREASE", lambda a, b: [a - 1]),
    "solinas": ("TESTED_SOLINAS", lambda a, b: test_cases_decimal.modulo_prime(a * b, 3)),
    "shoup": ("TESTED_SHOUP", lambda a, b: test_cases_decimal.modulo_prime(a * b, 2)),
    "digit-sum": ("TESTED_TWICE_PLUS", lambda a, b: [2 * a + b]),
    "digit-fifth": ("TESTED_FIFTH", lambda a, b: [a // 5]),
    "digit-unique": ("TESTED_UNIQUE", lambda a, b: [a]),
    "digit-text": ("TESTED_TEXT", lambda a, b: [a]),
    "fft": ("TESTED_FFT_MUL", lambda a, b: [a * b]),
}
# The operands of an operation with this ending are powers of 2.
POWER = "-power"
MODULUS_BITS = 31
# The time limit of one operation on the lab machine, in seconds.
TIMEOUT = 6.0
# The plugin names events after the watched addresses, which are those in the parameter "marks".
# Address 0 is never executed.
BEGIN, END, ALLOCATION, YIELD = "a0", "a1", "a2", "a3"
MULTIPLY = {"bn_mul": "a4", "bn_square": "a5"}
# An asm statement with an instruction that multiplies; "\\n\\t" may precede the instruction.
_ASSEMBLY = re.compile(
    rb'\b(?:__)?asm(?:__)?(?:\s+\w+)*\s*\(\s*(?:"[^"]*"\s*)*?"[^"]*(?:\b|\\[nt])i?mul'
)


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
    at: CountedCall | None = None  # the requested call, with its random size filled in


# The cost of each call, or a finding if its instructions could not be counted.
Counts = dict[CountedCall, OperationCost | Finding]


def counted_module(built: BuiltStage, kernel: Kernel) -> Module:
    """Build the module that calls the operations of a stage, from the stage's own objects."""
    stage = built.stage
    own: dict[str, bytes] = {}
    if stage.traits.numbers:
        sources = list(stage_module.sources(stage, []))
        made = preprocess.adapted(stage, sources, test_program.ADAPTER)
        if made.cause:
            raise LabError(made.cause, "correct the source")
        own = {f"adapter/{name}": content for name, content in made.files.items()}
    for path in stage_module.stage_objects(built):
        own[f"stage/{path.stem}.o_shipped"] = path.read_bytes()
        # modpost fails without this file, in which it looks for the sources of an object.
        own[f"stage/.{path.stem}.o.cmd"] = b"# It is compiled already.\n"
    names = [name.rsplit(".", 1)[0] for name in own if not name.endswith(".cmd")]
    shared = _kit(stage, kernel)
    recipe = Recipe(
        name=NAME,
        folder=f"{built.module.directory.name}/counted",  # this folder is removed with the module's
        files=own,
        objects=tuple(names),
        flags=(*shared.flags, *c_flags.language()),
        settings=(*shared.settings, f"CFLAGS_{names[0]}.o := {preprocess.PREPROCESSED}"),
        labels={"stage": stages.place(stage), **shared.labels},
        support=("common",),
        dialect=device.DIALECT,
        isolated=stage.isolated,
        shared=shared,
    )
    return module.build(recipe, kernel)


def _kit(stage: Stage, kernel: Kernel) -> Recipe:
    """Return the recipe of the kit's objects, compiled once for all copies of a stage."""
    driver = stage_module.kit(stage.manifest, kernel)
    files = {name: text for name, text in driver.files.items() if name != "kit/driver.c"}
    for path in (FILES / "counted.c", test_program.ADAPTER.with_suffix(".h")):
        files[f"kit/{path.name}"] = path.read_bytes()
    return Recipe(
        name=NAME,
        folder=f"counted-{stage.number}",
        files=files,
        objects=("kit/counted", *(name for name in driver.objects if name != "kit/driver")),
        flags=(
            *driver.flags,
            *stage.traits.macros(),
            f"-DSTAGE_HAS_NUMBERS={int(stage.traits.numbers)}",
        ),
        settings=driver.settings,
        labels=driver.labels,
    )


def counts(
    machine: CountingMachine, stage: Stage, wanted: Collection[CountedCall], seed: int
) -> Counts:
    """Count the instructions of the given calls. Return the cost or a finding for each call.

    If a call crashes its machine, the next call runs in a new machine.
    """
    kernel = machine.kernel()
    built = stage_module.build(stage, kernel)
    if built.rejection:
        return dict.fromkeys(wanted, Finding("wrong", built.rejection))
    made = counted_module(built, kernel)
    if not made.ok:
        raise LabError(
            f"the module for counting instructions does not compile: {made.cause}",
            "correct the source",
        )
    contents = device.contents({NAME: made.stripped}, vectors=bool(stage.traits.vector))
    found: Counts = {}
    left = sorted(set(wanted), key=lambda one: (one.operation, one.size))
    while left:
        guest = machine.boot(contents, digits=0)
        try:
            timeout = TIMEOUT * guest.speed_factor
            _load(guest, timeout)
            while left:
                found[left[0]] = _costliest(
                    _one(guest, stage, call, seed, timeout) for call in left[0].drawn(seed)
                )
                left.pop(0)
        except MachineError as error:
            found[left[0]] = failure_classification.classify(error, guest, made).within(
                f"count {left[0].call}"
            )
            left.pop(0)
        finally:
            guest.stop()
    assembly = _assembly(stage)
    return {
        call: cost if isinstance(cost, Finding) else replace(cost, assembly=assembly)
        for call, cost in found.items()
    }


def _assembly(stage: Stage) -> int:
    """Return the number of multiplications in assembly, or 0 if FIB_NO_ASM does not omit them."""
    sources = list(stage_module.sources(stage, []))
    found = [
        sum(len(_ASSEMBLY.findall(text)) for text in made.files.values())
        for macros in ((), preprocess.NO_ASM)
        for made in (preprocess.texts(stage, sources, macros=macros),)
    ]
    return 0 if found[1] else found[0]


def _load(guest: Running, timeout: float) -> None:
    marks = guest.channel.check(f"insmod {MODULE} && cat {PARAMETERS}/marks", timeout).split()
    plugin.watch(guest.folder, [int(word, 16) for word in marks])
    guest.channel.check(f"echo ready | {device.CLIENT} batch", timeout)


def _costliest(counted: Iterable[OperationCost | Finding]) -> OperationCost | Finding:
    """Return the cost with the most instructions, or the first finding."""
    most = OperationCost(-1, 0, 0)
    for one in counted:
        if isinstance(one, Finding):
            return one
        most = max(most, one, key=lambda cost: cost.instructions)
    return most


def _one(
    guest: Running, stage: Stage, call: CountedCall, seed: int, timeout: float
) -> OperationCost | Finding:
    """Count the instructions of one call. Return a finding if its result is wrong.

    The right result is computed from operands that are generated here, too, because the call may
    have changed the operands in the machine.
    """
    modulus = expected_values.new_modulus(MODULUS_BITS)
    known = len(plugin.events(guest.folder))
    operation = OPERATIONS.get(call.operation)
    verb = _number(operation[0]) if operation else call.operation
    drawn = random.Random(f"{seed} {call.size}").getrandbits(63) or 1
    if call.operation.endswith(POWER):
        drawn = 0
    request = f"{verb} {call.size} {drawn} {modulus}"
    answer = guest.channel.check(
        f"echo {request} >{PARAMETERS}/ask && cat {PARAMETERS}/ask", timeout
    ).split()
    returned, *residues = map(int, answer)
    right: list[Iterable[int]] = []
    if operation:
        a, b = operands(stage, call.size, drawn)
        a -= a % 5 if call.operation == "digit-fifth" else 0
        right = [[a], [b], operation[1](a, b)]
    elif call.operation == DECIMAL:
        right = [[operands(stage, call.size, drawn)[0]]]
    elif call.operation == COMPUTE:
        word = modulus if stage.traits.numbers else 2**64
        right = [[expected_values.residue(call.size, word)]]
    if returned or not _match(residues, right, modulus):
        return Finding("wrong", f"{call.call} is wrong")
    events = plugin.events(guest.folder)[known:]
    marks = [i for i, event in enumerate(events) if event.name in (BEGIN, END)]
    if [events[i].name for i in marks] != [BEGIN, END]:
        return Finding("wrong", f"the marks around {call.call} are not executed once each")
    begin, end = marks
    return _cost(events[begin : end + 1], call)


def _match(residues: list[int], right: list[Iterable[int]], modulus: int) -> bool:
    """Return whether each residue belongs to one of the correct values."""
    return len(residues) == len(right) and all(
        residue in [value % modulus for value in values] for residue, values in zip(residues, right)
    )


def _cost(events: list[plugin.Event], call: CountedCall) -> OperationCost:
    """Return the cost of a call from its events; the first and the last one are the marks."""
    first, *inner, last = events
    took = last.counts - first.counts
    names = [event.name for event in inner]
    multiplied, squared = (names.count(MULTIPLY[name]) for name in ("bn_mul", "bn_square"))
    products = [e.counts.products for e in events if e.name in (BEGIN, YIELD, END)]
    return OperationCost(
        took.module,
        took.products,
        names.count(ALLOCATION),
        took.divisions,
        took.vectors,
        sum(name in MULTIPLY.values() for name in names),
        # Each bn_square calls bn_mul, unless the compiler has inlined bn_mul there.
        multiplied if multiplied >= squared else multiplied + squared,
        max(after - before for before, after in zip(products, products[1:])),
        at=call,
    )


def operands(stage: Stage, words: int, state: int) -> tuple[int, int]:
    """Return the operands that fill() in counted/counted.c generates, the larger one first."""
    base = test_cases_decimal.B if stage.traits.decimal else 2**64
    if not state:
        return base**words // 2, base**words // 4
    drawn: list[int] = []
    for least in (base // 2, base // 4):
        row: list[int] = []
        for _ in range(words):
            state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
            row.append((state ^ state >> 32) % base)
        row[-1] = row[-1] % least + least
        drawn.append(_value(row, base))
    return drawn[0], drawn[1]


def _value(digits: list[int], base: int) -> int:
    """Return the value of digits in a base, the lowest first.

    Join pairs of neighbours again and again, because adding one digit at a time to a number takes
    quadratic time.
    """
    while len(digits) > 1:
        if len(digits) % 2:
            digits = [*digits, 0]
        digits = [low + base * high for low, high in zip(digits[::2], digits[1::2])]
        base *= base
    return digits[0]


def _number(name: str) -> int:
    """Return the value of an enumerator of enum tested_operation."""
    header = test_program.ADAPTER.with_suffix(".h").read_text(encoding="utf-8")
    return re.findall(r"^\t(TESTED_\w+),", header, re.MULTILINE).index(name)


def calls(tasks: Iterable[Task]) -> set[CountedCall]:
    """Return the calls that the ideas of some tasks refer to."""
    return {idea.takes for task in tasks for idea in task.ideas}


def unmet(idea: Idea, found: Counts) -> str:
    """Return a message if the counts exceed the bound of an idea, else ""."""
    counted = found[idea.takes]
    if isinstance(counted, Finding):
        return counted.cause
    took, bound = getattr(counted, idea.unit), _bound_broken(idea, counted)
    call = (counted.at or idea.takes).call
    return (
        bound and f"{call} takes {took:,} {UNITS[idea.unit]}; expected {bound}, because {idea.text}"
    )


def _bound_broken(idea: Idea, counted: OperationCost) -> str:
    """Return a description of the bound that a count violates; "" if it is within both bounds."""
    took = getattr(counted, idea.unit)
    if took < idea.least:
        return f"at least {idea.least:,}"
    return f"at most {idea.at_most:,}" if took > idea.at_most else ""


def inconsistent(
    idea: Idea, own: OperationCost | Finding, plain: OperationCost | Finding | None
) -> str:
    """Return why an idea's bounds do not separate the kit's method from the plain one, or ""."""
    if message := unmet(idea, {idea.takes: own}):
        return f"the kit's own stage does not meet the bound: {message}"
    if plain is None or idea.plain is None:
        return ""
    call = f"{idea.plain.takes.call} of stage {idea.plain.stage}"
    if isinstance(plain, Finding):
        return f"{call}: {plain.cause}"
    if _bound_broken(idea, plain):
        return ""
    took = getattr(plain, idea.unit)
    return f"{idea.text}: the plain method meets it, too: {call} takes {took:,} {UNITS[idea.unit]}"
