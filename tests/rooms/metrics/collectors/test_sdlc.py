"""Software delivery systems over real HTTP; figures computed by hand."""

import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from aiohttp import web

from pentad.kernel.clock import Clock, SystemClock, iso
from pentad.kernel.errors import Misconfigured
from pentad.net.fetch import HttpFetcher
from pentad.rooms.metrics.collectors import sdlc as systems_of_delivery
from pentad.rooms.metrics.collectors.contract import CollectorContext
from pentad.rooms.metrics.collectors.sdlc import collectors
from pentad.rooms.metrics.engine.catalogue import Catalogue
from pentad.rooms.metrics.engine.query_engine import Answer, QueryEngine, build_query
from tests.room_settings import room_settings
from tests.rooms.metrics.sources import TurnedClock

pytestmark = pytest.mark.anyio
TOKEN = "token-MUST-NOT-LEAK"
PLACES = {
    "bitbucket": "/bitbucket/repos", "confluence": "/wiki", "jenkins": "/jenkins", "jira": "/jira",
    "splunk": "/splunk/views", "azuredevops": "/azure/_apis",
}  # fmt: skip
NONE: Any = None
LOGIN_PAGES: set[str] = set()
"""Paths that answer with a web page."""
ANSWERS: dict[str, Any] = {}
"""Other answers, by path."""
HEADERS: dict[str, str] = {}
"""Headers of every JSON answer."""


def days_ago(days: int) -> str:
    return (datetime.now(UTC) - timedelta(days=days)).isoformat()


def _view(dashboard: str, visible: str) -> str:
    keys = f'<s:key name="isDashboard">{dashboard}</s:key><s:key name="isVisible">{visible}</s:key>'
    return f"<entry><title>v</title><content><s:dict>{keys}</s:dict></content></entry>"


def _feed(*views: str) -> str:
    total = "<o:totalResults>4</o:totalResults>"
    return f'<feed xmlns="http://a" xmlns:s="http://s" xmlns:o="http://o">{total}{"".join(views)}</feed>'


FEED = _feed(_view("1", "1"), _view("1", "0"), _view("0", "1"))
LAST_OF_FEED = _feed(_view("1", "1"))


def _page(number: int, created: int, updated: int, by: str) -> dict[str, Any]:
    history = {
        "createdDate": days_ago(created),
        "createdBy": {"publicName": by},
        "lastUpdated": {"when": days_ago(updated)},
    }
    return {"id": str(number), "title": "Runbook", "history": history}


def _wiki(query: Any) -> dict[str, Any]:
    """Three pages. The first is shorter than its limit, as in Confluence Cloud, and not the last for that."""
    pages = {
        None: (_page(1, 5, 5, "Pia"), "x"),
        "x": (_page(2, 90, 3, "Pia"), "y"),
        "y": (_page(3, 1, 1, "Otto"), None),
    }
    page, cursor = pages[query.get("cursor")]
    following = {"next": f"/rest/api/content/search?cursor={cursor}"} if cursor else {}
    return {"results": [page], "limit": 2, "size": 1, "_links": {"context": "/wiki", **following}}


def _jira_cloud(query: Any) -> dict[str, Any]:
    """Pages that only a token chains; the second may be the last although it is short."""
    assert query["fields"] == "issuetype,status", "the cloud gives ids alone unless fields are named"
    pages = {None: (["1", "2"], "next"), "next": (["3"], "last"), "last": ([], None)}
    ids, token = pages[query.get("nextPageToken")]
    fields = {"issuetype": {"name": "Task"}, "status": {"name": "Done"}}
    return {"issues": [{"id": one, "fields": fields} for one in ids], **({"nextPageToken": token} if token else {})}


def _jira(query: Any) -> dict[str, Any]:
    if "openSprints" not in query["jql"]:
        return {"startAt": 0, "maxResults": 100, "total": 41, "issues": []}
    start = int(query["startAt"])
    kinds = [("Task", "In Progress"), ("Bug", "Done"), ("Task", "Done")][start : start + 2]
    issues = [
        {"id": str(start + place), "fields": {"issuetype": {"name": kind}, "status": {"name": status}}}
        for place, (kind, status) in enumerate(kinds)
    ]
    return {"startAt": start, "maxResults": 2, "total": 3, "issues": issues}


def _azure_pipelines(query: Any) -> web.Response:
    """Two pages; the token of the second is in a header of the first."""
    if "continuationToken" in query:
        return web.json_response({"count": 1, "value": [{"id": 3}]})
    headers = {"x-ms-continuationtoken": "pipeline 2/3"}
    return web.json_response({"count": 2, "value": [{"id": 1}, {"id": 2}]}, headers=headers)


async def _answer(request: web.BaseRequest) -> web.Response:
    if not request.headers.get("authorization", "").startswith("Basic "):
        return web.Response(status=401)
    path, query = request.path, request.query
    if path in LOGIN_PAGES:
        return web.Response(text="<html>Sign in</html>", content_type="text/html")
    if path in ANSWERS:
        return web.json_response(ANSWERS[path], headers=HEADERS)
    if path == "/splunk/views":
        text = LAST_OF_FEED if query.get("offset") == "3" else FEED
        return web.Response(text=text, content_type="application/atom+xml")
    if path.endswith("/wiql/"):
        sprint = "CurrentIteration" in (await request.json())["query"]
        return web.json_response({"workItems": [{"id": number} for number in range(2 if sprint else 5)]})
    if path.endswith("/workitems"):
        fields = {"System.WorkItemType": "Task", "System.State": "Active"}
        return web.json_response({"value": [{"id": one, "fields": fields} for one in query["ids"].split(",")]})
    if path.endswith("/runs"):
        runs = [{"result": "failed", "createdDate": "2024-03-01"}, {"result": "succeeded", "createdDate": "2024-03-02"}]
        return web.json_response({"value": {"1": runs, "2": runs[:1], "3": []}[path.split("/")[-2]]})
    if path == "/azure/_apis/pipelines":
        return _azure_pipelines(query)
    last = query.get("start") == "1"
    answers: dict[str, Any] = {
        "/bitbucket/repos": {"size": 1, "isLastPage": last, "nextPageStart": 1},
        "/wiki/rest/api/content/search": _wiki(query),
        "/jenkins/api/json": {
            "jobs": [{"color": color} for color in ("blue", "red", "notbuilt", "blue_anime", "disabled")]
        },
        "/cloud/rest/api/3/search/jql": _jira_cloud(query) if path.startswith("/cloud") else {},
        "/jira/rest/api/2/search": _jira(query) if "startAt" in query else {},
        "/azure/_apis/git/repositories": {"count": 4, "value": []},
    }
    return web.json_response(answers[path]) if path in answers else web.Response(status=404)


@asynccontextmanager
async def engine(
    systems: dict[str, dict[str, str]] | None = None, clock: Clock | None = None
) -> AsyncGenerator[QueryEngine]:
    runner = web.ServerRunner(web.Server(_answer), shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    address: Any = runner.addresses[0]
    base = f"http://127.0.0.1:{address[1]}"
    set_up = {name: {"url": base + path, "user": "u", "token": TOKEN} for name, path in PLACES.items()}
    if systems is not None and (place := systems.get("jira", {}).pop("place", None)) is not None:
        set_up["jira"]["url"] = base + place
    source = CollectorContext(
        NONE,
        room_settings(
            "metrics", sdlc=set_up if systems is None else {n: {**set_up[n], **s} for n, s in systems.items()}
        ),
    )
    fetcher = HttpFetcher()
    try:
        yield QueryEngine(Catalogue(collectors(source)), fetcher, clock or SystemClock(), trusted=source.trusted)
    finally:
        await fetcher.close()
        await runner.cleanup()


async def ask(one: QueryEngine, keys: str = "", **more: Any) -> Answer:
    return await one.answer("sdlc", build_query(one.catalogue.find("sdlc").info(), one.clock, keys=keys, **more))


@pytest.mark.requirement("metrics:sdlc")
@pytest.mark.requirement("metrics:sdlc:pages")
async def test_every_system_gives_its_figures() -> None:
    async with engine() as one:
        answer = await ask(one)
    assert answer.snapshot.tree["sdlcMetrics"] == {
        "bitBucketMetrics": {"totalRepositories": 2},
        "confluenceMetrics": {
            "totalPages": 3, "totalPagesCreatedInLast30Days": 2, "totalPagesUpdatedInLast30Days": 3,
            "topContributorsInLast30Days": {"Pia": 1, "Otto": 1},
        },
        "jenkinsMetrics": {"totalJobs": 5, "totalFailedJobs": 1, "totalSuccessJobs": 2, "totalUnexecutedJobs": 1},
        "jiraMetrics": {
            "totalJiraTasksInBacklog": 41, "totalJiraTasksInSprint": 3,
            "totalJiraTasksByType": {"Task": 2, "Bug": 1}, "totalJiraTasksByStatus": {"Done": 2, "In Progress": 1},
        },
        "splunkMetrics": {"totalDashboards": 2},
        "azuredevopsMetrics": {
            "totalTasksInBacklog": 5, "totalTasksInSprint": 2, "totalTasksByType": {"Task": 2},
            "totalTasksByStatus": {"Active": 2}, "totalRepositories": 4, "totalJobs": 3, "totalFailedJobs": 1,
            "totalSuccessJobs": 1, "totalUnexecutedJobs": 1,
        },
        "errors": [],
    }  # fmt: skip
    assert TOKEN not in msgspec.json.encode(answer.snapshot).decode()


@pytest.mark.requirement("metrics:sdlc")
async def test_jira_cloud_is_searched_where_it_still_can_be() -> None:
    async with engine({"jira": {"place": "/cloud"}}) as one:
        answer = await ask(one)
    jira = answer.snapshot.tree["sdlcMetrics"]["jiraMetrics"]
    assert (jira["totalJiraTasksInBacklog"], jira["totalJiraTasksInSprint"]) == (3, 3)
    assert jira["totalJiraTasksByStatus"] == {"Done": 3}
    assert answer.snapshot.problems == []


@pytest.mark.requirement("metrics:sdlc")
async def test_one_key_asks_one_system() -> None:
    async with engine() as one:
        answer = await ask(one, "jenkinsMetrics.totalJobs")
    assert answer.calls == 1
    assert answer.snapshot.tree["sdlcMetrics"] == {"jenkinsMetrics": {"totalJobs": 5}, "errors": []}


@pytest.mark.requirement("metrics:sdlc")
async def test_a_system_that_fails_is_said_and_the_others_answer() -> None:
    async with engine({"jenkins": {"token": ""}, "jira": {}}) as one:
        answer = await ask(one)
        jira = answer.snapshot.tree["sdlcMetrics"]["jiraMetrics"]
        assert jira["totalJiraTasksInSprint"] == 3
        assert answer.snapshot.tree["sdlcMetrics"]["jenkinsMetrics"]["totalJobs"] is None
        states = {sample.state for sample in answer.snapshot.samples if sample.key.startswith("jenkins")}
        assert states == {"no_permission"}
        assert len(answer.snapshot.tree["sdlcMetrics"]["errors"]) == 1


@pytest.mark.requirement("metrics:figures")
async def test_in_an_outage_the_date_is_that_of_the_facts_and_the_errors_are_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = TurnedClock()
    async with engine({"jenkins": {}}, clock) as one:
        await ask(one)
        fetched = iso(clock.now())
        monkeypatch.setattr(sys.modules[__name__], "LOGIN_PAGES", {"/jenkins/api/json"})
        clock.turn(627)
        answer = await ask(one)
    assert (answer.source, answer.age) == ("stale", 627)
    assert answer.snapshot.tree["date"] == fetched
    assert answer.snapshot.tree["sdlcMetrics"]["jenkinsMetrics"]["totalJobs"] == 5
    (error,) = answer.snapshot.tree["sdlcMetrics"]["errors"]
    assert "web page" in error


@pytest.mark.requirement("metrics:sdlc:pages")
async def test_more_pages_than_are_read_are_a_problem_and_no_smaller_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(systems_of_delivery, "MOST_PAGES", 1)
    async with engine({"bitbucket": {}, "confluence": {}, "jira": {}, "splunk": {}}) as one:
        answer = await ask(one)
    found = answer.snapshot.tree["sdlcMetrics"]
    assert found["splunkMetrics"]["totalDashboards"] is None
    assert found["bitBucketMetrics"]["totalRepositories"] is None
    assert found["confluenceMetrics"]["totalPages"] is None
    assert found["jiraMetrics"]["totalJiraTasksInSprint"] is None
    assert found["jiraMetrics"]["totalJiraTasksInBacklog"] == 41, "Jira counts these itself"
    assert all("narrow the query" in problem.message for problem in answer.snapshot.problems)


def _in_folders(jobs: dict[str, Any], depth: int) -> dict[str, Any]:
    return jobs if depth == 1 else {"jobs": [_in_folders(jobs, depth - 1)]}


TASK: dict[str, Any] = {"id": "1", "fields": {"issuetype": {"name": "Task"}, "status": {"name": "Done"}}}
ENDS_EARLY: dict[str, tuple[str, str, dict[str, Any]]] = {
    "the last page is missing": ("bitbucket", "/bitbucket/repos", {"size": 25, "isLastPage": False}),
    "the next page is the same": (
        "confluence", "/wiki/rest/api/content/search",
        {"results": [_page(1, 5, 5, "Pia")], "_links": {"next": "/rest/api/content/search", "context": "/wiki"}},
    ),
    "the link is unreadable": (
        "confluence", "/wiki/rest/api/content/search", {"results": [_page(1, 5, 5, "Pia")], "_links": {"next": 7}},
    ),
    "the token is missing": ("jira", "/jira/rest/api/3/search/jql", {"issues": [TASK], "isLast": False}),
    "the total is larger": ("jira", "/jira/rest/api/2/search", {"issues": [], "total": 12}),
    "the total is missing": ("jira", "/jira/rest/api/2/search", {"issues": [TASK]}),
    "items are missing": ("azuredevops", "/azure/_apis/wit/workitems", {"value": []}),
    "an entry is not an object": ("jenkins", "/jenkins/api/json", {"jobs": ["nightly"]}),
    "a page has no id": (
        "confluence", "/wiki/rest/api/content/search", {"results": [_page(1, 5, 5, "Pia") | {"id": None}]},
    ),
    "pages have no dates": (
        "confluence", "/wiki/rest/api/content/search", {"results": [{"id": "1", "history": {"createdDate": "soon"}}]},
    ),
    "tasks have no ids": ("jira", "/jira/rest/api/2/search", {"issues": [TASK | {"id": None}], "total": 1}),
    "tasks have no fields": ("jira", "/jira/rest/api/2/search", {"issues": [{"id": "1"}], "total": 1}),
    "items have no fields": (
        "azuredevops", "/azure/_apis/wit/workitems", {"value": [{"id": number} for number in range(5)]},
    ),
    "folders are too deep": ("jenkins", "/jenkins/api/json", _in_folders({"jobs": [{"_class": "Folder"}]}, 8)),
}  # fmt: skip


@pytest.mark.requirement("metrics:lists:complete")
@pytest.mark.parametrize("case", ENDS_EARLY)
async def test_a_list_that_ends_early_is_a_problem_and_no_smaller_figure(
    case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    system, path, given = ENDS_EARLY[case]
    monkeypatch.setattr(sys.modules[__name__], "ANSWERS", {path: given})
    async with engine({system: {}}) as one:
        answer = await ask(one)
    assert answer.snapshot.problems, "the reason is told"
    lost = {sample.key: sample.state for sample in answer.snapshot.samples if sample.value is None}
    assert lost
    assert set(lost.values()) == {"failed"}
    counted = {sample.key: sample.value for sample in answer.snapshot.samples if sample.key not in lost}
    assert not [key for key, value in counted.items() if value == 0], "and nothing is zero instead"


@pytest.mark.requirement("metrics:sdlc:anonymous")
@pytest.mark.parametrize(
    ("system", "path", "empty"),
    [
        ("jira", "/jira/rest/api/3/search/jql", {"issues": [], "isLast": True}),
        ("jira", "/jira/rest/api/2/search", {"issues": [], "total": 0}),
        ("confluence", "/wiki/rest/api/content/search", {"results": [], "_links": {}}),
    ],
)
async def test_what_atlassian_shows_to_anybody_when_the_login_failed_is_no_figure(
    system: str, path: str, empty: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules[__name__], "ANSWERS", {path: empty})
    monkeypatch.setattr(sys.modules[__name__], "HEADERS", {"X-Seraph-LoginReason": "AUTHENTICATED_FAILED"})
    async with engine({system: {}}) as one:
        answer = await ask(one)
    assert all((sample.value, sample.state) == (None, "no_permission") for sample in answer.snapshot.samples)
    assert {problem.kind for problem in answer.snapshot.problems} == {"permission"}
    monkeypatch.setattr(sys.modules[__name__], "HEADERS", {"X-Seraph-LoginReason": "OK"})
    async with engine({system: {}}) as one:
        answer = await ask(one)
    assert 0 in [sample.value for sample in answer.snapshot.samples], "nothing there is a zero"


@pytest.mark.requirement("metrics:sdlc")
async def test_jobs_in_folders_are_jobs_and_folders_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    branches = {"name": "shop", "jobs": [{"color": "red"}, {"color": "blue_anime"}]}
    jobs = [{"color": "blue"}, {"name": "team", "jobs": [branches, {"color": "notbuilt"}]}, {"name": "new", "jobs": []}]
    monkeypatch.setattr(sys.modules[__name__], "ANSWERS", {"/jenkins/api/json": {"jobs": jobs}})
    async with engine({"jenkins": {}}) as one:
        answer = await ask(one)
    assert answer.snapshot.tree["sdlcMetrics"]["jenkinsMetrics"] == {
        "totalJobs": 4, "totalFailedJobs": 1, "totalSuccessJobs": 2, "totalUnexecutedJobs": 1
    }  # fmt: skip


@pytest.mark.requirement("metrics:lists:complete")
async def test_views_that_do_not_say_what_they_are_are_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "FEED", _feed("<entry/>", "<entry/>", "<entry/>", "<entry/>"))
    async with engine({"splunk": {}}) as one:
        answer = await ask(one)
    assert answer.snapshot.tree["sdlcMetrics"]["splunkMetrics"]["totalDashboards"] is None
    assert answer.snapshot.problems[0].kind == "parse"


@pytest.mark.requirement("metrics:lists:complete")
async def test_a_feed_that_ends_before_its_total_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "LAST_OF_FEED", _feed())
    async with engine({"splunk": {}}) as one:
        answer = await ask(one)
    assert answer.snapshot.tree["sdlcMetrics"]["splunkMetrics"]["totalDashboards"] is None
    assert "ends after 3 of 4 views" in answer.snapshot.problems[0].message


@pytest.mark.requirement("metrics:sdlc:authors")
async def test_authors_of_confluence_data_center_are_counted_by_user_name_or_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    people: list[dict[str, str]] = [
        {"username": "pia", "userKey": "8a1"}, {"username": "pia", "userKey": "8a1"}, {"userKey": "8a2"}
    ]  # fmt: skip
    pages = [_page(number, 2, 2, "") for number in range(len(people))]
    for page, person in zip(pages, people, strict=True):
        page["history"]["createdBy"] = person
    answers = {"/wiki/rest/api/content/search": {"results": pages, "_links": {}}}
    monkeypatch.setattr(sys.modules[__name__], "ANSWERS", answers)
    async with engine({"confluence": {}}) as one:
        answer = await ask(one)
    assert answer.snapshot.tree["sdlcMetrics"]["confluenceMetrics"]["topContributorsInLast30Days"] == {
        "pia": 2, "8a2": 1
    }  # fmt: skip


@pytest.mark.requirement("metrics:sdlc")
async def test_raw_answers_hold_no_token() -> None:
    async with engine() as one:
        answer = await ask(one, raw=True)
    assert answer.snapshot.tree["sdlcData"]["jenkinsData"]["jobs"][1] == "red"
    assert TOKEN not in repr(answer.snapshot)


@pytest.mark.requirement("metrics:sdlc")
async def test_a_feed_that_declares_entities_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "FEED", '<!DOCTYPE feed [<!ENTITY a "b">]><feed>&a;</feed>')
    async with engine({"splunk": {}}) as one:
        answer = await ask(one)
    assert answer.snapshot.problems[0].kind == "parse"


@pytest.mark.requirement("metrics:sdlc")
@pytest.mark.parametrize("settings", [{"gira": {"url": "http://x"}}, {"jira": {}}, {"jira": {"url": "file:///x"}}])
def test_settings_that_mean_nothing_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(Misconfigured):
        collectors(CollectorContext(NONE, room_settings("metrics", sdlc=settings)))


@pytest.mark.requirement("metrics:sdlc")
def test_without_settings_it_says_what_to_set() -> None:
    (sdlc,) = collectors(CollectorContext(NONE, room_settings("metrics")))
    assert not sdlc.info().ready
    assert "jira" in sdlc.info().missing
