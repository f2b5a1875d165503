"""config.json: every field of the original's schema, errors with their path, warnings where the original is lenient."""

import json
from pathlib import Path
from typing import Any

import pytest

from pentad.kernel.errors import InvalidInput, NotFound
from pentad.rooms.avatars.config import TOOL_NAMES, TYPES, parse_config, read_config, warnings
from pentad.rooms.avatars.interface.single_avatar import TOOLS
from tests.rooms.avatars.folders import CONFIG


def changed(**parts: Any) -> dict[str, Any]:
    return {**CONFIG, **parts}


def test_every_field_of_the_schema_is_read():
    config = parse_config(CONFIG)
    assert (config.id, config.name, config.birth_year, config.death_year) == ("ada-water", "Ada Water", 1900, 1980)
    assert config.expertise == ["irrigation", "turns"]
    assert (config.corpus.date_range.start_year, config.last_year) == (1920, 1979)
    assert config.corpus.sources[0].archive_url == "https://archive.example/turns"
    assert config.system_prompt.citation_style == "first person past tense"
    assert (config.vector_store.table, config.vector_store.embedding_dimensions) == ("avatar_chunks", 1536)
    assert (config.chunk_size, config.chunk_overlap) == (60, 12)
    assert (config.server_name, config.server_version) == ("avatar-ada-water", "1.2.0")
    assert config.tools == ["query_corpus", "get_avatar_info"]


def test_defaults_are_those_of_the_schema():
    config = parse_config({key: CONFIG[key] for key in ("id", "name", "description", "corpus", "systemPrompt")})
    store = config.vector_store
    assert (store.embedding_model, store.embedding_dimensions) == ("text-embedding-3-small", 1536)
    assert (store.chunk_size, store.chunk_overlap) == (512, 50)
    assert (config.tools, config.expertise, config.server_version) == (None, [], "1.0.0")


def test_the_server_may_be_configured_under_either_name():
    both = changed(mcp={"name": "x"}, mcpServer={"url": "https://a.example/mcp", "tools": ["query_corpus"]})
    config = parse_config(both)
    assert (config.server_name, config.tools) == ("x", ["query_corpus"])


def test_unknown_keys_are_kept_and_nothing_is_added():
    data = changed(eightPrinciples=["one"], corpus={"description": "d", "sources": [], "notes": {"a": 1}})
    assert parse_config(data).as_json() == data


@pytest.mark.parametrize(
    ("data", "path"),
    [
        ({key: value for key, value in CONFIG.items() if key != "systemPrompt"}, "systemPrompt"),
        (changed(id="Ada Water"), "id"),
        (changed(id="ada\n"), "id"),
        (changed(name=7), "name"),
        (changed(birthYear="1900"), "birthYear"),
        (changed(birthYear=True), "birthYear"),
        (changed(corpus={"description": "d"}), "corpus.sources"),
        (changed(corpus={"description": "d", "sources": [{"title": "t", "type": "book"}, {"type": "book"}]}),
         "corpus.sources[1].title"),
        (changed(systemPrompt={**CONFIG["systemPrompt"], "constraints": [1]}), "systemPrompt.constraints[0]"),
        (changed(vectorStore={"chunkSize": "big"}), "vectorStore.chunkSize"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_by_its_path(data: dict[str, Any], path: str):
    with pytest.raises(InvalidInput) as refused:
        parse_config(data)
    assert path in [problem["path"] for problem in refused.value.details["problems"]]
    assert path in refused.value.message


@pytest.mark.parametrize("identity", ["-", "a-", "0", "elinor-ostrom"])
def test_ids_the_schema_allows_are_taken(identity: str):
    assert parse_config(changed(id=identity)).id == identity


def test_what_is_legal_and_odd_is_warned_of():
    odd = changed(
        birthYear=1980, deathYear=1900, vectorStore={"chunkSize": 0, "chunkOverlap": 700},
        corpus={"description": "d", "dateRange": {"end": "June"}, "sources": [
            {"title": "t", "type": "tweet", "url": "nowhere"}, {"title": "u", "type": "lecture"}]},
    )  # fmt: skip
    assert warnings(parse_config(odd)) == [
        "birthYear 1980 is after deathYear 1900",
        "corpus.dateRange.end 'June' is not a date (YYYY-MM-DD)",
        "vectorStore.chunkSize 0 is taken as 16",
        "vectorStore.chunkOverlap 700 is taken as 8",
        f"corpus.sources[0].type 'tweet' is none of {', '.join(TYPES)}",
        "corpus.sources[0].url 'nowhere' is not an address",
    ]
    assert warnings(parse_config(CONFIG)) == []


def test_a_folder_without_configuration_is_no_avatar(tmp_path: Path):
    with pytest.raises(NotFound, match=r"no config\.json"):
        read_config(tmp_path)


@pytest.mark.parametrize("content", [b"{", b"[]", b'{"id": "\\ud800"}', b"[" * 100 + b"]" * 100, b"\xff\xfe"])
def test_a_file_that_is_no_configuration_is_refused(tmp_path: Path, content: bytes):
    (tmp_path / "config.json").write_bytes(content)
    with pytest.raises(InvalidInput):
        read_config(tmp_path)


def test_a_byte_order_mark_does_no_harm(tmp_path: Path):
    (tmp_path / "config.json").write_bytes(b"\xef\xbb\xbf" + json.dumps(CONFIG).encode())
    assert read_config(tmp_path).id == "ada-water"


@pytest.mark.requirement("avatars:config:tools")
def test_tools_that_do_not_exist_are_warned_about():
    assert set(TOOL_NAMES) == {one.name for one in TOOLS}
    (warning,) = warnings(parse_config(changed(mcp={"tools": ["query_corpus", "ask_everything"]})))
    assert "ask_everything" in warning
