# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Judge whether a stage's operations follow its idea, by counts from the emulator.

A result can be right by the method of the stage before. So an idea in tasks.toml is a bound on a
count: of an operation's instructions, of its multiplications of 32-bit words, or of the blocks that
it allocates. The number of multiplications depends on the method and hardly on how the code is
written: slow code keeps such a bound, and fast code with another method does not. A module of the
stage's own objects calls the operations on random numbers (see counted/counted.c), and QEMU's
plugin counts (see lab/plugin/count.c). Instructions of the kernel are left out, so that a count is
the same in every run.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from grader.base.errors import LabError, MachineError
from grader.base.finding import Finding
from grader.exercise.build import c_flags, preprocess, stage_module
from grader.exercise.build.stage_module import BuiltStage
from grader.exercise.files import device, expected_values, stages
from grader.exercise.files.stages import Stage
from grader.exercise.files.tasks import WHOLE, CountedCall, Idea, Task
from grader.exercise.operations import test_program
from grader.lab import failure_classification, module, plugin
from grader.lab.machines import CountingMachine, Running
from grader.lab.module import Kernel, Module, Recipe

NAME = "fibcounted"
MODULE = f"{device.MODULES}/{NAME}.ko"
PARAMETERS = f"/sys/module/{NAME}/parameters"
FILES = Path(__file__).with_name("counted")
# The names in enum tested_operation of bignum_adapter.h, and functions for the right results.
OPERATIONS: Mapping[str, tuple[str, Callable[[int, int], int]]] = {
    "add": ("TESTED_ADD", lambda a, b: a + b),
    "mul": ("TESTED_MUL", lambda a, b: a * b),
    "square": ("TESTED_SQUARE", lambda a, b: a * a),
    "fft": ("TESTED_FFT_MUL", lambda a, b: a * b),
}
MODULUS_BITS = 31
# The time limit of one operation on the lab machine, in seconds.
TIMEOUT = 6.0
# The plugin names events after the addresses in the parameter "marks": a0 and a1 are the marks, a2
# is an allocation.
BEGIN, END = "a0", "a1"


@dataclass(frozen=True)
class OperationCost:
    """The counts of one call of an operation."""

    instructions: int
    products: int
    allocations: int


# The counts of each call, or a finding if the call could not be counted.
Counts = dict[CountedCall, OperationCost | Finding]


def counted_module(built: BuiltStage, kernel: Kernel) -> Module:
    """Build the module that calls the operations of a stage, from the stage's own objects."""
    stage = built.stage
    own: dict[str, bytes] = {}
    if stage.traits.numbers:
        sources = list(stage_module.sources(stage, []))
        made = preprocess.adapted(stage, sources, test_program.ADAPTER)
        if made.cause:
            raise LabError(made.cause)
        own = {f"adapter/{name}": content for name, content in made.files.items()}
    for path in stage_module.stage_objects(built):
        own[f"stage/{path.stem}.o_shipped"] = path.read_bytes()
        # modpost fails without this file, in which it looks for the sources of an object.
        own[f"stage/.{path.stem}.o.cmd"] = b"# It is compiled already.\n"
    names = [name.rsplit(".", 1)[0] for name in own if not name.endswith(".cmd")]
    shared = _kit(stage, kernel)
    recipe = Recipe(
        name=NAME,
        folder=f"{built.module.directory.name}/counted",  # removed together with the stage's module
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
    """Count the given calls of a stage. Return the counts or a finding for each call.

    If a call crashes its machine, the next call runs in a new machine.
    """
    kernel = machine.kernel()
    built = stage_module.build(stage, kernel)
    if built.rejection:
        return dict.fromkeys(wanted, Finding("wrong", built.rejection))
    made = counted_module(built, kernel)
    if not made.ok:
        raise LabError(f"the module that counts the operations does not compile: {made.cause}")
    contents = device.contents({NAME: made.stripped}, vectors=bool(stage.traits.vector))
    found: Counts = {}
    left = sorted(set(wanted), key=lambda one: (one.operation, one.size))
    while left:
        guest = machine.boot(contents, digits=0)
        try:
            timeout = TIMEOUT * guest.speed_factor
            _load(guest, timeout)
            while left:
                found[left[0]] = _one(guest, stage, left[0], seed, timeout)
                left.pop(0)
        except MachineError as error:
            found[left[0]] = failure_classification.classify(error, guest, made).within(
                f"count {left[0].call}"
            )
            left.pop(0)
        finally:
            guest.stop()
    return found


def _load(guest: Running, timeout: float) -> None:
    marks = guest.channel.check(f"insmod {MODULE} && cat {PARAMETERS}/marks", timeout)
    plugin.watch(guest.folder, [int(word, 16) for word in marks.split()])
    guest.channel.check(f"echo ready | {device.CLIENT} batch", timeout)


def _one(
    guest: Running, stage: Stage, call: CountedCall, seed: int, timeout: float
) -> OperationCost | Finding:
    """Count one call. Return a finding if its result is wrong."""
    modulus = expected_values.new_modulus(MODULUS_BITS)
    known = len(plugin.events(guest.folder))
    operation = OPERATIONS.get(call.operation)
    verb = _number(operation[0]) if operation else call.operation
    drawn = random.Random(f"{seed} {call.size}").getrandbits(63)
    request = f"{verb} {call.size} {drawn} {modulus}"
    answer = guest.channel.check(
        f"echo {request} >{PARAMETERS}/ask && cat {PARAMETERS}/ask", timeout
    ).split()
    returned, *residues = map(int, answer)
    right: list[int] = []
    if operation:
        a, b, *_ = [*residues, 0, 0]
        right = [a, b, operation[1](a, b) % modulus]
    elif call.operation in WHOLE:
        right = [expected_values.residue(call.size, modulus)]
    if returned or residues != right:
        return Finding("wrong", f"{call.call} is wrong")
    events = plugin.events(guest.folder)[known:]
    marks = [i for i, event in enumerate(events) if event.name in (BEGIN, END)]
    if [events[i].name for i in marks] != [BEGIN, END]:
        return Finding("wrong", f"the marks around {call.call} are not executed once each")
    begin, end = marks
    took = events[end].counts - events[begin].counts
    return OperationCost(took.module, took.products, end - begin - 1)


def _number(name: str) -> int:
    """Return the value of an enumerator of enum tested_operation."""
    header = test_program.ADAPTER.with_suffix(".h").read_text(encoding="utf-8")
    return re.findall(r"^\t(TESTED_\w+),", header, re.MULTILINE).index(name)


def calls(tasks: Iterable[Task]) -> set[CountedCall]:
    """Return the calls that the ideas of some tasks refer to."""
    return {idea.takes for task in tasks for idea in task.ideas}


def unmet(idea: Idea, found: Counts) -> str:
    """Return how the counts break an idea; "" if they keep it."""
    counted = found[idea.takes]
    if isinstance(counted, Finding):
        return counted.cause
    took, bound = getattr(counted, idea.unit), _bound_broken(idea, counted)
    return bound and f"{idea.text}: {idea.takes.call} takes {took:,} {idea.unit}; {bound}"


def _bound_broken(idea: Idea, counted: OperationCost) -> str:
    """Return the bound that a count breaks, in words; "" if it keeps both bounds."""
    took = getattr(counted, idea.unit)
    if took < idea.least:
        return f"at least {idea.least:,}"
    return f"at most {idea.at_most:,}" if took > idea.at_most else ""


def inconsistent(
    idea: Idea, own: OperationCost | Finding, plain: OperationCost | Finding | None
) -> str:
    """Return why an idea's bounds do not separate the kit's method from the plain one, or ""."""
    if message := unmet(idea, {idea.takes: own}):
        return f"the kit's own stage does not keep it: {message}"
    if plain is None or idea.plain is None:
        return ""
    call = f"{idea.plain.takes.call} of stage {idea.plain.stage}"
    if isinstance(plain, Finding):
        return f"{call}: {plain.cause}"
    if _bound_broken(idea, plain):
        return ""
    took = getattr(plain, idea.unit)
    return f"{idea.text}: the plain method keeps it, too: {call} takes {took:,} {idea.unit}"
