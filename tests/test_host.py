# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test machine host in a fake root directory, with fake programs instead of insmod and others."""

import io
import os
import platform
import re
import tempfile
import time
from pathlib import Path

import pytest

from grader.base import scratch
from grader.base.errors import LabError, MachineDied, MachineError, MachineTimeout
from grader.exercise.files.device import contents
from grader.lab import host

RELEASE = "6.1.0-test-amd64"
PROGRAMS = {
    "sudo": 'echo "$*" >>$LOG; [ "$1" = -v ] && exit 0; exec "$@"',
    "insmod": """
[ -e $LAB_HOST_ROOT/sys/module/fibdrv ] && { echo "insmod: File exists" >&2; exit 1; }
mkdir -p $LAB_HOST_ROOT/sys/module/fibdrv/notes $LAB_HOST_ROOT/dev
cp "$1" $LAB_HOST_ROOT/sys/module/fibdrv/notes/.note.gnu.build-id
: >$LAB_HOST_ROOT/dev/fibonacci
echo "[ 12.5] fibdrv: here" >>$LAB_HOST_ROOT/kmsg""",
    "rmmod": """
[ -e $LAB_HOST_ROOT/busy ] && { echo "rmmod: ERROR: Module fibdrv is in use" >&2; exit 1; }
rm -r $LAB_HOST_ROOT/sys/module/fibdrv $LAB_HOST_ROOT/dev/fibonacci""",
    "chown": "exit 0",
    "dmesg": "cat $LAB_HOST_ROOT/kmsg",
}
FILES = {
    "proc/modules": "",
    "proc/sys/kernel/modules_disabled": "0",
    "proc/sys/kernel/random/boot_id": "boot-1",
    "sys/kernel/security/lockdown": "[none] integrity confidentiality",
    "sys/module/module/parameters/sig_enforce": "N",
    f"lib/modules/{RELEASE}/build/Makefile": "",
    f"lib/modules/{RELEASE}/build/.config": 'A=y\nCONFIG_CC_VERSION_TEXT="gcc-12 (Test) 12.2.0"\n',
    "kmsg": "[ 1.0] BUG: long ago\n[ 2.0] usb\n",
}


@pytest.fixture
def root(tmp_path, monkeypatch):
    top = tmp_path / "root"
    for name, text in FILES.items():
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, body in PROGRAMS.items():
        (programs / name).write_text(f"#!/bin/sh\n{body}\n")
        (programs / name).chmod(0o755)
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    system = os.uname_result(("Linux", "test", RELEASE, "#1", "x86_64"))
    monkeypatch.setattr(os, "uname", lambda: system)
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setenv("LAB_HOST_ROOT", str(top))
    monkeypatch.setenv("LAB_YES", "1")
    monkeypatch.setenv("LOG", str(tmp_path / "log"))
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    # Act as an ordinary user even if root runs the test.
    monkeypatch.setattr(host, "_sudo", lambda: ["sudo"])
    yield top
    scratch.remove_all()


@pytest.fixture
def module(tmp_path):
    path = tmp_path / "module.ko"
    path.write_text("build id 1")
    return path


def asked_of_sudo(root):
    log = root.parent / "log"
    return [Path(line.split()[0]).name for line in log.read_text().splitlines()]


def loaded(root):
    return (root / "sys/module/fibdrv").exists()


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("proc/modules", None, "built without loadable modules"),
        ("proc/sys/kernel/modules_disabled", "1", "switched off until"),
        ("sys/kernel/security/lockdown", "none [integrity] confidentiality", "locked down (integ"),
        ("sys/module/module/parameters/sig_enforce", "Y", "module.sig_enforce"),
        (f"lib/modules/{RELEASE}/build/Makefile", None, f"install linux-headers-{RELEASE}"),
    ],
)
def test_refuses_in_one_line(root, name, text, said):
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    if text is not None:
        path.write_text(text)
    with pytest.raises(LabError, match=re.escape(said)) as error:
        host.Host().kernel()
    assert "\n" not in str(error.value)
    with pytest.raises(LabError):
        host.Host().boot(contents({}))
    assert not (root.parent / "log").exists(), "nothing may be done"


def test_refuses_while_a_module_of_that_name_is_loaded(root):
    (root / "sys/module/fibdrv").mkdir(parents=True)
    with pytest.raises(LabError, match="not from this kit") as error:
        host.Host().boot(contents({}))
    assert "\n" not in str(error.value)
    assert loaded(root), "nothing may be done"


def test_refuses_other_processors_and_missing_programs(root, monkeypatch):
    system = os.uname_result(("Linux", "test", RELEASE, "#1", "aarch64"))
    with monkeypatch.context() as patch:
        patch.setattr(os, "uname", lambda: system)
        with pytest.raises(LabError, match="aarch64, not Linux on x86-64"):
            host.Host().kernel()
    (root.parent / "bin/sudo").unlink()
    monkeypatch.setenv("PATH", str(root.parent / "bin"))
    with pytest.raises(LabError, match="sudo is not installed"):
        host.Host().kernel()


def test_kernel(root):
    kernel = host.Host().kernel()
    assert kernel.tree == root / f"lib/modules/{RELEASE}/build"
    assert (kernel.release, kernel.arch) == (RELEASE, "x86")
    assert kernel.compiler == "gcc-12 (Test) 12.2.0"


def test_asks_first_and_does_nothing_without_a_yes(root, monkeypatch):
    monkeypatch.delenv("LAB_YES")
    # The kit asks no question, because stdin is not a terminal.
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    with pytest.raises(LabError, match="yes=1"):
        host.Host().boot(contents({}))
    assert not (root.parent / "log").exists()


@pytest.mark.parametrize(("answer", "goes_on"), [("y\n", True), ("\n", False), ("n\n", False)])
def test_the_question(root, monkeypatch, capsys, answer, goes_on):
    class Terminal:
        def isatty(self):
            return True

        def readline(self):
            return answer

    monkeypatch.delenv("LAB_YES")
    monkeypatch.setattr("sys.stdin", Terminal())
    machine = host.Host()
    if goes_on:
        machine.boot(contents({})).stop()
        machine.boot(contents({})).stop()
        assert capsys.readouterr().err.count("go on?") == 1, "one question a run"
    else:
        with pytest.raises(LabError, match="did not agree"):
            machine.boot(contents({}))
        assert not (root.parent / "log").exists()


def test_says_what_it_does_and_uses_sudo_for_nothing_else(root, module, capsys):
    guest = host.Host().boot(contents({"fibdrv": module}))
    said = capsys.readouterr().err
    assert "sudo insmod" in said
    assert "sudo rmmod" in said
    guest.channel.check("insmod /lib/fibdrv/fibdrv.ko", 10)
    guest.channel.check("test -e /dev/fibonacci && test -e /sys/module/fibdrv", 10)
    guest.channel.check("rmmod fibdrv", 10)
    assert guest.channel.run("test -e /dev/fibonacci", 10).status == 1
    guest.stop()
    assert asked_of_sudo(root) == ["-v", "insmod", "chown", "rmmod"]
    assert not guest.folder.exists()


def test_stop_unloads(root, module):
    guest = host.Host().boot(contents({"5-a": module}))
    guest.channel.check("insmod /lib/fibdrv/5-a.ko", 10)
    assert loaded(root)
    guest.stop()
    guest.stop()
    assert not loaded(root)
    assert not guest.alive()
    with pytest.raises(MachineDied):
        guest.channel.run("true", 1)


def test_stop_leaves_a_module_of_others_alone(root, module):
    guest = host.Host().boot(contents({}))
    other = root / "sys/module/fibdrv/notes"
    other.mkdir(parents=True)
    (other / ".note.gnu.build-id").write_text("build id 2")
    guest.stop()
    assert loaded(root)


def test_a_module_that_cannot_be_unloaded_is_said(root, module):
    guest = host.Host().boot(contents({"fibdrv": module}))
    guest.channel.check("insmod /lib/fibdrv/fibdrv.ko", 10)
    (root / "busy").touch()
    with pytest.raises(LabError, match="Module fibdrv is in use"):
        guest.stop()


def test_what_a_crash_has_left_is_unloaded_by_the_next(root, module):
    lost = host.Host().boot(contents({"fibdrv": module}))
    lost.channel.check("insmod /lib/fibdrv/fibdrv.ko", 10)
    guest = host.Host().boot(contents({"fibdrv": module}))
    assert not loaded(root)
    guest.channel.check("insmod /lib/fibdrv/fibdrv.ko", 10)
    guest.stop()
    assert not loaded(root)


def test_a_module_in_the_place_of_ours_is_not_ours(root, module):
    lost = host.Host().boot(contents({"fibdrv": module}))
    lost.channel.check("insmod /lib/fibdrv/fibdrv.ko", 10)
    (root / "sys/module/fibdrv/notes/.note.gnu.build-id").write_text("build id 2")
    with pytest.raises(LabError, match="not from this kit"):
        host.Host().boot(contents({}))
    assert loaded(root)


def test_one_that_stays(root, module, tmp_path):
    folder = tmp_path / "stays"
    machine = host.Host()
    guest = machine.boot_to_stay(contents({}), folder)
    guest.channel.put("/lib/fibdrv/fibdrv.ko", module.read_bytes(), 1)
    guest.channel.check("insmod /lib/fibdrv/fibdrv.ko", 10)
    again = host.Host().attach(folder)
    assert again is not None
    with pytest.raises(LabError, match="make unload first"):
        host.Host().boot(contents({}))
    again.stop()
    assert not loaded(root)
    assert host.Host().attach(folder) is None


def test_none_stays_when_the_computer_starts_anew(root, module, tmp_path):
    guest = host.Host().boot_to_stay(contents({"fibdrv": module}), tmp_path / "stays")
    guest.channel.check("insmod /lib/fibdrv/fibdrv.ko", 10)
    (root / "proc/sys/kernel/random/boot_id").write_text("boot-2")
    assert host.Host().attach(tmp_path / "stays") is None


def test_console_is_what_the_kernel_has_said_since(root, module):
    guest = host.Host().boot(contents({"fibdrv": module}))
    assert guest.console() == ""
    guest.channel.check("insmod /lib/fibdrv/fibdrv.ko", 10)
    assert guest.console() == "[ 12.5] fibdrv: here\n"
    guest.stop()


@pytest.fixture
def channel(root):
    guest = host.Host().boot(contents({}))
    yield guest.channel
    guest.stop()


def test_run(channel):
    done = channel.run("echo out; echo err >&2; exit 3", 10)
    assert (done.status, done.output) == (3, "out\nerr\n")
    assert channel.run("cat", 10).output == "", "nothing to read"
    with pytest.raises(MachineError, match="exit 1"):
        channel.check("false", 10)


def test_run_gives_up_and_kills_all_that_was_started(channel, tmp_path):
    begin = time.monotonic()
    with pytest.raises(MachineTimeout):
        channel.run(f"sleep 50 & echo $! >{tmp_path}/pid; wait", 0.5)
    assert time.monotonic() - begin < 40  # The run must end before the sleep of 50 s does.
    pid = (tmp_path / "pid").read_text().strip()
    time.sleep(0.1)
    state = Path(f"/proc/{pid}/stat")
    assert not state.exists() or state.read_text().rsplit(")", 1)[1].split()[0] in "ZX"


def test_batch_is_the_real_client(channel):
    many = [f"sync {'x' * 100}{i}" for i in range(200)]
    answers = list(channel.stream_requests("fibctl batch", ["sync hello", *many], 10))
    assert answers[0] == "hello\n"
    assert answers[200] == f"{'x' * 100}199\n"
    # Without a device, the client answers with the negative errno and continues.
    if not Path("/dev/fibonacci").exists():
        assert list(channel.stream_requests("fibctl batch", ["open 0 r", "sync a"], 10)) == [
            "-2\n",
            "a\n",
        ]


def test_requests_from_a_file(channel):
    channel.put("/lib/requests.txt", b"sync hello\nsync again\n", 10)
    answers = channel.run_script("fibctl batch", "/lib/requests.txt", 2, 10)
    assert list(answers) == ["hello\n", "again\n"]
    with pytest.raises(MachineError, match="ended early"):
        list(channel.run_script("fibctl batch", "/lib/requests.txt", 3, 10))


def test_batch_says_when_the_client_ends(channel, root):
    client = next((root.parent / "tmp").rglob("bin/fibctl"))
    client.unlink()
    client.write_text("#!/bin/sh\nread a; echo one; exit 4\n")
    client.chmod(0o755)
    with pytest.raises(MachineError, match="exit 4"):
        list(channel.stream_requests("fibctl batch", ["a", "b"], 10))
    client.write_text("#!/bin/sh\nread a; echo one; sleep 50\n")
    answers = channel.stream_requests("fibctl batch", ["a", "b"], 0.5)
    assert next(answers) == "one\n"
    with pytest.raises(MachineTimeout):
        next(answers)


def test_whose_the_device_was_before_chown(root):
    guest = host.Host().boot(contents({}))
    (guest.folder / "made-by").write_text("0 0\n")
    assert guest.owner_as_made(os.getuid(), os.getgid()) == (0, 0)
    assert guest.owner_as_made(77, 88) == (77, 88)
    (guest.folder / "made-by").unlink()
    assert guest.owner_as_made(os.getuid(), os.getgid()) == (os.getuid(), os.getgid())
    guest.stop()


@pytest.mark.skipif(platform.machine() != "x86_64", reason="says so already")
def test_on_this_computer_it_can_or_says_in_one_line_why_not(monkeypatch):
    monkeypatch.delenv("LAB_HOST_ROOT", raising=False)
    said = str(host.unavailable() or "")
    assert "\n" not in said
    if not Path("/proc/modules").exists():
        assert "built without loadable modules" in said
