"""Imports leave no secret in the answer, the store, the log or the audit trail."""

import base64
import json
import logging
import re
from pathlib import Path
from typing import Any

import pytest

from pentad.app import open_app
from pentad.rooms.directory.records.namespaces import Namespaces
from pentad.settings.model import Settings
from tests.behaviour.connecting import connected_in_memory
from tests.behaviour.directory.connections import CONNECTIONS
from tests.behaviour.directory.directory_client import DirectoryClient
from tests.rooms.directory.translate.secret_shapes import MIXED, SHAPES, WORD, Shape, started
from tests.stores import stored_text

pytestmark = pytest.mark.anyio

_BASE64 = re.compile(r"[A-Za-z0-9+/]{40,}")


def text_of(shape: Shape) -> str:
    return shape.source if isinstance(shape.source, str) else json.dumps(shape.source)


def unpacked(text: str) -> str:
    """A text with all its content, including decoded base64."""
    inner = [base64.b64decode(one[: len(one) // 4 * 4]) for one in _BASE64.findall(text)]
    return text + "".join(one.decode("utf-8", "replace") for one in inner)


def survivors(text: str) -> list[str]:
    secrets = {secret for shape in SHAPES for secret in shape.secrets}
    return sorted(one for one in secrets if one in text or json.dumps(one)[1:-1] in text)


@pytest.mark.requirement("dir:import:secrets")
async def test_no_secret_is_in_the_answer_the_store_the_log_or_the_audit_trail(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, database_url: str | None
) -> None:
    caplog.set_level(logging.DEBUG)
    answers: list[str] = []
    async with open_app(Settings(data=tmp_path, database=database_url, rooms=("directory",), auth="none")) as app:
        await Namespaces(app.database).set("", immutable=False)  # variants of one source share its name and version
        async with connected_in_memory(app, CONNECTIONS[0][0], {}) as client:
            directory = DirectoryClient(client)
            for suspicious in ("refuse", "withhold"):
                sources = [{"content": text_of(one), "format": one.form, "label": one.id} for one in SHAPES]
                outcomes: list[dict[str, Any]] = []
                for part in (sources[::2], sources[1::2]):
                    answer = await directory.ask(
                        "directory_import", sources=part, skills=["summarization"], suspicious=suspicious
                    )
                    outcomes += answer["outcomes"]
                told = [one["source"].partition("#")[0] for one in outcomes]  # a configuration has several servers
                for shape in SHAPES:
                    is_refused = suspicious == "refuse" and not shape.certain
                    expected = {"suspicious"} if is_refused else {"imported", "already there"}
                    own = [one for one, source in zip(outcomes, told, strict=True) if source == shape.id]
                    assert own, shape.id
                    assert {one["status"] for one in own} <= expected, (shape.id, own)
                    assert any(one["suspicious" if is_refused else "withheld"] for one in own), shape.id
                answers.append(json.dumps(outcomes, ensure_ascii=False))
                for one in outcomes:
                    if one.get("cid"):
                        pulled = await directory.ask("agntcy_dir_pull_record", cid=one["cid"])
                        answers.append(pulled["record_data"])
            for shape in SHAPES:
                for more in ({}, {"enrich": True}, {"schema_version": "0.8.0"}):
                    one = await directory.ask(
                        "agntcy_oasf_import_record", source_data=text_of(shape), source_format=shape.form, **more
                    )
                    answers.append(json.dumps(one, ensure_ascii=False) + one.get("record_json", ""))
        await app.audit.flush()
        trail = [repr(entry) for entry in await app.audit.recent(1_000)]
        assert any("directory_import" in line for line in trail)
        stored = await stored_text(app.database)
    stored += "".join(path.read_bytes().decode("utf-8", "replace") for path in tmp_path.rglob("*") if path.is_file())
    assert "modelcontextprotocol" in unpacked(stored), "records are there to be read"
    for where, text in (
        ("answer", "\n".join(answers)), ("store", stored), ("log", caplog.text), ("audit", "\n".join(trail)),
    ):  # fmt: skip
        assert survivors(unpacked(text)) == [], where


@pytest.mark.requirement("dir:import:secrets", "dir:import:suspicious")
async def test_every_wire_withholds_refuses_and_says_so(directory: DirectoryClient) -> None:
    config = json.dumps(started("x", "--api-key", WORD, API_TOKEN=WORD))
    plain = await directory.ask("agntcy_oasf_import_record", source_data=config, source_format="claude")
    assert WORD not in unpacked(json.dumps(plain))
    assert {one["path"] for one in plain["withheld"]} == {"mcpServers.notes.args[2]", "mcpServers.notes.env.API_TOKEN"}
    assert all(one["kind"] for one in plain["withheld"])
    doubtful: dict[str, Any] = {"source_data": json.dumps(started("x", NOTE=MIXED)), "source_format": "claude"}
    for more in ({}, {"push": True}):
        refused = await directory.ask("agntcy_oasf_import_record", **doubtful, **more)
        assert refused.keys() == {"error_message", "status", "suspicious"}
        assert refused["status"] == "suspicious"
        assert refused["error_message"].startswith("Failed to import from Claude format: values that look like secrets")
        assert [one["path"] for one in refused["suspicious"]] == ["mcpServers.notes.env.NOTE"]
        assert MIXED not in json.dumps(refused)
        withheld = await directory.ask("agntcy_oasf_import_record", **doubtful, **more, suspicious="withhold")
        assert MIXED not in unpacked(json.dumps(withheld))
        kept = await directory.ask("agntcy_oasf_import_record", **doubtful, **more, suspicious="keep")
        assert MIXED in kept["record_json"]
    source: dict[str, Any] = {"sources": [{"content": doubtful["source_data"]}]}
    answer = await directory.ask("directory_import", **source)
    assert (answer["failed"], answer["outcomes"][0]["status"]) == (1, "suspicious")
