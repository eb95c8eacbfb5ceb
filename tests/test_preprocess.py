# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test that all builds of a stage compile the same text, even if it tries to detect the build."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from grader.base.errors import LabError
from grader.exercise.build import preprocess, stage_module
from grader.exercise.files import stages
from grader.exercise.operations import test_program, unit_tests
from grader.lab import allowed_c
from grader.lab.module import Kernel
from tests.test_author_build import SOURCE, stage

PLAIN = SOURCE.replace("\t\tTRACE\n", "")
END = "size_t fib_limbs"
REFUSED = {
    "line": ('#line 40 "stage.h"\n', "#line"),
    "marker": ('# 40 "stage.h" 3\n', "#line"),
    "marker behind a comment": ('/* a */ # /* b */ 40 "stage.h"\n', "#line"),
    "divided marker": ('#\\\nline 40 "stage.h"\n', "#line"),
    "divided behind a blank": ('#\\ \t\nline 40 "stage.h"\n', "#line"),
    "raw string": ('static const char s[] = R"(" /* )";\n', "a raw string"),
    "divided raw string": ('static const char s[] = R\\\n"(" /* )";\n', "a raw string"),
    "between form feeds": (
        'static const char s[] = "\f/*"; __attribute__((no_sanitize("address"))) int f(void);'
        ' static const char t[] = "*/\f";\n', "no_sanitize"),
    "digraph": ('%:line 40 "stage.h"\n', "#line"),
    "unsanitized": ("__attribute__((no_sanitize(\"address\"))) ", "no_sanitize"),
    "unsanitized by a macro": (
        "#define A(x) no_sanitize_##x\n[[gnu::A(address)]] ", "no_sanitize_address"),
    "not instrumented": ("__attribute((__no_instrument_function__)) ",
        "__no_instrument_function__"),
    "instructions of other processors": ("__attribute__((target(\"avx2\"))) ", "target"),
    "ifunc": ("__attribute__((ifunc(\"f\"))) ", "ifunc"),
    "alias": ("void f(void) __attribute__((alias(\"memcpy\")));\n", "alias"),
    "weak by a pragma": ("#pragma weak memcpy\n", "#pragma weak"),
    "pragma of a macro": ('_Pragma("weak memcpy")\n', "#pragma weak"),
    "asm label": ('int f(void) asm("memcpy");\n', "a name that asm gives"),
    "assembler's condition": ('asm(".ifdef __asan_init\\n.endif");\n', ".ifdef in assembly"),
    "assembler's condition behind a comment": (
        'asm("/**/.IfDef __asan_init\\n.endif");\n', ".IfDef in assembly"),
    "a quote that hides a comment's beginning": (
        '#if 0\n" /*\n#endif\nint x; /* */\n', "a comment behind an unpaired quote"),
    "assembler's macro": ('asm(".macro m\\n.endm");\n', ".macro in assembly"),
    "optimised": ("static const int o = __builtin_constant_p(1);\n", "__builtin_constant_p"),
    "sanitizer's name": ("extern int __asan_init;\n", "__asan_init"),
}  # fmt: skip
ACCEPTED = """
#pragma GCC unroll 3
static inline __attribute__((always_inline, optimize("O3"), unused)) u64 alias(u64 weak)
{
	register u64 low asm("rax") = weak;

	if (weak)
		asm("nop");
	else
		asm volatile("nop");
	while (!weak)
		asm volatile("" : : : "memory");
	asm volatile("add %1, %0\\n\\tadc $0, %0" : "+r"(low) : "r"(weak) : "cc");
	return low;
}
"""  # fmt: skip


def texts(folder: Path, source: str) -> preprocess.Texts:
    made = stage(folder, source)
    return preprocess.texts(made, list(stage_module.sources(made, [])))


@pytest.mark.parametrize("name", REFUSED)
def test_refused_by_name(name: str, tmp_path: Path) -> None:
    added, what = REFUSED[name]
    made = texts(tmp_path, PLAIN.replace(END, added + END))
    line = PLAIN[: PLAIN.index(END)].count("\n") + 1
    place, _, said = made.cause.partition(": ")
    assert said == f"{what} is not allowed, all builds have one text; remove it"
    file, _, number = place.rpartition(":")
    assert file == f"{tmp_path}/1-traced/fib.c"
    assert line <= int(number) <= line + 1


def test_accepted(tmp_path: Path) -> None:
    assert texts(tmp_path, PLAIN + ACCEPTED).cause == ""


@pytest.mark.parametrize(
    ("statement", "right"),
    [
        ('asm("addq %0, (%1)" : : "r"(a), "r"(p) : "cc");', False),
        ('asm("adcq $0, %0\\n\\tmovq %%rax, 8(%1,%0,8)" : "+r"(a) : "r"(p) : "rax");', False),
        ('asm("rep movsq" : "+S"(p), "+D"(q), "+c"(a));', False),
        ('asm("addq %0, (%1)" : : "r"(a), "r"(p) : "cc", "memory");', True),
        ('asm("addq %1, (%2)" : "+m"(*p) : "r"(a), "r"(p) : "cc");', True),
        ('asm("leaq (%1,%1,4), %0" : "=r"(a) : "r"(b));', True),
        ('asm("nop\\n\\tlea (%0,%0,4), %0" : "+r"(a));', True),
        ('asm("mulq %3" : "=a"(a), "=d"(b) : "%0"(a), "rm"(b) : "cc");', True),
    ],
)
def test_assembly_that_accesses_memory_must_say_so(statement: str, right: bool) -> None:
    said = allowed_c.first_refused(f'# 1 "x.c"\nvoid f(void)\n{{\n\t{statement}\n}}\n', "x.c")
    assert said == "" if right else "x.c:3: assembly accesses" in said


@pytest.mark.parametrize(
    ("statement", "output"),
    [
        ('asm("movq %2, %0\\n\\tmulq %3" : "=a"(a), "=d"(b) : "r"(a), "r"(b));', "0"),
        ('asm("mulq %3; addq %4, %0" : "=a"(a), "=d"(b) : "0"(a), "rm"(b), "r"(p));', "1"),
        ('asm("mov %[x], %[y]; add %[z], %[y]" : [y] "=r"(a) : [x] "r"(b), [z] "r"(p));', "0"),
        ('asm("mulq %3; addq %4, %0" : "=a"(a), "=&d"(b) : "0"(a), "rm"(b), "r"(p));', ""),
        ('asm("movq %2, %0\\n\\tmulq %3" : "=&a"(a), "=&d"(b) : "r"(a), "r"(b));', ""),
        ('asm("mulq %3" : "=a"(a), "=d"(b) : "%0"(a), "rm"(b) : "cc");', ""),
        ('asm("cmpq %1, %0\\n\\tcmovaq %1, %0" : "+r"(a) : "r"(b) : "cc");', ""),
        ('asm("bsrq %1, %q0" : "+r"(a) : "rm"(b));', ""),
        ('asm("addq %2, %0\\n\\tadcq $0, %1" : "+r"(a), "+r"(b) : "r"(p) : "cc");', ""),
    ],
)
def test_an_output_that_is_written_early_must_say_so(statement: str, output: str) -> None:
    said = allowed_c.first_refused(f'# 1 "x.c"\nvoid f(void)\n{{\n\t{statement}\n}}\n', "x.c")
    assert said == "" if not output else f"writes output {output} before" in said, said


@pytest.mark.parametrize(
    "macro",
    ["__KERNEL__", "MODULE", "__SANITIZE_ADDRESS__", "__OPTIMIZE__", "CONFIG_UML", "CONFIG_KASAN",
     "KBUILD_MODNAME", "FIBDRV_STAGE", "FUNCTION_TESTS_H"],
)  # fmt: skip
def test_no_macro_tells_the_builds_apart(macro: str, tmp_path: Path) -> None:
    """Each of these macros differs between builds, so it must be undefined in a stage's text."""
    text = PLAIN.replace("a += b;", f"a += b;\n#ifdef {macro}\n\t\ta = 99;\n#endif\n")
    (made,) = texts(tmp_path, text).files.values()
    assert b"a = 99" not in made


@pytest.mark.machine
def test_right_where_it_is_sanitized_and_empty_where_it_is_counted(
    tmp_path: Path, kernel: Kernel
) -> None:
    """Code under #ifdef __SANITIZE_ADDRESS__ is left out of every build, also of the tested one."""
    text = PLAIN.replace("\twhile (n--)", "#ifdef __SANITIZE_ADDRESS__\n\twhile (n--)\n#endif\n")
    made = stage(tmp_path, text)
    built = stage_module.build(made, kernel)
    assert built.ok
    (compiled,) = (built.module.directory / "stage").glob("*.c")
    (one,) = preprocess.texts(made, list(stage_module.sources(made, []))).files.values()
    assert compiled.read_bytes() == one and b"while (n--)" not in one
    assert test_program.program(made)


@pytest.mark.machine
def test_a_header_of_the_kernel(tmp_path: Path, kernel: Kernel) -> None:
    made = stage(tmp_path, f"#include <linux/slab.h>\n{PLAIN}")
    said = (
        f"{tmp_path}/1-traced/fib.c:1:10: fatal error: linux/slab.h: No such file or directory;"
        f" {preprocess.OFFERED}"
    )
    assert stage_module.build(made, kernel).cause == said
    with pytest.raises(LabError) as caught:
        test_program.program(made)
    assert str(caught.value) == f"it does not compile: {said}; correct the source"


@pytest.mark.skipif(stages.exported(), reason="needs a solved stage")
def test_a_peak_that_the_stage_lowers(tmp_path: Path) -> None:
    """A stage cannot hide its memory use by lowering peak_bytes in struct fib_call."""
    directory = tmp_path / "7-lowers"
    shutil.copytree(stages.kit(7).directory, directory)
    text = (directory / "fib.c").read_text()
    for old, new in (
        ("25 * n / (36 * LIMB_BITS) + 2", "n / 20 + 2"),
        (
            "\tf->big = number;\n\treturn 0;",
            "\tf->big = number;\n\tcall->peak_bytes = 1;\n\treturn 0;",
        ),
    ):
        assert text.count(old) == 1
        text = text.replace(old, new)
    (directory / "fib.c").write_text(text)
    made = stages.single(directory, directory.name)
    outcome = unit_tests.outcome(made, test_program.program(made), "memory", 1)
    assert "are plenty" in outcome.fault


def test_a_file_from_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "other.h").write_text("/* nothing */\n")
    made = texts(tmp_path, f'#include "{tmp_path}/other.h"\n{PLAIN}')
    assert made.cause == f"fib.c includes {tmp_path}/other.h; {preprocess.OFFERED}"


@pytest.mark.parametrize(
    ("added", "said"),
    [
        ("#ifdef CONFIG_SMP\n#endif", "#ifdef CONFIG_SMP"),
        ("int a = IS_ENABLED(SMP);", "IS_ENABLED"),
        ("int a __PASTE(no_san, itize);\n#define B(a, b) a##b", "##"),
        ("#define B(a, b) a%:%:b", "%:%:"),
        ('#if 0\n" /*\n#endif\nasm("");\n/* */', "a comment behind an unpaired quote"),
        ('#if 0\n\' "a" /*\n#endif\n/* */', "a comment behind an unpaired quote"),
        ("#if 0\n#error don't\n#endif\n/* */ char a = '\"'; /* */", ""),
        ("#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 4, 0)\n#endif", ""),
        ("/* CONFIG_SMP */ // alias\nint alias = 'a' + *\"CONFIG_SMP\";", ""),
        ("#ifndef MINE_H\n#define MINE_H\n#endif", ""),
    ],
)
def test_with_kernel_headers(added: str, said: str) -> None:
    found = allowed_c.refused_with_kernel_headers("driver.c", f"int x;\n{added}\n")
    assert bool(found) == bool(said)
    assert said in found


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('.include "a"', "includes a file of another folder"),
        (".INCBIN a", "includes a file of another folder"),
        (".macro m a\n.in\\a", ".macro"),
        ("#define D(name) .name\nD(include) a", "#define in assembly"),
        ("# don't\n\tmovb $'a, %al", ""),
        ('#if 0\n" /*\n#endif\n.include a /* */', "a comment behind an unpaired quote"),
    ],
)
def test_files_included_by_assembly(text: str, said: str) -> None:
    found = allowed_c.included_elsewhere("a.S", f"{text}\n")
    assert bool(found) == bool(said)
    assert said in found


def test_words_of_a_source() -> None:
    source = (
        '#include <asm/a.h>\n# define b c\\\nd /* e\n f */ + "g" + \'h\' // i\n%:include "j"\nk9;'
    )
    assert allowed_c.words(source) == {"define", "b", "cd", "k9"}


def test_conditions_of_the_kit_stay() -> None:
    kits = "#ifdef MAX_FP_NR\nint a;\n#endif\n"
    assert not allowed_c.refused_with_kernel_headers("x.c", kits.replace("a", "b"), kits)
    assert allowed_c.refused_with_kernel_headers("x.c", kits)


@pytest.mark.parametrize("gap", ["", "\n" * 12], ids=["none", "12 lines"])
def test_no_assembly_remains_for_other_processors(gap: str, tmp_path: Path) -> None:
    """After many empty lines the preprocessor puts a line marker into the statement."""
    kit = stages.kit(6)
    copy = replace(kit, directory=tmp_path / kit.directory.name)
    shutil.copytree(kit.directory, copy.directory)
    path = copy.directory / "bignum.c"
    body = "\n{\n"
    path.write_text(path.read_text().replace(body, f'{body}\tasm({gap}"nop");\n', 1))
    sources = list(stage_module.sources(copy, []))
    for macros in preprocess.WITHOUT_ASSEMBLY:
        made = preprocess.trapped(copy, preprocess.texts(copy, sources, macros=macros))
        if gap:
            assert made.cause.endswith("write asm, its bracket and its text without a gap")
        else:
            assert b'fib_assert_failed("assembly in bignum.c"' in made.files["bignum.c"]
