"""The directory is right within two seconds of what happens to a server: started, killed at any step, started again."""

import json
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from pentad.rooms.agents.interface.rest import CARDS
from tests.conformance.wire import Modern
from tests.listings.dying import STEPS
from tests.processes.servers import Server
from tests.waiting import wait_until

pytestmark = pytest.mark.interop

SECONDS = 20.0
"""A busy machine may need longer than the two seconds. What it took is printed (`pytest -rP`)."""
ROOMS = "agents,directory"
OLD, NEW = (("--agent", f"tests.listings.dying:{name}") for name in ("Reviewer", "NewReviewer"))


class Two(ExitStack):
    """Two servers on one store, not started yet."""

    def __init__(self, database: str | None) -> None:
        super().__init__()
        folder = Path(self.enter_context(tempfile.TemporaryDirectory(prefix="pentad-listings-")))
        store = ["--data", str(folder / "data"), *(["--database", database] if database else [])]
        self.a = Server(store, folder / "a.log", "none", rooms=ROOMS)
        self.b = Server(store, folder / "b.log", "none", rooms=ROOMS)
        self.callback(self.a.stop)
        self.callback(self.b.stop)


@pytest.fixture
def two(database: str | None) -> Iterator[Two]:
    with Two(database) as two:
        yield two


def start(server: Server, *arguments: str) -> None:
    server.start(*arguments)
    server.wait_until_ready()


def call(server: Server, tool: str, **arguments: Any) -> Any:
    return Modern(server.wire).tool(tool, arguments).result["structuredContent"]


def records(server: Server) -> dict[str, str]:
    """The versions of signed records by address."""
    filters = {"annotations": ["listed_by:pentad"], "trusted": True, "return": "records"}
    found = call(server, "agntcy_dir_search_local", **filters).get("records", ())
    return {one["record"]["locators"][0]["urls"][0]: one["record"]["version"] for one in found}


def hosted(server: Server, reviewer: str | None = None) -> dict[str, str]:
    """The records that a server should have."""
    site = f"{server.site}/agents"
    own = {} if reviewer is None else {f"{site}/reviewer": reviewer}
    return {f"{site}/echo": "1.0.0", f"{site}/tool-proxy": "1.0.0", **own}


def cards(server: Server) -> set[str]:
    """What the registry's API lists of the agents that run there."""
    connection = HTTPConnection("127.0.0.1", server.port, timeout=60)
    connection.request("GET", f"{CARDS}/")
    found = json.loads(connection.getresponse().read())["items"]
    connection.close()
    return {one["humanReadableId"] for one in found}


def right(server: Server, expected: dict[str, str], after: str) -> None:
    began = time.monotonic()
    wait_until(lambda: records(server) == expected, f"wrong: {expected}", SECONDS)
    print(f"listings right {time.monotonic() - began:.2f} s after: {after}")  # noqa: T201  for people


@pytest.mark.requirement("listings:two-processes")
def test_the_records_of_a_server_come_and_go_with_it(two: Two) -> None:
    a, b = two.a, two.b
    start(b)
    right(b, hosted(b), "the first server started")
    start(a, *OLD)
    right(b, hosted(a, "1.0.0") | hosted(b), "the second server started")
    a.kill()
    right(b, hosted(b), "kill -9")
    start(a, *NEW)
    right(b, hosted(a, "2.0.0") | hosted(b), "it started with another version")
    right(a, hosted(a, "2.0.0") | hosted(b), "that, as it sees it")
    assert cards(a) == {"pentad/echo", "pentad/tool-proxy", "pentad/reviewer"}
    assert cards(b) == {"pentad/echo", "pentad/tool-proxy"}
    a.stop()
    right(b, hosted(b), "it stopped")


@pytest.mark.requirement("listings:killed")
@pytest.mark.parametrize("step", STEPS)
def test_a_server_killed_while_it_lists_an_agent_is_right_after_its_next_start(two: Two, step: str) -> None:
    a = two.a
    a.start(*OLD, DIES_AT=step)
    a.wait_until_dead()
    start(a, *OLD)
    right(a, hosted(a, "1.0.0"), f"kill -9 at {step}, and a start")
    a.stop()
    a.start(*NEW, DIES_AT=step)
    a.wait_until_dead()
    start(a)
    right(a, hosted(a), f"kill -9 at {step} of an update, and a start without it")
    a.kill()
    start(a, *NEW)
    right(a, hosted(a, "2.0.0"), "kill -9, and a start with another version")
