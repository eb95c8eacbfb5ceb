# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Find stages, which are directories named NUMBER-NAME, and read their manifests."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from grader.base import paths, toml
from grader.base.errors import LabError
from grader.exercise.files.traits import Traits, parse


@dataclass(frozen=True)
class Manifest:
    """The kit's description of a stage number, which is valid for all sources of that stage."""

    number: int
    name: str
    title: str
    teaches: str
    max_n: int
    measure: tuple[int, ...]
    driver: bool = False  # whether the learner writes the driver; else the kit's driver is used
    traits: Traits = field(default_factory=Traits)

    @property
    def computes(self) -> bool:
        """Return whether the stage computes F(n), so that its manifest lists n to measure."""
        return bool(self.measure)


# The objects in a student repository that replace the reference's sources, by the ARCH of the
# kernels they link for: see export/objects.py.
OBJECTS = {"um": "uml.o_shipped", "x86": "qemu.o_shipped"}


@dataclass(frozen=True)
class Stage:
    """A directory of sources that is built and judged by the kit's manifest."""

    directory: Path
    manifest: Manifest
    own_driver: bool = False  # True if a test uses the directory's driver.c, not the kit's.
    label: str = ""  # The label distinguishes directories with the same name.
    isolated: bool = False  # True for an untrusted submission, which needs a sandbox or a machine.
    shipped: Path | None = None  # The folder of the objects that replace the sources.

    @property
    def number(self) -> int:
        """Return the stage number."""
        return self.manifest.number

    @property
    def traits(self) -> Traits:
        """Return the traits in the stage's manifest."""
        return self.manifest.traits

    @property
    def key(self) -> str:
        """Return a name that is unique in a run, for files made from the stage.

        Compilers and make give commas, blanks and other characters a meaning, so a name with such
        characters is replaced by a similar name with a digest.
        """
        name = self.label or self.directory.name
        similar = re.sub(r"[^A-Za-z0-9._-]", "-", name)
        if similar == name:
            return name
        return f"{similar}-{hashlib.sha256(os.fsencode(name)).hexdigest()[:8]}"

    def object_for(self, arch: str) -> Path | None:
        """Return the object to link for kernels of this ARCH; None if there are sources."""
        return self.shipped / OBJECTS.get(arch, f"{arch}.o_shipped") if self.shipped else None

    def fits(self, arch: str) -> bool:
        """Return whether a module for kernels of that ARCH can be built."""
        found = self.object_for(arch)
        return found is None or found.is_file()


def exported() -> bool:
    """Return whether this is a student repository, where stages/ holds skeletons."""
    return (paths.STAGES / "SKELETONS").is_file()


def load_manifest(directory: Path) -> Manifest:
    """Read the manifest in a stage's directory. Raise LabError if it is not valid."""
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
            f"{paths.shown(path)}: {error} is missing", "give title, teaches, max_n and measure"
        ) from error
    except (OSError, ValueError, TypeError) as error:
        raise LabError(f"{paths.shown(path)}: {error}", "correct the file") from error
    if any(not 0 <= n <= manifest.max_n for n in manifest.measure):
        raise LabError(f"{paths.shown(path)}: measure holds an n above max_n", "correct the file")
    return manifest


def _directories(tree: Path) -> list[Path]:
    try:
        entries = list(tree.iterdir())
    except OSError as error:
        raise LabError(
            f"{tree}: {error.strerror}", "give a directory of stages to --tree"
        ) from error
    found = [d for d in entries if re.fullmatch(r"[0-9]+-[\w.+-]+", d.name) and d.is_dir()]
    # A directory in a submission may be a link to another student's work.
    found = [d for d in found if not d.is_symlink() or paths.inside(d, tree)]
    return sorted(found, key=lambda d: (int(d.name.split("-")[0]), d.name))


def known() -> dict[int, Manifest]:
    """Return the kit's own manifests by stage number."""
    return {m.number: m for m in map(load_manifest, _directories(paths.STAGES))}


def directory_of(number: int) -> Path:
    """Return the kit's directory of a stage. If there is none, raise LabError with all numbers."""
    for directory in _directories(paths.STAGES):
        if directory.name.startswith(f"{number}-"):
            return directory
    raise LabError(f"there is no stage {number}", f"choose one of {numbers()}")


def numbers() -> str:
    """Return the range of stage numbers as text, for example "0 to 12"."""
    there = sorted(known())
    if there == list(range(there[0], there[-1] + 1)) and len(there) > 1:
        return f"{there[0]} to {there[-1]}"
    return ", ".join(map(str, there))


def manifests() -> dict[int, Manifest]:
    """Return the manifests of the stages that compute F(n), which are all except stage 0."""
    return {number: manifest for number, manifest in known().items() if manifest.computes}


def find(tree: Path, numbers: Iterable[int] = ()) -> list[Stage]:
    """Return the stages in a tree in order: all, or those with the given numbers.

    Without numbers, leave out stage 0 of the kit, but not of a submission. Raise LabError if a
    number is missing or the tree holds no stage.
    """
    wanted = set(numbers)
    of_the_kit = tree == paths.STAGES and not wanted
    there_are = manifests() if of_the_kit else known()
    stages = []
    for directory in _directories(tree):
        number = int(directory.name.split("-")[0])
        if number not in there_are:
            if tree != paths.STAGES and not wanted:
                raise LabError(
                    f"{paths.shown(directory)}: the kit has no stage {number}",
                    "give it the name of a stage of the kit",
                )
            continue
        if not wanted or number in wanted:
            stages.append(Stage(directory, there_are[number]))
    missing = sorted(wanted - {s.number for s in stages})
    there = ", ".join(sorted({d.name.split("-")[0] for d in _directories(tree)}, key=int))
    if missing and exported() and tree == paths.WORK:
        directory_of(missing[0])
        begin = paths.make(f"stage={missing[0]} start")
        raise LabError(f"you have no stage {missing[0]} yet", f"run {begin}")
    if missing:
        where = "" if tree == paths.STAGES else f" in {paths.shown(tree)}"
        raise LabError(f"there is no stage {missing[0]}{where}", f"choose one of {there or 'none'}")
    if not stages:
        raise LabError(
            f"{paths.shown(tree)} holds no stage", "name its directories like 1-iterative-u64"
        )
    return stages


def arithmetic(stages: Iterable[Stage]) -> list[Stage]:
    """Return the given stages that compute F(n), without the driver of stage 0."""
    return [stage for stage in stages if stage.manifest.computes]


def computing(stage: Stage) -> Stage:
    """Return the stage if it computes F(n), else raise LabError."""
    if not stage.manifest.computes:
        raise LabError(
            f"stage {stage.number} is a driver without arithmetic, so it cannot be measured",
            f"run {paths.make(f'stage={stage.number} check')} or debug",
        )
    return stage


def kit(number: int) -> Stage:
    """Return the kit's own stage, which has objects instead of sources in a student repository."""
    stage = find(paths.STAGES, [number])[0]
    if not exported():
        return stage
    if not stage.manifest.computes:  # a driver has no objects
        raise LabError(
            f"the kit's stage {number} is missing",
            f"run {paths.make(f'stage={number} start')} and use your copy",
        )
    folder = paths.ROOT / "reference" / stage.directory.name
    return replace(stage, directory=folder, label=f"reference-{stage.key}", shipped=folder)


def home(wanted: Sequence[int] = ()) -> Path:
    """Return the default tree: the kit's stages, or work/ in a student repository.

    Raise LabError if work/ holds no stage; the message suggests to start the first one in wanted.
    """
    if not exported():
        return paths.STAGES
    work = paths.WORK
    if not work.is_dir() or not _directories(work):
        if wanted:
            directory_of(wanted[0])
        begin = paths.make(f"stage={wanted[0] if wanted else 1} start")
        raise LabError(f"there is no stage in {paths.shown(work)}/ yet", f"run {begin}")
    return work


def number_of(directory: Path) -> int | None:
    """Return the stage number at the beginning of a directory's name, or None."""
    match = re.match(r"([0-9]+)-", directory.resolve().name)
    return int(match[1]) if match else None


def single(directory: Path, label: str, number: int | None = None) -> Stage:
    """Return a single directory of sources as a stage.

    The number is by default the one in the directory's name. The label names the files made from
    the stage, so that directories with the same name do not clash: see Stage.key.
    """
    if not directory.is_dir():
        mine = number_of(directory)
        begin = f"run {paths.make(f'stage={mine} start')} and write it"
        hint = begin if exported() and mine else "give one like stages/5-schoolbook-squaring"
        raise LabError(f"{directory} is not a directory", hint)
    if number is None:
        number = number_of(directory)
    if number is None:
        raise LabError(f"{directory}: no stage number in the name", "name it like 5-mine")
    there_are = known()
    if number not in there_are:
        raise LabError(f"{directory}: the kit has no stage {number}", f"choose one of {numbers()}")
    return Stage(directory.resolve(), there_are[number], label=label)


def place(stage: Stage) -> str:
    """Return the stage's directory for debug information and logs, independent of the checkout."""
    return paths.place(stage.directory, stage.key)


def parse_numbers(text: str) -> list[int]:
    """Return the stage numbers in a text such as "1,2" or "3-5". Raise LabError for other text."""
    numbers: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*([0-9]+)(?:-([0-9]+))?\s*", part)
        if not match:
            raise LabError(f"stage {text}: not a list of numbers", "give numbers like 1,2 or 3-5")
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            raise LabError(
                f"stage {text}: {first}-{last} ends before it begins",
                "give the smaller number first",
            )
        numbers.extend(range(first, min(last, first + 99) + 1))
    return numbers
