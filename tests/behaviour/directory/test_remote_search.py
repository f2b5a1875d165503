"""The requests that a search sends to a remote directory: one query per value, over every connection.

The remote directory is a search service in this process that records its requests.
"""

import subprocess
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Any

import grpc
import pytest

from pentad.app import App, open_app
from pentad.rooms.directory.wire.protos import search_pb2
from pentad.settings.sources import load_settings
from tests.behaviour.connecting import stdio_child
from tests.behaviour.directory.connections import CONNECTIONS, name_of, opened
from tests.behaviour.directory.directory_client import DirectoryClient
from tests.rooms.directory.remote.test_remote_node import UNKNOWN, other_server

pytestmark = pytest.mark.anyio

Asked = list[tuple[str, str, bool]]
"""Queries as the remote directory received them: type, value, and whether matches are excluded."""


@dataclass
class Elsewhere:
    """A remote directory that knows one record, and the requests it received."""

    searches: list[search_pb2.SearchCIDsRequest] = field(default_factory=list[search_pb2.SearchCIDsRequest])
    counts: list[search_pb2.CountRecordsRequest] = field(default_factory=list[search_pb2.CountRecordsRequest])
    variables: dict[str, str] = field(default_factory=dict[str, str])

    async def search(self, request: search_pb2.SearchCIDsRequest, context: Any) -> Any:
        self.searches.append(request)
        yield search_pb2.SearchCIDsResponse(record_cid=UNKNOWN).SerializeToString()

    async def count(self, request: search_pb2.CountRecordsRequest, context: Any) -> bytes:
        self.counts.append(request)
        return search_pb2.CountRecordsResponse(total_count=1).SerializeToString()

    def methods(self) -> dict[str, Any]:
        read, count = search_pb2.SearchCIDsRequest.FromString, search_pb2.CountRecordsRequest.FromString
        return {
            "SearchService/SearchCIDs": grpc.unary_stream_rpc_method_handler(self.search, read),
            "SearchService/CountRecords": grpc.unary_unary_rpc_method_handler(self.count, count),
        }


@pytest.fixture(scope="module")
async def elsewhere() -> AsyncIterator[Elsewhere]:
    made = Elsewhere()
    async with other_server(made.methods()) as address:
        made.variables = {"DIRECTORY_CLIENT_SERVER_ADDRESS": address, "DIRECTORY_CLIENT_AUTH_MODE": "none"}
        yield made


@pytest.fixture(scope="module")
async def pointed_site(elsewhere: Elsewhere, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[App]:
    folder = tmp_path_factory.mktemp("pointed")
    flags = {"data": str(folder), "rooms": "directory", "auth": "none"}
    async with open_app(load_settings(flags, environ=elsewhere.variables, folder=folder)) as app:
        yield app


@pytest.fixture(scope="module")
def pointed_child(
    elsewhere: Elsewhere, tmp_path_factory: pytest.TempPathFactory
) -> Iterator["subprocess.Popen[bytes]"]:
    with stdio_child(tmp_path_factory.mktemp("pointed"), "directory", **elsewhere.variables) as child:
        yield child


@pytest.fixture(params=CONNECTIONS, ids=name_of)
async def pointed(
    request: pytest.FixtureRequest, pointed_site: App, elsewhere: Elsewhere
) -> AsyncIterator[DirectoryClient]:
    """A room configured to use the remote directory, over each connection in turn."""
    elsewhere.searches.clear()
    elsewhere.counts.clear()
    async with opened(request.param, pointed_site, lambda: request.getfixturevalue("pointed_child")) as directory:
        yield directory


def asked(request: search_pb2.SearchCIDsRequest | search_pb2.CountRecordsRequest) -> Asked:
    name = search_pb2.RecordQueryType.Name
    return [(name(one.type).removeprefix("RECORD_QUERY_TYPE_"), one.value, one.negate) for one in request.queries]


NINE = {
    "names": ["example.org/first", "example.org/second"],
    "versions": ["v1.*"],
    "skill_ids": ["10201"],
    "skill_names": ["*summar*"],
    "locators": ["docker_image:https://*"],
    "module_names": ["integration/mcp"],
    "domain_ids": ["104"],
    "domain_names": ["technology/[a-m]*"],
}
"""Two names, and seven other filters with one value each."""

ARRAYS = (
    ("names", "NAME", ["b", "a", "b"]),
    ("versions", "VERSION", [">=v1.0.0"]),
    ("skill_ids", "SKILL_ID", ["10201", "602"]),
    ("skill_names", "SKILL_NAME", ["Zusammenfassung für *"]),
    ("locators", "LOCATOR", ["source_code"]),
    ("module_names", "MODULE_NAME", ["runtime/mcp", " padded "]),
    ("domain_ids", "DOMAIN_ID", ["1??"]),
    ("domain_names", "DOMAIN_NAME", ["technology/*"]),
    ("created_ats", "CREATED_AT", ["2026-03-*"]),
    ("authors", "AUTHOR", ['Ada "A" Park <ada@example.org>', "*[Pp]ark*"]),
    ("schema_versions", "SCHEMA_VERSION", ["1.0.0"]),
    ("module_ids", "MODULE_ID", ["202"]),
)
"""The arrays in the order in which they are queried, with the type of their queries."""


@pytest.mark.requirement("dir:search:query-per-value")
async def test_every_value_of_every_array_is_one_query_in_the_known_order(
    pointed: DirectoryClient, elsewhere: Elsewhere
) -> None:
    answer = await pointed.ask("agntcy_dir_search_local", **NINE, limit=7, offset=2)
    assert answer == {"record_cids": [UNKNOWN], "count": 1, "has_more": False, "total_count": 1}
    (nine,) = elsewhere.searches
    assert [query_type for query_type, _, _ in asked(nine)] == [
        "NAME", "NAME", "VERSION", "SKILL_ID", "SKILL_NAME", "LOCATOR", "MODULE_NAME", "DOMAIN_ID", "DOMAIN_NAME"
    ]  # fmt: skip
    assert [value for _, value, _ in asked(nine)] == [value for values in NINE.values() for value in values]
    assert nine.offset == 2

    backwards = {name: values for name, _, values in reversed(ARRAYS)}
    await pointed.ask("agntcy_dir_search_local", **backwards)
    wanted = [(query_type, value, False) for _, query_type, values in ARRAYS for value in values]
    assert asked(elsewhere.searches[-1]) == wanted, "however the arguments are ordered, and each value as it was given"
    assert [asked(request) for request in elsewhere.counts] == [asked(request) for request in elsewhere.searches]


@pytest.mark.requirement("dir:search:no-empty-query")
async def test_a_search_without_a_value_asks_the_other_directory_for_nothing(
    pointed: DirectoryClient, elsewhere: Elsewhere
) -> None:
    refused = {"count": 0, "has_more": False, "error_message": "at least one query filter must be provided"}
    assert await pointed.ask("agntcy_dir_search_local") == refused
    assert await pointed.ask("agntcy_dir_search_local", **{name: [] for name, _, _ in ARRAYS}) == refused
    assert (elsewhere.searches, elsewhere.counts) == ([], [])
    await pointed.ask("agntcy_dir_search_local", names=["only"], versions=[], authors=[])
    (request,) = elsewhere.searches
    assert asked(request) == [("NAME", "only", False)], "an empty array is no query"
