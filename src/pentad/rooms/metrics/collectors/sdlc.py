"""Figures of software delivery systems. A system is included if the settings have its table:

[rooms.metrics.sdlc.jira]
url = "https://jira.example"
user = "reader"
token = "..."
query = "project = LMN"
"""

import base64
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast
from urllib.parse import parse_qsl, urlencode, urlsplit
from xml.etree import ElementTree as ET

from pentad.kernel.clock import iso, parse_iso
from pentad.kernel.errors import Misconfigured
from pentad.kernel.names import did_you_mean
from pentad.rooms.metrics.collectors.contract import Collector, CollectorContext, Upstream, decode_json, plan_facts
from pentad.rooms.metrics.metric_keys import get_path
from pentad.rooms.metrics.models import (
    Fact,
    Facts,
    FetchError,
    Info,
    Metric,
    Plan,
    Query,
    Sample,
    Snapshot,
    State,
    state_of,
)

MOST_PAGES: Final = 200
WORK_ITEMS: Final = 200
SPRINT: Final = "sprint IN openSprints()"
AZURE_SPRINT: Final = "SELECT [System.Id] FROM WorkItems WHERE [System.IterationPath] = @CurrentIteration"
AZURE_BACKLOG: Final = "SELECT [System.Id] FROM WorkItems WHERE [System.IterationPath] = @project"
BACKLOG: Final = "(sprint is EMPTY OR sprint IN futureSprints()) AND issuetype != Epic"
VIEW_KEYS: Final = ("isDashboard", "isVisible")
DEEPEST_FOLDER: Final = 8
_FAILED_LOGIN: Final = re.compile("FAILED|DENIED")
"""Atlassian answers a request with a wrong token as an anonymous one. Only a header with one of these words tells."""


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
class SystemApi:
    """Requests to a system for one fact."""

    system: System
    upstream: Upstream

    async def get(self, path: str, params: Mapping[str, str | int] | None = None, *, url: str | None = None) -> Any:
        value, _ = await self.get_with_headers(path, params, url=url)
        return value

    async def get_with_headers(
        self, path: str, params: Mapping[str, str | int] | None = None, *, url: str | None = None
    ) -> tuple[Any, Mapping[str, str]]:
        """The JSON of an answer, and its headers."""
        there = url or f"{self.system.url}{path}"
        if params:
            there += f"{'&' if '?' in there else '?'}{urlencode(params)}"
        headers = {"accept": "application/json", **self.system.headers}
        reply = await self.upstream.send("GET", there, headers=headers, scope=self.system.name)
        if _FAILED_LOGIN.search(reply.headers.get("x-seraph-loginreason", "")):
            message = "The login failed, so the answer has only what anybody may see."
            raise FetchError.of("permission", message, call=self.system.name, scope=self.system.name)
        value, wrong = decode_json(reply.body, reply.headers.get("content-type", ""))
        if wrong is not None:
            raise self.unexpected(wrong)
        return value, reply.headers

    async def post(self, path: str, body: Any, params: Mapping[str, str | int]) -> Any:
        return await self.upstream.post(
            f"{self.system.url}{path}", json=body, headers=self.system.headers, params=params, scope=self.system.name
        )

    def unexpected(self, message: str) -> FetchError:
        return FetchError.of("parse", message, call=self.system.name, scope=self.system.name)

    def too_many(self, read: int, what: str) -> FetchError:
        """More than is read at once: a count that stops there would be wrong."""
        return self.unexpected(f"There are more than {read} {what}; narrow the query of this system.")

    def incomplete(self, read: int, what: str, total: int | None = None) -> FetchError:
        """The list ends before the system says it does."""
        of = "" if total is None else f" of {total}"
        return self.unexpected(f"The list ends after {read}{of} {what}, but the system says there are more.")

    def text(self, item: Any, *path: str) -> str:
        """A text that every item has. Without it, counts would leave the item out."""
        found = get_path(item, *path)
        if not isinstance(found, str) or not found:
            raise self.unexpected(f"The answer has an item without {'.'.join(path)}.")
        return found

    def time(self, item: Any, *path: str) -> str:
        """The text of a time that every item has."""
        found = self.text(item, *path)
        try:
            parse_iso(found)
        except ValueError:
            raise self.unexpected(f"The answer has an item whose {'.'.join(path)} is not a time.") from None
        return found

    def entries(self, answer: Any, name: str) -> list[dict[str, Any]]:
        found = cast("dict[str, Any]", answer).get(name) if isinstance(answer, dict) else None
        if not isinstance(found, list) or any(not isinstance(entry, dict) for entry in cast("list[Any]", found)):
            raise self.unexpected(f"The answer has no list of {name}.")
        return cast("list[dict[str, Any]]", found)


async def _bitbucket(api: SystemApi) -> Any:
    total = start = 0
    for _ in range(MOST_PAGES):
        answer = await api.get("", {"start": start, "limit": 100})
        size = get_path(answer, "size")
        if not isinstance(size, int):
            raise api.unexpected("The answer does not say how many repositories there are.")
        total += size
        if get_path(answer, "isLastPage") is not False:
            return total
        following = get_path(answer, "nextPageStart")
        if not isinstance(following, int) or following <= start:
            raise api.incomplete(total, "repositories")
        start = following
    raise api.too_many(total, "repositories")


async def _confluence(api: SystemApi) -> Any:
    wanted = {"cql": api.system.query or "type=page", "expand": "version,history,history.lastUpdated", "limit": 100}
    answer = await api.get("/rest/api/content/search", wanted)
    parts = urlsplit(api.system.url)
    pages: dict[str, dict[str, Any]] = {}
    for _ in range(MOST_PAGES):
        before = len(pages)
        for page in api.entries(answer, "results"):
            pages[api.text(page, "id")] = {
                "created": api.time(page, "history", "createdDate"),
                "by": _author(get_path(page, "history", "createdBy")),
                "updated": api.time(page, "history", "lastUpdated", "when"),
            }
        following = get_path(answer, "_links", "next")
        if following is None:
            return list(pages.values())
        if len(pages) == before or not isinstance(following, str) or not following.startswith("/"):
            raise api.incomplete(len(pages), "pages")
        context = get_path(answer, "_links", "context") or ""
        answer = await api.get("", url=f"{parts.scheme}://{parts.netloc}{context}{following}")
    raise api.too_many(len(pages), "pages")


def _author(person: Any) -> str | None:
    """Confluence Cloud has public names and account ids. Confluence Data Center has user names and keys instead."""
    names = (get_path(person, name) for name in ("publicName", "displayName", "username", "userKey", "accountId"))
    return next((str(name) for name in names if name), None)


async def _jenkins(api: SystemApi) -> Any:
    """The colours of all jobs, also of those in folders. A folder has jobs and no colour."""
    tree = ""
    for _ in range(DEEPEST_FOLDER):
        tree = f"jobs[color,{tree}]" if tree else "jobs[color]"
    return list(_job_colors(api, await api.get("/api/json", {"tree": tree}), DEEPEST_FOLDER))


def _job_colors(api: SystemApi, folder: Any, depth: int) -> Iterator[Any]:
    for job in api.entries(folder, "jobs"):
        if "jobs" in job:
            yield from _job_colors(api, job, depth - 1)
        elif depth == 1 and "color" not in job:
            raise api.unexpected(f"Folders are nested in more than {DEEPEST_FOLDER} levels.")
        else:
            yield job.get("color")


def _jira(which: str) -> Callable[[SystemApi], Awaitable[Any]]:
    async def fetch(api: SystemApi) -> Any:
        query = f"({api.system.query}) AND {which}" if api.system.query else which
        try:
            tasks, total = await _jira_cloud_tasks(api, query)
        except FetchError as error:
            if error.problem.http not in (404, 405):
                raise
            tasks, total = await _jira_data_center_tasks(api, query, only_total=which == BACKLOG)
        return {"total": total, "tasks": [] if which == BACKLOG else list(tasks.values())}

    return fetch


Tasks = dict[str, dict[str, str]]
_TASK_FIELDS: Final = "issuetype,status"


def _add_tasks(api: SystemApi, tasks: Tasks, found: Iterable[Any]) -> None:
    for task in found:
        kind, status = api.text(task, "fields", "issuetype", "name"), api.text(task, "fields", "status", "name")
        tasks[api.text(task, "id")] = {"type": kind, "status": status}


async def _jira_cloud_tasks(api: SystemApi, query: str) -> tuple[Tasks, int]:
    """The tasks that a JQL query finds in Jira Cloud. Its pages are chained by a token, and nothing says how many
    tasks match, so all of them are read. Jira Data Center does not have this path."""
    tasks: Tasks = {}
    wanted: dict[str, str | int] = {"jql": query, "maxResults": 100, "fields": _TASK_FIELDS}
    for _ in range(MOST_PAGES):
        answer = await api.get("/rest/api/3/search/jql", wanted)
        _add_tasks(api, tasks, api.entries(answer, "issues"))
        token = get_path(answer, "nextPageToken")
        if token is None and get_path(answer, "isLast") is not False:
            return tasks, len(tasks)
        if not isinstance(token, str) or not token or token == wanted.get("nextPageToken"):
            raise api.incomplete(len(tasks), "tasks")
        wanted["nextPageToken"] = token
    raise api.too_many(len(tasks), "tasks")


async def _jira_data_center_tasks(api: SystemApi, query: str, *, only_total: bool) -> tuple[Tasks, int]:
    """The same in Jira Data Center, which counts. For a total alone, the first page is enough."""
    tasks: Tasks = {}
    start = 0
    for _ in range(MOST_PAGES):
        wanted: dict[str, str | int] = {"jql": query, "startAt": start, "maxResults": 100, "fields": _TASK_FIELDS}
        answer = await api.get("/rest/api/2/search", wanted)
        found = api.entries(answer, "issues")
        total = get_path(answer, "total")
        if not isinstance(total, int):
            raise api.unexpected("The answer does not say how many tasks there are.")
        _add_tasks(api, tasks, found)
        start += len(found)
        if start >= total or only_total:
            return tasks, total
        if not found:
            raise api.incomplete(start, "tasks", total)
    raise api.too_many(len(tasks), "tasks")


async def _splunk(api: SystemApi) -> Any:
    """All views. A feed has 30 entries unless `count` asks for more; `totalResults` is the number of all."""
    views: list[dict[str, str]] = []
    parts = urlsplit(api.system.url)
    for _ in range(MOST_PAGES):
        further = {"count": 100, "offset": len(views)} if views else {}
        query = urlencode({**dict(parse_qsl(parts.query)), **further})
        feed = await _feed(api, parts._replace(query=query).geturl())
        found = [_view(entry) for entry in feed.iter() if _local(entry) == "entry"]
        if any(view.keys() != set(VIEW_KEYS) for view in found):
            raise api.unexpected(f"The feed has a view without {' or '.join(VIEW_KEYS)}.")
        views += found
        total = next((one.text or "" for one in feed.iter() if _local(one) == "totalResults"), "")
        if not total.isdecimal():
            raise api.unexpected("The feed does not say how many views there are.")
        if len(views) >= int(total):
            return views
        if not found:
            raise api.incomplete(len(views), "views", int(total))
    raise api.too_many(len(views), "views")


async def _feed(api: SystemApi, url: str) -> ET.Element:
    reply = await api.upstream.send("GET", url, headers=api.system.headers, scope=api.system.name)
    # A NUL byte means another encoding, which could hide a declaration.
    if any(mark in reply.body for mark in (b"<!DOCTYPE", b"<!ENTITY", b"\0")):
        raise api.unexpected("The answer declares entities, which a feed does not need.")
    try:
        return ET.fromstring(reply.body)  # noqa: S314  without a DOCTYPE there are no entities to expand
    except ET.ParseError:
        raise api.unexpected("The answer is not XML, or was cut off.") from None


def _local(element: ET.Element) -> str:
    return element.tag.rpartition("}")[2]


def _view(entry: ET.Element) -> dict[str, str]:
    keys = [key for key in entry.iter() if _local(key) == "key"]
    return {str(key.get("name")): (key.text or "").strip() for key in keys if key.get("name") in VIEW_KEYS}


def _azure_tasks(query: str) -> Callable[[SystemApi], Awaitable[Any]]:
    async def fetch(api: SystemApi) -> Any:
        answer = await api.post("/wit/wiql/", {"query": query}, {"api-version": "6.0"})
        ids = [str(item.get("id")) for item in api.entries(answer, "workItems")]
        tasks: list[dict[str, Any]] = []
        for start in range(0, len(ids), WORK_ITEMS):
            chosen = ids[start : start + WORK_ITEMS]
            answer = await api.get("/wit/workitems", {"ids": ",".join(chosen), "api-version": "6.0"})
            found = api.entries(answer, "value")
            if len(found) < len(chosen):
                raise api.incomplete(len(tasks) + len(found), "work items", len(ids))
            tasks += [
                {
                    "type": api.text(item, "fields", "System.WorkItemType"),
                    "status": api.text(item, "fields", "System.State"),
                }
                for item in found
            ]
        return tasks

    return fetch


async def _azure_repositories(api: SystemApi) -> Any:
    count = get_path(await api.get("/git/repositories", {"api-version": "4.1"}), "count")
    if not isinstance(count, int):
        raise api.unexpected("The answer does not say how many repositories there are.")
    return count


_PIPELINES_VERSION: Final = {"api-version": "6.0-preview.1"}


async def _azure_pipelines(api: SystemApi) -> Any:
    """The result of the latest run of each pipeline; None if it never ran."""
    latest: list[Any] = []
    for number in await _azure_pipeline_ids(api):
        runs = api.entries(await api.get(f"/pipelines/{number}/runs", _PIPELINES_VERSION), "value")
        last = max(runs, key=lambda run: str(run.get("createdDate")), default=None)
        latest.append(None if last is None else str(last.get("result")))
    return latest


async def _azure_pipeline_ids(api: SystemApi) -> list[int]:
    """The ids of all pipelines. The token of the next page is in a header, not in the body."""
    ids: dict[int, None] = {}
    params: dict[str, str | int] = dict(_PIPELINES_VERSION)
    for _ in range(MOST_PAGES):
        answer, headers = await api.get_with_headers("/pipelines", params)
        ids |= dict.fromkeys(int(pipeline["id"]) for pipeline in api.entries(answer, "value"))
        token = headers.get("x-ms-continuationtoken")
        if not token:
            return list(ids)
        if token == params.get("continuationToken"):
            raise api.incomplete(len(ids), "pipelines")
        params["continuationToken"] = token
    raise api.too_many(len(ids), "pipelines")


FETCHERS: Final[Mapping[str, Mapping[str, Callable[[SystemApi], Awaitable[Any]]]]] = {
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

THIRTY_DAYS: Final = 30 * 86_400.0
RawFigures = Mapping[str, Any]
"""Fact values by name, without the system; None if one is missing."""


def _counts(values: Iterable[Any]) -> dict[str, int]:
    """How often each occurs, the most frequent first."""
    return dict(Counter(str(value) for value in values if value is not None).most_common())


def _if_known(given: RawFigures, name: str, function: Callable[[Any], Any]) -> Any:
    value = given.get(name)
    return None if value is None else function(value)


def _bitbucket_figures(given: RawFigures, now: float) -> dict[str, Any]:
    return {"totalRepositories": given.get("repositories")}


def _confluence_figures(given: RawFigures, now: float) -> dict[str, Any]:
    since = now - THIRTY_DAYS

    def recent(pages: Any, name: str) -> list[Any]:
        return [page for page in pages if parse_iso(page[name]).timestamp() >= since]

    return {
        "totalPages": _if_known(given, "pages", len),
        "totalPagesCreatedInLast30Days": _if_known(given, "pages", lambda pages: len(recent(pages, "created"))),
        "totalPagesUpdatedInLast30Days": _if_known(given, "pages", lambda pages: len(recent(pages, "updated"))),
        "topContributorsInLast30Days": _if_known(
            given, "pages", lambda pages: _counts(page.get("by") for page in recent(pages, "created"))
        ),
    }


def _jenkins_figures(given: RawFigures, now: float) -> dict[str, Any]:
    colors = {"totalFailedJobs": "red", "totalSuccessJobs": "blue", "totalUnexecutedJobs": "notbuilt"}
    # A job that runs again has the colour of its last build, with a suffix.
    jobs = _if_known(given, "jobs", lambda jobs: Counter(str(color).removesuffix("_anime") for color in jobs))
    return {
        "totalJobs": _if_known(given, "jobs", len),
        **{key: None if jobs is None else jobs[color] for key, color in colors.items()},
    }


def _jira_figures(given: RawFigures, now: float) -> dict[str, Any]:
    return {
        "totalJiraTasksInBacklog": _if_known(given, "backlog", lambda found: found["total"]),
        "totalJiraTasksInSprint": _if_known(given, "sprint", lambda found: found["total"]),
        "totalJiraTasksByType": _if_known(
            given, "sprint", lambda found: _counts(task["type"] for task in found["tasks"])
        ),
        "totalJiraTasksByStatus": _if_known(
            given, "sprint", lambda found: _counts(task["status"] for task in found["tasks"])
        ),
    }


def _splunk_figures(given: RawFigures, now: float) -> dict[str, Any]:
    return {
        "totalDashboards": _if_known(
            given, "views", lambda views: sum(1 for view in views if view == {"isDashboard": "1", "isVisible": "1"})
        )
    }


def _azure_figures(given: RawFigures, now: float) -> dict[str, Any]:
    results = {"totalFailedJobs": "failed", "totalSuccessJobs": "succeeded", "totalUnexecutedJobs": None}
    return {
        "totalTasksInBacklog": _if_known(given, "backlog", len),
        "totalTasksInSprint": _if_known(given, "sprint", len),
        "totalTasksByType": _if_known(given, "sprint", lambda tasks: _counts(task["type"] for task in tasks)),
        "totalTasksByStatus": _if_known(given, "sprint", lambda tasks: _counts(task["status"] for task in tasks)),
        "totalRepositories": given.get("repositories"),
        "totalJobs": _if_known(given, "pipelines", len),
        **{
            key: _if_known(given, "pipelines", lambda latest, result=result: latest.count(result))
            for key, result in results.items()
        },
    }


ROOT: Final = "sdlcMetrics"
Formulas = Callable[[RawFigures, float], dict[str, Any]]
PARTS: Final[Mapping[str, tuple[str, str, Formulas]]] = {
    "bitbucket": ("bitBucketMetrics", "bitbucketData", _bitbucket_figures),
    "confluence": ("confluenceMetrics", "confluenceData", _confluence_figures),
    "jenkins": ("jenkinsMetrics", "jenkinsData", _jenkins_figures),
    "jira": ("jiraMetrics", "jiraData", _jira_figures),
    "splunk": ("splunkMetrics", "splunkData", _splunk_figures),
    "azuredevops": ("azuredevopsMetrics", "azureDevOpsData", _azure_figures),
}
"""By system: its name in the tree, its name in the raw answer, and its formulas."""

_KEYS: Final[Mapping[str, Mapping[str, tuple[str, str]]]] = {
    "bitbucket": {"totalRepositories": ("repositories", "Repositories.")},
    "confluence": {
        "totalPages": ("pages", "Pages."),
        "totalPagesCreatedInLast30Days": ("pages", "Pages made in the last 30 days."),
        "totalPagesUpdatedInLast30Days": ("pages", "Pages changed in the last 30 days."),
        "topContributorsInLast30Days": ("pages", "Pages made in the last 30 days, by author."),
    },
    "jenkins": {
        "totalJobs": ("jobs", "Jobs."),
        "totalFailedJobs": ("jobs", "Jobs that failed."),
        "totalSuccessJobs": ("jobs", "Jobs that succeeded."),
        "totalUnexecutedJobs": ("jobs", "Jobs that never ran."),
    },
    "jira": {
        "totalJiraTasksInBacklog": ("backlog", "Tasks in the backlog."),
        "totalJiraTasksInSprint": ("sprint", "Tasks in open sprints."),
        "totalJiraTasksByType": ("sprint", "Tasks in open sprints by type."),
        "totalJiraTasksByStatus": ("sprint", "Tasks in open sprints by status."),
    },
    "splunk": {"totalDashboards": ("views", "Dashboards that are visible.")},
    "azuredevops": {
        "totalTasksInBacklog": ("backlog", "Work items in the backlog."),
        "totalTasksInSprint": ("sprint", "Work items in the current iteration."),
        "totalTasksByType": ("sprint", "Work items of the current iteration by type."),
        "totalTasksByStatus": ("sprint", "Work items of the current iteration by state."),
        "totalRepositories": ("repositories", "Repositories."),
        "totalJobs": ("pipelines", "Pipelines."),
        "totalFailedJobs": ("pipelines", "Pipelines whose latest run failed."),
        "totalSuccessJobs": ("pipelines", "Pipelines whose latest run succeeded."),
        "totalUnexecutedJobs": ("pipelines", "Pipelines that never ran."),
    },
}
"""By system and key: the fact it needs, and its description."""


class Sdlc:
    """All configured systems in one tree."""

    id = "sdlc"
    title = "Software delivery"
    aliases = ("sdlc-metrics",)

    def __init__(self, systems: Mapping[str, System]) -> None:
        self._systems = systems
        self._info = Info(
            id=self.id, title=self.title, description="Repositories, pages, jobs, tasks and dashboards.",
            takes=frozenset({"raw"}),
            catalogue=tuple(
                Metric(key=f"{PARTS[system][0]}.{key}", description=about, facts=(f"sdlc.{system}.{fact}",))
                for system in PARTS
                if system in systems
                for key, (fact, about) in _KEYS[system].items()
            ),
            root=(ROOT,), ttl=300.0, ready=bool(systems),
            missing="" if systems else f"Set [rooms.metrics.sdlc.NAME] with url; NAME is of {', '.join(PARTS)}.",
        )  # fmt: skip

    def info(self) -> Info:
        return self._info

    def plan(self, query: Query, known: Facts) -> Plan:
        return plan_facts(self._info.catalogue, query, known, everything=query.raw)

    async def fetch(self, fact: Fact, upstream: Upstream) -> Any:
        _, system, name = fact.name.split(".")
        return await FETCHERS[system][name](SystemApi(self._systems[system], upstream))

    def reduce(self, query: Query, facts: Facts) -> Snapshot:
        errors = [f"{problem.scope}: {problem.call}: {problem.message}" for problem in facts.troubles().values()]
        found: dict[str, Any] = {}
        samples: list[Sample] = []
        for system in self._systems:
            given = {name: facts.value(Fact(f"sdlc.{system}.{name}")) for name in FETCHERS[system]}
            part, raw, formulas = PARTS[system]
            if query.raw:
                found[raw] = given
                continue
            values = formulas(given, query.now)
            wants = [key for key in values if query.wants(f"{part}.{key}")]
            if wants:
                found[part] = {key: values[key] for key in wants}
            for key in wants:
                samples += _samples(f"{part}.{key}", values[key], _state(facts, system, _KEYS[system][key][0]))
        tree = {"date": iso(facts.oldest()), ("sdlcData" if query.raw else ROOT): {**found, "errors": errors}}
        return Snapshot(collector=self.id, scope="", as_of=query.now, tree=tree, samples=samples)


def _state(facts: Facts, system: str, name: str) -> State:
    problem = facts.problem(Fact(f"sdlc.{system}.{name}"))
    return "ok" if problem is None else state_of((problem,))


def _samples(key: str, value: Any, state: State) -> list[Sample]:
    """One sample, or one per entry of a map."""
    if isinstance(value, dict):
        entries = cast("dict[str, int]", value)
        return [Sample(key=key, value=count, labels=(("id", name),), state=state) for name, count in entries.items()]
    return [Sample(key=key, value=value, state=state)]


def collectors(source: CollectorContext) -> Sequence[Collector]:
    """One collector for all systems of the table `sdlc`."""
    systems: dict[str, System] = {}
    given = source.settings.sdlc
    for name in given:
        if name not in PARTS:
            raise Misconfigured(
                f"rooms.metrics.sdlc.{name} is no system Pentad knows.",
                hint=did_you_mean(name, PARTS) or f"Systems: {', '.join(PARTS)}.",
            )
    for name in PARTS:
        if name in given:
            system = _table(given[name], name)
            url = system.get("url")
            if not isinstance(url, str) or not url.startswith(("http://", "https://")):
                raise Misconfigured(f"rooms.metrics.sdlc.{name} has no address.", hint="Set its url.")
            login = basic(str(system.get("user") or ""), str(system.get("token") or ""))
            systems[name] = System(name, source.trust(url), login, str(system.get("query") or ""))
    return (Sdlc(systems),)


def _table(given: Any, name: str) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise Misconfigured(f"rooms.metrics.sdlc.{name} is not a table.", hint=f"Write [rooms.metrics.sdlc.{name}].")
    return cast("dict[str, Any]", given)
