"""Answers are sent to destinations of the settings only, with the destination's own credentials."""

from typing import Any

import pytest

from pentad.kernel.errors import Misconfigured, NotFound, Unavailable
from pentad.kernel.ports import Fetched
from pentad.rooms.metrics.loaders.destinations import Destinations
from pentad.rooms.metrics.models import Info, Snapshot
from tests.fakes import UnusedFetcher

SECRET = "SECRET-MUST-NOT-LEAK"
INFO = Info(id="host", title="This machine", description="x", catalogue=())
SNAPSHOT = Snapshot(collector="host", scope="", as_of=1.0, tree={"a": 1})


class Far(UnusedFetcher):
    """A destination that keeps what it got and answers as told."""

    def __init__(self, status: int = 200, body: bytes = b"{}") -> None:
        self.got: list[tuple[str, dict[str, Any]]] = []
        self._answer = (status, body)

    async def fetch(self, url: str, **how: Any) -> Fetched:
        self.got.append((url, how))
        return Fetched(self._answer[0], {}, self._answer[1], url)


def table(**more: Any) -> dict[str, Any]:
    return {"there": {"url": "https://splunk.test/x", "format": "splunk", "token": SECRET, **more}}


@pytest.mark.anyio
@pytest.mark.requirement("metrics:loaders:searches")
async def test_a_collector_of_events_gets_its_token_as_it_wants_it() -> None:
    far = Far()
    sent = await Destinations(table(), far).send("there", SNAPSHOT, INFO)
    ((url, how),) = far.got
    assert url == "https://splunk.test/x"
    assert how["headers"]["authorization"] == f"Splunk {SECRET}"
    assert how["trusted"] is True
    assert how["body"] == sent.body.encode()


@pytest.mark.anyio
async def test_a_bulk_request_carries_a_login_and_fails_when_documents_were_refused() -> None:
    given = {"e": {"url": "https://e.test/_bulk", "format": "elk", "user": "u", "password": "p"}}
    far = Far(body=b'{"errors": true}')
    with pytest.raises(Unavailable):
        await Destinations(given, far).send("e", SNAPSHOT, INFO)
    assert far.got[0][1]["headers"]["authorization"] == "Basic dTpw"
    assert far.got[0][1]["headers"]["content-type"] == "application/x-ndjson"


@pytest.mark.anyio
@pytest.mark.requirement("metrics:loaders:scheduled")
async def test_points_that_a_telemetry_receiver_rejects_are_a_failure() -> None:
    given = {"o": {"url": "https://o.test/v1/metrics", "format": "otlp"}}
    body = b'{"partialSuccess": {"rejectedDataPoints": "3", "errorMessage": "no"}}'
    with pytest.raises(Unavailable, match="rejected 3 data points"):
        await Destinations(given, Far(body=body)).send("o", SNAPSHOT, INFO)
    for fine in (b"", b"{}", b'{"partialSuccess": {}}', b"[]"):
        await Destinations(given, Far(body=fine)).send("o", SNAPSHOT, INFO)


@pytest.mark.anyio
async def test_what_a_destination_refuses_is_told_without_its_secret() -> None:
    with pytest.raises(Unavailable) as refused:
        await Destinations(table(), Far(status=403)).send("there", SNAPSHOT, INFO)
    assert "HTTP 403" in refused.value.message
    assert SECRET not in str(refused.value.as_json())


@pytest.mark.anyio
async def test_an_unknown_destination_is_refused_with_those_there_are() -> None:
    with pytest.raises(NotFound) as refused:
        await Destinations(table(), Far()).send("ther", SNAPSHOT, INFO)
    assert "Did you mean 'there'?" in refused.value.message
    with pytest.raises(NotFound):
        await Destinations(None, Far()).send("there", SNAPSHOT, INFO)


@pytest.mark.parametrize(
    "given",
    [
        [],
        {"x": {"format": "csv"}},
        table(format="xls"),
        table(url="ftp://x"),
        table(colour="red"),
        table(every=60),
        table(collectors=["host"]),
    ],
)
def test_a_wrong_table_is_refused_when_the_room_opens(given: Any) -> None:
    with pytest.raises(Misconfigured) as refused:
        Destinations(given, Far())
    assert SECRET not in str(refused.value.as_json())
