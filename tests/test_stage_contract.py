# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test which objects violate the contract, the text of each violation, and permitted objects."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from grader.base import paths
from grader.exercise.build import c_flags, preprocess, stage_module
from grader.exercise.files import stages
from grader.exercise.operations import test_program
from grader.exercise.static_contract import stage_contract
from grader.lab.module import Kernel

FLAGS = (
    "-std=gnu11 -O2 -g -w -c -fno-builtin -mgeneral-regs-only -fno-pie -fno-common"
    " -fno-asynchronous-unwind-tables -fno-strict-aliasing -fcf-protection=none"
).split()
# Compiler flags of a module for User-Mode Linux, and of a module for a distribution's kernel.
KERNELS = {
    "um": ["-mcmodel=large", "-fno-stack-protector"],
    "x86": (
        "-mcmodel=kernel -mno-red-zone -mindirect-branch=thunk-extern -mindirect-branch-register"
        " -mfunction-return=thunk-extern -fno-jump-tables -pg -mrecord-mcount -mfentry"
        " -fstack-protector-strong -mstack-protector-guard-reg=gs -mstack-protector-guard-offset=40"
    ).split(),
}
DATA = "no writable static data"
ANY = "long f(void) { return 1; }"


def compiled(
    folder: Path, source: str, kernel: str = "x86"
) -> list[stage_contract.ContractViolation]:
    """Compile the source as a stage's object and return its contract violations."""
    (folder / "fib.c").write_text(source)
    command = ["gcc", *FLAGS, *KERNELS[kernel], "-o", "fib.o", "fib.c"]
    subprocess.run(command, cwd=folder, check=True)
    return stage_contract.violations([folder / "fib.o"], [], instrumented=False)


def first(found: list[stage_contract.ContractViolation]) -> str:
    assert found
    return f"{found[0].got}; stage.h allows {found[0].expected}"


def pushed(section: str, flags: str, content: str) -> str:
    """Return a source with one correct function and a section written in assembly."""
    return f'asm(".pushsection {section},\\"{flags}\\"\\n{content}\\n.popsection"); {ANY}'


def assembly(text: str, before: str = "") -> str:
    """Return a source with one function that runs these instructions."""
    operands = ' : "+r"(r), "+r"(a) : : "memory", "rax", "rcx", "rdx"'
    return f'{before} long f(long a) {{ long r = 0; asm volatile("{text}"{operands}); return r; }}'


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("int kept; int f(void) { return kept++; }", "kept"),
        ("static int kept; int f(void) { return kept++; }", "kept"),
        ("int f(void) { static int kept = 5; return kept++; }", "kept"),
        ("static int kept[9] = {1}; int f(int i) { return kept[i]++; }", "kept"),
        ('int kept __attribute__((section(".mine"))); int f(void) { return kept++; }', "kept"),
        ("int kept __attribute__((weak)) = 1; int f(void) { return kept++; }", "kept"),
        ("int kept __attribute__((common)); int f(void) { return kept++; }", "kept"),
        ("static int __UNIQUE_ID_mine = 1; int f(void) { return __UNIQUE_ID_mine++; }", "__UNIQUE"),
        ('static long kept[9] __attribute__((section(".rodata.k,\\"aw\\"#"))) = {1};'
         "long f(int i) { return kept[i]++; }", "kept"),
        ('asm(".lcomm kept, 64"); int f(void) { return 1; }', "kept"),
    ],
)  # fmt: skip
def test_static_data_is_a_violation(tmp_path: Path, source: str, name: str, kernel: str) -> None:
    (violation,) = compiled(tmp_path, source, kernel)[:1]
    assert violation.got.startswith(f"the variable {name}") and violation.got.endswith(" in fib.c")
    assert violation.expected.startswith(DATA)


REFUSED = {
    # These sources have data and tables without a symbol, in sections of all kinds.
    "data": (pushed(".data", "aw", ".quad 0"), f"8 bytes of it in fib.c, section .data.*{DATA}"),
    "note": (pushed(".note.x", "aw", ".quad 0"), "8 bytes of it in fib.c, section .note.x"),
    "debug": (pushed(".debug_mine", "aw", ".quad 0"), "8 bytes of it .*section .debug_mine"),
    "mine": (pushed("mine", "a", ".quad 1"), "a section mine in fib.c; .*code and constants only"),
    "note-read": (pushed(".note.x", "a", ".quad 1"), "a section .note.x in fib.c"),
    "group": (pushed(".rodata.x", "aG", ".quad 1").replace('aG\\"', 'aG\\",@progbits,g,comdat'),
              "a section .group in fib.c"),
    "kept": (f"static const long t[4] __attribute__((retain, used)) = {{1}}; {ANY}",
             "an odd section .rodata.t"),
    "aligned": ("const char c[1] __attribute__((aligned(4096))) = {1};", "an odd section .rodata"),
    "table": ("const long f[94] = { 1, 1, 2 };", "^752 bytes of them; .*at most 512 bytes of"),
    "text": (f'const char *f(int i) {{ return "{"x" * 600}" + i; }}', "^601 bytes of them"),
    "long": (f'asm(".fill 40000, 1, 0x90"); {ANY}', "^40,0.. bytes of it; .*at most 32,768 bytes"),
    # These sources have sections that the loader, objtool or modpost process.
    "modinfo": (pushed(".modinfo", "a", ".asciz \\\"license=x\\\""), "a section .modinfo"),
    "modinfo-unloaded": (pushed(".modinfo", "", ".asciz \\\"license=x\\\""), "a section .modinfo"),
    "ksymtab": (pushed("___ksymtab+f", "a", "__ksymtab_f: .long 0"), "a section ___ksymtab"),
    "export": (pushed(".export_symbol", "", ".long 1"), "a section .export_symbol"),
    "init": (f'__attribute__((section(".init.text"))) {ANY}', "a section .init.text"),
    "module": (pushed(".gnu.linkonce.this_module", "aw", ".quad 1"), f"8 bytes of it .*{DATA}"),
    "patch": (pushed(".altinstructions", "a", ".fill 14"), "a section .altinstructions"),
    "fixup": (pushed("__ex_table", "a", ".long 0, 0, 0"), "a section __ex_table"),
    "keys": (pushed("__jump_table", "aw", ".quad 0, 0"), "16 bytes of it .*section __jump_table"),
    "orc": (pushed(".orc_unwind", "a", ".fill 60"), "a table for unwinding that does not fit"),
    "mcount": (pushed("__mcount_loc", "a", ".quad 1"), "a table of places that are not in its"),
    "returns": (pushed(".return_sites", "a", "1: .long f - 1b"), "a table of places"),
    "entries": (pushed("__patchable_function_entries", "aw", ".quad 1"), "a table of places"),
    "constructor": (pushed(".init_array", "aw", ".quad f"), "constructor .*section .init_array"),
    "destructor": (pushed(".dtors", "aw", ".quad f"), "a constructor or destructor in fib.c"),
    "bugs": (pushed("__bug_table", "aw", ".fill 12"), f"12 bytes of it .*{DATA}"),
    "ud2": (assembly("ud2"), "^the instruction ud2 \\(fib.c:1 in f\\)"),
    "caller": ("long f(void) { return ((long *)__builtin_frame_address(0))[1]; }",
               "^an access to the return address on the stack .*depend on the caller"),
    "popped": (assembly("pop %1\\npush %1"), "^an access to the return address on the stack"),
    # These sources disguise data as code.
    "quad": (assembly("mov .Lt(,%1,8), %0", 'asm(".Lt: .quad 1, 1, 2, 3, 5, 8");'),
             "bytes that are no instruction|reads code as data|no path reaches"),
    "behind": (f'{ANY} asm(".text\\n.subsection 5\\n.long 1, 2, 3, 4\\n.text");',
               "16 bytes in the code that no path reaches"),
    "array": ('static const long t[9] __attribute__((section(".text#"))) = {1, 1};'
              "long f(int i) { return t[i]; }", "the instruction mov that reads code as data"),
    "middle": (assembly("jmp 1f + 1\\n1: mov $0x310f, %%eax"),
               "^a jump into the middle of an instruction \\(fib.c:1 in f\\)"),
    "opcode": (assembly(".long fib_alloc"), "an address within an opcode|no instruction"),
    "twice": (assembly("1: mov $0, %%eax\\n.reloc 1b + 1, R_X86_64_32, fib_alloc\\n"
                       ".reloc 1b + 1, R_X86_64_32, fib_free"), "^fib.c: relocations .*overlap"),
    "nop": (assembly(".byte 0x0f, 0x1f, 0x80\\n.long 0x12345678"), "a nop with a number in it"),
    # These sources read or write outside of the stage's own data.
    "constant": ("static const long k = 5; long f(void) { return (*(volatile long *)&k)++; }",
                 f"that writes to constants .*{DATA}"),
    "code": ("long f(long a) { *(volatile long *)&f = a; return 1; }", "that writes to code"),
    "read": ("void memcpy(void); long f(void) { return *(long *)memcpy; }", "functions of others"),
    "beside": ("static const long t[4] = {1}; long f(void) { return ((volatile long *)t)[512]; }",
               "an address 4,064 bytes behind its own constants"),
    "beside-name": ("extern char fib_alloc[]; static char *const t[] = {fib_alloc + 9};"
                    "char *f(int i) { return t[i]; }", "a constant that is a distance|fib_alloc.9"),
    "absolute": ("long f(void) { return *(volatile long *)0xffffffff81000000; }",
                 "the instruction mov at an absolute address"),
    "once": ('static _Bool k __attribute__((section(".data.once")));'
             "int f(int a) { k = a; return 1; } int g(void) { return k; }", "the variable k"),
    # Symbol names.
    "alias": ('asm(".globl z\\n.set z, 0xffffffff81000000"); extern int z(void);'
              "int f(void) { return z(); }", "the address z"),
    "weak": ("__attribute__((weak)) void *fib_alloc(void *c, long a) { return c; }",
             "a fib_alloc of its own in fib.c; .*names that are not the kernel's"),
    "own-memcpy": ("void *memcpy(void *a, void *b) { return b; }", "a memcpy of its own in fib.c"),
    "ifunc": (f'void *r(void) {{ return 0; }} int g(void) __attribute__((ifunc("r"))); {ANY}',
              "the loos symbol g"),
    "version": (f'{ANY} asm(".symver f, f@@V1");', "the symbol f@@V1"),
    "crc": ('asm(".set __crc_f, 5"); ' + ANY, "a __crc_f of its own"),
    "thread": ("static __thread int t; int f(void) { return t++; }", "a relocation of type 23"),
    "got": (assembly("mov fib_alloc@GOTPCREL(%%rip), %0", "extern char fib_alloc[];"),
            "_GLOBAL_OFFSET_TABLE_"),
}  # fmt: skip


# With the code model of user-mode Linux, these sources load an address into a register first. The
# check does not follow addresses in registers; submissions are judged in QEMU.
NOT_FOR_UM = ("array", "constant")


@pytest.mark.once
# The two kernels differ in compiler flags only, so the quick test run uses one of them.
@pytest.mark.parametrize(
    ("kernel", "name"),
    [
        pytest.param(kernel, name, marks=[pytest.mark.long] if kernel != "x86" else [])
        for kernel in KERNELS
        for name in REFUSED
        if kernel == "x86" or name not in NOT_FOR_UM
    ],
)
def test_what_is_refused(tmp_path: Path, kernel: str, name: str) -> None:
    source, says = REFUSED[name]
    found = compiled(tmp_path, source, kernel)
    lines = [f"{b.got}; stage.h allows {b.expected}" for b in found]
    assert any(re.search(says, line) for line in lines), lines
    assert len(found) <= 5


def test_a_table_byte_by_byte_is_too_long(tmp_path: Path) -> None:
    """A table cannot be hidden in immediate bytes, because the size of the code is limited too."""
    rows = []
    a, b = 0, 1
    for n in range(94):
        parts = [f"shl $8, %0\\n\\tor ${byte}, %0" for byte in a.to_bytes(8, "big").lstrip(b"\0")]
        text = "\\n\\t".join(["xor %k0, %k0", *parts])
        rows.append(f'case {n}: asm("{text}" : "=r"(r)); break;')
        a, b = b, a + b
    source = f"long f(long n) {{ long r = 0; switch (n) {{ {' '.join(rows)} }} return r; }}"
    (tmp_path / "fib.c").write_text(source)
    command = ["gcc", *FLAGS, *KERNELS["x86"], "-o", "fib.o", "fib.c"]
    subprocess.run(command, cwd=tmp_path, check=True)
    traits = stages.known()[2].traits
    (violation,) = stage_contract.violations([tmp_path / "fib.o"], [], False, traits)
    assert re.fullmatch(r"\d,\d{3} bytes of it", violation.got), violation
    assert violation.expected == "at most 2,048 bytes of code"


@pytest.mark.parametrize(
    "text",
    ["rdtsc", "rdtscp", "cpuid", "cli", "hlt", "int $0x80", "int1", "syscall", "iretq", "swapgs",
     "popf", "std", "in %%dx, %%al", "mov %%cr0, %0", "mov %%ds, %0", "mov %%eax, %%gs", "wrmsr",
     "push %%fs", "lock incq (%1)", "xacquire lock incq (%1)", "lcall *(%1)", "rex.w lcall *(%1)",
     "lret", "mov %%gs:0x1fbc0, %0", "mov %0, %%gs:0x28", "push %%gs:0x28", "mov %%fs:0x28, %0",
     "mov %%gs:(%1), %0", "xgetbv", "rdrand %0", "rdgsbase %0", "pause", "enter $0, $0", "stac",
     "cmpxchg %0, (%1)", "clflush (%1)", "data16 rex.w jmp .", "movabs 0xffffffff81000000, %%rax",
     ".byte 0x67, 0x8b, 0", ".byte 0x48, 0x65, 0x48, 0x8b, 4, 0x25, 0x28, 0, 0, 0", "ud1 %0, %1"],
)  # fmt: skip
def test_odd_instructions_are_a_violation(tmp_path: Path, text: str) -> None:
    assert re.search(r"\(fib\.c:1 in f\)|\(fib\.c", first(compiled(tmp_path, assembly(text))))


@pytest.mark.parametrize(
    "text",
    ["movq %0, %%xmm0", "pxor %%xmm1, %%xmm1", "fld1", "emms", "vzeroupper", "cvtsi2sd %0, %%xmm0",
     "vpaddd %%ymm0, %%ymm1, %%ymm2", "kmovw %%k0, %%k1", "movd %%mm0, %%eax"],
)  # fmt: skip
def test_vectors_are_a_violation(tmp_path: Path, text: str) -> None:
    said = first(compiled(tmp_path, assembly(text)))
    assert "(fib.c:1 in f); stage.h allows integer arithmetic only" in said


@pytest.mark.parametrize("function", ["kmalloc", "_printk", "ktime_get", "filp_open"])
def test_other_functions_are_a_violation(tmp_path: Path, function: str) -> None:
    (violation,) = compiled(tmp_path, f"void {function}(void); void f(void) {{ {function}(); }}")
    assert violation.got == f"a use of {function} in f (fib.c:1)"
    assert ("fib_trace" in violation.expected) == (function == "_printk")


def test_a_function_of_the_kernel_is_not_the_stages_to_define(tmp_path: Path) -> None:
    (tmp_path / "driver.c").write_text("void _printk(void); void d(void) { _printk(); }")
    (tmp_path / "fib.c").write_text("void _printk(void) {}")
    for name in ("driver.c", "fib.c"):
        subprocess.run(["gcc", *FLAGS, name], cwd=tmp_path, check=True)
    (violation,) = stage_contract.violations([tmp_path / "fib.o"], [tmp_path / "driver.o"], False)
    assert violation.got == "a _printk of its own in fib.c"


def test_what_is_no_object_is_a_violation(tmp_path: Path) -> None:
    (tmp_path / "fib.o").write_bytes(b"\x7fELF no more")
    (violation,) = stage_contract.violations([tmp_path / "fib.o"], [], False)
    assert violation.got.startswith("fib.c: ")
    assert stage_contract.symbols(tmp_path / "fib.o") == []


ALLOWED = {
    "offered": """
        void *fib_alloc(void *, unsigned long, unsigned long); void fib_free(const void *);
        int fib_yield(void *); void *memcpy(void *, const void *, unsigned long);
        static const int table[] = { 1, 2, 3 };
        static int other(int i) { return table[i - 1]; }
        int f(char *a, char *b, int i)
        {
            memcpy(a, b, 9 + i); fib_free(fib_alloc(a, 1, 1)); return fib_yield(a) + other(i);
        }""",
    "switch": """long f(int n, long a) { switch (n) { case 0: return a * 3; case 1: return a / 7;
        case 2: return a - 1; case 3: return a * a; case 4: return a + 9; case 5: return ~a; }
        return 0; }""",
    "functions": """static int a(int x) { return x + 1; } static int b(int x) { return x * 2; }
        static int (*const t[])(int) = { a, b }; int f(int i, int x) { return t[i & 1](x); }""",
    "cold": """extern int fib_yield(void *);
        __attribute__((cold, noinline)) static int c(int a) { return fib_yield(0) + a; }
        int f(int a) { return __builtin_expect(a > 5, 0) ? c(a) : a; }""",
    "carries": assembly("1: mov (%1), %0\\nadc %0, (%1)\\nlea 8(%1), %1\\ndec %%ecx\\njnz 1b"),
    "wide": """unsigned long f(unsigned long *c, const unsigned long *a, long n, unsigned long b)
        { unsigned long k = 0; for (long i = 0; i < n; i++) {
          unsigned __int128 p = (unsigned __int128)a[i] * b + c[i] + k; c[i] = p; k = p >> 64; }
          return k; }""",
    "bmi": assembly("mulx %0, %%rax, %%rcx\\nadcx %0, %1\\nadox %0, %1\\npopcnt %0, %1\\n"
                    "tzcnt %0, %1\\nlzcnt %0, %1\\nshlx %0, %1, %0\\npdep %0, %1, %0"),
    "register-again": assembly("movabs $fib_alloc, %%r15\\ncall *%%r15\\nbsr %1, %%r15\\n"
                               "movabs $fib_free, %%r14\\ncall *%%r14\\nimul $5, %1, %%r14"),
    "arguments": """long fib_yield(void *); long f(long a, long b, long c, long d, long e, long g,
        long h, long *i)
        { long v[a]; v[b] = h; *i = fib_yield(v) + d * e; return v[c] + g + *i; }""",
    "strings": "struct s { long a[64]; }; void f(struct s *a, struct s *b) { *a = *b; }",
    "digits": """static const char d[201] = "00010203040506070809101112131415161718192021";
        void f(char *o, unsigned v) { do { o[0] = d[2 * (v % 100)]; o += 2; } while (v /= 100); }
        void g(char *o) { for (int i = 0; i < 200; i++) o[i] = d[i]; }""",
    "stack": """void *memset(void *, int, unsigned long);
        char f(int n) { char b[64]; memset(b, 0, 64); for (int i = 0; i < n; i++) b[i] = i;
        return b[n & 7]; }""",
}  # fmt: skip


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("source", ALLOWED.values(), ids=ALLOWED.keys())
def test_what_the_contract_allows(tmp_path: Path, source: str, kernel: str) -> None:
    assert compiled(tmp_path, source, kernel) == []


def program(
    folder: Path, sources: list[Path], *flags: str, vector: tuple[str, ...] = ()
) -> list[stage_contract.ContractViolation]:
    """Compile the sources as test_program.py does and return their contract violations."""
    includes = [f"-I{paths.COMMON}", f"-I{paths.COMMON / 'userspace'}"]
    for source in sources:
        registers = c_flags.vector() if source.name in vector else (c_flags.INTEGERS_ONLY,)
        subprocess.run(
            ["gcc", *test_program.FLAGS, *registers, "-fno-jump-tables", "-w", "-c",
             "-DFIBDRV_MAX_N=93", "-DFIBDRV_STAGE=1", *includes, *flags,
             "-o", str(folder / f"{source.stem}.o"), str(source)],
            check=True,
        )  # fmt: skip
    return stage_contract.program_violations([folder / f"{s.stem}.o" for s in sources], [], vector)


@pytest.mark.once
@pytest.mark.parametrize("stage", stages.find(paths.STAGES), ids=lambda stage: stage.key)
def test_stages_as_programs(stage: stages.Stage, tmp_path: Path) -> None:
    sources = sorted(stage.directory.glob("*.c"))
    assert program(tmp_path, sources, vector=stage.traits.vector) == []


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("static int kept; int f(void) { return kept++; }", "the variable kept in fib.c"),
        ("__attribute__((constructor)) void c(void) { fib_free(0); }", "a constructor or"),
        ("__attribute__((constructor(99))) void c(void) { fib_free(0); }", "the constructor c in"),
        ('asm(".pushsection .data\\n.Lk: .quad 0\\n.popsection"); long f(void)'
         '{ asm volatile("incq .Lk(%rip)"); return 1; }', "a use of writable static data"),
        ("int main(void) { return 0; }", "a main of its own"),
        ("void exit(int status) {}", "a exit of its own"),
        ("void __asan_report_load8(void *p) {}", "a __asan_report_load8 of its own"),
        ("int puts(const char *); int f(void) { return puts(\"0\"); }",
         "a use of puts in f (fib.c:2)"),
        ("long f(long a) { asm volatile(\"syscall\"); return a; }", "the instruction syscall"),
    ],
)  # fmt: skip
def test_what_is_refused_of_a_program(tmp_path: Path, source: str, says: str) -> None:
    (tmp_path / "fib.c").write_text(f'#include "stage.h"\n{source}')
    found = program(tmp_path, [tmp_path / "fib.c"])
    assert any(says in violation.got for violation in found), found


@pytest.mark.machine
def test_other_peoples_files_are_a_violation(tmp_path: Path, kernel: Kernel) -> None:
    directory = tmp_path / "1-borrowed"
    directory.mkdir()
    solution = next(paths.STAGES.glob("1-*"))
    for name in ("fib.c", "decimal.c"):
        (directory / name).write_text(f'#include "{solution / name}"\n')
    built = stage_module.build(stages.single(directory, directory.name), kernel)
    said = f"decimal.c includes {solution / 'decimal.c'}; {preprocess.OFFERED}"
    assert (built.ok, built.cause) == (False, said)
