"""The agent behind `agents_delegate`: finds an agent for a piece of work, sends it there and passes the result on.

It is an ordinary agent: its searches, sends and questions are durable calls of its task, so deadlines, budgets, traces,
approvals and restarts work as for every task. It sends with `turn.send`, like other agents.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatchcase
from typing import Any, ClassVar, Final, cast
from urllib.parse import urlsplit

from pentad.agentvault.server import BaseA2AAgent
from pentad.kernel.errors import Forbidden, InvalidInput, LimitExceeded, NotFound, PentadError
from pentad.kernel.json_values import as_object, as_objects, as_texts, text_or_empty
from pentad.rooms.agents.client.card_endpoints import best_interface
from pentad.rooms.agents.context.extension import PLAIN_KEY
from pentad.rooms.agents.directory_records import read_record
from pentad.rooms.agents.hosting.turn import ChildTask, Turn
from pentad.rooms.agents.models import Json
from pentad.rooms.agents.registry.card_metadata import MCP, metadata_of

DELEGATOR: Final = "delegator"
PLAN: Final = "plan"
"""The artifact with the candidates, best first."""
OUTCOME: Final = "delegation"
"""The artifact that says who did the work, and what was tried before."""
MOST_ATTEMPTS: Final = 5
_CANDIDATES: Final = 8
_CARDS: Final = "agents://cards/"
_RANK_BASE: Final = 60
"""As in reciprocal rank fusion: first place in one list does not beat second place in both."""
_CONSENT_SECONDS: Final = 86_400.0
_LONGEST_WORK: Final = 300
_NO_OPTIONS: Final[Json] = {}


@dataclass(slots=True)
class Candidate:
    """An agent that may do the work."""

    agent: str
    """What to send the task to."""
    name: str
    version: str
    url: str
    """Where the work goes."""
    hosted_here: bool
    accepts_context: bool
    fits: bool = False
    """Whether a search thinks that it is likely to be right."""
    score: float = 0.0
    reasons: list[str] = field(default_factory=list[str])
    signed: bool | None = None
    """Whether its directory record has a valid signature; None if it has no record."""
    cost: str = "unknown"
    """Always unknown: cards do not state what a task costs."""
    allowed: bool = False
    """Whether it may be called without consent."""
    excluded: str | None = None
    """Why it is excluded."""
    card: str | None = None
    """The resource of its registered card, which its owner may change."""


class Delegator(BaseA2AAgent):
    """Finds an agent for a piece of work and sends it there.

    The text of a message is the work. A data part may have `dry_run` (only show the plan) and `attempts`.
    """

    name: ClassVar[str] = DELEGATOR
    title: ClassVar[str] = "Delegator"
    description: ClassVar[str] = "Finds an agent for a piece of work, sends the work there, and returns the result."

    def __init__(self, allowed: Sequence[str]) -> None:
        super().__init__()
        self._allowed = allowed
        """Hosts that may be called without consent, with wildcards."""

    async def run(self, turn: Turn) -> Any:
        work = turn.text.strip()
        if not work:
            turn.reject("Describe the work in words.")
        options = next((one for part in turn.message.parts if (one := as_object(part.data))), _NO_OPTIONS)
        context = await _context(turn)
        await turn.working("Looking for agents.")
        candidates, no_good_match = await self._candidates(turn, work, has_context=context is not None)
        usable = [one for one in candidates if one.excluded is None]
        plan = {"work": work, "candidates": [asdict(one) for one in candidates], "no_good_match": no_good_match}
        await turn.artifact(PLAN, data=plan, description="The agents that may do the work, the best first.")
        if options.get("dry_run"):
            return _summary(usable or candidates, no_good_match=no_good_match)
        if not usable or no_good_match:
            turn.fail(f"No agent fits the work. {_summary(usable or candidates, no_good_match=no_good_match)}")
        attempts = _number(options.get("attempts"), MOST_ATTEMPTS)
        return await self._first_result(turn, work, context, usable[:attempts])

    async def _first_result(self, turn: Turn, work: str, context: Json | None, candidates: Sequence[Candidate]) -> str:
        tried: list[dict[str, Any]] = []
        for one in candidates:
            if not one.allowed and (refused := await _refused(turn, one, work)) is not None:
                tried.append({"agent": one.agent, "outcome": "no consent", "reason": refused})
                continue
            if one.card is not None and _interface(await turn.read(one.card)) != one.url:
                tried.append({"agent": one.agent, "outcome": "changed", "reason": "its card now has another address"})
                continue
            await turn.working(f"Sending the work to {one.agent}.")
            try:
                child = await _answered(turn, await turn.send(one.agent, work, context=context, check=False))
            except LimitExceeded:  # the budget is used up: another agent would cost more
                raise
            except PentadError as error:
                tried.append({"agent": one.agent, "outcome": "error", "reason": error.sentence()})
                continue
            if child.state == "completed":
                await _pass_on(turn, child)
                outcome = {"agent": one.agent, "url": one.url, "task_id": child.task_id, "before": tried}
                await turn.artifact(OUTCOME, data=outcome, description="Who did the work.")
                return child.text
            tried.append({"agent": one.agent, "outcome": child.state, "reason": child.text})
        await turn.artifact(OUTCOME, data={"agent": None, "before": tried}, description="What was tried.")
        reasons = "; ".join(f"{one['agent']}: {one['reason'] or one['outcome']}" for one in tried)
        return turn.fail(f"No agent did the work. {reasons}")

    async def _candidates(self, turn: Turn, work: str, *, has_context: bool) -> tuple[list[Candidate], bool]:
        """The agents that may do the work, best first; and whether none is likely to be right."""
        found: dict[str, Candidate] = {}
        cards = await turn.call_tool("agents_list", query=work[:500], limit=_CANDIDATES)
        has_cards = bool(cards["agents"]) and not cards.get("no_good_match")
        for place, view in enumerate(cards["agents"]):
            one = Candidate(
                view["id"], view["name"], view["version"], view["url"], view["hosted_here"], bool(view["mcp_context"])
            )
            _rank(one, place, f"number {place + 1} of the agents that match the words", fits=has_cards)
            if not one.hosted_here:
                one.card = f"{_CARDS}{view['card_id']}"
                one.url = _interface(await turn.read(one.card))
            found[one.url.lower()] = one
        records, no_record = await _records(turn, work)
        for place, (one, is_signed) in enumerate(records):
            known = found.setdefault(one.url.lower(), one)
            known.signed = is_signed
            known.excluded = known.excluded and one.excluded  # one approved record is enough
            _rank(known, place, f"number {place + 1} of the records that match the words", fits=not no_record)
        ordered = sorted(found.values(), key=lambda one: (-one.score, one.agent))
        for one in ordered:
            one.allowed = one.hosted_here or _is_allowed(self._allowed, one)
            if not one.url:
                one.excluded = "its card names no protocol that Pentad speaks"
            elif not one.fits:
                one.excluded = "it hardly matches the words"
            elif has_context and not one.accepts_context:
                one.excluded = "its card does not say that it accepts a context"
        return ordered, not has_cards and no_record


async def _records(turn: Turn, work: str) -> tuple[list[tuple[Candidate, bool]], bool]:
    """Reachable directory records, each with whether it is signed; and whether none is likely to be right. Empty
    without the directory, or without the right to read it.
    """
    arguments: dict[str, Any] = {"query": work[:500], "limit": _CANDIDATES, "return": "records"}
    try:
        answer = await turn.call_tool("agntcy_dir_search_local", **arguments)
        signed = await turn.call_tool("agntcy_dir_search_local", **arguments, trusted=True)
    except (NotFound, Forbidden):
        return [], True
    trusted = frozenset(as_texts(signed.get("record_cids")))
    states = {text_or_empty(hit.get("cid")): text_or_empty(hit.get("state")) for hit in as_objects(answer.get("hits"))}
    found: list[tuple[Candidate, bool]] = []
    for entry in as_objects(answer.get("records")):
        data, cid = as_object(entry.get("record")), text_or_empty(entry.get("cid"))
        record = read_record(text_or_empty(data.get("name")), text_or_empty(data.get("version")), cid, data)
        if record.card is None and record.mcp_url is None:
            continue
        metadata = None if record.card is None else metadata_of(record.card)
        one = Candidate(
            record.reference,
            record.name,
            record.version,
            (record.mcp_url or "") if record.card is None else _interface(record.card),
            hosted_here=False,
            accepts_context=metadata is not None and ("feature", MCP) in metadata.marks,
        )
        if (state := states.get(cid)) and state != "deprecated":
            one.excluded = f"its record is {state}, not approved"
        found.append((one, cid in trusted))
    return found, not found or bool(answer.get("no_good_match"))


def _rank(one: Candidate, place: int, reason: str, *, fits: bool) -> None:
    one.fits = one.fits or fits
    one.score = round(one.score + 1 / (_RANK_BASE + place + 1), 6)
    one.reasons.append(reason)


def _interface(card: Json) -> str:
    """The URL for tasks to a card's agent; empty if there is none."""
    try:
        return best_interface(card).url
    except InvalidInput:
        return ""


def _is_allowed(hosts: Iterable[str], one: Candidate) -> bool:
    """Whether the operator allows it. Decided by the receiving host, because anyone can give a card any name."""
    host = urlsplit(one.url).netloc.lower()
    return bool(host) and any(fnmatchcase(host, pattern.lower()) for pattern in hosts)


async def _refused(turn: Turn, one: Candidate, work: str) -> str | None:
    """None if a person agrees to send the work to an agent outside the allow-list, otherwise the reason."""
    decision = await turn.approve(
        f"Send this work to {one.agent} at {urlsplit(one.url).netloc}, which is not on the allow-list: "
        f"{work[:_LONGEST_WORK]}",
        by="writer",
        details={"agent": one.agent, "url": one.url, "signed": one.signed, "reasons": one.reasons},
        deadline=_CONSENT_SECONDS,
        requester_may_decide=True,
    )
    return None if decision.approved else decision.reason or f"the request was {decision.outcome}"


async def _answered(turn: Turn, child: ChildTask) -> ChildTask:
    """The finished child; until then, its questions go to the caller."""
    while child.waiting_for == "an answer":
        answer = await turn.ask(child.text or "The agent needs an answer.")
        child = await turn.send(child, answer.text, check=False)
    return child


async def _pass_on(turn: Turn, child: ChildTask) -> None:
    """Publish the artifacts of the agent that did the work as our own."""
    for one in child.artifacts:
        name = text_or_empty(one.get("name")) or text_or_empty(one.get("id"))
        if (text := one.get("text")) is not None:
            await turn.artifact(name, text=str(text))
        for data in cast("list[Any]", one.get("data") or ()):
            await turn.artifact(name, data=data)


async def _context(turn: Turn) -> Json | None:
    if turn.context is None:
        return None
    message = await turn.with_contents(turn.message)
    return as_object((message.metadata or {}).get(PLAIN_KEY)) or None


def _summary(candidates: Sequence[Candidate], *, no_good_match: bool) -> str:
    if not candidates:
        return "There is no candidate."
    names = ", ".join(one.agent if one.allowed else f"{one.agent} (after consent)" for one in candidates)
    return f"{'None is likely to be right; the nearest are ' if no_good_match else 'Candidates: '}{names}."


def _number(given: Any, most: int) -> int:
    return min(given, most) if isinstance(given, int) and given > 0 else most
