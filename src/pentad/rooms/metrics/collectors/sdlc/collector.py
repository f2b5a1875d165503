"""Figures of the systems software is made with. Each is there as soon as its table is:

[rooms.metrics.sdlc.jira]
url = "https://jira.example"
user = "reader"
token = "..."
query = "project = LMN"
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast

from pentad.kernel.clock import iso
from pentad.kernel.errors import Misconfigured
from pentad.kernel.names import did_you_mean
from pentad.rooms.metrics.collectors.contract import Collector, Source, Upstream
from pentad.rooms.metrics.collectors.sdlc import figures
from pentad.rooms.metrics.collectors.sdlc.systems import FETCHERS, Line, System, basic
from pentad.rooms.metrics.collectors.settings import table
from pentad.rooms.metrics.model import Fact, Facts, Info, Metric, Plan, Sample, Snapshot, State, Wanted, state_of

ROOT: Final = "sdlcMetrics"
Formulas = Callable[[figures.Given, float], dict[str, Any]]
PARTS: Final[Mapping[str, tuple[str, str, Formulas]]] = {
    "bitbucket": ("bitBucketMetrics", "bitbucketData", figures.bitbucket),
    "confluence": ("confluenceMetrics", "confluenceData", figures.confluence),
    "jenkins": ("jenkinsMetrics", "jenkinsData", figures.jenkins),
    "jira": ("jiraMetrics", "jiraData", figures.jira),
    "splunk": ("splunkMetrics", "splunkData", figures.splunk),
    "azuredevops": ("azuredevopsMetrics", "azureDevOpsData", figures.azure),
}
"""By system, its name in the tree, its name in the raw answer, and its formulas."""

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
"""By system and key, the fact it needs and what it means."""

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
    """All systems that are set up, in one tree."""

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

    def plan(self, wanted: Wanted, known: Facts) -> Plan:
        names = dict.fromkeys(
            name for metric in self._info.catalogue if wanted.raw or wanted.wants(metric.key) for name in metric.facts
        )
        facts = [Fact(name) for name in names]
        return Plan(tuple(fact for fact in facts if fact not in known), calls=len(facts))

    async def fetch(self, fact: Fact, upstream: Upstream) -> Any:
        _, system, name = fact.name.split(".")
        return await FETCHERS[system][name](Line(self._systems[system], upstream))

    def reduce(self, wanted: Wanted, facts: Facts) -> Snapshot:
        errors = [f"{problem.scope}: {problem.call}: {problem.message}" for problem in facts.problems().values()]
        found: dict[str, Any] = {}
        samples: list[Sample] = []
        for system in self._systems:
            given = {name: facts.value(Fact(f"sdlc.{system}.{name}")) for name in FETCHERS[system]}
            shown, raw, formulas = PARTS[system]
            if wanted.raw:
                found[raw] = given
                continue
            values = formulas(given, wanted.now)
            wants = [key for key in values if wanted.wants(f"{shown}.{key}")]
            if wants:
                found[shown] = {key: values[key] for key in wants}
            for key in wants:
                samples += _samples(f"{shown}.{key}", values[key], _state(facts, system, _KEYS[system][key][0]))
        tree = {"date": iso(wanted.now), ("sdlcData" if wanted.raw else ROOT): {**found, "errors": errors}}
        return Snapshot(collector=self.id, scope="", as_of=wanted.now, tree=tree, samples=samples)


def _state(facts: Facts, system: str, name: str) -> State:
    problem = facts.problem(Fact(f"sdlc.{system}.{name}"))
    return "ok" if problem is None else state_of((problem,))


def _samples(key: str, value: Any, state: State) -> list[Sample]:
    """A map is a sample for each of its entries."""
    if isinstance(value, dict):
        entries = cast("dict[str, int]", value)
        return [Sample(key=key, value=count, labels=(("id", name),), state=state) for name, count in entries.items()]
    return [Sample(key=key, value=value, state=state)]


def collectors(source: Source) -> Sequence[Collector]:
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
