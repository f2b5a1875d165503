"""Figures of software delivery systems. A system is included if the settings have its table:

[rooms.metrics.sdlc.jira]
url = "https://jira.example"
user = "reader"
token = "..."
query = "project = LMN"
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, cast

from pentad.kernel.clock import iso, parse_iso
from pentad.kernel.errors import Misconfigured
from pentad.kernel.names import did_you_mean
from pentad.rooms.metrics.collectors.contract import Collector, CollectorContext, Upstream
from pentad.rooms.metrics.collectors.sdlc.systems import FETCHERS, Line, System, basic
from pentad.rooms.metrics.collectors.settings import table
from pentad.rooms.metrics.collectors.unscoped_facts import plan_facts
from pentad.rooms.metrics.models import Fact, Facts, Info, Metric, Plan, Query, Sample, Snapshot, State, state_of

THIRTY_DAYS: Final = 30 * 86_400.0
Given = Mapping[str, Any]
"""Fact values by name, without the system; None if one is missing."""


def _timestamp(text: Any) -> float:
    """Seconds since 1970; 0 if the text is not a time."""
    try:
        return parse_iso(str(text)).timestamp()
    except ValueError:
        return 0.0


def _counts(values: Iterable[Any]) -> dict[str, int]:
    """How often each occurs, the most frequent first."""
    return dict(Counter(str(value) for value in values if value is not None).most_common())


def _if_known(given: Given, name: str, function: Callable[[Any], Any]) -> Any:
    value = given.get(name)
    return None if value is None else function(value)


def _bitbucket_figures(given: Given, now: float) -> dict[str, Any]:
    return {"totalRepositories": given.get("repositories")}


def _confluence_figures(given: Given, now: float) -> dict[str, Any]:
    since = now - THIRTY_DAYS

    def recent(pages: Any, name: str) -> list[Any]:
        return [page for page in pages if _timestamp(page.get(name)) >= since]

    return {
        "totalPages": _if_known(given, "pages", len),
        "totalPagesCreatedInLast30Days": _if_known(given, "pages", lambda pages: len(recent(pages, "created"))),
        "totalPagesUpdatedInLast30Days": _if_known(given, "pages", lambda pages: len(recent(pages, "updated"))),
        "topContributorsInLast30Days": _if_known(
            given, "pages", lambda pages: _counts(page.get("by") for page in recent(pages, "created"))
        ),
    }


def _jenkins_figures(given: Given, now: float) -> dict[str, Any]:
    colors = {"totalFailedJobs": "red", "totalSuccessJobs": "blue", "totalUnexecutedJobs": "notbuilt"}
    return {
        "totalJobs": _if_known(given, "jobs", len),
        **{key: _if_known(given, "jobs", lambda jobs, color=color: jobs.count(color)) for key, color in colors.items()},
    }


def _jira_figures(given: Given, now: float) -> dict[str, Any]:
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


def _splunk_figures(given: Given, now: float) -> dict[str, Any]:
    return {
        "totalDashboards": _if_known(
            given, "views", lambda views: sum(1 for view in views if view == {"isDashboard": "1", "isVisible": "1"})
        )
    }


def _azure_figures(given: Given, now: float) -> dict[str, Any]:
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
Formulas = Callable[[Given, float], dict[str, Any]]
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
        "topContributorsInLast30Days": ("pages", "Who made how many pages in the last 30 days."),
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

_SYSTEM: Final = {name: {"type": "string"} for name in ("url", "user", "token", "query")}
_SETTINGS: Final = {
    "type": "object",
    "properties": {
        "sdlc": {
            "type": "object",
            "properties": {name: {"type": "object", "properties": _SYSTEM, "required": ["url"]} for name in PARTS},
        }
    },
}


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
            settings=_SETTINGS, secrets=("sdlc.*.token",), root=(ROOT,), ttl=300.0, ready=bool(systems),
            missing="" if systems else f"Set [rooms.metrics.sdlc.NAME] with url; NAME is of {', '.join(PARTS)}.",
        )  # fmt: skip

    def info(self) -> Info:
        return self._info

    def plan(self, query: Query, known: Facts) -> Plan:
        return plan_facts(self._info.catalogue, query, known, everything=query.raw)

    async def fetch(self, fact: Fact, upstream: Upstream) -> Any:
        _, system, name = fact.name.split(".")
        return await FETCHERS[system][name](Line(self._systems[system], upstream))

    def reduce(self, query: Query, facts: Facts) -> Snapshot:
        errors = [f"{problem.scope}: {problem.call}: {problem.message}" for problem in facts.problems().values()]
        found: dict[str, Any] = {}
        samples: list[Sample] = []
        for system in self._systems:
            given = {name: facts.value(Fact(f"sdlc.{system}.{name}")) for name in FETCHERS[system]}
            shown, raw, formulas = PARTS[system]
            if query.raw:
                found[raw] = given
                continue
            values = formulas(given, query.now)
            wants = [key for key in values if query.wants(f"{shown}.{key}")]
            if wants:
                found[shown] = {key: values[key] for key in wants}
            for key in wants:
                samples += _samples(f"{shown}.{key}", values[key], _state(facts, system, _KEYS[system][key][0]))
        tree = {"date": iso(query.now), ("sdlcData" if query.raw else ROOT): {**found, "errors": errors}}
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
            said = table(given, name)
            url = said.get("url")
            if not isinstance(url, str) or not url.startswith(("http://", "https://")):
                raise Misconfigured(f"rooms.metrics.sdlc.{name} has no address.", hint="Set its url.")
            login = basic(str(said.get("user") or ""), str(said.get("token") or ""))
            systems[name] = System(name, source.trust(url), login, str(said.get("query") or ""))
    return (Sdlc(systems),)
