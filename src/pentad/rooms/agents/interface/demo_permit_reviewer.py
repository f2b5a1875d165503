"""The agent of docs/tutorial.md: reviews a permit by rules that an avatar quotes, and records decisions a person
approves.
"""

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Final

from pentad.agentvault.server import BaseA2AAgent
from pentad.rooms.agents.hosting.turn import Turn

_READS: Final = {"openregister": "a permit", "avatar": "a passage of the rules", "metrics": "the server's figures"}
"""What the context refers to, by the scheme of the URI."""

_KEYS: Final = ("number", "avatar", "metrics")
"""A member of each."""

Compare = Callable[[float, float], bool]
_CHECKS: Final[Sequence[tuple[str, str, Compare]]] = (
    ("replacements", "How many young trees must the applicant plant for each felled tree?", operator.ge),
    ("report_age_days", "How many days old may the report of the expert be when the application arrives?", operator.le),
    ("errorPercent", "At how many percent of failed calls must a review by a program wait?", operator.le),
)
"""A value, the question about its limit, and how the two compare."""


class PermitReviewer(BaseA2AAgent):
    """Checks a permit point by point. Without a rule and a value for each point it recommends nothing."""

    name: ClassVar[str] = "permit-reviewer"
    title: ClassVar[str] = "Permit reviewer"
    description: ClassVar[str] = "Reviews a permit to fell a tree by quoted rules, and files what a person approves."
    tags: ClassVar[Sequence[str]] = ("town", "permits")
    skills: ClassVar[Sequence[Mapping[str, Any]]] = (
        {
            "id": "review-permit",
            "name": "Review a permit",
            "description": f"The context has to refer to {', '.join(_READS.values())}.",
            "tags": ["permits"],
            "examples": ["Review permit TP-2026-014, please."],
        },
    )
    oasf_skills: ClassVar[Sequence[str]] = ("compliance_assessment",)
    oasf_domains: ClassVar[Sequence[str]] = ("public_administration",)

    async def run(self, turn: Turn) -> Any:
        items = turn.context["items"].values() if turn.context is not None else ()
        uris = {item["ref"].partition(":")[0]: item["ref"] for item in items if item.get("ref")}
        if missing := [f"{what} ({scheme}:)" for scheme, what in _READS.items() if scheme not in uris]:
            turn.reject(f"The context has to refer to {' and '.join(missing)}.")
        # Durable reads: if the server restarts meanwhile, the decision still has the values that were approved.
        permit, passage, figures = read = await turn.gather(*(turn.read(uris[scheme]) for scheme in _READS))
        if not all(isinstance(one, dict) and key in one for one, key in zip(read, _KEYS, strict=True)):
            turn.reject(f"One of the references is not {', '.join(_READS.values())}.")
        calls = figures["metrics"].get("calls")
        values = {**permit, "errorPercent": calls and (calls["errorPercent"] or 0)}  # None before the first call
        asked = [turn.call_tool("generate_response", avatar=passage["avatar"], question=one[1]) for one in _CHECKS]
        pairs = zip(_CHECKS, await turn.gather(*asked), strict=True)
        checks = [_check(point, values.get(point), compare, answer) for (point, _, compare), answer in pairs]
        outcome = "granted" if all(one["met"] for one in checks) else "refused"
        if unclear := [one["point"] for one in checks if one["met"] is None]:
            return f"I recommend nothing about {permit['number']}: no rule or no value for {' and '.join(unclear)}."
        origin = {"agent": self.name, "task": f"agents://tasks/{turn.id}", "read": [uris[scheme] for scheme in _READS]}
        review = {"title": f"{permit['number']} {outcome}", "outcome": outcome, **origin, "checks": checks}
        await turn.artifact("review", data=review)
        # The demo has one login, so whoever asks may also decide.
        decision = await turn.approve(
            f"{permit['title']}: to be {outcome}", by="registers:admin", details=review, requester_may_decide=True
        )
        if not decision:
            return f"Nothing was filed about {permit['number']}: {decision.outcome}. {decision.reason}".strip()
        filed = await turn.call_tool(
            "objects", action="create", register="tree-permits", schema="decision", reason=f"approved by {decision.by}",
            data={"permit": permit["id"], "decided_by": decision.by, "reason": decision.reason, **review},
        )  # fmt: skip
        return f"{permit['number']} is {outcome}: openregister://objects/tree-permits/decision/{filed['id']}"


def _check(point: str, value: float | None, compare: Compare, answer: Mapping[str, Any]) -> dict[str, Any]:
    """The value next to the rule the avatar quotes first. The limit is the first number in the quote."""
    cited: dict[str, Any] = next(iter(answer["citations"]), {"quote": "", "chunk_id": 0})
    limit = re.search(r"\d+", cited["quote"])
    met = None if value is None or limit is None else compare(value, float(limit[0]))
    source = f"avatar://{answer['avatar']}/passages/{cited['chunk_id']}"
    return {"point": point, "value": value, "met": met, "rule": cited["quote"], "source": source}
