# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test finding, packing and unpacking the submissions of a class, even hostile ones."""

from __future__ import annotations

import gzip
import io
import json
import os
import struct
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

from grader.base.errors import LabError
from grader.classroom import packing, submissions, unpack, unpacker
from grader.exercise.files import exercises
from grader.sandbox import ARCHIVE, SandboxView
from tests import sandbox_calls
from tests.sandbox_calls import Caller, needs_sandbox

call = sandbox_calls.call
place = sandbox_calls.place

ODD = ['"; reboot #', "$(touch pwned)", "a\nb", "-rf", "ü ñ", "{}", "'", "\x1b[31m", "a\\b"]


# The students' names.


def _names(folder: Path) -> list[str]:
    return [one.student for one in submissions.find(folder)[0]]


def test_folders_as_others_leave_them(tmp_path: Path) -> None:
    (tmp_path / "submission_12345").mkdir()  # as from Gradescope
    (tmp_path / "submission_metadata.yml").write_text("")
    (tmp_path / "Anna Example_123_assignsubmission_file_").mkdir()  # as from Moodle
    (tmp_path / "bob.tar.gz").write_bytes(b"x")
    # This archive is rejected later, in a message with the student's name.
    (tmp_path / "carol.rar").write_bytes(b"x")
    (tmp_path / ".git").mkdir()
    found, left = submissions.find(tmp_path)
    assert [s.student for s in found] == ["Anna Example", "bob", "carol", "submission_12345"]
    assert left == ["submission_metadata.yml"]


def test_two_of_one_name_keep_apart(tmp_path: Path) -> None:
    (tmp_path / "anna").mkdir()
    (tmp_path / "anna.zip").write_bytes(b"x")
    assert _names(tmp_path) == ["anna", "anna.zip"]
    # Without its suffix, this archive would have the name of another submission.
    (tmp_path / "anna.zip.zip").write_bytes(b"x")
    assert _names(tmp_path) == ["anna", "anna.zip", "anna.zip.zip"]
    found, _ = submissions.find(tmp_path)
    assert len({one.id for one in found}) == 3


def test_no_other_name_can_be_found_for_an_id(tmp_path: Path) -> None:
    """With an id of 32 bits, these names had the same id, so one got the points of the other."""
    anna, other = (submissions.Submission(name, tmp_path) for name in ("anna", "(anna$~$+(+;.(("))
    assert anna.id != other.id


def test_names_may_be_anything(tmp_path: Path) -> None:
    for name in [*ODD, os.fsdecode(b"\xff\xfe")]:
        (tmp_path / name).mkdir()
    found, _ = submissions.find(tmp_path)
    ids = [one.id for one in found]
    assert len(set(ids)) == len(ODD) + 1
    assert all(i.replace("-", "").isalnum() and i[0] != "-" and i.isascii() for i in ids)


def test_a_list_of_paths(tmp_path: Path) -> None:
    for name in ("x/5-mine", "y/5-mine", "z"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "list").write_text(f"x/5-mine\n\n{tmp_path}/y/5-mine\nz\n")
    assert _names(tmp_path / "list") == ["x/5-mine", f"{tmp_path}/y/5-mine", "z"]
    for text, said in (
        ("", "is empty"),
        ("none\n", "'none', which does not exist"),
        ("\0", "not a l"),
    ):
        (tmp_path / "list").write_text(text)
        with pytest.raises(LabError, match=said):
            submissions.find(tmp_path / "list")
    with pytest.raises(LabError, match="No such file"):
        submissions.find(tmp_path / "nowhere")


# Packing must not follow links or open special files.


def _refused(path: Path) -> str:
    with pytest.raises(packing.RejectedSubmission) as why:
        packing.packed(path)
    assert "\n" not in str(why.value)
    return str(why.value)


def _content(packed: bytes) -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        return {m.name: archive.extractfile(m).read() for m in archive}  # type: ignore[union-attr]


def test_of_a_directory_its_plain_c_files(tmp_path: Path) -> None:
    secret = tmp_path / "secret.c"
    secret.write_text("what the host keeps to itself")
    mine = tmp_path / "mine"
    for name in ("5-x", ".git", "build"):
        (mine / name).mkdir(parents=True)
        (mine / name / "fib.c").write_text(name)
    (mine / "5-x" / "Makefile").write_text("all: ; reboot")
    (mine / "5-x" / "link.c").symlink_to(secret)
    (mine / "out").symlink_to(tmp_path)
    (mine / "round").symlink_to(mine)
    os.mkfifo(mine / "5-x" / "pipe.c")
    assert _content(packing.packed(mine)) == {"5-x/fib.c": b"5-x"}
    again = tmp_path / "again"
    mine.rename(again)
    os.utime(again / "5-x" / "fib.c", (0, 0))
    first = packing.packed(again)
    (again / "5-x" / "fib.c").write_text("5-y")
    assert first != packing.packed(again)


def test_what_is_refused_before_it_is_opened(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/etc")
    assert _refused(tmp_path / "link").startswith("the submission is a link, which is not followed")
    (tmp_path / "empty").mkdir()
    assert (
        _refused(tmp_path / "empty")
        == "the submission holds no C file; send one archive, or the C files"
    )
    (tmp_path / "a.zip").write_bytes(b"")
    assert _refused(tmp_path / "a.zip").startswith("the archive is empty")
    with (tmp_path / "b.tar").open("wb") as file:
        file.truncate(packing.ARCHIVE_BYTES + 1)
    assert "larger than" in _refused(tmp_path / "b.tar")
    (tmp_path / "c.rar").write_bytes(b"x")
    assert "not a known kind of archive" in _refused(tmp_path / "c.rar")
    os.mkfifo(tmp_path / "d.zip")
    assert "not a known kind of archive" in _refused(tmp_path / "d.zip")
    many = tmp_path / "many"
    many.mkdir()
    for i in range(unpacker.FILES + 1):
        (many / f"{i}.c").write_text("")
    assert "more than 1,000 C files" in _refused(many)


def test_an_archive_in_a_folder_as_moodle_leaves_it(tmp_path: Path) -> None:
    (tmp_path / "x.zip").write_bytes(b"packed")
    assert packing.packed(tmp_path) == b"packed"
    (tmp_path / "y.zip").write_bytes(b"packed")
    assert _refused(tmp_path) == (
        "the submission holds no C file, but 2 archives; send one archive, or the C files"
    )


# Unpacking in the sandbox.


def _tar(*members: tuple[str, dict[str, Any], bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, attributes, content in members:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            for key, value in attributes.items():
                setattr(member, key, value)
            archive.addfile(member, io.BytesIO(content))
    return out.getvalue()


def _zip(*members: tuple[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return out.getvalue()


def _link_in_zip(name: str, target: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        member = zipfile.ZipInfo(name)
        member.external_attr = 0o120777 << 16
        archive.writestr(member, target)
    return out.getvalue()


def _million_in_tar() -> bytes:
    # Compress 10,000 members once and repeat the result, because a gzip file may have several
    # parts.
    some = b"".join(tarfile.TarInfo(f"{i}.txt").tobuf() for i in range(10_000))
    return gzip.compress(some, 1) * 100


def _million_in_zip() -> bytes:
    one = struct.pack("<4s6H3L5H2L", b"PK\1\2", 20, 20, *[0] * 4, *[0] * 3, 1, *[0] * 4, 0, 0)
    entries = (one + b"a") * 1_000_000
    return entries + struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 65535, 65535, len(entries), 0, 0)


def _zeros_in_tar() -> bytes:
    head = tarfile.TarInfo("5-x/zeros.bin")
    head.size = 10 << 30
    block = gzip.compress(bytes(64 << 20), 1)
    return gzip.compress(head.tobuf(tarfile.GNU_FORMAT)) + block * 160


def _encrypted() -> bytes:
    packed = bytearray(_zip(("fib.c", b"x")))
    for mark, at in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        packed[packed.index(mark) + at] |= 1
    return bytes(packed)


HOSTILE = {
    "leads out": (_tar(("../../victim.c", {}, b"x")), "'../../victim.c', which leads out"),
    "leads out of a zip": (_zip(("a/../../v.c", b"x")), "which leads out"),
    "from the top": (_tar(("/etc/x.c", {}, b"x")), "which leads out"),
    "backslashes": (_zip(("..\\v.c", b"x")), "which leads out"),
    "10 GB of zeros": (_zeros_in_tar, "unpacks to more than 268,435,456 bytes"),
    "a million files": (_million_in_tar, "more than 20,000 files"),
    "a million in a zip": (_million_in_zip, "more than 20,000 files"),
    "many C files": (_tar(*((f"{i}.c", {}, b"") for i in range(1001))), "more than 1,000 C files"),
    "deep": (_tar(("d/" * 20 + "x.c", {}, b"")), "more than 12 folders deep"),
    "encrypted": (_encrypted(), "the archive is encrypted"),
    "cut short": (
        gzip.compress(_tar(("fib.c", {}, b"x" * 9999)))[:-30],
        "the archive is damaged, or no zip or tar",
    ),
    "no archive": (b"hello", "the archive is damaged, or no zip or tar"),
    "zip of nothing": (b"PK\5\6", "the archive is damaged, or no zip or tar"),
}


@needs_sandbox
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_archive_is_refused_in_a_line(call: Caller, name: str) -> None:
    packed, said = HOSTILE[name]
    answer, found = _unpacked(call, packed if isinstance(packed, bytes) else packed())
    problem, action = answer["refused"]
    assert said in problem and action and "\n" not in f"{problem}{action}"
    assert not {"victim.c", "v.c", "x.c"} & set(found)


def _unpacked(call: Caller, packed: bytes) -> tuple[dict[str, Any], list[str]]:
    archive, target = call.folder / "packed", call.directory("content")
    archive.write_bytes(packed)
    script = call.place / "kit/grader/classroom/unpacker.py"
    result = call(
        [unpack.PYTHON, "-I", "-S", "-B", script, archive, target],
        ARCHIVE,
        SandboxView(read=(script, archive), write=(target,)),
    )
    assert result.status == 0, result
    answer: dict[str, Any] = json.loads(result.output)
    return answer, sorted(str(p.relative_to(target)) for p in target.rglob("*") if p.is_file())


@needs_sandbox
def test_links_and_devices_are_left_out(call: Caller) -> None:
    link = {"type": tarfile.SYMTYPE, "linkname": str(call.place / "secret")}
    hard = {"type": tarfile.LNKTYPE, "linkname": "/etc/passwd"}
    device = {"type": tarfile.CHRTYPE, "devmajor": 1, "devminor": 3}
    packed = _tar(
        ("fib.c", {"mode": 0o6777}, b"int x;"),
        ("a.c", link, b""),
        ("b.c", hard, b""),
        ("c.c", device, b""),
        ("dir", {**link, "linkname": str(call.place)}, b""),
        ("dir/d.c", {}, b"x"),
        ("big.c", {}, bytes(unpacker.FILE_BYTES + 1)),
        ("$(reboot)\n/e.c", {}, b"x"),
    )
    answer, found = _unpacked(call, packed)
    assert found == ["__reboot__/e.c", "dir/d.c", "fib.c"]
    assert [line.split("'")[1] for line in answer["left"]] == ["a.c", "b.c", "c.c", "big.c"]
    assert not (call.place / "d.c").exists()


@needs_sandbox
def test_a_link_in_a_zip_is_left_out(call: Caller) -> None:
    answer, found = _unpacked(call, _link_in_zip("a.c", "/etc/passwd"))
    assert (answer["taken"], found) == (0, [])


# The following tests choose the directory with the stage in an unpacked archive.


def _stage(tmp_path: Path, *names: str) -> str:
    members = [(f"{name}/fib.c", {}, b"x") for name in names]
    directory, _ = unpack.directory(_tar(*members), exercises.find(5), tmp_path)
    assert (
        directory == tmp_path / "5-schoolbook-squaring" and (directory / "fib.c").read_text() == "x"
    )
    return directory.name


@needs_sandbox
@pytest.mark.parametrize(
    "names",
    [
        (".",),
        ("a/b",),
        ("5-mine",),
        ("x/5", "x/6-other"),
        ("stages/5-schoolbook-squaring", "work/5-schoolbook-squaring", "work/old/5-x.1"),
        ("stages/5-mine", "stages/4-mine"),
        ("tests/planted/5-x", "5-mine"),
    ],
)
def test_the_stage_is_found(tmp_path: Path, names: tuple[str, ...]) -> None:
    _stage(tmp_path, *names)


@needs_sandbox
@pytest.mark.parametrize(
    ("names", "said"),
    [
        (("a/5-x", "b/5-y"), r"holds stage 5 2 times \(a/5-x, b/5-y\); send one"),
        (("4-x", "6-x"), "holds no stage 5, only 4, 6; name its directory 5-"),
        (("a", "b"), "holds no stage 5; name its directory 5-"),
    ],
)
def test_or_it_is_said_why_not(tmp_path: Path, names: tuple[str, ...], said: str) -> None:
    with pytest.raises(packing.RejectedSubmission, match=said):
        _stage(tmp_path, *names)


@needs_sandbox
@pytest.mark.parametrize(
    ("names", "said"),
    [
        (("work/memblock/add_range.c", "electives/memblock/solution/add_range.c"), ""),
        (("add_range.c", "other.c"), ""),
        (("anna/mine/add_range.c", "5-x/fib.c"), ""),
        (("a/add_range.c", "b/add_range.c"), r"holds memblock 2 times \(a, b\); send one"),
        (("fib.c",), "holds no add_range.c; send work/memblock"),
    ],
)
def test_an_electives_folder_is_found(tmp_path: Path, names: tuple[str, ...], said: str) -> None:
    packed = _tar(*((name, {}, name.encode()) for name in names))
    what = exercises.for_a_class("memblock")
    if said:
        with pytest.raises(packing.RejectedSubmission, match=said):
            unpack.directory(packed, what, tmp_path)
    else:
        found, _ = unpack.directory(packed, what, tmp_path)
        assert found == tmp_path / "memblock"
        assert (found / "add_range.c").read_text() == names[0]
