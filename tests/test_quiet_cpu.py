# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test in a fake root directory that scripts/quiet-cpu changes and restores settings."""

import os
import signal
import stat
import subprocess
import time
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parent.parent / "scripts/quiet-cpu"
CPU = "sys/devices/system/cpu"

INTEL = {
    f"{CPU}/online": "0-3",
    f"{CPU}/isolated": "",
    f"{CPU}/cpu3/cpufreq/scaling_governor": "powersave",
    f"{CPU}/cpu2/cpufreq/scaling_governor": "powersave",
    f"{CPU}/intel_pstate/no_turbo": "0",
    "proc/sys/kernel/randomize_va_space": "2",
    "proc/sys/kernel/random/boot_id": "first-boot",
    "proc/irq/default_smp_affinity": "f",
    "proc/irq/1/smp_affinity": "0000000f",
    "proc/irq/24/smp_affinity": "8",
    "proc/irq/25/smp_affinity": "7",
}
QUIET = INTEL | {
    f"{CPU}/cpu3/cpufreq/scaling_governor": "performance",
    f"{CPU}/intel_pstate/no_turbo": "1",
    "proc/sys/kernel/randomize_va_space": "0",
    "proc/irq/default_smp_affinity": "7",
    "proc/irq/1/smp_affinity": "7",
    "proc/irq/24/smp_affinity": "7",
}


class Computer:
    """A fake file system root, with programs that replace taskset and sudo."""

    def __init__(self, folder, files):
        self.root = folder / "root"
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{text}\n")
        programs = folder / "bin"
        programs.mkdir()
        self._program(programs / "taskset", '[ "$1" = -c ] && export PINNED=$2; shift 2; exec "$@"')
        # The fake sudo logs each command and runs it without additional rights.
        self.sudo_log = folder / "sudo.log"
        self._program(programs / "sudo", f'echo "$*" >>{self.sudo_log}; exec "$@"')
        self.state = folder / "cache/fibdrv-lab/quiet-cpu.state"
        self.environment = os.environ | {
            "LAB_SYS_ROOT": str(self.root),
            "XDG_CACHE_HOME": str(folder / "cache"),
            "PATH": f"{programs}:{os.environ['PATH']}",
        }

    @staticmethod
    def _program(path, body):
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def files(self):
        """Return the contents of all files by name."""
        return {
            str(path.relative_to(self.root)): path.read_text().strip()
            for path in self.root.rglob("*")
            if path.is_file()
        }

    def run(self, *words, **options):
        return subprocess.run(
            [SCRIPT, *words], env=self.environment, capture_output=True, text=True, timeout=20,
            **options,
        )  # fmt: skip

    def start(self, tmp_path):
        """Start a long command and wait until it runs. Return quiet-cpu's process and its ID."""
        ready = tmp_path / "ready"
        process = subprocess.Popen(
            [SCRIPT, "sh", "-c", f"echo $$ >{ready}; exec sleep 60"],
            env=self.environment,
            stderr=subprocess.DEVNULL,
        )
        until = time.monotonic() + 10
        while not (ready.exists() and ready.read_text().endswith("\n")):
            assert time.monotonic() < until and process.poll() is None
            time.sleep(0.01)
        return process, int(ready.read_text())


@pytest.fixture
def intel(tmp_path):
    return Computer(tmp_path, INTEL)


def machine_finding(computer):
    """Return a command that prints the fake computer's files as they are while the command runs."""
    return ["sh", "-c", f'cd {computer.root} && grep -rH "" . && echo "pinned $PINNED"']


def seen(output):
    lines = (line.removeprefix("./").split(":", 1) for line in output.splitlines() if ":" in line)
    return dict(lines)


def test_sets_everything_and_restores_it(intel):
    done = intel.run(*machine_finding(intel))
    assert done.returncode == 0
    assert seen(done.stdout) == QUIET
    assert "pinned 3" in done.stdout
    assert intel.files() == INTEL
    assert not intel.state.exists()
    assert "3 moved away" in done.stderr


def test_amd_turbo_and_an_isolated_cpu(tmp_path):
    files = {
        f"{CPU}/online": "0-7",
        f"{CPU}/isolated": "5-6",
        f"{CPU}/cpufreq/boost": "1",
        f"{CPU}/cpu5/cpufreq/scaling_governor": "schedutil",
        "proc/irq/9/smp_affinity": "ff",
    }
    computer = Computer(tmp_path, files)
    done = computer.run(*machine_finding(computer))
    assert "pinned 5" in done.stdout
    assert seen(done.stdout) == files | {
        f"{CPU}/cpufreq/boost": "0",
        f"{CPU}/cpu5/cpufreq/scaling_governor": "performance",
        "proc/irq/9/smp_affinity": "df",
    }
    assert "address space randomization: this computer has no such setting" in done.stderr
    assert computer.files() == files


def test_masks_of_more_than_32_cpus(tmp_path):
    computer = Computer(
        tmp_path, {f"{CPU}/online": "0-39", "proc/irq/9/smp_affinity": "ff,ffffffff"}
    )
    done = computer.run(*machine_finding(computer))
    assert seen(done.stdout)["proc/irq/9/smp_affinity"] == "7f,ffffffff"
    assert computer.files()["proc/irq/9/smp_affinity"] == "ff,ffffffff"


def test_a_computer_that_offers_nothing(tmp_path):
    computer = Computer(tmp_path, {f"{CPU}/online": "0"})
    done = computer.run("echo", "hello")
    assert (done.returncode, done.stdout) == (0, "hello\n")
    for what in ("address space randomization", "governor", "turbo"):
        assert f"{what}: this computer has no such setting" in done.stderr
    assert "no other CPU" in done.stderr


def test_exit_status_input_and_words_are_the_commands(intel):
    done = intel.run("sh", "-c", 'read -r x; echo "$x:$1"; exit 7', "sh", "a  b", input="in\n")
    assert (done.returncode, done.stdout) == (7, "in:a  b\n")
    assert intel.files() == INTEL


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_restores_when_interrupted_and_ends_the_command(intel, tmp_path, number):
    if signal.getsignal(number) == signal.SIG_IGN:
        pytest.skip("a script cannot trap a signal that was ignored when it began, as under nohup")
    process, command = intel.start(tmp_path)
    assert intel.files() == QUIET
    process.send_signal(number)
    assert process.wait(10) == 128 + number
    assert intel.files() == INTEL
    until = time.monotonic() + 5
    while Path(f"/proc/{command}").exists():
        assert time.monotonic() < until, "the command is still running"
        time.sleep(0.01)


def crash(computer, tmp_path):
    process, command = computer.start(tmp_path)
    process.kill()
    process.wait()
    os.kill(command, signal.SIGKILL)
    assert computer.files() == QUIET
    assert computer.state.exists()


def test_restore_after_kill_9(intel, tmp_path):
    crash(intel, tmp_path)
    done = intel.run("--restore")
    assert (done.returncode, done.stderr) == (0, "quiet-cpu: all is as it was\n")
    assert intel.files() == INTEL
    assert not intel.state.exists()
    assert "nothing to restore" in intel.run("--restore").stderr


def test_the_next_run_restores_first(intel, tmp_path):
    crash(intel, tmp_path)
    done = intel.run("true")
    assert done.returncode == 0
    assert "an earlier run has crashed" in done.stderr
    assert intel.files() == INTEL


def test_a_reboot_has_restored_already(intel, tmp_path):
    crash(intel, tmp_path)
    (intel.root / "proc/sys/kernel/random/boot_id").write_text("second-boot\n")
    files = intel.files()
    done = intel.run("--restore")
    assert done.returncode == 0
    assert "was restarted" in done.stderr
    assert intel.files() == files


def test_two_at_once_are_refused(intel, tmp_path):
    process, _ = intel.start(tmp_path)
    done = intel.run("true")
    assert done.returncode == 2
    assert "another quiet-cpu" in done.stderr
    process.terminate()
    process.wait()
    assert intel.files() == INTEL


def test_an_interrupt_that_cannot_be_moved(intel):
    stuck = intel.root / "proc/irq/2/smp_affinity"
    stuck.mkdir(parents=True)  # Even root cannot write text to a directory.
    done = intel.run("true")
    assert done.returncode == 0
    assert "3 moved away, 1 stay" in done.stderr
    assert intel.files() == INTEL


def test_what_is_not_there(intel):
    assert intel.run("no-such-command-at-all").returncode == 2
    assert intel.run().returncode == 2
    assert intel.files() == INTEL


@pytest.mark.skipif(os.geteuid() == 0, reason="root needs no sudo to write")
def test_sudo_only_for_writes(intel):
    protected = intel.root / "proc/sys/kernel/randomize_va_space"
    protected.chmod(0o444)
    intel.run("true")
    assert all(line.startswith("tee -- ") for line in intel.sudo_log.read_text().splitlines())
