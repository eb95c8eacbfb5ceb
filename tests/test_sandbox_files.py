# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test a sandbox's leftovers and result files, archives, and computers without a sandbox."""

from __future__ import annotations

import io
import os
import shutil
import signal
import subprocess
import tarfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from grader import sandbox
from grader.base.errors import LabError
from grader.exercise.build import stage_module
from grader.exercise.files import stages
from grader.lab import module
from grader.lab.module import Kernel
from grader.sandbox import CommandResult, ResourceLimits, SandboxView, availability
from tests import sandbox_calls
from tests.sandbox_calls import EMPTY, MB, NOBODY, TIGHT, Caller, gone, needs_sandbox, running

call = sandbox_calls.call
place = sandbox_calls.place

# Leftovers of a sandbox.


@pytest.mark.parametrize("room", [pytest.param(EMPTY, marks=needs_sandbox), None])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_interrupted_it_leaves_nothing(call: Caller, number: int, room: SandboxView | None) -> None:
    script = f"setsid setsid {call.attack} sleep & {call.attack} sleep"
    seen = replace(room, read=(call.attack,)) if room else None
    argv, _ = call.argv(["sh", "-c", script], TIGHT, seen, {})
    grader = subprocess.Popen(argv, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 20
    while sum(line.startswith(f"{call.attack} sleep") for line in running(call.place)) < 2:
        assert time.monotonic() < until
        time.sleep(0.05)
    grader.send_signal(number)
    grader.wait(30)
    assert gone(call.place)


@needs_sandbox
def test_only_plain_files_come_home(call: Caller) -> None:
    target = call.directory("home")
    (target / "kept").write_text("kept")
    (target / "old").write_text("old")
    os.utime(target / "kept", ns=(10**18, 10**18))
    script = """
        cat kept; echo new > old; mkdir -p a/b; echo deep > a/b/c; echo run > x; chmod 755 x
        ln -s /etc/passwd link; ln -s / up; mkfifo pipe; ln old hard
        mkdir shut; echo in > shut/in; chmod 0 shut/in shut; echo s > set; chmod 6755 set
        printf x > "$(printf 'a\\nb')"; printf x > '$(reboot) "q'
    """
    result = call(["sh", "-c", script], view=SandboxView(write=(target,)))
    assert result.status == 0 and result.output == b"kept", result
    found = {str(p.relative_to(target)): p for p in target.rglob("*")}
    assert sorted(found) == sorted(
        ["kept", "old", "a", "a/b", "a/b/c", "x", "hard", "shut", "shut/in", "set", "a\nb",
         '$(reboot) "q']
    )  # fmt: skip
    assert found["old"].read_text() == "new\n" and found["shut/in"].read_text() == "in\n"
    assert found["kept"].stat().st_mtime_ns == 10**18
    for path in found.values():
        assert not path.is_symlink()
        if path.name != "kept":
            assert path.stat().st_uid == (NOBODY if call.other else os.geteuid())
        assert path.stat().st_mode & 0o6022 == 0
    assert found["x"].stat().st_mode & 0o777 == 0o755


@needs_sandbox
def test_nothing_comes_home_of_what_was_ended(call: Caller) -> None:
    target = call.directory("home")
    command = ["sh", "-c", "echo x > x; exec yes"]
    assert call(command, view=SandboxView(write=(target,))).ended_by == "output"
    assert list(target.iterdir()) == []


@needs_sandbox
@pytest.mark.parametrize(
    "script",
    [
        # The sparse file's holes need space only outside of the sandbox.
        "truncate -s 4M 0 1 2 3 4",
        "d=d; for i in $(seq 40); do d=$d/d; done; mkdir -p $d",
        "for i in $(seq 600); do mkdir $i; done",
    ],
)
def test_what_is_too_much_to_come_home(call: Caller, script: str) -> None:
    target = call.directory("home")
    assert call(["sh", "-c", script], view=SandboxView(write=(target,))).ended_by == "store"


# Archives.


def _archive(path: Path, *members: tuple[str, dict[str, Any], bytes]) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for name, attributes, content in members:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            for key, value in attributes.items():
                setattr(member, key, value)
            archive.addfile(member, io.BytesIO(content))
    return path


def _unpack(
    call: Caller, archive: Path, limits: ResourceLimits = TIGHT
) -> tuple[CommandResult, list[str]]:
    target = call.directory("unpacked")
    command = ["tar", "-xf", archive, "-C", target]
    result = call(command, limits, SandboxView(read=(archive,), write=(target,)), together=True)
    return result, sorted(str(p.relative_to(target)) for p in target.rglob("*"))


@needs_sandbox
def test_an_archive_that_reaches_out(call: Caller) -> None:
    victim = call.place / "victim"
    victim.write_text("whole")
    victim.chmod(0o666)
    link = {"type": tarfile.SYMTYPE, "linkname": str(call.place)}
    archive = _archive(
        call.folder / "a.tar.gz",
        ("fib.c", {"uid": 0, "mode": 0o6777}, b"int x;"),
        ("../../victim", {}, b"broken"),
        (str(victim), {}, b"broken"),
        ("out", link, b""),
        ("out/victim", {}, b"broken"),
        ("passwd", {"type": tarfile.SYMTYPE, "linkname": "/etc/passwd"}, b""),
        ("secret", {"type": tarfile.LNKTYPE, "linkname": str(call.place / "secret")}, b""),
        ("device", {"type": tarfile.CHRTYPE, "devmajor": 1, "devminor": 3}, b""),
    )
    result, found = _unpack(call, archive)
    assert result.status == 2, result
    assert victim.read_text() == "whole"
    assert found[0] == "fib.c" and not {"passwd", "secret", "device", "out/victim"} & set(found)


@needs_sandbox
def test_an_archive_of_zeros(call: Caller) -> None:
    archive = _archive(call.folder / "a.tar.gz", *((str(i), {}, bytes(3 * MB)) for i in range(20)))
    result, found = _unpack(call, archive)
    # Either the disk is too full for tar, or the supervisor detects that the limit is exceeded.
    assert (result.ended_by == "store" or "No space left" in result.text) and result.status != 0
    assert sum((call.folder / "unpacked" / name).stat().st_size for name in found) <= 16 * MB
    archive = _archive(call.folder / "a.tar.gz", ("0", {}, bytes(20 * MB)))
    shutil.rmtree(call.folder / "unpacked")
    result, _ = _unpack(call, archive)
    assert result.status != 0


@needs_sandbox
def test_an_archive_of_many_files(call: Caller) -> None:
    archive = _archive(call.folder / "a.tar.gz", *((str(i), {}, b"") for i in range(3000)))
    result, found = _unpack(call, archive)
    assert result.ended_by == "store" and found == []


# The following tests call the sandbox in the same way as the grader.


@needs_sandbox
def test_input_and_both_outputs(call: Caller) -> None:
    command = ["sh", "-c", "cat; echo error >&2; exit 3"]
    result = call(command, stdin=b"a line\n" * 100_000)
    assert (result.status, len(result.output), result.errors) == (3, 700_000, b"error\n")
    result = call(command, stdin=b"a line\n", together=True)
    assert (result.output, result.errors) == (b"a line\nerror\n", b"")
    # A program cannot change its input file.
    assert call(["sh", "-c", "echo x > /proc/self/fd/0 || echo refused"]).text == "refused\n"


@pytest.mark.parametrize("room", [pytest.param(EMPTY, marks=needs_sandbox), None])
def test_a_program_that_is_not_there(room: SandboxView | None) -> None:
    with pytest.raises(LabError, match="no-such-program: No such file"):
        sandbox.run(["no-such-program"], TIGHT, room)
    result = sandbox.run(["sh", "-c", "kill -SEGV $$"], TIGHT, room)
    assert result.status == -signal.SIGSEGV


@needs_sandbox
def test_a_place_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(sandbox.SetUpError, match="nowhere"):
        sandbox.run(["true"], TIGHT, SandboxView(read=(tmp_path / "nowhere",)))


@needs_sandbox
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_place_that_is_roots_alone(tmp_path: Path) -> None:
    place = tmp_path / "shut"
    place.mkdir(0o700)
    with pytest.raises(LabError, match="chmod -R o[+]rX"):
        sandbox.run(["true"], TIGHT, SandboxView(read=(place,)))


@needs_sandbox
def test_descriptors_are_given_back() -> None:
    sandbox.run(["true"], TIGHT, SandboxView())
    before = len(list(Path("/proc/self/fd").iterdir()))
    for room in (SandboxView(), None):
        sandbox.run(["true"], TIGHT, room)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


@needs_sandbox
@pytest.mark.machine
def test_a_module_is_the_same_as_outside(kernel: Kernel, tmp_path: Path) -> None:
    if not (stages.kit(2).directory / "fib.c").is_file():
        pytest.skip("an export has no source of the reference")
    built = stage_module.build(stages.kit(2), kernel)
    assert built.ok, built.cause
    made, folder = built.module.path, built.module.directory
    whole = made.read_bytes()
    for path in (made, folder / "fibdrv.o", folder / "stage/fib.o"):
        path.unlink()
    room = SandboxView(read=sandbox.kernel_build_paths(kernel.tree), write=(folder,))
    command = module._command(kernel, folder, "modules")
    result = sandbox.run(command, sandbox.COMPILER, room, together=True)
    assert result.status == 0, result.text
    assert made.read_bytes() == whole


# Computers without a working sandbox.


def _fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    program = tmp_path / "bwrap"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    availability._refused.cache_clear()


@pytest.mark.parametrize(
    "setting, root, cure",
    [
        ("kernel.apparmor_restrict_unprivileged_userns=1", False, "AppArmor .*sudo sysctl "),
        ("user.max_user_namespaces=0", False, "sudo sysctl user.max_user_namespaces=10000"),
        ("", False, "or the command as root"),
        ("", True, "run the command as an ordinary user|this container"),
    ],
)
def test_one_line_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting: str, root: bool, cure: str
) -> None:
    _fake(tmp_path, monkeypatch, "echo 'bwrap: setting up uid map: Permission denied' >&2; exit 1")
    name, _, value = setting.partition("=")
    monkeypatch.setattr(availability, "_setting", lambda asked: value if asked == name else "")
    monkeypatch.setattr(availability, "_in_container", lambda: False)
    monkeypatch.setattr(os, "geteuid", lambda: 0 if root else 1000)
    try:
        with pytest.raises(LabError, match=f"no sandbox: (?=.*denied).*(?:{cure})") as raised:
            sandbox.require()
    finally:
        availability._refused.cache_clear()
    assert "\n" not in str(raised.value) and "--no-sandbox" in str(raised.value)


def test_a_missing_program(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert sandbox.why_unavailable() == "bubblewrap not found; run scripts/setup.sh sandbox"
