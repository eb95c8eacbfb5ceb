# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Measure a program inside a kernel: the command line of make kbench."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from electives.kbench import against, compilers, kernel, report, source_table
from electives.kbench.program import CompileOptions
from grader.base import command
from grader.base.errors import LabError


def _arguments(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make kbench", description=__doc__)
    parser.add_argument("--prog", default="", metavar="FILE", help="the program, .c or .ll")
    parser.add_argument("--against", default="", metavar="FILE", help="what to compare it with")
    parser.add_argument("--table", action="store_true", help="98, 99, 100 loops by all metrics")
    parser.add_argument(
        "--class", dest="classes", default="", metavar="DIR", help="programs by several compilers"
    )
    parser.add_argument("--input", default="", metavar="FILE", help="what it reads")
    parser.add_argument("--machine", default="", help="uml, qemu or host; all metrics without it")
    parser.add_argument("--sysy", action="store_true", help="with the library of SysY")
    parser.add_argument("--level", default="0", help="clang's -O for C: 0 to 3, s or z (0)")
    parser.add_argument("--llc", default="0", help="llc's -O: 0 to 3 (0)")
    parser.add_argument(
        "--runs", default="", help="runs by each clock (10; against another 20; of the table 30)"
    )
    parser.add_argument("--load", action="store_true", help="on the machine that stays up")
    parser.add_argument("--red-zone", action="store_true", help="leave the red zone: it hangs")
    parser.add_argument("--code-model", default="", help="llc's for the module: to see it fail")
    parser.add_argument("--kernel-stack", action="store_true", help="on the kernel's own stack")
    return parser.parse_args(words)


def _read(name: str) -> bytes:
    if not name:
        return b""
    try:
        given = Path(name).read_bytes()
    except OSError as error:
        raise LabError(f"INPUT={name}: {error.strerror}", "give a file that can be read") from None
    if len(given) > kernel.MOST_INPUT:
        raise LabError(
            f"INPUT={name}: more than {kernel.MOST_INPUT >> 20} MB", "give a smaller file"
        )
    return given


def _asked(arguments: argparse.Namespace, rounds: int) -> report.KbenchRequest:
    if arguments.level not in tuple("0123sz"):
        raise LabError(f"O={arguments.level}: no such level of clang", "choose 0, 1, 2, 3, s or z")
    if arguments.llc not in tuple("0123"):
        raise LabError(f"LLC={arguments.llc}: no such level of llc", "choose 0, 1, 2 or 3")
    if arguments.runs and not (arguments.runs.isdigit() and 1 <= int(arguments.runs) <= 1000):
        raise LabError(
            f"RUNS={arguments.runs}: not a valid number of runs", "give a number from 1 to 1000"
        )
    options = CompileOptions(
        level=arguments.level,
        back_end=arguments.llc,
        sysy=arguments.sysy,
        red_zone=arguments.red_zone,
        code_model=arguments.code_model,
        endbr=arguments.machine == "host",
    )
    return report.KbenchRequest(
        options,
        _read(arguments.input),
        int(arguments.runs or rounds),
        arguments.machine,
        _parameters(arguments),
    )


def _parameters(arguments: argparse.Namespace) -> str:
    """Return the module's parameters.

    For the red zone experiment, interrupts stay on (quiet=0), because only an interrupt writes into
    the red zone.
    """
    wanted = {"kernel_stack=1": arguments.kernel_stack, "quiet=0": arguments.red_zone}
    return " ".join(words for words, request in wanted.items() if request)


def main(words: list[str]) -> int:
    """Run the command that the arguments select. Return its exit status."""
    arguments = _arguments(words)
    if arguments.table:
        return source_table.show(_asked(arguments, 30))
    if arguments.classes:
        return compilers.compare(Path(arguments.classes), _asked(arguments, 1))
    if not arguments.prog:
        raise LabError(
            "no program is given",
            "run make kbench PROG=electives/kbench/loop.c, or with a .c or .ll file of your own",
        )
    if arguments.load:
        return report.load(Path(arguments.prog), _asked(arguments, 1))
    if arguments.against:
        rounds = 20  # the number of runs that the statistical test needs
        request = _asked(arguments, rounds)
        return against.compare(Path(arguments.prog), Path(arguments.against), request)
    return report.run_one(Path(arguments.prog), _asked(arguments, 10))


if __name__ == "__main__":
    sys.exit(command.end("kbench", lambda: main(sys.argv[1:])))
