# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Check the objects of a stage against the limits of stage.h.

The limits keep a stage from storing values between two calls, from looking up answers in a table,
from replacing a kernel function, and from including other sources. Every section must fit a rule,
and every byte of code must belong to an allowed instruction that leads to code. Anything unknown is
a violation.

The check is not a security boundary, because a module can do anything in the kernel it is loaded
into, and a computed address can lead anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from grader.exercise.files.traits import Traits
from grader.exercise.static_contract import disassembly, elf, object_findings, sections, vector_use
from grader.exercise.static_contract.elf import Object, Symbol
from grader.exercise.static_contract.object_findings import CodeSurvey, ObjectFault

# The symbols of the kernel and of the driver that a stage may use. The stage or the compiler calls
# the first group; the others come from WARN_ON and from the compiler's instrumentation.
ALLOWED_IMPORTS = re.compile(
    r"mem(cpy|set|move|cmp)|fib_(alloc|free|yield|assert_failed)"
    r"|__x86_return_thunk|__x86_indirect_thunk_\w+|__fentry__"
    r"|__stack_chk_(fail|guard)|__ref_stack_chk_guard|fortify_panic"
    r"|__(asan|ubsan|kasan|sanitizer)_\w+|__cond_resched"
)
# The symbols that a stage may use in a program, where the C library handles failed assertions.
PROGRAM_IMPORTS = re.compile(
    r"mem(cpy|set|move|cmp)|fib_(alloc|free|yield|assert_failed)|__stack_chk_fail"
    r"|__(asan|ubsan)_\w+|_GLOBAL_OFFSET_TABLE_"
)
# The functions of a stage that the driver calls; the unit tests also call functions of the adapter
# (bignum_adapter.h).
CONTRACT = re.compile(r"fib_(compute|decimal|limbs|release)")
OPERATIONS = re.compile(
    rf"{CONTRACT.pattern}|tested_(limb_(bytes|digits)|create|call|at|free|limbs|(set_)?size|capacity"
    r"|operate)"
)
# Names that the loader, the linker or build tools act on; a stage must not define them.
SPECIAL_NAMES = re.compile(
    r"__(k(sym|str)tab|crc|mod|param|cfi|SC[TK]|tracepoint|tp|this_module|export|start|stop)_?.*"
    r"|(init|cleanup)_module|_(init|fini|start|end|etext|edata)"
)
# Names that a stage must not define in a program: the kit's own names, names of sanitizers, and
# names of functions of the C library that end a program, do input or output, or allocate memory.
PROGRAM_NAMES = re.compile(
    r"_.*|main|environ|allocator\w*|begin_call|fib_(alloc|free|yield|assert_failed)|"
    + "|".join(
        "abort atexit exit quick_exit raise signal sigaction kill syscall fork vfork system"
        " malloc calloc realloc reallocarray free cfree memalign aligned_alloc posix_memalign"
        " valloc pvalloc malloc_usable_size mmap mmap64 munmap mprotect mremap brk sbrk"
        " printf fprintf dprintf sprintf snprintf vprintf vfprintf vdprintf vsprintf vsnprintf"
        " puts fputs putchar putc fputc fwrite fflush perror setbuf setvbuf setlinebuf stdin stdout"
        " stderr fopen fdopen freopen fclose fread fgets gets getline getdelim getc getchar scanf"
        " fscanf sscanf ungetc read write readv writev open open64 openat close lseek dup dup2 pipe"
        " select poll sigaltstack setrlimit getrlimit ptrace prctl"
        " strlen strnlen strcmp strncmp strcpy strncpy strcat strncat strchr strrchr strstr strtok"
        " strdup strndup strtol strtoul strtoll strtoull strspn strcspn strpbrk memchr memrchr"
        " memmem mempcpy bcopy bzero bcmp".split()
    )
    + r"|(exec|dl|pthread_)\w+"
)


@dataclass(frozen=True)
class SizeLimits:
    """The limits in bytes for all objects of a stage together."""

    constants: int
    code: int


# The limits for a program are larger, because each assertion adds strings and sanitizers add
# padding around variables. The kit's longest stage has 5 KB of constants and 16 KB of code.
PROGRAM_LIMITS = SizeLimits(constants=16 << 10, code=128 << 10)
# The limits of a stage whose manifest has no traits.
DEFAULT_TRAITS = Traits()
# With vector files the limits are larger, because unrolled loops contain many checks.
VECTOR_PROGRAM_LIMITS = SizeLimits(constants=64 << 10, code=512 << 10)
# The segments in which the stack protector's canary is.
KERNELS_CANARY, PROGRAMS_CANARY = "gs", "fs"
# At most this many violations of one kind are shown for an object.
SHOWN = 4
STRANGE = "objects as the compiler makes them"
OFFERED = "only what it offers, memcpy, memmove, memset and memcmp"
# Functions that print. A stage that uses one probably needs help with debugging.
PRINTS = re.compile(
    r"fib_trace_print|_?v?printk\w*|pr_[a-z]+|\w*printf(_chk)?|puts|putchar|fputs|fwrite"
    r"|__dynamic_pr_debug"
)
# The number of refused names that are located in the source, which takes a process for each.
LOCATED = 3
PRINTING = f"{OFFERED}; to print while debugging, use fib_trace of stage.h"
NOT_THE_KERNELS = "names that are not the kernel's"
NOT_THE_PROGRAMS = "names that are not the program's or the C library's"


@dataclass(frozen=True)
class ContractViolation:
    """A part of a stage's objects that the contract does not allow."""

    expected: str
    got: str


def symbols(path: Path) -> list[tuple[str, str]]:
    """Return the names in an object, each with a letter; [] if the file is no object.

    The letter is U for an undefined name, t for a local one, T for a global one, and V for a name
    that the linker may resolve to another object: a weak, common or absolute one.
    """
    try:
        return [(_letter(symbol), symbol.name) for symbol in elf.read(path).symbols if symbol.name]
    except elf.BadObject:
        return []


def _letter(symbol: Symbol) -> str:
    if symbol.section == "UNDEF":
        return "U"
    if symbol.bind == "LOCAL":
        return "t"
    return "T" if symbol.bind == "GLOBAL" and isinstance(symbol.section, int) else "V"


def violations(
    objects: list[Path],
    kit: list[Path],
    instrumented: bool,
    traits: Traits = DEFAULT_TRAITS,
    label: str = "",
    kernels: frozenset[str] = frozenset(),
) -> list[ContractViolation]:
    """Return the violations of the contract in a stage's objects.

    kit is the list of the kit's objects that the stage is linked with. label is the directory name
    that the compiler was given for the stage. If the compiler instruments the code, only variables
    and names are checked, because sections then contain the compiler's data, too. kernels are the
    names that the kernel offers, which the kit's other modules use, too.
    """
    read, found = _read(objects)
    if instrumented:
        found += [violation for obj in read for violation in _variables(obj)]
    else:
        most = SizeLimits(traits.constants, traits.code)
        found += _held(read, sections.MODULE, KERNELS_CANARY, most, label, traits.vector)
    found += _names(read, kit, _offered(NAMES_OF_MODULE, traits.vector), kernels)
    return found


def compared(
    objects: list[Path], vector: tuple[str, ...], program: bool = False
) -> tuple[int, ...]:
    """Return the numbers by which a stage's objects may decide between two methods.

    The tests also use these numbers as n, and as lengths of numbers, because a method may be wrong,
    or slow, from such a number on.

    program: the objects are for a program, and not for a module
    """
    read, _ = _read(objects)
    canary = PROGRAMS_CANARY if program else KERNELS_CANARY
    surveys = (disassembly.read(obj, canary, obj.source in vector) for obj in read)
    return tuple(sorted(set().union(*(survey.compared for survey in surveys))))


def _offered(names: SymbolRules, vector: tuple[str, ...]) -> SymbolRules:
    """Return the rules for names; with vector files, they allow the names of vector.h."""
    if not vector:
        return names
    pattern = f"{names.offered.pattern}|{vector_use.OFFERED.pattern}"
    return replace(names, offered=re.compile(pattern))


def program_violations(
    objects: list[Path], kit: list[Path], vector: tuple[str, ...] = ()
) -> list[ContractViolation]:
    """Return the violations in objects for a program, compiled as in test_program.py.

    The objects are compiled with the sanitizers, without vector registers and jump tables, and not
    yet linked. kit is the list of the kit's objects that they will be linked with.
    """
    read, found = _read(objects)
    most = VECTOR_PROGRAM_LIMITS if vector else PROGRAM_LIMITS
    found += _held(read, sections.PROGRAM, PROGRAMS_CANARY, most, "", vector)
    return found + _names(read, kit, _offered(NAMES_OF_PROGRAM, vector))


def _read(paths: list[Path]) -> tuple[list[Object], list[ContractViolation]]:
    """Read objects. Return the valid ones, and a violation for each invalid one."""
    read, found = [], []
    for path in paths:
        try:
            read.append(elf.read(path))
        except elf.BadObject as error:
            found.append(ContractViolation(STRANGE, f"{path.with_suffix('.c').name}: {error}"))
    return read, found


def _held(
    read: list[Object],
    rows: tuple[sections.SectionRule, ...],
    canary: str,
    most: SizeLimits,
    label: str,
    vector: tuple[str, ...],
) -> list[ContractViolation]:
    """Return the violations in variables, sections and code, and violations of size limits."""
    found: list[ContractViolation] = []
    code, constants = 0, 0
    numbers: dict[int, int] = {}
    of_vectors = vector_use.functions([obj for obj in read if obj.source in vector])
    for obj in read:
        constants += sections.constants(obj, label)
        here = sum(section.size for section in obj.loaded if section.code)
        code += here
        # Code that is far too long is not read, because that would take too long.
        short = here <= 4 * most.code
        swept = (
            disassembly.read(obj, canary, obj.source in vector)
            if short
            else CodeSurvey(whole=False)
        )
        numbers.update(swept.numbers)
        variables = list(_variables(obj))
        found += variables
        found += _faults(obj, sections.faults(obj, rows, swept), swept, bool(variables))
        found += _vector_use(obj, swept, of_vectors, obj.source in vector)
    constants += sum(numbers.values())
    for what, size, bound in (
        ("constants", constants, most.constants), ("code", code, most.code),
    ):  # fmt: skip
        if size > bound:
            got = f"{size:,} bytes of them" if what == "constants" else f"{size:,} bytes of it"
            found.append(ContractViolation(f"at most {bound:,} bytes of {what}", got))
    return found


def _vector_use(
    obj: Object, swept: CodeSurvey, of_vectors: frozenset[str], vector: bool
) -> Iterator[ContractViolation]:
    """Yield the violations in sections that use vector registers, at most SHOWN."""
    if vector:
        for name in vector_use.calls(obj, of_vectors)[:SHOWN]:
            yield ContractViolation(vector_use.IN_VECTOR_FILES, f"a use of {name} in {obj.source}")
    elif of_vectors:
        for fault in vector_use.faults(obj, swept, of_vectors)[:SHOWN]:
            place = obj.place(fault.section, fault.offset)
            yield ContractViolation(fault.expected, f"{fault.got} ({place})")


def _faults(
    obj: Object, held: list[ObjectFault], swept: CodeSurvey, named: bool
) -> Iterator[ContractViolation]:
    """Yield faults as violations for a learner, at most SHOWN of each kind.

    If the parameter named is true, skip writable data, because a violation already names each
    variable.
    """
    count: dict[str, int] = {}
    told: set[tuple[int, int, str]] = set()
    sized = named or any(fault.expected == object_findings.NOTHING_KEPT for fault in held)
    for fault in [*held, *swept.faults]:
        key = fault.section.index, fault.offset, fault.got
        data = fault.expected == object_findings.NOTHING_KEPT and not fault.section.code
        if key in told or (named and data) or (sized and fault.got == object_findings.DATA_USED):
            continue
        told.add(key)
        count[fault.expected] = count.get(fault.expected, 0) + 1
        if count[fault.expected] > SHOWN:
            continue
        place = obj.place(fault.section, fault.offset)
        if fault.section.code:
            yield ContractViolation(fault.expected, f"{fault.got} ({place})")
        else:
            shown = "" if fault.section.name in fault.got else f", section {fault.section.name}"
            yield ContractViolation(fault.expected, f"{fault.got} in {place}{shown}")


def _variables(obj: Object) -> Iterator[ContractViolation]:
    """Yield a violation for each variable that has a name."""
    for symbol in sorted(obj.symbols, key=lambda symbol: symbol.name):
        section = obj.section_of(symbol)
        writable = section is not None and section.writable
        held = writable and symbol.kind not in ("SECTION", "FILE")
        if held or symbol.section == "COMMON" or symbol.kind in ("TLS", "COMMON"):
            yield ContractViolation(
                object_findings.NOTHING_KEPT, f"the variable {symbol.name} in {obj.source}"
            )


@dataclass(frozen=True)
class SymbolRules:
    """Rules for symbol names.

    called are the names that the kit calls, offered the names that a stage may use, and others the
    names that a stage must not define. expected is the text for a violation of the last rule.
    """

    called: re.Pattern[str]
    offered: re.Pattern[str]
    others: re.Pattern[str]
    expected: str


NAMES_OF_MODULE = SymbolRules(CONTRACT, ALLOWED_IMPORTS, SPECIAL_NAMES, NOT_THE_KERNELS)
NAMES_OF_PROGRAM = SymbolRules(OPERATIONS, PROGRAM_IMPORTS, PROGRAM_NAMES, NOT_THE_PROGRAMS)


def _names(
    read: list[Object],
    kit: list[Path],
    names: SymbolRules,
    kernels: frozenset[str] = frozenset(),
) -> list[ContractViolation]:
    """Return a violation for each name that the objects must not use or define."""
    defined: dict[str, str] = {}
    undefined: dict[str, Object] = {}
    odd: list[ContractViolation] = []
    for obj in read:
        for symbol in obj.symbols:
            if symbol.kind in ("SECTION", "FILE") or not symbol.name:
                continue
            if symbol.section == "UNDEF":
                undefined.setdefault(symbol.name, obj)
                continue
            wrong = _odd_symbol(symbol)
            if wrong:
                odd.append(ContractViolation(STRANGE, f"{wrong} {symbol.name} in {obj.source}"))
            if symbol.bind != "LOCAL" or SPECIAL_NAMES.fullmatch(symbol.name):
                defined.setdefault(symbol.name, obj.source)
    wanted = {name for path in kit for letter, name in symbols(path) if letter in "UT"} | kernels
    refused = [
        (name, obj)
        for name, obj in sorted(undefined.items())
        if name not in defined and not names.offered.fullmatch(name)
    ]
    used = [
        ContractViolation(
            PRINTING if PRINTS.fullmatch(name) else OFFERED,
            f"a use of {name}{_meaning(name)} in {obj.use_of(name) if i < LOCATED else obj.source}",
        )
        for i, (name, obj) in enumerate(refused)
    ]
    own = [
        ContractViolation(names.expected, f"a {name} of its own in {source}")
        for name, source in sorted(defined.items())
        if (name in wanted or names.others.fullmatch(name) or names.offered.fullmatch(name))
        and not names.called.fullmatch(name)
    ]
    return used + own + odd


def _meaning(name: str) -> str:
    """Return what in a source makes the compiler call a function that the source does not name."""
    wide = re.fullmatch(r"__u?(div|mod|divmod)ti[34]", name)
    return ", the division of 128 bits, which the kernel does not have," if wide else ""


def _odd_symbol(symbol: Symbol) -> str:
    """Return the kind of a symbol if it is a kind that no stage has, else ""."""
    if symbol.section == "ABS":
        return "the address"
    if symbol.bind not in ("LOCAL", "GLOBAL"):
        return f"the {symbol.bind.lower()} symbol"
    if symbol.kind not in ("NOTYPE", "OBJECT", "FUNC", "TLS", "COMMON"):
        return f"the {symbol.kind.lower()} symbol"
    if not re.fullmatch(r"[A-Za-z_.][\w.$]*", symbol.name, re.ASCII):
        return "the symbol"
    return ""


def includes(path: Path, tree: Path, headers: Sequence[str]) -> list[ContractViolation]:
    """Return a violation for each file in an object that is neither the kernel's nor the stage's.

    headers are the kit's headers that the object may include.
    """
    try:
        text = (path.parent / f".{path.name}.cmd").read_text(errors="replace")
    except OSError:
        return []
    command, _, rest = text.partition("\ndeps_")
    roots = [tree.resolve(), path.parent.parent.resolve()]
    roots += [Path(folder).resolve() for folder in re.findall(r" -I(/\S+)", command)]
    names = re.findall(r"^  ([^\s$]+) \\?$", rest, re.MULTILINE)
    files = ((tree / name).resolve() for name in names)
    return [
        ContractViolation(f"its own files, {', '.join(headers)} and the kernel's headers",
               f"{file} in {path.with_suffix('.c').name}")
        for file in files
        if not any(file.is_relative_to(root) for root in roots)
        or (file.parent.name == "kit" and file.name not in headers)
    ]  # fmt: skip
