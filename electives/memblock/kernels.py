# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Get the kernel source, and build its memblock tests in three ways.

The commands that compile and link everything come from the kernel's Makefile; variants are compiled
and linked with the same commands.
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from electives import source_folder
from grader.base import paths, scratch, test_record
from grader.base.errors import LabError
from grader.base.progress import Progress
from grader.lab import allowed_c, module
from grader.sandbox import CommandResult, ResourceLimits, SandboxView, run

HERE = Path(__file__).resolve().parent
HARNESS = HERE / "harness"
TESTS = Path("tools/testing/memblock")
PASSED = "passed"  # file next to a variant's programs with the number of tests that must pass
# No limit on the address space, because the address sanitizer reserves terabytes. Compiling takes
# only a few seconds.
COMPILE = ResourceLimits(wall_seconds=300, cpu_seconds=120)


@dataclass(frozen=True)
class Way:
    """A way to build the kernel's tests: variables of make, and the kit's program to link."""

    name: str
    says: str
    variables: tuple[str, ...]
    program: str
    sources: tuple[str, ...]  # sources of the program, in harness/
    link: tuple[str, ...] = ()

    main: tuple[str, ...] = ()  # sources in harness/ to link with the kernel's own tests
    link_main: tuple[str, ...] = ()
    told: bool = False  # whether the harness is told when an array has moved


# The builds with the sanitizers of the kernel's Makefile.
RANDOM = ("random", "compare", "operations", "model", "unused")
RECORD = (("kernels_tests",), ("-Wl,--wrap=main,--wrap=test_pass",), True)
UMA = Way("uma", "NUMA off", (), "random", RANDOM, (), *RECORD)
# The most nodes that a kernel for x86 can have, instead of 16. "No node" is the number after them.
NODES = "TARGET_ARCH=-U CONFIG_NODES_SHIFT -D CONFIG_NODES_SHIFT=10"
NUMA = Way("numa", "NUMA on", ("NUMA=1", NODES), "random", RANDOM, (), *RECORD)
# The build for counting has no sanitizers, because valgrind does not support them.
PLAIN = Way(
    "plain",
    "NUMA off, no sanitizers",
    ("TARGET_ARCH=-fno-sanitize=all -g",),
    "states",
    ("states", "aligned"),
    ("-fno-sanitize=all", "-Wl,--wrap=malloc"),
    ("aligned",),
)
PLAIN_NUMA = replace(
    PLAIN, name="plain-numa", says="NUMA on, no sanitizers", variables=("NUMA=1", *PLAIN.variables)
)


def source() -> Path:
    """Return the needed part of the kernel source in the cache; unpack it if it is missing."""
    completed = subprocess.run([str(paths.SCRIPTS / "memblock-source.sh")], stdout=subprocess.PIPE)
    scratch.check_stopped()
    if completed.returncode:
        raise LabError("there is no kernel source to work on", "follow the message above")
    return Path(completed.stdout.decode().strip())


def version(kernel: Path) -> str:
    """Return the kernel's version as "Linux x.y.z"."""
    return (kernel / "version").read_text().strip()


def complaint(output: str) -> str:
    """Return the most important line of a compiler's or linker's output."""
    found = re.search(r"^.*(?:error:|undefined reference|\*\*\*).*$", output, re.MULTILINE)
    return (
        found[0].strip() if found else (output.strip().splitlines() or ["it printed nothing"])[-1]
    )


class VariantNotBuiltError(LabError):
    """A variant does not compile. The problem is the compiler's first error."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem, "correct the source")


# tools/lib/slab.c implements kmalloc() by malloc(), but no kernel has it as early as memblock.
SLAB, EARLY_SLAB = "slab.o", "early_slab"
# The kernel's own limit on 64 bits. The sanitizers' larger stack frames must not exceed it, either.
STACK = ("-Werror=frame-larger-than=2048", "-Werror=vla", "-Werror=alloca")
# No jump through a table, because the contract allows no jump through a pointer.
NO_TABLES = "-fno-jump-tables"
# The stack holds no code, not even that of nested functions, because callgrind counts the
# instructions by file, and code on the stack belongs to none.
DATA_STACK = "-Wl,-z,noexecstack"


@dataclass(frozen=True)
class BuiltTests:
    """The kernel's tests, built in one way; variants are linked with their objects."""

    way: Way
    folder: Path  # tools/testing/memblock in the copied tree
    compile: tuple[str, ...]  # command that compiles memblock.o; run in folder
    link: tuple[str, ...]  # command that links main
    passed: int  # number of the kernel's tests that pass with its own function

    def compiler(self, *arguments: str) -> tuple[str, ...]:
        """Return the compiler call with the flags of memblock.o and these arguments."""
        flags = self.compile[: self.compile.index("-c")]
        return (*flags, *arguments)

    def run(self, command: Sequence[str], what: str, out: Path | None = None) -> None:
        """Run a compiler. Raise VariantNotBuiltError if it fails.

        out: the folder for the results; untrusted sources are compiled in the sandbox.
        """
        room = None
        if out and source_folder.submission():
            room = SandboxView(read=(self.folder.parents[len(TESTS.parts) - 1],), write=(out,))
        ours = None if room else _environment()
        result = run(command, COMPILE, room, cwd=self.folder, environment=ours, together=True)
        if result.status:
            result.check_host(out or self.folder)
            raise VariantNotBuiltError(f"{what} does not compile: {complaint(result.text)}")
        if result.status is None:
            raise VariantNotBuiltError(f"{what} does not compile: {result.cause}")

    def _refused(self, own: str, name: str, out: Path) -> str:
        """Return a line that depends on the sanitizers or is not allowed, or ""."""
        texts = []
        for flag in ("-fsanitize=address,undefined", "-fno-sanitize=all"):
            made = out / "memblock.i"
            self.run(self.compiler(flag, "-E", "-o", str(made), str(out / "memblock.c")), name, out)
            texts.append(made.read_text(encoding="utf-8", errors="surrogateescape"))
        sanitized, plain = texts
        return (
            allowed_c.differing(sanitized, plain, own)
            or allowed_c.first_refused(sanitized, own)
            or _not_c(sanitized, own)
        )

    def objects(self) -> list[str]:
        """Return the objects that memblock.o needs, without the tests."""
        own = [word for word in self.link if word.endswith(".o")]
        return [o for o in own if o not in ("main.o", "memblock.o") and not o.startswith("tests/")]

    def variant(self, text: str, name: str, out: Path, where: str = "") -> None:
        """Build the tests' main and the kit's program in out, with this mm/memblock.c.

        text: the content of mm/memblock.c. where: the file that #line names for lines that are not
        the kernel's.
        """
        out.mkdir(parents=True, exist_ok=True)
        made = str(out / "memblock.o")
        (out / "memblock.c").write_text(text, encoding="utf-8")
        if where and (message := self._refused(where, name, out)):
            raise VariantNotBuiltError(message)
        compile_ = self.compiler(*STACK, NO_TABLES, "-c", "-o", made, str(out / "memblock.c"))
        self.run(compile_, name, out)
        main = [made if word == "memblock.o" else word for word in self.link]
        main[main.index("-o") + 1] = str(out / "main")
        beside = [f"{source}.o" for source in self.way.main]
        self.run([*main, *beside, *self.way.link, *self.way.link_main, DATA_STACK], name, out)
        own = [f"{source}.o" for source in self.way.sources]
        program = (DATA_STACK, "-o", str(out / self.way.program))
        self.run(self.compiler(*own, made, *self.objects(), *self.way.link, *program), name, out)
        (out / PASSED).write_text(f"{self.passed}\n")


# Assembly and sections, which could contain valgrind's client request that stops counting;
# instructions and address spaces whose accesses the sanitizer does not check; and the place of a
# return address.
NOT_C = re.compile(
    r"_*(?:asm|section)_*|__seg_[fg]s|__builtin_(?:ia32_\w+|frame_address|eh_return|longjmp)"
)


def _not_c(text: str, own: str) -> str:
    """Return an error for the first construct of a file that is not plain C, or ""."""
    for token in allowed_c.tokens(text, own):
        if NOT_C.fullmatch(token.text):
            return f"{token.file}:{token.line}: {token.text} is not allowed here; write it in C"
    return ""


def _environment() -> dict[str, str]:
    return module.environment()


def _key(kernel: Path) -> str:
    output = subprocess.run(
        ["gcc", "--version"], capture_output=True, text=True, env=_environment()
    )
    digest = hashlib.sha256(output.stdout.encode())
    shared = [test_record.INCLUDE / name for name in test_record.HEADERS]
    for path in [*sorted(HARNESS.iterdir()), Path(__file__), *shared]:
        digest.update(path.read_bytes())
    return f"{kernel.name}-{digest.hexdigest()[:8]}"


def place(kernel: Path) -> Path:
    """Return the folder for everything that is built from this kernel source."""
    return paths.BUILD / "memblock" / _key(kernel)


def tests(kernel: Path, way: Way, progress: Progress) -> BuiltTests:
    """Return the kernel's tests with its own memblock.c; build them if they are missing."""
    target = place(kernel) / way.name
    if not (target / "commands.json").is_file():
        progress.step(f"build the tests of Linux {version(kernel)}, {way.says}")
        target.parent.mkdir(parents=True, exist_ok=True)
        half_made = Path(tempfile.mkdtemp(prefix=".half-", dir=target.parent))
        try:
            _build(kernel, way, half_made / "tree")
            if not target.exists():  # another run may have made the target meanwhile
                (half_made / "tree").rename(target)
        finally:
            shutil.rmtree(half_made, ignore_errors=True)
    commands = json.loads((target / "commands.json").read_text())
    compile_, link, passed = (commands[name] for name in ("compile", "link", "passed"))
    return BuiltTests(way, target / TESTS, tuple(compile_), tuple(link), passed)


def _make(folder: Path, *arguments: str) -> str:
    command = ["make", *arguments]
    result: CommandResult = run(
        command, COMPILE, cwd=folder, environment=_environment(), together=True
    )
    if result.status:
        result.check_host(folder)
        raise LabError(
            f"the kernel's tests do not build: {complaint(result.text)}",
            "set KSRC to another source",
        )
    if result.status is None:
        raise LabError(f"the kernel's tests do not build: {result.cause}", "run the command again")
    return result.text


def _build(kernel: Path, way: Way, tree: Path) -> None:
    shutil.copytree(kernel, tree, symlinks=True)
    folder = tree / TESTS
    _make(folder, *way.variables, "main")
    # Without -o include, make would rebuild everything, because the target include is always out of
    # date.
    asked = ("-n", "-o", "include", *way.variables)
    compile_ = _command(_make(folder, *asked, "-W", "memblock.c", "memblock.o"), "-c")
    link = _command(_make(folder, *asked, "-W", "main.o", "main"), "main.o")
    link = tuple(f"{EARLY_SLAB}.o" if word == SLAB else word for word in link)
    passed = _passed(folder) if way.link_main else 0
    made = BuiltTests(way, folder, compile_, link, passed)
    # The sanitizers examine the judged function, and make these files several times slower.
    flags = ("-fno-sanitize=all", "-iquote", str(HARNESS), "-iquote", str(test_record.INCLUDE))
    for source_ in dict.fromkeys((*way.sources, *way.main, EARLY_SLAB)):
        path = HARNESS / f"{source_}.c"
        made.run(made.compiler(*flags, "-c", "-o", f"{source_}.o", str(path)), path.name)
    commands = {"compile": compile_, "link": link, "passed": passed}
    (tree / "commands.json").write_text(json.dumps(commands), encoding="utf-8")


def _passed(folder: Path) -> int:
    """Return the number of the kernel's tests that pass with the kernel's own function."""
    quiet = {**_environment(), "ASAN_OPTIONS": "detect_leaks=0"}
    result = run([folder / "main", "-v"], COMPILE, environment=quiet)
    passed = len(re.findall(rb"^ok \d+", result.output, re.MULTILINE))
    if result.status or not passed:
        raise LabError(
            "the kernel's own tests fail with the kernel's own function",
            "set KSRC to another source",
        )
    return passed


def _command(listing: str, word: str) -> tuple[str, ...]:
    """Return the command that contains a word from the commands that make would run."""
    for line in listing.splitlines():
        words = shlex.split(line)
        if word in words:
            return tuple(words)
    raise LabError(
        "make does not print how the kernel's tests are compiled", "set KSRC to another source"
    )
