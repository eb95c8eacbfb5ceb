# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Check, rewrite and compile a program, C or LLVM IR, for the kernels and as a process."""

from __future__ import annotations

import hashlib
import re
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from electives.kbench import ir, objects, tools
from grader.base import paths
from grader.base.errors import LabError

FOLDER = Path(__file__).parent
MOST_BYTES = 4 << 20  # largest size of a source
# llc's code model by the kernel's architecture; uml loads modules far from its own code.
CODE_MODEL = {"um": "large", "x86": "kernel", "native": "small"}
# Options of clang that omit code which only user space needs. The kit rewrites the resulting IR.
CLANG = "-std=gnu11 -fno-vectorize -fno-slp-vectorize -fno-stack-protector -fcf-protection=none"


@dataclass(frozen=True)
class CompileOptions:
    """The options with which programs are compiled."""

    level: str = "0"  # clang's -O level, for C
    # llc's -O level: 0 shows the effect of a compiler's own optimisations, but spills many
    # registers.
    back_end: str = "0"
    defines: tuple[str, ...] = ()
    sysy: bool = False
    isolated: bool = False  # untrusted submission: run all tools in the sandbox
    # For the handout's experiments.
    red_zone: bool = False
    code_model: str = ""  # code model of the module's object; "" for the default in CODE_MODEL
    endbr: bool = False  # for computers that check the targets of indirect calls


@dataclass(frozen=True)
class Program:
    """A compiled program that a kernel can run."""

    name: str  # the name used in messages
    folder: Path  # holds um.o, x86.o and native
    functions: tuple[str, ...]
    isolated: bool

    @property
    def key(self) -> str:
        """Return the program's name inside a machine."""
        return self.folder.name

    @property
    def native(self) -> Path:
        """Return the path of the executable."""
        return self.folder / "native"


def prepare(path: Path, options: CompileOptions) -> Program:
    """Compile the program, unless it is compiled already. Raise LabError if it is rejected."""
    name = paths.shown(path)
    try:
        if path.stat().st_size > MOST_BYTES:
            raise LabError(f"{name}: larger than {MOST_BYTES >> 20} MB", "give a smaller file")
        source = path.read_bytes()
    except OSError as error:
        raise LabError(f"{name}: {error.strerror}", "give a .c or a .ll file in PROG") from None
    if path.suffix not in (".c", ".ll"):
        raise LabError(f"{name}: neither C nor LLVM IR as text", "give a .c or a .ll file in PROG")
    return _ProgramBuilder(path, name, source, options).program()


def _digest(text: str, options: CompileOptions) -> str:
    own = [path.read_bytes() for path in sorted(FOLDER.glob("native/*"))]
    own += [path.read_bytes() for path in sorted(FOLDER.glob("kernel/s*"))]
    own += [(FOLDER / name).read_bytes() for name in ("ir.py", "objects.py", "program.py")]
    about = repr((text, options, tools.version())).encode()
    return hashlib.sha256(b"".join([about, *own])).hexdigest()[:16]


class _ProgramBuilder:
    """The compilation of one program."""

    def __init__(self, path: Path, name: str, source: bytes, options: CompileOptions) -> None:
        self.path, self.name, self.source, self.options = path, name, source, options
        self.base = paths.BUILD / "kbench" / "programs"
        self.base.mkdir(parents=True, exist_ok=True)

    def program(self) -> Program:
        new = Path(tempfile.mkdtemp(prefix=".new-", dir=self.base))
        try:
            text = self._text(new)
            if why := ir.rejection(text):
                raise LabError(f"{self.name}: {why.problem}", why.action)
            folder = self.base / _digest(text, self.options)
            defined = tuple(function.name for function in ir.functions(text))
            if not (folder / "native").is_file():
                self._make(new, text)
                new.chmod(0o755)
                try:
                    new.rename(folder)
                except OSError:  # another run has made the folder in the meantime
                    pass
        finally:
            shutil.rmtree(new, ignore_errors=True)
        return Program(self.name, folder, defined, self.options.isolated)

    def _tool(self, command: Sequence[str | Path], folder: Path) -> str:
        return tools.must(command, folder, self.options.isolated, self.name)

    def _text(self, new: Path) -> str:
        """Return the program as IR."""
        if self.path.suffix == ".c":
            return self._clang(new)
        try:
            return self.source.decode()
        except UnicodeDecodeError:
            raise LabError(f"{self.name}: not text", "run llvm-dis to make IR of bitcode") from None

    def _clang(self, new: Path) -> str:
        flags = [*CLANG.split(), f"-O{self.options.level}", *self.options.defines]
        source = self.path.absolute()
        if self.options.isolated:
            source = new / "program.c"
            source.write_bytes(self.source)
        result = tools.run(
            ["clang", "-S", "-emit-llvm", *flags, "-o", new / "made.ll", source],
            new,
            self.options.isolated,
        )
        if result.status != 0:
            output = result.error_text
            errors = re.findall(r"^(.*error: .*)$", output, re.MULTILINE)
            line = (errors or output.splitlines() or ["clang failed"])[0]
            line = line.replace(str(source), self.name)
            raise LabError(
                result.cause and f"{self.name}: clang: {result.cause}" or line,
                "correct the program",
            )
        return (new / "made.ll").read_text(errors="replace")

    def _make(self, new: Path, text: str) -> None:
        options = self.options
        (new / "program.ll").write_text(ir.rewritten(text, options.red_zone, options.endbr))
        for target, right in CODE_MODEL.items():
            model = options.code_model if target != "native" else ""
            self._llc(new, text, target, model or right)
        undefined = set(self._tool(["nm", "-u", "--format=posix", new / "x86.o"], new).split()[::2])
        listing = self._tool(
            ["objdump", "-dr", "--no-show-raw-insn", "--section=.text", new / "x86.o"], new
        )
        if why := objects.rejection(listing, undefined, options.sysy):
            raise LabError(f"{self.name}: {why.problem}", why.action)
        shims = objects.replaced(undefined, options.sysy)
        for target in ("um", "x86"):
            self._rename(new, new / f"{target}.o", {**shims, "main": "kbench_main"})
        self._rename(new, new / "native.o", {"main": "kbench_main"})
        sysy = [FOLDER / "kernel/sysy.c"] if options.sysy else []
        gcc: list[str | Path] = [
            "gcc",
            "-O2",
            "-no-pie",
            "-Wl,-z,noexecstack",
            "-o",
            new / "native.new",
        ]
        parts = [FOLDER / "native/runner.c", *sysy, new / "native.o"]
        self._native([*gcc, *parts], new)
        (new / "native.new").rename(new / "native")

    def _native(self, command: Sequence[str | Path], new: Path) -> None:
        read = (FOLDER / "native", FOLDER / "kernel")
        result = tools.run(command, new, self.options.isolated, read)
        if result.status != 0:
            output = result.error_text
            match = re.search(r"undefined reference to `([^']*)'", output)
            what = f"{match[1]} is not in the C library" if match else output.strip()[-200:]
            raise LabError(
                f"{self.name}: as a program it does not link: {what}", "correct the program"
            )

    def _llc(self, new: Path, text: str, target: str, model: str) -> None:
        result = tools.run(
            ["llc", f"-O{self.options.back_end}", f"--code-model={model}",
             "--relocation-model=static", "-mtriple=x86_64-linux-gnu", "--filetype=obj",
             "-o", new / f"{target}.o", new / "program.ll"],
            new,
            self.options.isolated,
        )  # fmt: skip
        if result.status == 0 and not result.ended_by:
            return
        output = result.error_text
        raise self._of_llc(result.cause, output, text)

    def _of_llc(self, cause: str, output: str, text: str) -> LabError:
        if cause:
            return LabError(f"{self.name}: llc: {cause}", "change the program")
        here = f"llc here is of LLVM {tools.version()}"
        if tools.version() < 15 and ir.has_opaque_pointers(text):
            return LabError(
                f"{self.name}: this IR is of LLVM 15 or later (its pointers are ptr), {here}",
                f"compile it with clang {tools.version()}, or with -Xclang -no-opaque-pointers",
            )
        match = re.search(r"program\.ll:(\d+):\d+: error: (.*)", output)
        if match:
            function = ir.function_at(text, int(match[1]))
            inside = f", in {function}" if function else ""
            return LabError(
                f"{self.name}:{match[1]}{inside}: {match[2]} ({here})",
                "correct the IR, or make it with that version",
            )
        inline = re.search(r"error: (.*)", output)
        fault = inline[1] if inline else (output.strip().splitlines() or ["it failed"])[-1]
        named = re.search(r"function '@?([^']+)'", output)
        inside = f"{named[1]}: " if named else ""
        return LabError(f"{self.name}: {inside}{fault[:200]} ({here})", "change the program")

    def _rename(self, new: Path, path: Path, names: dict[str, str]) -> None:
        """Rename symbols to their shims, and make all symbols local except main."""
        table = new / f"{path.stem}.names"
        table.write_text("".join(f"{old} {name}\n" for old, name in names.items()))
        self._tool(["objcopy", f"--redefine-syms={table}", path], new)
        self._tool(["objcopy", "--keep-global-symbol=kbench_main", path], new)
