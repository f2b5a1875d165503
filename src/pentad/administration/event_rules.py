"""Rules: when something happens, send it to a URL, or send a task to an agent. A job carries out each rule.

A rule acts with the rights its owner has at that moment, never more than when the rule was made. Its cursor moves past
each event once that is handled. If a process dies in between, the next one repeats the action under the same id: an
agent accepts an idempotency key only once, and a receiver drops a webhook with a known `webhook-id`. So each rule
starts one task for each event.

Only a process that has opened the room of a rule's action and all rooms whose events may match carries it out: another
one would fail, or move the cursor past events it does not see.

A rule does not react to events that it caused itself, and rules that trigger each other are stopped. To detect that,
each action of a rule gets a span with the mark of the rule and the number of rules that led to it. An event leads back
to that span through the task that caused it, or through its trace.
"""

import asyncio
import base64
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from typing import Any, Final, Protocol

import msgspec

from pentad.access.owners import owner_is_gone
from pentad.access.sealed_columns import SealedColumn
from pentad.access.secret_box import SecretBox
from pentad.events.feed import NOW, EventFeed, EventFilter
from pentad.jobs.job import Again, JobRun, RetryLater
from pentad.jobs.queue import JobQueue
from pentad.kernel import trace as traces
from pentad.kernel.background import Background
from pentad.kernel.clock import Clock, SystemRandomness, iso
from pentad.kernel.errors import Forbidden, InvalidInput, LimitExceeded, NotFound, PentadError
from pentad.kernel.events import Event
from pentad.kernel.ids import uuid7_text
from pentad.kernel.incidents import log_failure
from pentad.kernel.ports import Database, Fetcher, Row, Rows, Transaction
from pentad.kernel.principal import Principal
from pentad.kernel.trace import OriginOf, RequestMark, SpansOf, request_mark
from pentad.mcp.rights import refuse_read_only

JOB: Final = "events.rules"
"""The job that carries out a rule; its key is the rule's id."""
BODY: Final = SealedColumn("event_rules", "body", ("id",), is_text=True)
MOST_RULES: Final = 100
"""How many rules an owner may have."""
MOST_FAILURES: Final = 20
"""A rule is disabled after this many failures in a row."""
LONGEST_CHAIN: Final = 5
"""How many rules may trigger each other in a row."""
SEND_TASK: Final = "agents_send_task"
_AT_ONCE: Final = 50
_RETRY_SECONDS: Final = 5.0
_TASKS: Final = "agents://tasks/"
_RECENT_SECONDS: Final = 86_400.0
_COLUMNS: Final = "id, owner, body, cursor, is_enabled, done, failures, problem, created_at"


class Call(Protocol):
    """Calls a tool of any room for a principal."""

    async def __call__(self, principal: Principal, name: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]: ...


class TaskAction(msgspec.Struct, forbid_unknown_fields=True):
    """Send a task to an agent, here or remote: the text, and the event as data."""

    agent: str
    text: str


class WebhookAction(msgspec.Struct, forbid_unknown_fields=True):
    """Post the event to a URL, signed."""

    url: str
    secret: str


class RuleBody(msgspec.Struct):
    """The part of a rule that is stored sealed."""

    name: str
    rooms: list[str]
    kinds: list[str]
    subject: str
    action: dict[str, Any]
    principal: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule as it is stored."""

    id: str
    owner: str
    body: RuleBody
    cursor: str
    is_enabled: bool
    done: int
    failures: int
    problem: str | None
    created_at: float

    @property
    def wanted(self) -> EventFilter:
        return EventFilter(frozenset(self.body.rooms), tuple(self.body.kinds), self.body.subject)

    def span(self, depth: int) -> str:
        """The span of the rule's action, as number `depth` in a chain of rules."""
        return f"{mark_of(self.id)}{depth:04x}"

    def principal(self) -> Principal:
        """The owner, with the rights it had when it made the rule."""
        saved = self.body.principal
        return Principal(
            self.owner, saved["name"], frozenset(saved["scopes"]), saved["kind"], saved["credential"], saved["user"]
        )

    def as_json(self) -> dict[str, Any]:
        """The rule for its owner, without the secret."""
        action = {name: value for name, value in self.body.action.items() if name != "secret"}
        found: dict[str, Any] = {
            "id": self.id,
            "name": self.body.name,
            "room": self.body.rooms,
            "kind": self.body.kinds,
            "subject": self.body.subject,
            "webhook" if "url" in action else "task": action,
            "enabled": self.is_enabled,
            "done": self.done,
            "failures": self.failures,
            "problem": self.problem,
            "created_at": iso(self.created_at),
        }
        return {name: value for name, value in found.items() if value not in ("", [], None)}


@dataclass(frozen=True, slots=True)
class EventCauses:
    """Finds what led to an event, by asking the rooms about tasks and traces (`Room.origin`, `Room.spans`)."""

    of_task: Sequence[OriginOf]
    of_trace: Sequence[SpansOf]

    def origins(self, rows: Rows, event: Event) -> Iterator[str]:
        """Positions as `traceparent`: where the topmost task of the event was started, the event's own position in its
        trace, and the one reached by following the trace back through tasks and their calls."""
        if task := event.cause or (event.subject if event.subject.startswith(_TASKS) else ""):
            yield from (found for origin in self.of_task if (found := origin(rows, task)))
        if not event.trace:
            return
        yield event.trace
        trace_id, span, since = event.trace[3:35], event.trace[36:52], event.at - _RECENT_SECONDS
        spans = [one for read in self.of_trace for one in read(rows, trace_id, [event.principal], since)]
        above = {one.span_id: one.parent_span_id for one in spans}
        for _ in above:  # at most this many steps, in case they form a circle
            if span not in above:
                break
            span = above[span]
        yield f"00-{trace_id}-{span}-01"


class EventRules:
    """Stores rules, queues their jobs when something happens, and carries them out."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        feed: EventFeed,
        jobs: JobQueue,
        box: SecretBox,
        fetcher: Fetcher,
        call: Call,
        owner_now: Callable[[Rows, Principal], Principal | None],
        causes: Callable[[], EventCauses],
    ) -> None:
        self._database = database
        self._clock = clock
        self._feed = feed
        self._jobs = jobs
        self._box = box
        self._fetcher = fetcher
        self._call = call
        self._owner_now = owner_now
        self._causes = causes
        self._wake = asyncio.Event()
        self._background = Background()

    # For owners

    async def add(
        self, owner: Principal, name: str, wanted: EventFilter, action: TaskAction | WebhookAction, start: str = NOW
    ) -> dict[str, Any]:
        """A new rule, for events after `start`. Only this answer has the secret of a webhook."""
        refuse_read_only(owner)
        self._feed.check(wanted)
        secret = ""
        if isinstance(action, WebhookAction):
            from pentad.jobs.signed_webhooks import signing_key

            _require(owner, "events")
            await self._fetcher.check(action.url)
            secret = action.secret = action.secret or f"whsec_{_new_secret()}"
            signing_key(secret)
        else:
            _require(owner, "agents")
        first = await self._feed.page(owner, wanted, start, 1)  # refuses an invalid cursor
        cursor = first.cursor if start == NOW else start
        saved = {
            "name": owner.name, "scopes": sorted(owner.scopes), "kind": owner.kind, "credential": owner.credential,
            "user": owner.user,
        }  # fmt: skip
        shown = msgspec.to_builtins(action)
        body = RuleBody(name, sorted(wanted.rooms), list(wanted.kinds), wanted.subject, shown, saved)
        needs = {*self._feed.rooms_of(wanted), *(["agents"] if isinstance(action, TaskAction) else [])}
        now = self._clock.now()
        rule = Rule(uuid7_text(self._clock), owner.id, body, cursor, True, 0, 0, None, now)

        def work(tx: Transaction) -> None:
            if tx.value("SELECT count(*) FROM event_rules WHERE owner = ?", owner.id) >= MOST_RULES:
                raise LimitExceeded(f"You have {MOST_RULES} rules, which is the maximum.", hint="Delete one of them.")
            sealed = BODY.seal(self._box, msgspec.json.encode(body), rule.id)
            tx.run(
                f"INSERT INTO event_rules ({_COLUMNS}, updated_at, needs) VALUES (?, ?, ?, ?, 1, 0, 0, NULL, ?, ?, ?)",  # noqa: S608  constants
                rule.id, owner.id, sealed, cursor, now, now, msgspec.json.encode(sorted(needs)).decode(),
            )  # fmt: skip
            self._queue(tx, rule.id)

        await self._database.write(work)
        return {**rule.as_json(), **({"secret": secret} if secret else {})}

    async def list(self, owner: Principal) -> list[dict[str, Any]]:
        """The owner's rules, oldest first."""
        sql = f"SELECT {_COLUMNS} FROM event_rules WHERE owner = ? ORDER BY created_at, id"  # noqa: S608  constants
        found = await self._database.read(lambda rows: rows.all(sql, owner.id))
        return [self._rule(row).as_json() for row in found]

    async def get(self, owner: Principal, rule_id: str) -> dict[str, Any]:
        """One of the owner's rules."""
        rule = await self._database.read(lambda rows: self._find(rows, rule_id))
        if rule is None or rule.owner != owner.id:
            raise _no_rule(rule_id)
        return rule.as_json()

    async def remove(self, owner: Principal, rule_id: str) -> None:
        """Remove a rule and its job."""
        refuse_read_only(owner)

        def work(tx: Transaction) -> None:
            if not tx.run("DELETE FROM event_rules WHERE id = ? AND owner = ?", rule_id, owner.id):
                raise _no_rule(rule_id)
            self._jobs.cancel(tx, JOB, rule_id)

        await self._database.write(work)

    async def resume(self, owner: Principal, rule_id: str) -> dict[str, Any]:
        """Enable a rule again; it continues with the event that it failed on."""
        refuse_read_only(owner)

        def work(tx: Transaction) -> None:
            sql = "UPDATE event_rules SET is_enabled = 1, failures = 0, problem = NULL WHERE id = ? AND owner = ?"
            if not tx.run(sql, rule_id, owner.id):
                raise _no_rule(rule_id)
            self._queue(tx, rule_id)

        await self._database.write(work)
        return await self.get(owner, rule_id)

    # For the process

    def start(self) -> None:
        self._wake.set()  # a process may have died before it queued the jobs of its events
        self._background.start(self._serve(), "event-rules")

    async def stop(self) -> None:
        await self._background.stop()

    def wake(self) -> None:
        """Queue the jobs, because something happened."""
        self._wake.set()

    async def _serve(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            try:
                if await self._database.read(_has_enabled):
                    await self._database.write(self._queue)
            except PentadError as error:
                log_failure(error, "Queueing the rules of events")
                await asyncio.sleep(_RETRY_SECONDS)
                self._wake.set()

    def _queue(self, tx: Transaction, only: str | None = None) -> None:
        """Queue the jobs of all enabled rules, or of one."""
        sql = "SELECT id, needs FROM event_rules WHERE is_enabled = 1 AND id = coalesce(?, id)"
        for rule_id, needs in tx.all(sql, only):
            self._jobs.enqueue(tx, JOB, key=rule_id, needs=msgspec.json.decode(needs))

    # The job

    async def run(self, run: JobRun) -> Again | None:
        """Handle the events after the rule's cursor."""
        rule_id = run.key or ""
        rule, owner = await self._database.read(lambda rows: self._with_owner(rows, rule_id))
        if rule is None or not rule.is_enabled:
            return None
        if owner is None:
            await self._fail(run, rule, owner_is_gone(rule.owner), is_final=True)
            return None
        page = await self._feed.page(owner, rule.wanted, rule.cursor, _AT_ONCE)
        progressed = False
        for event, behind in zip(page.events, page.cursors, strict=True):
            mark, depth = await self._database.read(partial(self._started_by, event))
            is_own = mark == mark_of(rule.id)
            if not is_own and depth >= LONGEST_CHAIN:
                await self._skip(run, rule, event, behind)
                progressed = True
                continue
            if not is_own:
                try:
                    await self._act(rule, owner, event, depth + 1)
                except PentadError as error:
                    if await self._fail(run, rule, error.sentence()):
                        return None
                    raise RetryLater(error.sentence(), progressed=progressed) from None
            await self._move(run, rule, behind, 0 if is_own else 1)
            progressed = True
        if page.cursor != (page.cursors[-1] if page.cursors else rule.cursor):
            await self._move(run, rule, page.cursor, 0)
        return Again(self._clock.now()) if page.has_more else None

    def _started_by(self, event: Event, rows: Rows) -> tuple[str, int]:
        """The mark of the rule that led to an event, and the length of the chain; no mark and 0 without one."""
        spans = [(trace[36:48], trace[48:52]) for trace in self._causes().origins(rows, event)]
        known = {mark_of(rule_id) for (rule_id,) in rows.all("SELECT id FROM event_rules")} if spans else set[str]()
        # A client may send any span, but does not know the ids of rules.
        return next(((mark, int(depth, 16)) for mark, depth in spans if mark in known), ("", 0))

    async def _act(self, rule: Rule, owner: Principal, event: Event, depth: int) -> None:
        """Perform the rule's action, as part of the event's trace."""
        trace_id = event.trace[3:35] or traces.new_trace_id()
        mark = RequestMark(f"rule {rule.id}", trace_id, f"00-{trace_id}-{rule.span(depth)}-01", principal=owner.id)
        token = request_mark.set(mark)
        try:
            if "url" in rule.body.action:
                await self._post(msgspec.convert(rule.body.action, WebhookAction), event)
            else:
                await self._send_task(rule, owner, msgspec.convert(rule.body.action, TaskAction), event)
        finally:
            request_mark.reset(token)

    async def _send_task(self, rule: Rule, owner: Principal, action: TaskAction, event: Event) -> None:
        arguments = {
            "agent": action.agent, "text": action.text, "data": event.as_json(), "wait": False,
            "idempotency_key": f"rule {rule.id} {event.id}",
        }  # fmt: skip
        result = await self._call(owner, SEND_TASK, arguments)
        if result.get("isError"):
            texts = [str(one.get("text", "")) for one in result.get("content", ())]
            raise InvalidInput(" ".join(texts) or "The agent did not take the task.")

    async def _post(self, action: WebhookAction, event: Event) -> None:
        from pentad.jobs.signed_webhooks import Message, deliver, signing_key

        body = msgspec.json.encode(event.as_json())
        message = Message(action.url, event.id, body, signing_key(action.secret))
        attempt = await deliver(self._fetcher, self._clock, message)
        if attempt.problem is not None:
            raise InvalidInput(attempt.problem)

    async def _skip(self, run: JobRun, rule: Rule, event: Event, behind: str) -> None:
        """Skip an event that would continue a circle of rules, and report that until the rule is resumed."""
        problem = (
            f"Not carried out for {event.type} {event.subject[:200]}: {LONGEST_CHAIN} rules have started one another."
            " Change what one of them waits for, or remove it."
        )

        def work(tx: Transaction) -> None:
            run.check(tx)
            tx.run(
                "UPDATE event_rules SET cursor = ?, failures = 0, problem = ?, updated_at = ? WHERE id = ?",
                behind, problem.replace("\0", ""), self._clock.now(), rule.id,
            )  # fmt: skip

        await self._database.write(work)

    async def _move(self, run: JobRun, rule: Rule, cursor: str, done: int) -> None:
        def work(tx: Transaction) -> None:
            run.check(tx)
            tx.run(
                "UPDATE event_rules SET cursor = ?, done = done + ?, failures = 0, updated_at = ?,"
                " problem = CASE WHEN failures > 0 THEN NULL ELSE problem END WHERE id = ?",
                cursor, done, self._clock.now(), rule.id,
            )  # fmt: skip

        await self._database.write(work)

    async def _fail(self, run: JobRun, rule: Rule, problem: str, *, is_final: bool = False) -> bool:
        """Record a failure; returns whether the rule is disabled now."""
        ends = is_final or rule.failures + 1 >= MOST_FAILURES

        def work(tx: Transaction) -> None:
            run.check(tx)
            tx.run(
                "UPDATE event_rules SET failures = failures + 1, problem = ?, is_enabled = ?, updated_at = ?"
                " WHERE id = ?",
                problem[:2_000].replace("\0", ""), int(not ends), self._clock.now(), rule.id,
            )  # fmt: skip

        await self._database.write(work)
        return ends

    def _with_owner(self, rows: Rows, rule_id: str) -> tuple[Rule | None, Principal | None]:
        rule = self._find(rows, rule_id)
        return rule, None if rule is None else self._owner_now(rows, rule.principal())

    def _find(self, rows: Rows, rule_id: str) -> Rule | None:
        row = rows.one(f"SELECT {_COLUMNS} FROM event_rules WHERE id = ?", rule_id)  # noqa: S608  constants
        return None if row is None else self._rule(row)

    def _rule(self, row: Row) -> Rule:
        rule_id, owner, sealed, cursor, enabled, done, failures, problem, created_at = row
        body = msgspec.json.decode(BODY.open(self._box, sealed, rule_id), type=RuleBody)
        return Rule(rule_id, owner, body, cursor, bool(enabled), done, failures, problem, created_at)


def mark_of(rule_id: str) -> str:
    """The mark by which a span is recognised as a rule's."""
    return blake2b(rule_id.encode(), digest_size=6).hexdigest()


def _has_enabled(rows: Rows) -> bool:
    return rows.value("SELECT 1 FROM event_rules WHERE is_enabled = 1 LIMIT 1") is not None


def _require(owner: Principal, room: str) -> None:
    if not owner.may(room, "write"):
        raise Forbidden(
            f"{owner.name!r} may not make such a rule.",
            hint=f"It needs the scope {room}:write.",
            details={"required_scope": f"{room}:write"},
        )


def _no_rule(rule_id: str) -> NotFound:
    return NotFound(f"There is no rule {rule_id[:80]!r} of yours.", hint="Your rules have other ids; list them.")


def _new_secret() -> str:
    return base64.b64encode(SystemRandomness().token_bytes(24)).decode("ascii")
