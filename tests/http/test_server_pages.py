"""Pages about the server: who may see them, and that they stay cheap under many requests."""

import asyncio
import gzip
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest

from pentad import openapi
from pentad.access.audit import AuditEntry
from pentad.app import App, open_app
from pentad.http import prometheus
from pentad.kernel.default_limits import Limits
from pentad.settings.model import Settings
from pentad.storage import diagnostics
from tests.behaviour.clocks import TurnedClock
from tests.behaviour.connecting import ROOM as LAB
from tests.behaviour.connecting import front_of
from tests.behaviour.http_wire import HttpAnswer, send
from tests.http.conftest import UNHURRIED

pytestmark = pytest.mark.anyio

PAGES = {"metrics": "/metrics", "openapi": "/openapi.json", "llms": "/llms.txt"}
Opener = Callable[..., Any]


@pytest.fixture
async def opened(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Opener]:
    async with AsyncExitStack() as stack:

        async def make(*, clock: TurnedClock | None = None, **settings: Any) -> App:
            data = tmp_path_factory.mktemp("pages")
            given: dict[str, Any] = {"data": data, "rooms": (LAB,), "limits": UNHURRIED, **settings}
            return await stack.enter_async_context(open_app(Settings(**given), clock=clock))

        yield make


async def ask(app: App, path: str, **headers: str) -> HttpAnswer:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    answer = await send(front_of(app), "GET", path, given).head()
    await answer.body()
    return answer


@pytest.mark.parametrize(
    ("settings", "public"),
    [
        ({}, {"metrics", "openapi", "llms", "readiness"}),
        ({"host": "::1"}, {"metrics", "openapi", "llms", "readiness"}),
        ({"host": "0.0.0.0"}, set[str]()),
        ({"host": "192.0.2.7"}, set[str]()),
        ({"public_url": "https://pentad.example"}, set[str]()),
        ({"public_url": "http://localhost:8700"}, {"metrics", "openapi", "llms", "readiness"}),
        ({"forwarded_allow_ips": ("127.0.0.1",)}, set[str]()),
        ({"host": "0.0.0.0", "public_pages": ("openapi", "llms")}, {"openapi", "llms"}),
        ({"public_pages": ("none",)}, set[str]()),
        ({"public_pages": ()}, set[str]()),
    ],
)
@pytest.mark.requirement("access:public-pages:default", "access:public-pages:setting")
async def test_pages_about_the_server_are_open_on_loopback_only_unless_the_operator_says_otherwise(
    opened: Opener, settings: dict[str, Any], public: set[str]
) -> None:
    app = await opened(**settings)
    key = (await app.api_keys.create("one", scopes=["*:read"])).token
    for page, path in PAGES.items():
        assert (await ask(app, path)).status == (200 if page in public else 401)
        assert (await ask(app, path, x_api_key=key)).status == 200
    for headers, in_detail in (({}, "readiness" in public), ({"x_api_key": key}, True)):
        answer = send(front_of(app), "GET", "/readyz", {name.replace("_", "-"): key for name in headers})
        told = await answer.json()
        assert answer.status == 200
        assert told["status"] == "ok"
        assert (told.keys() > {"status"}) == in_detail
    assert (await ask(app, "/healthz")).status == 200


@pytest.mark.requirement("access:public-pages:metrics")
async def test_with_credentials_the_metrics_need_their_scope(opened: Opener) -> None:
    app = await opened(host="0.0.0.0")
    for scope, status in (("lab:read", 403), ("metrics:read", 200), ("*:read", 200)):
        key = (await app.api_keys.create(scope, scopes=[scope])).token
        assert (await ask(app, "/metrics", x_api_key=key)).status == status


@pytest.mark.parametrize("path", ["/openapi.json", "/llms.txt", "/metrics"])
@pytest.mark.requirement("gateway:documents:cached")
async def test_who_has_a_page_already_is_told_so_and_gzip_is_for_those_who_take_it(opened: Opener, path: str) -> None:
    app = await opened()
    plain = send(front_of(app), "GET", path)
    body = await plain.body()
    assert (await ask(app, path, if_none_match=plain.headers["etag"])).status == 304
    assert (await ask(app, path, if_none_match='"other", W/' + plain.headers["etag"])).status == 304
    assert (await ask(app, path, if_none_match='"other"')).status == 200
    packed = send(front_of(app), "GET", path, {"accept-encoding": "gzip, br"})
    content = await packed.body()
    if packed.headers.get("content-encoding") == "gzip":
        content = gzip.decompress(content)
        assert packed.headers["etag"] != plain.headers["etag"]
    assert content == body


@pytest.mark.requirement("gateway:documents:cached")
async def test_the_description_is_made_once_however_many_ask(opened: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    made = _counted(monkeypatch, openapi, "document")
    app = await opened()
    answers = [send(front_of(app), "GET", "/openapi.json") for _ in range(20)]
    bodies = {await answer.body() for answer in answers}
    assert len(bodies) == 1
    assert json.loads(bodies.pop())["openapi"] == "3.1.0"
    assert len(made) == 1


@pytest.mark.requirement("gateway:documents:shared")
async def test_strangers_share_one_rendering_of_the_metrics_and_one_probe_for_a_second(
    opened: Opener, monkeypatch: pytest.MonkeyPatch, database_url: str | None
) -> None:
    rendered = _counted(monkeypatch, prometheus, "exposition")
    probed = _counted(monkeypatch, diagnostics, "probe_store")
    clock = TurnedClock()
    app = await opened(clock=clock, database=database_url)
    for seconds, times in ((0, 1), (0.9, 1), (0.2, 2)):
        clock.pass_seconds(seconds)
        await asyncio.gather(*(ask(app, path) for path in ("/metrics", "/readyz") for _ in range(10)))
        assert (len(rendered), len(probed)) == (times, times)
    key = (await app.api_keys.create("one", scopes=["*:read"])).token
    for path in ("/metrics", "/readyz"):
        await ask(app, path, x_api_key=key)
    assert len(rendered) == 3, "those with credentials hear how it is now"
    assert len(probed) == 2, "the store is asked once a second, whoever wants to know"


@pytest.mark.requirement("gateway:metrics:size")
async def test_the_metrics_grow_by_a_line_for_another_outcome_not_by_a_histogram(
    opened: Opener, database_url: str | None
) -> None:
    app = await opened(database=database_url)
    for outcome in ("ok", "404", "422"):
        app.audit.record(AuditEntry(1.0, "key:1", "lab", "echo", outcome, 700))
    await app.audit.flush()
    text = (await send(front_of(app), "GET", "/metrics").body()).decode()
    assert 'pentad_calls_total{outcome="404",room="lab",tool="echo"} 1.0' in text
    assert text.count("pentad_calls_total{") == 3
    assert 'pentad_call_seconds_bucket{le="0.001",room="lab",tool="echo"} 3.0' in text
    assert text.count("pentad_call_seconds_bucket{") == 10


def _counted(monkeypatch: pytest.MonkeyPatch, module: Any, name: str) -> list[None]:
    """Count the calls of a function."""
    calls: list[None] = []
    real = getattr(module, name)

    def counted(*args: Any, **facts: Any) -> Any:
        calls.append(None)
        return real(*args, **facts)

    monkeypatch.setattr(module, name, counted)
    return calls


@pytest.mark.requirement("access:public-pages:default")
def test_limits_on_strangers_are_on_by_default() -> None:
    limits = Limits()
    assert limits.anonymous_per_second > 0
    assert limits.logins_per_second > 0
    assert 0 < limits.anonymous_in_flight < limits.calls_in_flight
