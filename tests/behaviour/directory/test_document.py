"""The original documentation line by line: its examples, environment variables and configurations."""

import contextlib
import json
import subprocess
from collections.abc import AsyncGenerator, Generator
from pathlib import Path
from typing import Any

import pytest

from pentad.app import App, open_app
from pentad.kernel.errors import Misconfigured
from pentad.kernel.principal import LOCAL
from pentad.settings.sources import load_settings
from tests.behaviour.clients import STDIO, Wire
from tests.behaviour.connecting import connected_in_memory, connected_over_stdio
from tests.behaviour.directory.directory_client import DirectoryClient, record, unique
from tests.conformance.server import environment, pentad
from tests.rooms.directory.interface.grpc.site import open_site, ref
from tests.rooms.directory.oasf.samples import sample
from tests.rooms.directory.oasf.test_remote_schemas import Server
from tests.rooms.directory.oasf.test_remote_schemas import answering as answering_http

pytestmark = pytest.mark.anyio

CURSOR = """{
  "mcpServers": {
    "dir-mcp-server": {
      "command": "/absolute/path/to/dirctl",
      "args": ["mcp", "serve"],
      "env": {
        "SCHEMA_URL": "http://localhost:8080",
        "DIRECTORY_CLIENT_SERVER_ADDRESS": "localhost:8888"
      }
    }
  }
}"""


@pytest.mark.requirement("dir:search:default-limit", "dir:search:largest-limit", "dir:search:offset")
async def test_a_search_returns_100_by_default_and_1000_at_most(in_memory: DirectoryClient, site: App) -> None:
    name = unique("many")
    rows = [record(name=name, version=f"v1.0.{number}") for number in range(1_003)]
    await site.rooms[0].service.records.push_many(LOCAL, rows)
    first = await in_memory.ask("agntcy_dir_search_local", names=[name])
    assert (first["count"], len(first["record_cids"]), first["has_more"]) == (100, 100, True)
    assert (await in_memory.ask("agntcy_dir_search_local", names=[name], limit=0))["count"] == 100
    most = await in_memory.ask("agntcy_dir_search_local", names=[name], limit=1000)
    assert (most["count"], most["has_more"], most["total_count"]) == (1000, True, 1003)
    rest = await in_memory.ask("agntcy_dir_search_local", names=[name], limit=1000, offset=1000)
    assert (rest["count"], rest["has_more"]) == (3, False)
    assert not set(rest["record_cids"]) & set(most["record_cids"])


@pytest.mark.parametrize(
    ("key", "pattern"),
    [
        ("names", "*filtered-{}"),
        ("versions", "v7.{}.?"),
        ("skill_names", "*/text_completion"),
        ("locators", "source_code:*{}"),
        ("locators", "source_code"),
        ("modules", "integration/m?p"),
        ("module_names", "*mcp"),
    ],
)
@pytest.mark.requirement(
    "dir:search:names", "dir:search:versions", "dir:search:skill-names", "dir:search:locators", "dir:search:modules"
)
async def test_every_filter_of_the_document_takes_patterns(directory: DirectoryClient, key: str, pattern: str) -> None:
    name = unique("filtered")
    number = name.rpartition("-")[2]
    skill = "natural_language_processing/natural_language_generation/text_completion"
    place = {"type": "source_code", "urls": [f"https://git.example.org/{number}"]}
    data = record(name=name, version=f"v7.{number}.1", skills=[{"name": skill}], locators=[place], authors=[name])
    cid = await directory.push(data)
    found = await directory.ask("agntcy_dir_search_local", authors=[name], **{key: [pattern.format(number)]})
    assert found["record_cids"] == [cid]
    none = await directory.ask("agntcy_dir_search_local", authors=[name], **{key: ["nothing-like-it"]})
    assert none["count"] == 0


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("w{}-*", {"a1", "b2", "c", "7"}), ("w{}-?", {"c", "7"}), ("w{}-[0-9]", {"7"}), ("w{}-[a-z]", {"c"}),
        ("w{}-[abc]?", {"a1", "b2"}), ("W{}-C", {"c"}),
    ],
)  # fmt: skip
@pytest.mark.requirement("dir:search:wildcard-star", "dir:search:wildcard-one", "dir:search:wildcard-brackets")
async def test_wildcards_mean_what_the_document_says(
    in_memory: DirectoryClient, pattern: str, expected: set[str]
) -> None:
    number = unique().rpartition("-")[2]
    cids = {end: await in_memory.push(record(name=f"w{number}-{end}")) for end in ("a1", "b2", "c", "7")}
    found = await in_memory.ask("agntcy_dir_search_local", names=[pattern.format(number)])
    assert set(found["record_cids"]) == {cids[end] for end in expected}


@pytest.mark.requirement("dir:example:python", "dir:example:version", "dir:example:complex")
async def test_the_searches_of_the_document_work_as_printed(in_memory: DirectoryClient, site: App) -> None:
    async def kept(**changes: Any) -> str:
        """Stored as a directory without these rules would have sent it: no OASF version has such skills."""
        pushed = await site.rooms[0].service.records.push(LOCAL, {**sample("0.7.0"), **changes})
        return pushed.cid

    python = await kept(name="snake", skills=[{"name": "coding/python_development"}])
    image = {"type": "docker-image", "url": "https://registry.example.org/learner"}
    learner = await kept(name="learner", skills=[{"name": "data/machine_learning"}], locators=[image])
    await kept(name="lazy-learner", skills=[{"name": "data/machine_learning"}])
    mine = await in_memory.push(record(name="my-agent", version="v1.4.0"))
    await in_memory.push(record(name="my-agent", version="v2.0.0"))
    for printed, found in (
        ('{"skill_names": ["*python*", "*Python*"]}', [python]),
        ('{"names": ["my-agent"], "versions": ["v1.*"]}', [mine]),
        (
            '{"skill_names": ["*machine*learning*"], "locators": ["docker-image:*"], "limit": 50, "offset": 0}',
            [learner],
        ),
    ):
        answer = await in_memory.ask("agntcy_dir_search_local", **json.loads(printed))
        assert answer["record_cids"] == found, printed


@pytest.mark.requirement("dir:search:or")
async def test_filters_joined_by_or_are_asked_for_by_match_any(in_memory: DirectoryClient) -> None:
    one = await in_memory.push(record(name=(first := unique("or"))))
    two = await in_memory.push(record(name=unique("or"), authors=[author := unique("author")]))
    either = await in_memory.ask("agntcy_dir_search_local", names=[first], authors=[author], match="any")
    assert either["record_cids"] == [two, one]
    within = await in_memory.ask("agntcy_dir_search_local", names=[first, unique("nobody")])
    assert within["record_cids"] == [one]


def configured(folder: Path, environ: dict[str, str]) -> Any:
    return load_settings({"data": str(folder), "rooms": "directory", "auth": "none"}, environ=environ, folder=folder)


@contextlib.asynccontextmanager
async def door_with(folder: Path, environ: dict[str, str]) -> AsyncGenerator[DirectoryClient]:
    wire = Wire("memory", "2025-11-25")
    async with open_app(configured(folder, environ)) as app, connected_in_memory(app, wire, {}) as client:
        yield DirectoryClient(client)


@pytest.mark.requirement(
    "dir:env:server-address", "dir:env:none", "dir:push:configured-server", "dir:env:passed-through"
)
async def test_the_server_address_sends_records_to_that_directory(tmp_path: Path) -> None:
    async with open_site(tmp_path / "there") as other:
        environ = {"DIRECTORY_CLIENT_SERVER_ADDRESS": other.address, "DIRECTORY_CLIENT_AUTH_MODE": "none"}
        async with door_with(tmp_path / "here", environ) as directory:
            data = record()
            answer = await directory.ask("agntcy_dir_push_record", record_json=json.dumps(data))
            assert answer["server_address"] == other.address
            (there,) = await other.wire.all("StoreService/Lookup", ref(answer["cid"]))
            assert there.annotations["name"] == data["name"]
            found = await directory.ask("agntcy_dir_search_local", names=[data["name"]])
            assert found["record_cids"] == [answer["cid"]]
            assert json.loads((await directory.ask("agntcy_dir_pull_record", cid=answer["cid"]))["record_data"]) == data
            hits = await directory.ask("agntcy_dir_search_local", query=data["description"])
            assert (hits["record_cids"], hits["retrieval"]) == ([answer["cid"]], "lexical")
            assert hits["hits"][0]["why"]
            resolved = await directory.ask("directory_resolve", reference=data["name"])
            assert (resolved["cid"], len(resolved["versions"])) == (answer["cid"], 1)
            same = await directory.ask("directory_diff", before=data["name"], after=answer["cid"])
            assert same["same"]
            signed = await directory.ask("directory_sign", reference=data["name"])
            assert await directory.ask("directory_sign", reference=data["name"]) == signed, "once is enough"
            verdict = await directory.ask("agntcy_dir_verify_record", cid=answer["cid"])
            assert (verdict["success"], verdict["signers"][0]["identity"]) == (True, signed["public_key"])
            refused = await directory.refused("directory_lineage", reference=data["name"])
            assert other.address in refused
    async with door_with(tmp_path / "here", environ) as directory:
        dead = await directory.ask("agntcy_dir_pull_record", cid=answer["cid"])
        assert dead["error_message"].startswith("Failed to pull record: ")


@pytest.mark.requirement("dir:env:lazy", "dir:env:unset")
async def test_starting_asks_nobody_and_a_wrong_mode_is_told_at_once(tmp_path: Path) -> None:
    for environ in (
        {},
        {"SCHEMA_URL": "http://127.0.0.1:9"},
        {"SCHEMA_URL": "no-such-host.invalid", "DIRECTORY_CLIENT_SERVER_ADDRESS": "127.0.0.1:9"},
    ):
        async with door_with(tmp_path, environ) as directory:
            assert len(await directory.client.everything("tools/list", "tools")) == 24
    async with door_with(tmp_path, {}) as directory:
        answer = await directory.ask("agntcy_dir_push_record", record_json=json.dumps(record()))
        assert answer["server_address"] == "embedded", "without a variable the directory is this one"
    wrong = {"DIRECTORY_CLIENT_SERVER_ADDRESS": "127.0.0.1:9", "DIRECTORY_CLIENT_AUTH_MODE": "telepathy"}
    with pytest.raises(Misconfigured, match="telepathy"):
        async with door_with(tmp_path, wrong):
            pass


@pytest.mark.parametrize("variable", ["SCHEMA_URL", "OASF_API_VALIDATION_SCHEMA_URL"])
@pytest.mark.requirement("dir:env:schema-url", "dir:env:schema-url-local")
async def test_the_schema_url_validates_by_that_server(tmp_path: Path, variable: str) -> None:
    server = Server()
    async with (
        answering_http(server.handle) as port,
        door_with(tmp_path, {variable: f"http://localhost:{port}"}) as directory,
    ):
        versions = await directory.ask("agntcy_oasf_list_versions")
        assert versions["count"] == len(versions["available_versions"])
        answer = await directory.ask("agntcy_oasf_validate_record", record_json=json.dumps(sample("1.0.0")))
        assert server.sent == sample("1.0.0")
        assert answer["schema_version"] == "1.0.0"
        assert any(line.startswith("ERROR: ") for line in answer["validation_errors"])
    async with door_with(tmp_path, {variable: f"http://localhost:{port}"}) as directory:
        dead = await directory.ask("agntcy_oasf_validate_record", record_json=json.dumps(sample("1.0.0")))
        assert dead["valid"] is False
        assert dead["error_message"].startswith("Validation error: ")
        lost = await directory.ask("agntcy_oasf_list_versions")
        assert lost["error_message"].startswith("Failed to get available schema versions")
        pushed = await directory.ask("agntcy_dir_push_record", record_json=json.dumps(sample("1.0.0")))
        assert pushed["error_message"].startswith("Failed to validate record: ")


@pytest.mark.requirement("dir:env:embedded")
async def test_without_a_schema_url_nothing_is_fetched(tmp_path: Path) -> None:
    async with open_app(configured(tmp_path, {})) as app:
        await app.fetcher.close()
        async with connected_in_memory(app, Wire("memory", "2025-11-25"), {}) as client:
            answer = await DirectoryClient(client).ask(
                "agntcy_oasf_validate_record", record_json=json.dumps(sample("1.1.0"))
            )
            assert answer == {"valid": True, "schema_version": "1.1.0"}


@contextlib.contextmanager
def started(server: dict[str, Any], home: Path) -> Generator["subprocess.Popen[bytes]"]:
    """A server started as an IDE does: the command, its arguments and its environment, and pipes."""
    own = {**environment(), **server.get("env", {}), "PENTAD_DATA": str(home)}
    with (home / "log").open("wb") as log:
        child = subprocess.Popen(
            [server["command"], *server["args"]], env=own, cwd=home, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=log,
        )  # fmt: skip
    try:
        yield child
    finally:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.close()
        child.wait(60)
        child.stdout.close()


@pytest.mark.interop
@pytest.mark.parametrize("arguments", [["mcp", "serve", "--rooms", "directory"], ["mcp", "serve"]])
@pytest.mark.requirement("dir:setup:cursor", "dir:setup:cursor-env", "dir:setup:stdio", "dir:usage:tools")
async def test_the_configuration_of_an_ide_starts_the_server(tmp_path: Path, arguments: list[str]) -> None:
    server = json.loads(CURSOR)["mcpServers"]["dir-mcp-server"]
    server |= {"command": pentad(), "args": arguments}
    assert Path(server["command"]).is_absolute()
    with started(server, tmp_path) as child:
        async with connected_over_stdio(child, STDIO, {}) as client:
            directory = DirectoryClient(client)
            names = {tool["name"] for tool in await client.everything("tools/list", "tools")}
            assert {"agntcy_oasf_list_versions", "agntcy_dir_search_local"} <= names
            if "--rooms" in arguments:
                assert client.server["serverInfo"]["name"] == "dir-mcp-server"
            listed = await directory.ask("agntcy_oasf_list_versions")
            assert "localhost:8080" in listed["error_message"] or "schema versions" in listed["error_message"]
            pulled = await directory.ask("agntcy_dir_pull_record", cid="b" * 59)
            assert "localhost:8888" in pulled["error_message"]


@pytest.mark.requirement("dir:usage:prompts")
async def test_every_workflow_of_the_document_is_a_prompt_by_that_name(directory: DirectoryClient) -> None:
    listed = {entry["name"] for entry in await directory.client.everything("prompts/list", "prompts")}
    for reference in (
        "/dir-mcp-server/create_record", "/dir-mcp-server/validate_record", "/dir-mcp-server/push_record",
        "/dir-mcp-server/search_records", "/dir-mcp-server/pull_record", "/dir-mcp-server/import_record",
        "/dir-mcp-server/export_record",
    ):  # fmt: skip
        assert reference.rpartition("/")[2] in listed
