"""The formulas over what each system answered; pure, and each over the facts of its own system alone."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from pentad.kernel.clock import parse_iso

THIRTY_DAYS: Final = 30 * 86_400.0
Given = Mapping[str, Any]
"""By the name of a fact, without its system, its value; None where it could not be had."""


def moment(text: Any) -> float:
    """Seconds since 1970; what is no time was long ago."""
    try:
        return parse_iso(str(text)).timestamp()
    except ValueError:
        return 0.0


def counts(values: Iterable[Any]) -> dict[str, int]:
    """How often each occurs, the most frequent first."""
    return dict(Counter(str(value) for value in values if value is not None).most_common())


def _of(given: Given, name: str, function: Callable[[Any], Any]) -> Any:
    value = given.get(name)
    return None if value is None else function(value)


def bitbucket(given: Given, now: float) -> dict[str, Any]:
    return {"totalRepositories": given.get("repositories")}


def confluence(given: Given, now: float) -> dict[str, Any]:
    since = now - THIRTY_DAYS

    def recent(pages: Any, name: str) -> list[Any]:
        return [page for page in pages if moment(page.get(name)) >= since]

    return {
        "totalPages": _of(given, "pages", len),
        "totalPagesCreatedInLast30Days": _of(given, "pages", lambda pages: len(recent(pages, "created"))),
        "totalPagesUpdatedInLast30Days": _of(given, "pages", lambda pages: len(recent(pages, "updated"))),
        "topContributorsInLast30Days": _of(
            given, "pages", lambda pages: counts(page.get("by") for page in recent(pages, "created"))
        ),
    }


def jenkins(given: Given, now: float) -> dict[str, Any]:
    colors = {"totalFailedJobs": "red", "totalSuccessJobs": "blue", "totalUnexecutedJobs": "notbuilt"}
    return {
        "totalJobs": _of(given, "jobs", len),
        **{key: _of(given, "jobs", lambda jobs, color=color: jobs.count(color)) for key, color in colors.items()},
    }


def jira(given: Given, now: float) -> dict[str, Any]:
    return {
        "totalJiraTasksInBacklog": _of(given, "backlog", lambda found: found["total"]),
        "totalJiraTasksInSprint": _of(given, "sprint", lambda found: found["total"]),
        "totalJiraTasksByType": _of(given, "sprint", lambda found: counts(task["type"] for task in found["tasks"])),
        "totalJiraTasksByStatus": _of(given, "sprint", lambda found: counts(task["status"] for task in found["tasks"])),
    }


def splunk(given: Given, now: float) -> dict[str, Any]:
    return {
        "totalDashboards": _of(
            given, "views", lambda views: sum(1 for view in views if view == {"isDashboard": "1", "isVisible": "1"})
        )
    }


def azure(given: Given, now: float) -> dict[str, Any]:
    results = {"totalFailedJobs": "failed", "totalSuccessJobs": "succeeded", "totalUnexecutedJobs": None}
    return {
        "totalTasksInBacklog": _of(given, "backlog", len),
        "totalTasksInSprint": _of(given, "sprint", len),
        "totalTasksByType": _of(given, "sprint", lambda tasks: counts(task["type"] for task in tasks)),
        "totalTasksByStatus": _of(given, "sprint", lambda tasks: counts(task["status"] for task in tasks)),
        "totalRepositories": given.get("repositories"),
        "totalJobs": _of(given, "pipelines", len),
        **{
            key: _of(given, "pipelines", lambda latest, result=result: latest.count(result))
            for key, result in results.items()
        },
    }
