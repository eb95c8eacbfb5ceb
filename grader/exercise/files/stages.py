# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Stages: directories named NUMBER-NAME, and the manifests that say what to expect of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from grader.base import paths, toml
from grader.base.errors import LabError
from grader.exercise.files.traits import Traits, parse


@dataclass(frozen=True)
class Manifest:
    """What the kit knows of a stage number, whoever's sources are built for it."""

    number: int
    name: str
    title: str
    teaches: str
    max_n: int
    measure: tuple[int, ...]
    driver: bool = False  # the learner writes the driver; else the module has the kit's
    traits: Traits = field(default_factory=Traits)

    @property
    def computes(self) -> bool:
        """Return whether it computes F(n): then there are n to measure at."""
        return bool(self.measure)


# The objects that stand for the reference's sources in a student repository, by ARCH of the kernels
# they link for: see export/objects.py.
OBJECTS = {"um": "uml.o_shipped", "x86": "qemu.o_shipped"}


@dataclass(frozen=True)
class Stage:
    """One directory of sources, to be built and judged by the kit's manifest."""

    directory: Path
    manifest: Manifest
    own_driver: bool = False  # its driver.c counts: only tests plant faults there
    label: str = ""  # tells directories of one name apart
    isolated: bool = (
        False  # an untrusted submission's: nothing of it runs outside the sandbox or a machine
    )
    shipped: Path | None = None  # the folder of the objects that stand for its sources

    @property
    def number(self) -> int:
        """The stage number."""
        return self.manifest.number

    @property
    def traits(self) -> Traits:
        """The traits of its stage number."""
        return self.manifest.traits

    @property
    def key(self) -> str:
        """A name unique in a run, used for files made from the stage."""
        return self.label or self.directory.name

    def object_for(self, arch: str) -> Path | None:
        """Return the object to link for kernels of that ARCH; None for a stage with sources."""
        return self.shipped / OBJECTS.get(arch, f"{arch}.o_shipped") if self.shipped else None

    def fits(self, arch: str) -> bool:
        """Return whether a module for kernels of that ARCH can be made: from sources, always."""
        found = self.object_for(arch)
        return found is None or found.is_file()


def exported() -> bool:
    """Whether this is a student repository, where stages/ holds skeletons and no solution."""
    return (paths.STAGES / "SKELETONS").is_file()


def load_manifest(directory: Path) -> Manifest:
    """Read the manifest of a stage's directory. Raise LabError where it is not valid."""
    number, name = directory.name.split("-", 1)
    path = directory / "exercise.toml"
    try:
        table = toml.read(path)
        manifest = Manifest(
            number=int(number),
            name=name,
            title=str(table["title"]),
            teaches=str(table["teaches"]),
            max_n=int(table["max_n"]),
            measure=tuple(int(n) for n in table["measure"]),
            driver=bool(table.get("driver", False)),
            traits=parse(table.get("traits", {})),
        )
    except KeyError as error:
        raise LabError(
            f"{paths.shown(path)}: {error} is missing; it needs title, teaches, max_n and measure"
        ) from error
    except (OSError, ValueError, TypeError) as error:
        raise LabError(f"{paths.shown(path)}: {error}") from error
    if any(not 0 <= n <= manifest.max_n for n in manifest.measure):
        raise LabError(f"{paths.shown(path)}: measure holds an n above max_n")
    return manifest


def _directories(tree: Path) -> list[Path]:
    try:
        entries = list(tree.iterdir())
    except OSError as error:
        raise LabError(f"{tree}: {error.strerror}; --tree takes a directory of stages") from error
    found = [d for d in entries if re.fullmatch(r"[0-9]+-[\w.+-]+", d.name) and d.is_dir()]
    # A submission may be a link to somebody else's work.
    found = [d for d in found if not d.is_symlink() or paths.inside(d, tree)]
    return sorted(found, key=lambda d: (int(d.name.split("-")[0]), d.name))


def known() -> dict[int, Manifest]:
    """The kit's own manifests by stage number."""
    return {m.number: m for m in map(load_manifest, _directories(paths.STAGES))}


def directory_of(number: int) -> Path:
    """Return the kit's own directory of a stage. Raise LabError, which names those there are."""
    for directory in _directories(paths.STAGES):
        if number_of(directory) == number:
            return directory
    raise LabError(f"there is no stage {number}: say one of {numbers()}")


def numbers() -> str:
    """Return the stages that there are, in words: 0 to 12."""
    there = sorted(known())
    if there == list(range(there[0], there[-1] + 1)) and len(there) > 1:
        return f"{there[0]} to {there[-1]}"
    return ", ".join(map(str, there))


def manifests() -> dict[int, Manifest]:
    """Those of the stages of arithmetic, which are compared and measured: from 1 on."""
    return {number: manifest for number, manifest in known().items() if manifest.computes}


def find(tree: Path, numbers: Iterable[int] = ()) -> list[Stage]:
    """The stages in a tree, all or those of the given numbers, in order.

    All of the kit's are those of arithmetic; of a submission's, stage 0 is one, too.
    """
    wanted = set(numbers)
    of_the_kit = tree == paths.STAGES and not wanted
    there_are = manifests() if of_the_kit else known()
    stages = []
    for directory in _directories(tree):
        number = int(directory.name.split("-")[0])
        if number not in there_are:
            if tree != paths.STAGES and not wanted:
                raise LabError(f"{paths.shown(directory)}: the kit has no stage {number}")
            continue
        if not wanted or number in wanted:
            stages.append(Stage(directory, there_are[number]))
    missing = sorted(wanted - {s.number for s in stages})
    there = ", ".join(sorted({d.name.split("-")[0] for d in _directories(tree)}, key=int))
    if missing and exported() and tree == paths.WORK:
        directory_of(missing[0])
        begin = paths.make(f"stage={missing[0]} start")
        raise LabError(f"you have no stage {missing[0]} yet: {begin}")
    if missing:
        where = "" if tree == paths.STAGES else f" in {paths.shown(tree)}"
        raise LabError(f"there is no stage {missing[0]}{where}: say one of {there or 'none'}")
    if not stages:
        raise LabError(
            f"{paths.shown(tree)} holds no stage: name its directories like 1-iterative-u64"
        )
    return stages


def arithmetic(stages: Iterable[Stage]) -> list[Stage]:
    """Those of some stages that compute, and can be measured: not the driver of stage 0."""
    return [stage for stage in stages if stage.manifest.computes]


def computing(stage: Stage) -> Stage:
    """The stage, which must be one of arithmetic."""
    if not stage.manifest.computes:
        raise LabError(
            f"stage {stage.number} is a driver, nothing of it is computed or measured:"
            f" {paths.make(f'stage={stage.number} check')} and debug try it"
        )
    return stage


def kit(number: int) -> Stage:
    """Return the kit's own stage; in a student repository it has objects in place of sources."""
    stage = find(paths.STAGES, [number])[0]
    if not exported():
        return stage
    if not stage.manifest.computes:  # objects are there to be compared and measured
        raise LabError(
            f"the kit's stage {number} is not here:"
            f" {paths.make(f'stage={number} start')}, then yours"
        )
    folder = paths.ROOT / "reference" / stage.directory.name
    return replace(stage, directory=folder, label=f"reference-{stage.key}", shipped=folder)


def home(wanted: Sequence[int] = ()) -> Path:
    """The tree that is meant where none is named: the kit's stages, or a student's own.

    Of wanted, where nothing is there yet, the first one is what to begin with.
    """
    if not exported():
        return paths.STAGES
    work = paths.WORK
    if not work.is_dir() or not _directories(work):
        if wanted:
            directory_of(wanted[0])
        begin = paths.make(f"stage={wanted[0] if wanted else 1} start")
        raise LabError(f"there is no stage in {paths.shown(work)}/ yet: {begin}")
    return work


def number_of(directory: Path) -> int | None:
    """The stage number that the name of a directory begins with, if it does."""
    match = re.match(r"([0-9]+)-", directory.resolve().name)
    return int(match[1]) if match else None


def single(directory: Path, label: str, number: int | None = None) -> Stage:
    """One directory of sources wherever it is, judged as the stage of that number.

    The number is the one its name begins with unless one is given. The label (letters, digits
    and -) names what is made from it, so that two directories of one name keep apart.
    """
    if not directory.is_dir():
        raise LabError(
            f"{directory} is not a directory: name one like stages/5-schoolbook-squaring"
        )
    if number is None:
        number = number_of(directory)
    if number is None:
        raise LabError(f"{directory}: which stage is it? name it like 5-mine")
    there_are = known()
    if number not in there_are:
        raise LabError(f"{directory}: the kit has no stage {number}")
    return Stage(directory.resolve(), there_are[number], label=label)


def place(stage: Stage) -> str:
    """The stage's directory in debug information and log: the same wherever the checkout is."""
    if paths.inside(stage.directory, paths.ROOT):
        shown = str(stage.directory.resolve().relative_to(paths.ROOT.resolve()))
    else:
        shown = f"{stage.directory.resolve().parent.name}/{stage.key}"
    return re.sub(r"[^\w./+-]", "_", shown, flags=re.ASCII)


def parse_numbers(text: str) -> list[int]:
    """Stage numbers from "1,2" or "3-5" or both."""
    numbers: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*([0-9]+)(?:-([0-9]+))?\s*", part)
        if not match:
            raise LabError(f"stage {text}: give numbers like 1,2 or 3-5")
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            raise LabError(f"stage {text}: {first}-{last} ends before it begins")
        numbers.extend(range(first, min(last, first + 99) + 1))
    return numbers
