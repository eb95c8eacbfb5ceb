# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Build and run the program that tests a stage's functions, with the sanitizers.

The program runs within limits. The program of an untrusted stage runs in the sandbox, and so does
its compiler.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import signal
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from grader import sandbox
from grader.base import object_store, paths, test_record
from grader.base.errors import LabError, ProgramKilled
from grader.base.finding import Code, Fault, Finding
from grader.base.printable import printable
from grader.exercise.build import c_flags, diagnostics, preprocess, stage_module
from grader.exercise.files import stages
from grader.exercise.files.stages import Stage
from grader.exercise.operations import sanitizer_report
from grader.exercise.static_contract import stage_contract
from grader.sandbox import COMPILER, PROGRAM, CommandResult, SandboxView

# The processor time limit, in seconds, for all requests of one operation.
SECONDS = 60
# A program that was not used for this many seconds is removed when another program is built.
OLD_SECONDS = 3600
# The reason why no operation of a stage was tested.
UNTRIED = {Code.BUILD_FAILED: "it does not compile", Code.CONTRACT: "it breaks the contract"}
PLAIN_FLAGS = "-O1 -g -fno-strict-aliasing -fno-omit-frame-pointer".split()
FLAGS = [*PLAIN_FLAGS, "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
# The static contract's checker cannot follow jump tables, which hold address differences.
NO_TABLES = "-fno-jump-tables"
OPTIONS = {
    "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
    "UBSAN_OPTIONS": "print_stacktrace=1",
}
HERE = Path(__file__).resolve().parent
USERSPACE = paths.COMMON / "userspace"
ADAPTER = HERE / "bignum_adapter.c"
# The folder of the adapter, which no file of the stage can be in.
BETWEEN = "adapter"
PROGRAMS = paths.BUILD / "operations"
# The ending of the file beside a program that has the numbers its stage compares.
COMPARED = ".compared"


class NoTestProgramError(LabError):
    """The program that tests a stage's operations could not be built; finding has the reason."""

    def __init__(self, finding: Finding) -> None:
        self.finding = finding.within(UNTRIED[finding.code])
        super().__init__(self.finding.cause, "correct the source")


def _not_built(cause: str) -> NoTestProgramError:
    return NoTestProgramError(Finding("build-failed", cause))


def program(stage: Stage, macros: tuple[str, ...] = ()) -> Path:
    """Build the program for a stage. Raise NoTestProgramError if that fails.

    macros: definitions for the stage's files, as in preprocess.texts().

    The code that judges is compiled separately, so that a header of the stage cannot change it.
    Only the adapter includes such a header, so the adapter is checked against stage.h like the
    stage's own files.
    """
    kit = [HERE / f"{name}.c" for name in ("unit_tests", "failures", *_operations(stage))]
    kit.append(USERSPACE / "account_malloc.c")
    if stage.traits.vector:
        kit.append(USERSPACE / "vector_user.c")
    adapters = [ADAPTER] if stage.traits.numbers else []
    sources = list(stage_module.sources(stage, []))
    made = [preprocess.texts(stage, sources, macros=macros)]
    made += [preprocess.adapted(stage, sources, adapter, macros) for adapter in adapters]
    if macros:
        made = [preprocess.trapped(stage, one) for one in made]
    if cause := next((one.cause for one in made if one.cause), ""):
        raise _not_built(cause)
    digests = [preprocess.digest_of(one.files) for one in made]
    target = PROGRAMS / f"{_prefix(stage)}{_key(kit, *digests, *_words())}"
    return _obtain(target, stage, [one.files for one in made], kit)


def compared(program: Path) -> tuple[int, ...]:
    """Return the numbers by which the stage's code in a program decides, for tests near them."""
    return tuple(json.loads(program.with_suffix(COMPARED).read_text()))


def linked(stage: Stage, files: Mapping[str, bytes], kit: list[Path]) -> Path:
    """Build a program from texts of a stage's files and from files of the kit.

    The program is not checked against stage.h: program() has checked the same texts, and the kit
    may only have appended tests to them. It has no sanitizers, which take seconds to compile.
    """
    kit = [*kit, USERSPACE / "account_malloc.c"]
    if stage.traits.vector:
        kit.append(USERSPACE / "vector_user.c")
    target = PROGRAMS / f"{_prefix(stage)}{_key(kit, preprocess.digest_of(files), *_words())}"
    return _obtain(target, stage, [files], kit, sanitized=False)


def _obtain(
    target: Path,
    stage: Stage,
    made: Sequence[Mapping[str, bytes]],
    kit: list[Path],
    sanitized: bool = True,
) -> Path:
    """Build a program unless it is there. Return its path, which is target."""
    numbers_file = target.with_suffix(COMPARED)
    if target.is_file() and numbers_file.is_file():
        for path in (target, numbers_file):
            path.touch()  # so that _remove_old() does not remove it in this run
        return target
    PROGRAMS.mkdir(parents=True, exist_ok=True)
    _remove_old()
    with tempfile.TemporaryDirectory(dir=PROGRAMS) as scratch:
        built, numbers = _linked(stage, Path(scratch), made, kit, sanitized)
        numbers_file.write_text(json.dumps(numbers))
        shutil.move(built, target)
    return target


def _words() -> tuple[str, ...]:
    """Return the flags that any build of a stage's files uses."""
    return (*c_flags.language(), *c_flags.vector())


def _key(sources: list[Path], *words: str) -> str:
    """Return a digest of the sources, the kit's headers and the given words."""
    folders = (HERE, paths.COMMON, USERSPACE, test_record.INCLUDE)
    headers = sorted(path for folder in folders for path in folder.glob("*.h"))
    content = [path.read_bytes() for path in [*sources, *headers]]
    return hashlib.sha256(b"\0".join([*content, *map(str.encode, words)])).hexdigest()[:20]


def _operations(stage: Stage) -> tuple[str, ...]:
    """Return the names of the kit's files that test the operations of a stage."""
    if not stage.traits.numbers:
        return ("word_tests",)
    return ("bignum_tests", "number_io", "guard_pages")


def _linked(
    stage: Stage,
    work: Path,
    made: Sequence[Mapping[str, bytes]],
    kit: list[Path],
    sanitized: bool,
) -> tuple[Path, tuple[int, ...]]:
    """Compile the stage's files, the adapter and the kit's files, and link them in the folder work.

    Return the program and the numbers that the stage's code compares. The stage's files, the
    adapter and the kit's files have a folder each, so that no file can replace a file of another
    folder.
    """
    theirs, between, ours = work / "own", work / BETWEEN, work / "kit"
    for part in (theirs, between, ours):
        part.mkdir()
    compiler = [
        os.environ.get("CC", "gcc"), *(FLAGS if sanitized else PLAIN_FLAGS), *stage.traits.macros(),
        f"-DFIBDRV_MAX_N={stage.manifest.max_n}", f"-I{paths.COMMON}", f"-I{USERSPACE}",
    ]  # fmt: skip
    step = _ProgramBuilder(stage)
    objects: list[Path] = []
    for part, texts in zip((theirs, between), made):
        for name, text in texts.items():
            (part / name).write_bytes(text)
        for vector in (False, True):
            flags = [*c_flags.of_file(vector), NO_TABLES, preprocess.PREPROCESSED]
            wanted = {
                name: text
                for name, text in texts.items()
                if (name in stage.traits.vector) is vector
            }
            _compile(step, [*compiler, *flags], part, wanted, stage.isolated)
        objects += [part / f"{Path(name).stem}.o" for name in texts]
    # The kit's objects must not depend on the folder of the checkout.
    flags = ["-std=gnu11", "-w", f"-ffile-prefix-map={paths.ROOT}/="]
    _compile(step, [*compiler, *flags], ours, {str(path): _key([path]) for path in kit})
    judges = [ours / f"{path.stem}.o" for path in kit]
    numbers: tuple[int, ...] = ()
    if sanitized:
        _check(stage, objects, judges)
        own = [path for path in objects if path.parent == theirs]
        numbers = stage_contract.compared(own, stage.traits.vector, program=True)
    parts = [str(path) for path in (*objects, *judges)]
    step.compile([*compiler, "-o", "program", *parts], work, (work,))
    return work / "program", numbers


def _compile(
    step: _ProgramBuilder,
    command: list[str],
    place: Path,
    texts: Mapping[str, object],
    isolated: bool = False,
) -> None:
    """Compile files in the folder `place`, or take their objects from the store.

    A file's name, its text and the command must determine its object. If isolated, the files are
    compiled in the sandbox and not stored.
    """
    compiler = object_store.compiler_version(command[0])
    call = [word.replace(str(paths.ROOT), "") for word in (compiler, *command)]
    missing: dict[str, tuple[str, str]] = {}
    for source, text in texts.items():
        name = f"{Path(source).stem}.o"
        key = object_store.key(call, Path(source).name, text)
        found = {} if isolated else object_store.fetch(key)
        if found:
            (place / name).write_bytes(found[name])
        else:
            missing[source] = name, key
    if missing:
        step.compile([*command, "-c", *missing], place, (place,) if isolated else ())
    for name, key in missing.values() if not isolated else ():
        object_store.keep(key, {name: (place / name).read_bytes()})


def _check(stage: Stage, objects: list[Path], judges: list[Path]) -> None:
    """Check that the stage defines all functions under test and keeps to stage.h."""
    defined = {
        name for path in objects for letter, name in stage_contract.symbols(path) if letter == "T"
    }
    for path in objects:
        for letter, name in stage_contract.symbols(path):
            if letter == "U" and name.startswith("bn_") and name not in defined:
                raise _not_built(f"nothing defines {name}, which the tests call")
            # Otherwise a header that renames the adapter's functions could replace the adapter.
            if letter != "U" and name.startswith("tested_") and path.parent.name != BETWEEN:
                message = f"{path.stem}.c defines {name}, a name of the kit's tests; rename it"
                raise NoTestProgramError(Finding("wrong", message, kind=Code.CONTRACT))
    for violation in stage_contract.program_violations(objects, judges, stage.traits.vector):
        message = f"{violation.got}; stage.h allows {violation.expected}"
        raise NoTestProgramError(Finding("wrong", message, kind=Code.CONTRACT))


def _prefix(stage: Stage) -> str:
    place = hashlib.sha256(str(stage.directory).encode()).hexdigest()[:12]
    return f"{stage.number}-{place}-"


def remove(stage: Stage) -> None:
    """Remove the programs of a stage when they are no longer needed."""
    for path in PROGRAMS.glob(f"{_prefix(stage)}*"):
        path.unlink(missing_ok=True)


@dataclass(frozen=True)
class _ProgramBuilder:
    """The compiler and linker of a test program; their errors name the learner's own files."""

    stage: Stage

    def compile(self, command: Sequence[str], place: Path, writes: tuple[Path, ...] = ()) -> None:
        """Run the compiler, in the sandbox if the stage is untrusted."""
        isolated = self.stage.isolated and writes
        room = SandboxView(read=(paths.COMMON, HERE), write=writes) if isolated else None
        ours = None if room else {**os.environ, "LC_ALL": "C"}
        result = sandbox.run(command, COMPILER, room, cwd=place, environment=ours, together=True)
        if result.ended_by == "file":
            raise _not_built(diagnostics.TOO_LARGE)
        if result.ended_by:
            raise _not_built(f"the compiler was stopped: {result.cause}")
        if result.status:
            result.check_host(place)
            raise _not_built(self._said(diagnostics.error_line(result.text)))

    def _said(self, line: str) -> str:
        """Return a compiler message with the paths of the learner's files, and a hint."""
        shown = paths.shown(self.stage.directory)
        line = line.replace(f"{stages.place(self.stage)}/", f"{shown}/")
        if line.startswith(f"{shown}/{ADAPTER.name}:"):
            line = f"{ADAPTER.parent}/{line.removeprefix(f'{shown}/')}"
            line += " (the tests call it so: bignum.h must declare it as in the skeleton)"
        return line.replace(f"{paths.ROOT}/", "")


def _remove_old() -> None:
    """Remove old programs. Another run may remove or use the same files at the same time."""
    for old in PROGRAMS.iterdir():
        try:
            if time.time() - old.stat().st_mtime <= OLD_SECONDS:
                continue
            if old.is_file():
                old.unlink()
            else:
                going = old.rename(old.with_name(f".{old.name}"))
                shutil.rmtree(going, ignore_errors=True)
        except OSError:
            pass


def ask(
    path: Path, requests: Sequence[str], isolated: bool, seconds: int = SECONDS
) -> tuple[list[str], str]:
    """Run the program with requests. Return its answers, one per line, and its fault or "".

    seconds: the limit of processor time for all requests. The exit status does not prove that the
    program handled all requests, so the record at the end of the output is checked, too.
    """
    nonce = test_record.draw()
    result = _run(
        path, test_record.line(nonce) + "".join(f"{r}\n" for r in requests), isolated, seconds
    )
    text, record = test_record.split(result.text)
    answers = text.splitlines()
    checks = [len(request) + 1 for request in requests]
    fault = _last_words(result, seconds=seconds) or test_record.fault(record, nonce, checks)
    if not fault and len(answers) != len(requests):
        fault = f"{len(answers):,} answers to {len(requests):,} questions"
    return answers, fault


def repeat(path: Path, fault: Fault, isolated: bool) -> tuple[str, str]:
    """Run F(n) with one failed allocation or yield.

    Return the caller that requested the failed allocation or yield, and what ended the program,
    or "".
    """
    request = f"{test_record.line(0)}{fault.what}-at {fault.n} {fault.place}\n"
    result = _run(path, request, isolated)
    asked, output = sanitizer_report.asked_for(result.error_text)
    pointer = sanitizer_report.bad_pointer(output)
    if pointer:
        return asked, f"{pointer}{sanitizer_report.place(output)}"
    return asked, _last_words(result, output)


def _run(path: Path, text: str, isolated: bool, seconds: int = SECONDS) -> CommandResult:
    room = SandboxView(program=path) if isolated else None
    environment = OPTIONS if room else {**os.environ, **OPTIONS}
    limits = replace(PROGRAM, wall_seconds=2 * seconds, cpu_seconds=seconds)
    return sandbox.run([path], limits, room, stdin=text.encode(), environment=environment)


_UNMET = re.compile(r"an assertion does not hold \(([\w+-]+\.[ch]):(\d+)\)")


def with_condition(stage: Stage, output: str) -> str:
    """Return a program's fault with the condition of the failed assertion, read from its source.

    The program does not contain the condition, because the module has the same text, and the size
    of the module's constants is limited.
    """
    unmet = _UNMET.search(output)
    path = stage.directory / (unmet[1] if unmet else "")
    if not unmet or path not in stage_module.sources(stage, []):
        return output
    lines = path.read_text(errors="replace").splitlines(keepends=True)
    # The compiler may report the line number of the last line of the call.
    before, call, _ = "".join(lines[: int(unmet[2])]).rpartition("fib_assert(")
    rest, depth = "".join(lines)[len(before) + len(call) :], 1
    for i, sign in enumerate(rest):
        depth += {"(": 1, ")": -1}.get(sign, 0)
        if call and not depth:
            condition = printable(" ".join(rest[:i].split()))
            named = f"the assertion {condition} does not hold ({unmet[1]}:{unmet[2]})"
            return output.replace(unmet[0], named)
    return output


# AddressSanitizer's names for an access outside the allocated blocks.
_OUTSIDE = ("use-after-poison", "heap-buffer-overflow")


def _last_words(result: CommandResult, behind: str = "", seconds: int = SECONDS) -> str:
    """Return what ended a program, from its output or from the given part of the output."""
    if result.ended_by in ("time", "cpu"):
        return f"no answer within {seconds} s: an endless loop?"
    if result.ended_by:
        return f"stopped: {result.cause}"
    if not result.status:
        return ""
    if result.status == -signal.SIGKILL:
        # A submission cannot send a signal, because it has no system calls.
        raise ProgramKilled
    output = behind or result.error_text
    # failures.c prints what fails, and the end of the function in which it fails.
    failures = re.findall(r"^fib: (?:fails: (.*)|ends)$", output, re.MULTILINE)
    if failures and failures[-1]:
        return f"when {failures[-1]}, {_ended(result, output)}"
    return _ended(result, output)


def _ended(result: CommandResult, output: str) -> str:
    """Return what ended a program with an error, from its output."""
    late = re.search(r"^fib: (no answer within \d+ s)$", output, re.MULTILINE)
    if late:  # too_late() in unit_tests.c prints this message
        return f"{late[1]}: an endless loop?"
    much = re.search(r"^fib: (fib_account_work gets .*)$", output, re.MULTILINE)
    if much:  # too_much_work() in account_malloc.c prints this message
        return f"{much[1]}{sanitizer_report.place(output)}"
    assembly = re.search(rf"^{preprocess.WITH.decode()} (\S+:\d+): Assertion failed$", output, re.M)
    if assembly:
        return f"it needs assembly ({assembly[1]}); compute it in plain C there"
    unmet = re.search(r"^(?:\S+/)?(\S+\.[ch]):(\d+): Assertion failed$", output, re.M)
    if unmet:
        return f"an assertion does not hold ({unmet[1]}:{unmet[2]})"
    assertion = re.search(r"(\S+\.[ch]):(\d+): \S+: Assertion `(.*)' failed", output)
    if assertion:
        name = Path(assertion[1]).name
        return f"the assertion {assertion[3]} does not hold ({name}:{assertion[2]})"
    kind = re.search(r"ERROR: AddressSanitizer: (\S+)|runtime error: (.*)", output)
    where = re.search(r"(?:#\d+ \S+ in (\w+) )?(?:\S*/)?(\w+\.[ch]):(\d+)", output)
    if "caused by a WRITE memory access" in output:
        where = re.search(r"#\d+ \S+ in (\w+) (?:\S*/)?(\w+\.[ch]):(\d+)", output)
        place = f" ({where[2]}:{where[3]} in {where[1]})" if where else ""
        return f"a write to an operand, or to unallocated memory{place}"
    if kind and kind[1] in ("heap-use-after-free", "attempting"):
        twice = "a block is freed twice" if kind[1] == "attempting" else kind[1]
        return f"{twice}{sanitizer_report.place(output)}"
    if kind and kind[1] in _OUTSIDE:
        access = re.search(r"^(READ|WRITE) of size", output, re.M)
        verb = f"{access[1].lower()}s" if access else "reaches"
        place = sanitizer_report.place(output)
        return f"it {verb} outside of a block, beyond its end or ahead of it{place}"
    if pointer := sanitizer_report.bad_pointer(output):
        return f"{pointer}{sanitizer_report.place(output)}"
    what = (kind[1] or kind[2]) if kind else f"it ended with status {result.status}"
    return f"{what} ({where[2]}:{where[3]})" if where else what
