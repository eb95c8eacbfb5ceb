# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Compare the bignum stages with GMP, Python's decimal and FLINT, in user space.

Stages and GMP run in one process (common/userspace/compare_gmp.c), Python's decimal in another
(decimal_peer.py), and all take turns, round by round. The result is the median of the rounds'
ratios, which is stable even on a busy computer.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import subprocess
import sys
from pathlib import Path

from grader.base import command, paths
from grader.base.errors import LabError
from grader.base.progress import Progress
from grader.exercise.files.stages import Stage, find, home
from grader.report import plots
from grader.scoring.report_rows import cpu_model
from grader.tools import peer_figure, peer_rows
from grader.tools.peer_rows import FLINT, GMP, PYTHON, PYTHON_FROM, Memory, PeerRun

# The largest n whose F(n) fits into 64 bits and needs no bignum.
LAST_OF_A_WORD = 93
NUMBERS = tuple(m * 10**p for p in range(2, 7) for m in (1, 3)) + (10_000_000,)
MEMORY_AT = 1_000_000
# Pairs (n, turns). Up to this n each contender has this number of turns in a round. The result is
# the shortest turn.
TURNS = ((100_000, 9), (300_000, 3), (NUMBERS[-1], 1))

PEER = Path(__file__).with_name("decimal_peer.py")


def _environment() -> dict[str, str]:
    return {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS")}


def _reason(message: str) -> str:
    """Return the most informative line of a program's error output."""
    lines = message.strip().splitlines() or ["the program printed nothing"]
    return next((line for line in lines if "error" in line), lines[-1])


def _run(call: list[str], what: str) -> str:
    completed = subprocess.run(
        call, capture_output=True, text=True, cwd=paths.ROOT, env=_environment(), check=False
    )
    if completed.returncode:
        raise LabError(f"{what}: {_reason(completed.stderr)}", "correct the source")
    return completed.stdout


class Peer:
    """A process that measures one round for each line of its input."""

    def __init__(self, call: list[str]) -> None:
        # The process runs in its own session, so that Ctrl-C ends only the parent command. The
        # process then ends, because its input is closed.
        self.process = subprocess.Popen(
            call,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=paths.ROOT,
            start_new_session=True,
        )

    def ask(self, line: str) -> None:
        """Send a line that starts a round."""
        assert self.process.stdin
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # Ignore the error here, because answer() raises a LabError with the reason.

    def answer(self) -> str:
        """Return the next line of output. Raise LabError if the process has ended."""
        assert self.process.stdout and self.process.stderr
        line = self.process.stdout.readline()
        if not line:
            raise LabError(_reason(self.process.stderr.read()), "run the command again")
        return line.rstrip("\n")

    def end(self) -> None:
        """Close the input and wait until the process ends."""
        self.process.communicate("")


def has_libmpdec() -> bool:
    """Return whether this Python's decimal is libmpdec, not the replacement in Python."""
    try:
        import _decimal  # noqa: F401, PLC0415
    except ImportError:
        return False
    return True


def build(stages: list[Stage], out: Path, progress: Progress) -> tuple[Path, list[str]]:
    """Build the benchmark and a shared object of each stage. Return its path and arguments."""
    versions = subprocess.run(
        ["cc", "-include", "gmp.h", "-E", "-x", "c", "/dev/null"], capture_output=True, check=False
    )
    if versions.returncode:
        raise LabError("gmp.h not found", "run scripts/setup.sh user")
    arguments = []
    for stage in stages:
        progress.step(f"build stage {stage.number} for user space")
        folder = out / stage.key
        _run(
            [
                *("make", "-s", "-C", str(paths.COMMON / "userspace"), "so"),
                *(f"STAGE_DIR={paths.for_make(stage.directory)}", f"OUT={paths.for_make(folder)}"),
            ],
            f"stage {stage.number} does not build",
        )
        arguments.append(f"{stage.manifest.max_n}:{folder / 'stage.so'}")
    program = out / "compare_gmp"
    source = paths.COMMON / "userspace" / "compare_gmp.c"
    flags = ["-std=gnu11", "-O2", "-Wall", f"-I{paths.COMMON}", f"-I{paths.COMMON / 'userspace'}"]
    _run(["cc", *flags, "-o", str(program), str(source), "-lgmp", "-ldl"], "compare_gmp.c")
    return program, arguments


def build_flint(prefix: Path, out: Path) -> tuple[str, str]:
    """Build FLINT's peer with the FLINT below prefix. Return FLINT's version and an argument."""
    if not (prefix / "include" / "flint" / "radix.h").is_file():
        raise LabError(
            f"{prefix} has no include/flint/radix.h",
            "give the folder that FLINT 3.6 or later is installed in, see handouts/12-fft-avx2.md",
        )
    peer = out / "flint.so"
    flags = ["-std=gnu11", "-O2", "-fPIC", "-shared", f"-I{prefix / 'include'}"]
    flags += [f"-I{paths.COMMON}", f"-I{paths.COMMON / 'userspace'}"]
    library = prefix / "lib"
    source = paths.COMMON / "userspace" / "flint_peer.c"
    link = [f"-L{library}", f"-Wl,-rpath,{library}", "-lflint", "-lmpfr", "-lgmp", "-lm"]
    _run(["cc", *flags, "-o", str(peer), str(source), *link], "flint_peer.c")
    version = re.search(
        r'FLINT_VERSION "([^"]+)"', (prefix / "include" / "flint" / "flint.h").read_text()
    )
    return version[1] if version else "", f"{NUMBERS[-1]}:{peer}"


def computer(program: Path, python: bool, flint: str = "") -> str:
    """Return a description of the processor, the compiler and the versions compared."""
    compiler = re.search(r"\d+\.\d+\.\d+", _run(["cc", "--version"], "cc"))
    parts = [
        cpu_model(),
        f"gcc {compiler[0] if compiler else ''}",
        f"GMP {_run([str(program), 'version'], 'GMP').strip()}",
    ]
    parts += [f"Python {platform.python_version()}"] * python
    return ", ".join(parts + [f"FLINT {flint}"] * bool(flint))


def measure(
    run: PeerRun, call: list[str], numbers: list[int], rounds: int, progress: Progress
) -> None:
    """Measure the rounds; call is the program and the arguments that follow n.

    All n take turns, so that a disturbance of a few seconds affects only a few rounds of each n.
    """
    program, *stages = call
    peers = {}
    for n in numbers:
        progress.step(f"check that all contenders agree on the digits of F({n:,})")
        peers[n] = Peer([program, "rounds", str(n), *stages])
        peers[n].answer()
    python = Peer([sys.executable, "-I", str(PEER)]) if PYTHON in run.names else None
    for made in range(rounds):
        for n, peer in peers.items():
            progress.step(f"measure n = {numbers[0]:,} to {numbers[-1]:,}", made + 1, rounds)
            with_python = python if n >= PYTHON_FROM else None
            # Python begins every second round, and the stages begin the other rounds.
            if with_python and made % 2 == 0:
                _python_round(run, with_python, n)
            _stages_round(run, peer, n)
            if with_python and made % 2:
                _python_round(run, with_python, n)
    for peer in [*peers.values(), *([python] if python else [])]:
        peer.end()


def _turns(n: int) -> int:
    return next(turns for most, turns in TURNS if n <= most)


def _stages_round(run: PeerRun, peer: Peer, n: int) -> None:
    peer.ask(str(_turns(n)))
    while line := peer.answer():
        _, _, contender, compute, decimal = line.split("\t")
        run.add(n, run.names[int(contender)], float(compute), float(decimal))


def _python_round(run: PeerRun, peer: Peer, n: int) -> None:
    peer.ask(f"{n} {_turns(n)}")
    compute, decimal = peer.answer().split("\t")
    run.add(n, PYTHON, float(compute), float(decimal))


def memory(run: PeerRun, call: list[str], n: int) -> None:
    """Measure the peak memory of one call of F(n), for each contender that supports this n."""
    program, *stages = call
    for line in _run([program, "memory", str(n), *stages], "memory").splitlines():
        _, digits, contender, taken = line.split("\t")
        run.memory[run.names[int(contender)]] = Memory(n, int(digits), int(taken))


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="compare-gmp", description=__doc__)
    parser.add_argument("--rounds", type=int, default=15, help="rounds for each n (default 15)")
    parser.add_argument(
        "--most", type=int, default=NUMBERS[-1], help="the largest n (default 10,000,000)"
    )
    parser.add_argument(
        "--out", type=Path, default=paths.BUILD / "compare-gmp", help="directory for the results"
    )
    parser.add_argument("--flint", type=Path, help="the folder in which FLINT is installed")
    options = parser.parse_args(arguments)
    if not 3 <= options.rounds <= 1000:
        raise LabError(f"--rounds {options.rounds}: out of range", "give a number from 3 to 1000")
    if options.most < NUMBERS[0]:
        raise LabError(f"--most {options.most}: too small", f"give at least {NUMBERS[0]}")
    return options


def main(arguments: list[str]) -> int:
    """Run the comparison from the command line."""
    options = _options(arguments)
    progress = Progress()
    out = options.out.absolute()
    out.mkdir(parents=True, exist_ok=True)
    stages = [stage for stage in find(home()) if stage.manifest.max_n > LAST_OF_A_WORD]
    if not stages:
        raise LabError(
            "no stage here uses bignums, and only such stages can be compared",
            "write stage 3 first",
        )
    furthest = min(options.most, max(stage.manifest.max_n for stage in stages))
    numbers = [n for n in NUMBERS if n <= furthest]
    python = has_libmpdec()
    program, contenders = build(stages, out, progress)
    names = [GMP, *(f"{stage.number} {stage.manifest.name}" for stage in stages)]
    version = ""
    if options.flint:
        version, contender = build_flint(options.flint.absolute(), out)
        contenders.append(contender)
        names.append(FLINT)
    call = [str(program), *contenders]
    with_python = python and numbers[-1] >= PYTHON_FROM
    run = PeerRun(computer(program, with_python, version), names + [PYTHON] * with_python)
    measure(run, call, numbers, options.rounds, progress)
    progress.step("measure memory")
    memory(run, call, min(MEMORY_AT, numbers[-1]))
    peer_rows.write(run, out / "rows.tsv")
    progress.step("draw")
    picture = peer_figure.figure(run)
    plots.picture(picture, out)
    progress.clear()
    print(f"{run.computer}\n\n{peer_rows.table(run)}\n")
    versus = [line for peer in (PYTHON, FLINT) for line in peer_rows.versus_peer(run, peer)]
    print("\n".join([*peer_rows.memory_lines(run), "", *versus]))
    if not python:
        print("Python's decimal is not compared: it is not libmpdec, because _decimal is missing")
    print(f"Picture: {paths.shown(out / 'compare-gmp.svg')}, .png; raw rows: rows.tsv")
    return 0


if __name__ == "__main__":
    sys.exit(command.end("compare-gmp", lambda: main(sys.argv[1:])))
