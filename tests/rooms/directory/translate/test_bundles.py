"""Skill bundles, valid and malicious."""

import gzip
import io
import stat
import tarfile
import zipfile
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pentad.kernel.errors import InvalidInput, LimitExceeded, PentadError
from pentad.rooms.directory.oasf.validator import validate
from pentad.rooms.directory.translate import bundles
from pentad.rooms.directory.translate.agent_skills import from_record
from pentad.rooms.directory.translate.bundles import bundle_record, read_bundle
from tests.rooms.directory.oasf.samples import sample
from tests.rooms.directory.translate.sources import SKILL, tarred, zipped

FILES: dict[str, bytes | str] = {"pdf/SKILL.md": SKILL, "pdf/scripts/fill.py": "print()", "pdf/references/a.md": "A"}
LINK = (stat.S_IFLNK | 0o777) << 16


@pytest.mark.parametrize("content", [zipped(FILES), tarred(FILES), tarred(FILES, "w:")])
def test_a_bundle_becomes_the_record_of_its_skill(content: bytes):
    record, losses = bundle_record(read_bundle(content))
    data = record["modules"][0]["data"]
    assert [(one["path"], one["type"]) for one in data["artifacts"]] == [
        ("references/a.md", "reference"),
        ("scripts/fill.py", "script"),
    ]
    assert [loss.path for loss in losses] == ["references/a.md", "scripts/fill.py"]
    assert from_record(record).result == SKILL
    assert validate(record | {"skills": sample("1.0.0")["skills"]}).errors == []


def test_the_way_it_was_packed_does_not_change_the_record():
    assert bundle_record(read_bundle(zipped(FILES))).result == bundle_record(read_bundle(tarred(FILES))).result


@pytest.mark.parametrize(
    "name",
    ["../evil", "a/../../evil", "/etc/passwd", "C:/x", "a\\..\\b", "~/x", "a//b", "a/./b", "..", "x\x01y", "a/.."],
)
def test_paths_that_lead_out_of_the_folder_are_refused(name: str):
    for pack in (zipped, tarred):
        with pytest.raises(InvalidInput, match="path"):
            read_bundle(pack({"SKILL.md": SKILL, name: "x"}))


def test_paths_that_are_too_long_or_too_deep_are_refused():
    for name in ("a" * 300, "/".join("a" * 20)):
        with pytest.raises(LimitExceeded, match="too long"):
            read_bundle(zipped({"SKILL.md": SKILL, name: "x"}))


def test_links_and_devices_are_refused():
    with pytest.raises(InvalidInput, match="link or a device"):
        read_bundle(zipped({"SKILL.md": "/etc/passwd"}, external_attr=LINK))
    for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE):
        with pytest.raises(InvalidInput, match="link or a device"):
            read_bundle(tarred({"SKILL.md": SKILL}, kind=kind))


def test_archives_that_swell_are_refused():
    bomb = b"\0" * (8 * bundles.MIB)
    for content in (zipped({"SKILL.md": SKILL, "bomb": bomb}), tarred({"SKILL.md": SKILL, "bomb": bomb})):
        with pytest.raises(LimitExceeded, match="times its size"):
            read_bundle(content)


def test_archives_of_too_many_files_or_bytes_are_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(bundles, "MOST_FILES", 10)
    monkeypatch.setattr(bundles, "MOST_UNPACKED", 20_000)
    many: dict[str, bytes | str] = {"SKILL.md": SKILL, **{f"f{number}": "" for number in range(40)}}
    noise = bytes(range(256)) * 100
    for pack in (zipped, tarred):
        with pytest.raises(LimitExceeded, match="more than 10 files"):
            read_bundle(pack(many))
        with pytest.raises(LimitExceeded, match="more than 20000 bytes"):
            read_bundle(pack({"SKILL.md": SKILL, "noise": noise}))
    monkeypatch.setattr(bundles, "MOST_PACKED", 100)
    with pytest.raises(LimitExceeded, match="the most are 100"):
        read_bundle(zipped(FILES))


def test_a_gzip_that_never_ends_is_stopped_at_the_limit(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(bundles, "MOST_UNPACKED", bundles.MIB)
    with pytest.raises(LimitExceeded, match="unpacks to more"):
        read_bundle(gzip.compress(b"\0" * (4 * bundles.MIB)))


def test_a_size_that_lies_is_not_believed():
    content = bytearray(zipped({"SKILL.md": SKILL}))
    place = content.index(b"PK\x01\x02") + 24
    content[place : place + 4] = (10).to_bytes(4, "little")
    with pytest.raises(InvalidInput):
        read_bundle(bytes(content))


def test_encrypted_and_unusual_archives_are_refused():
    content = bytearray(zipped({"SKILL.md": SKILL}))
    content[content.index(b"PK\x01\x02") + 8] |= 1
    with pytest.raises(InvalidInput, match="encrypted"):
        read_bundle(bytes(content))
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("SKILL.md", SKILL)
    with pytest.raises(InvalidInput, match="unusual"):
        read_bundle(out.getvalue())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"plain", "neither a zip nor a tar"),
        (b"PK\x03\x04broken", "cannot|can be read"),
        (b"\x1f\x8bbroken", "gzip"),
        (tarred(FILES)[:-30], "cut off|can be read"),
        (zipped({"README.md": "x"}), "no SKILL.md"),
        (zipped({"a/SKILL.md": SKILL, "b/SKILL.md": SKILL}), "one skill"),
        (zipped({"a/b/SKILL.md": SKILL}), "one skill"),
        (zipped({"SKILL.md": b"\xff\xfe"}), "UTF-8"),
    ],
)
def test_what_is_no_bundle_is_refused_with_the_reason(content: bytes, message: str):
    with pytest.raises(InvalidInput, match=message):
        read_bundle(content)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_file_that_is_there_twice_is_refused():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("SKILL.md", SKILL)
        archive.writestr("SKILL.md", SKILL + "other")
    with pytest.raises(InvalidInput, match="twice"):
        read_bundle(out.getvalue())


def test_an_entry_without_a_name_is_refused():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("SKILL.md", SKILL)
        archive.writestr(zipfile.ZipInfo("x"), "nameless")
        archive.infolist()[-1].filename = ""
    with pytest.raises(InvalidInput):
        read_bundle(out.getvalue())


@settings(max_examples=150, deadline=None)
@given(data=st.data(), content=st.sampled_from([zipped(FILES), tarred(FILES), tarred(FILES, "w:")]))
def test_damaged_archives_are_read_or_refused(data: Any, content: bytes):
    damaged = bytearray(content)
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    with suppress(PentadError):  # nothing else may come of it
        read_bundle(bytes(damaged))
