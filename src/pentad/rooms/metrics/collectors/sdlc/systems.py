"""Requests to each system. Only what the formulas read is kept, so no text of pages or tasks.

All systems use basic authentication with user and token; certificates are always checked. Lists are read to the end;
links to the next page are followed on the system's own host only.
"""

import base64
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast
from urllib.parse import urlsplit
from xml.etree import ElementTree as ET

from pentad.rooms.metrics.collectors.contract import Upstream
from pentad.rooms.metrics.models import FetchError

MOST_PAGES: Final = 200
WORK_ITEMS: Final = 200
SPRINT: Final = "sprint IN openSprints()"
AZURE_SPRINT: Final = "SELECT [System.Id] FROM WorkItems WHERE [System.IterationPath] = @CurrentIteration"
AZURE_BACKLOG: Final = "SELECT [System.Id] FROM WorkItems WHERE [System.IterationPath] = @project"
BACKLOG: Final = "(sprint is EMPTY OR sprint IN futureSprints()) AND issuetype != Epic"


@dataclass(frozen=True, slots=True)
class System:
    """A system in the settings."""

    name: str
    url: str
    headers: Mapping[str, str]
    query: str = ""
    """Narrows a search: CQL for Confluence, JQL for Jira."""


def basic(user: str, token: str) -> dict[str, str]:
    return {"authorization": "Basic " + base64.b64encode(f"{user}:{token}".encode()).decode()} if token else {}


@dataclass(frozen=True, slots=True)
class Line:
    """Requests to a system for one fact."""

    system: System
    upstream: Upstream

    async def get(self, path: str, params: Mapping[str, str | int] | None = None, *, url: str | None = None) -> Any:
        there = url or f"{self.system.url}{path}"
        return await self.upstream.get(there, headers=self.system.headers, params=params, scope=self.system.name)

    async def post(self, path: str, body: Any, params: Mapping[str, str | int]) -> Any:
        return await self.upstream.post(
            f"{self.system.url}{path}", json=body, headers=self.system.headers, params=params, scope=self.system.name
        )

    def unexpected(self, message: str) -> FetchError:
        return FetchError.of("parse", message, call=self.system.name, scope=self.system.name)

    def entries(self, answer: Any, name: str) -> list[dict[str, Any]]:
        found = cast("dict[str, Any]", answer).get(name) if isinstance(answer, dict) else None
        if not isinstance(found, list):
            raise self.unexpected(f"The answer has no list of {name}.")
        return [cast("dict[str, Any]", entry) for entry in cast("list[Any]", found) if isinstance(entry, dict)]


def _at(value: Any, *path: str) -> Any:
    for name in path:
        value = cast("dict[str, Any]", value).get(name) if isinstance(value, dict) else None
    return value


async def _bitbucket(line: Line) -> Any:
    total = start = 0
    for _ in range(MOST_PAGES):
        answer = await line.get("", {"start": start, "limit": 100})
        size = _at(answer, "size")
        if not isinstance(size, int):
            raise line.unexpected("The answer does not say how many repositories there are.")
        total += size
        following = _at(answer, "nextPageStart")
        if _at(answer, "isLastPage") is not False or not isinstance(following, int) or following <= start:
            break
        start = following
    return total


async def _confluence(line: Line) -> Any:
    wanted = {"cql": line.system.query or "type=page", "expand": "version,history,history.lastUpdated", "limit": 100}
    answer = await line.get("/rest/api/content/search", wanted)
    parts = urlsplit(line.system.url)
    pages: dict[Any, dict[str, Any]] = {}
    for _ in range(MOST_PAGES):
        before = len(pages)
        for page in line.entries(answer, "results"):
            pages[page.get("id")] = {
                "created": _at(page, "history", "createdDate"),
                "by": _at(page, "history", "createdBy", "publicName"),
                "updated": _at(page, "history", "lastUpdated", "when"),
            }
        following = _at(answer, "_links", "next")
        if len(pages) == before or not isinstance(following, str) or not following.startswith("/"):
            break
        if _at(answer, "size") != _at(answer, "limit"):
            break
        context = _at(answer, "_links", "context") or ""
        answer = await line.get("", url=f"{parts.scheme}://{parts.netloc}{context}{following}")
    return list(pages.values())


async def _jenkins(line: Line) -> Any:
    return [job.get("color") for job in line.entries(await line.get("/api/json"), "jobs")]


def _jira(which: str) -> Callable[[Line], Awaitable[Any]]:
    async def fetch(line: Line) -> Any:
        query = f"({line.system.query}) AND {which}" if line.system.query else which
        tasks: dict[Any, dict[str, Any]] = {}
        total = start = 0
        for _ in range(MOST_PAGES):
            answer = await line.get("/rest/api/2/search", {"jql": query, "startAt": start, "maxResults": 100})
            found = line.entries(answer, "issues")
            total = int(_at(answer, "total") or 0)
            for task in found:
                kind, status = _at(task, "fields", "issuetype", "name"), _at(task, "fields", "status", "name")
                tasks[task.get("id")] = {"type": kind, "status": status}
            start += len(found)
            # For the backlog only the total counts, and the first page has it.
            if not found or start >= total or which == BACKLOG:
                break
        return {"total": total, "tasks": [] if which == BACKLOG else list(tasks.values())}

    return fetch


async def _splunk(line: Line) -> Any:
    reply = await line.upstream.send("GET", line.system.url, headers=line.system.headers, scope=line.system.name)
    # A NUL byte means another encoding, which could hide a declaration.
    if any(mark in reply.body for mark in (b"<!DOCTYPE", b"<!ENTITY", b"\0")):
        raise line.unexpected("The answer declares entities, which a feed does not need.")
    try:
        feed = ET.fromstring(reply.body)  # noqa: S314  without a DOCTYPE there are no entities to expand
    except ET.ParseError:
        raise line.unexpected("The answer is not XML, or was cut off.") from None
    return [_view(entry) for entry in feed.iter() if _local(entry) == "entry"]


def _local(element: ET.Element) -> str:
    return element.tag.rpartition("}")[2]


def _view(entry: ET.Element) -> dict[str, str]:
    keys = [key for key in entry.iter() if _local(key) == "key"]
    names = ("isDashboard", "isVisible")
    return {str(key.get("name")): (key.text or "").strip() for key in keys if key.get("name") in names}


def _azure_tasks(query: str) -> Callable[[Line], Awaitable[Any]]:
    async def fetch(line: Line) -> Any:
        answer = await line.post("/wit/wiql/", {"query": query}, {"api-version": "6.0"})
        ids = [str(item.get("id")) for item in line.entries(answer, "workItems")]
        tasks: list[dict[str, Any]] = []
        for start in range(0, len(ids), WORK_ITEMS):
            chosen = ",".join(ids[start : start + WORK_ITEMS])
            found = line.entries(await line.get("/wit/workitems", {"ids": chosen, "api-version": "6.0"}), "value")
            tasks += [
                {"type": _at(item, "fields", "System.WorkItemType"), "status": _at(item, "fields", "System.State")}
                for item in found
            ]
        return tasks

    return fetch


async def _azure_repositories(line: Line) -> Any:
    count = _at(await line.get("/git/repositories", {"api-version": "4.1"}), "count")
    if not isinstance(count, int):
        raise line.unexpected("The answer does not say how many repositories there are.")
    return count


async def _azure_pipelines(line: Line) -> Any:
    """The result of the latest run of each pipeline; None if it never ran."""
    version = {"api-version": "6.0-preview.1"}
    latest: list[Any] = []
    for pipeline in line.entries(await line.get("/pipelines", version), "value"):
        runs = line.entries(await line.get(f"/pipelines/{int(pipeline['id'])}/runs", version), "value")
        last = max(runs, key=lambda run: str(run.get("createdDate")), default=None)
        latest.append(None if last is None else str(last.get("result")))
    return latest


FETCHERS: Final[Mapping[str, Mapping[str, Callable[[Line], Awaitable[Any]]]]] = {
    "bitbucket": {"repositories": _bitbucket},
    "confluence": {"pages": _confluence},
    "jenkins": {"jobs": _jenkins},
    "jira": {"backlog": _jira(BACKLOG), "sprint": _jira(SPRINT)},
    "splunk": {"views": _splunk},
    "azuredevops": {
        "backlog": _azure_tasks(AZURE_BACKLOG), "sprint": _azure_tasks(AZURE_SPRINT),
        "repositories": _azure_repositories, "pipelines": _azure_pipelines,
    },
}  # fmt: skip
"""How to fetch each fact, by system."""
