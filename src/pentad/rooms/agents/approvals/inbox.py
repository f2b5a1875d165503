"""The inbox: agents ask for approvals, and people decide them. Approvals that nobody decides in time expire.

A request and its event are one transaction; so are a decision and the event that lets the turn continue. The log
rejects events for a task that has ended, so nothing can be decided after that. `docs/decisions/027-approvals.md` has
the rules.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec

from pentad.events.outbox import emit
from pentad.jobs.job import GiveUp, JobRun, Retries, RetryLater
from pentad.jobs.signed_webhooks import Message as Delivery
from pentad.jobs.signed_webhooks import deliver, signing_key
from pentad.kernel.clock import iso
from pentad.kernel.errors import Conflict, InvalidInput, LimitExceeded, NotFound, PentadError
from pentad.kernel.ids import uuid7_text
from pentad.kernel.json_values import as_object, text_or_empty
from pentad.kernel.ports import Fetcher, Rows, Transaction
from pentad.kernel.principal import Principal
from pentad.platform import Report, no_report, one_organisation
from pentad.rooms.agents.approvals import store
from pentad.rooms.agents.approvals.approvers import Approvers, names_text, person
from pentad.rooms.agents.approvals.store import Approval, Outcome
from pentad.rooms.agents.models import ApprovalRequest, Body, Json, Message, Part, StatusEvent, Task
from pentad.rooms.agents.store import LAST_WORD, Appended, encode_body

if TYPE_CHECKING:
    from pentad.rooms.agents.tasks.task_log import TaskLog

APPROVAL_KEY: Final = "urn:pentad:a2a:approval:v1"
"""The metadata key of a status message for the approval it is about."""
EXPIRE_JOB: Final = "agents.approvals"
"""Ends an approval at its deadline; the key is its id."""
WEBHOOK_JOB: Final = "agents.approval_webhook"
WEBHOOK_RETRIES: Final = Retries(attempts=12, first=1.0, longest=1_800.0)
MAX_PENDING: Final = 20
"""Per task, so that an agent that asks in a loop does not fill the inbox."""
MAX_PAGE: Final = 100

_DAY: Final = 86_400.0
_MAX_WHAT: Final = 2_000
_MAX_DETAILS: Final = 64 * 1024
_MAX_REASON: Final = 2_000
_MAX_DEADLINE: Final = 3_650 * _DAY
_DECISIONS: Final = {"approve": True, "approved": True, "refuse": False, "refused": False}
_SYSTEM: Final = Principal("system", "system", frozenset())


@dataclass(frozen=True, slots=True)
class InboxOptions:
    """The operator's settings for approvals, and what the server provides."""

    approvers: Approvers = field(default_factory=Approvers)
    days: float = 7.0
    """How long an approval waits if the agent does not say."""
    webhook: str | None = None
    secret: str = ""
    site: str = ""
    organisation_of: Callable[[Principal], str] = one_organisation
    report: Report = no_report


@dataclass(frozen=True, slots=True)
class ApprovalPage:
    """Approvals, the newest first. `next` is the cursor of the next page."""

    approvals: list[Approval]
    next: str | None = None


class _TaskLost(Exception):
    """Another process has the task, or it has ended; nothing is written."""


class Inbox:
    """The approvals of a store."""

    def __init__(self, log: "TaskLog", options: InboxOptions, fetcher: Fetcher | None = None) -> None:
        self._log = log
        self._options = options
        self._approvers = options.approvers
        self._fetcher = fetcher

    # For agents

    async def ask(self, task: Task, caller: Principal, request: ApprovalRequest, step: str) -> Approval | None:
        """The approval a turn asks for at this place, created if it is new; None if another process has the task.

        The approval and the status of the waiting task are written together, so neither is visible without the other.
        """
        now = self._log.now()
        deadline = self._options.days * _DAY if request.deadline is None else request.deadline
        approval_id, organisation = uuid7_text(self._log.clock), self._options.organisation_of(caller)

        def work(tx: Transaction) -> tuple[Approval, Appended | None]:
            if (known := store.of_step(tx, task.id, step)) is not None:
                return known, None
            if len(store.pending_of(tx, task.id)) >= MAX_PENDING:
                raise LimitExceeded(f"The task waits for {MAX_PENDING} approvals already, which is the maximum.")
            checked = self._checked(request)
            approval = Approval(
                approval_id, task.id, step, task.agent, task.owner, person(caller), organisation, checked.what,
                checked.details, checked.by, checked.requester_may_decide, "pending", "", "", None, now,
                round(now + deadline, 3), task.context_id,
            )  # fmt: skip
            store.insert(tx, approval)
            appended = self._append(tx, approval, [_waiting(approval)], now, holder=self._log.origin)
            if appended is None:
                raise _TaskLost
            self._log.jobs.enqueue(tx, EXPIRE_JOB, key=approval_id, run_at=approval.expires_at)
            _emit_event(tx, approval, "requested", now)
            self._enqueue_webhook(tx, approval_id, "requested")
            return approval, appended

        try:
            approval, appended = await self._log.database.write(work)
        except _TaskLost:
            return None
        if appended is not None:
            self._publish(approval, appended)
            self._options.report(caller, "approval requested", target=f"approval:{approval.id}")
        return approval

    async def withdraw(self, task_id: str, step: str) -> None:
        """Withdraw the approval a turn asked for at this place. The turn itself reports that it continues."""

        def work(tx: Transaction) -> None:
            approval = store.of_step(tx, task_id, step)
            if approval is not None and store.decide(tx, approval.id, "withdrawn", "", "", self._log.now()):
                self._log.jobs.cancel(tx, EXPIRE_JOB, approval.id)

        await self._log.database.write(work)

    async def read_at(self, task_id: str, step: str) -> Approval | None:
        """The current state of the approval a turn asked for at this place."""
        return await self._log.database.read(lambda rows: store.of_step(rows, task_id, step))

    # For people

    async def get(self, principal: Principal, approval_id: str) -> Approval:
        """One approval; NotFound for anyone who neither asked for it nor may decide it."""
        return await self._log.database.read(lambda rows: self._visible(rows, principal, approval_id))

    async def list(
        self, principal: Principal, *, pending: bool = True, limit: int = 50, cursor: str | None = None
    ) -> ApprovalPage:
        """The approvals the principal may decide or asked for; by default only pending ones."""
        if not 1 <= limit <= MAX_PAGE:
            raise InvalidInput(f"A page has 1 to {MAX_PAGE} approvals.")
        own = None if principal.kind == "local" else self._options.organisation_of(principal)

        def work(rows: Rows) -> list[Approval]:
            names = [] if own is None else store.approver_names(rows, own)
            fitting = [one for one in names if self._approvers.include(principal, one)]
            return store.list_visible(
                rows, principal.id, own, fitting,
                now=self._log.now(), pending=pending, limit=limit + 1, before=cursor,
            )  # fmt: skip

        found = await self._log.database.read(work)
        return ApprovalPage(found[:limit], found[limit - 1].id if len(found) > limit else None)

    def may_decide(self, principal: Principal, approval: Approval) -> bool:
        """Whether the principal may decide an approval it can see."""
        try:
            self._approvers.check(principal, approval)
        except PentadError:
            return False
        return approval.state == "pending" and approval.expires_at > self._log.now()

    async def awaited(self, task: Task) -> Approval | None:
        """The approval a task waits for, if any. The status alone is no proof: agents can write anything there."""
        approval_id = approval_id_in(task)
        if approval_id is None:
            return None
        found = await self._log.database.read(lambda rows: store.get(rows, approval_id))
        return found if found is not None and found.task == task.id and found.state == "pending" else None

    async def decidable(self, principal: Principal, task_id: str) -> Approval | None:
        """The oldest approval of a task that the principal may decide."""
        found = await self._log.database.read(lambda rows: store.pending_of(rows, task_id))
        return next((one for one in found if self._may_see(principal, one) and self.may_decide(principal, one)), None)

    async def decide(
        self,
        principal: Principal,
        approval_id: str,
        *,
        approve: bool,
        reason: str = "",
        also: Callable[[Transaction, Approval], None] | None = None,
    ) -> Approval:
        """Decide once. Repeating the same decision returns it; any other attempt is a Conflict. `also` is part of the
        transaction.
        """
        outcome: Outcome = "approved" if approve else "refused"
        reason = reason.strip()
        if len(reason) > _MAX_REASON:
            raise InvalidInput(f"The reason has {len(reason)} characters; the maximum is {_MAX_REASON}.")

        def work(tx: Transaction) -> tuple[Approval, Appended | None]:
            approval = self._visible(tx, principal, approval_id)
            self._approvers.check(principal, approval)
            ended: tuple[Approval, Appended | None] = approval, None
            if approval.state != outcome or approval.decided_by != principal.id:
                if approval.state == "pending" and approval.expires_at <= self._log.now():
                    raise _too_late("expired")
                ended = self._end(tx, approval, outcome, principal.id, reason)
            if also is not None:
                also(tx, ended[0])
            return ended

        approval, appended = await self._log.database.write(work)
        if appended is not None:
            self._publish(approval, appended)
            self._options.report(principal, f"approval {outcome}", target=f"approval:{approval.id}", reason=reason)
        return approval

    # Jobs

    async def expire(self, run: JobRun) -> None:
        """The job at the deadline."""

        def work(tx: Transaction) -> tuple[Approval, Appended] | None:
            run.check(tx)
            approval = store.get(tx, run.key or "")
            return self._end(tx, approval, "expired") if approval is not None and approval.state == "pending" else None

        if (ended := await self._log.database.write(work)) is not None:
            self._publish(*ended)
            self._options.report(_SYSTEM, "approval expired", target=f"approval:{ended[0].id}")

    async def send_webhook(self, run: JobRun) -> None:
        """The job that notifies the operator's webhook of an approval."""
        url = self._options.webhook
        approval = await self._log.database.read(lambda rows: store.get(rows, run.payload["id"]))
        if url is None or approval is None or self._fetcher is None:
            return
        kind = run.payload["type"]
        body = {"type": kind, "timestamp": iso(run.payload["at"]), "data": self._summary(approval)}
        message = Delivery(
            url, f"{approval.id}.{kind}", msgspec.json.encode(body), signing_key(self._options.secret), trusted=True
        )
        attempt = await deliver(self._fetcher, self._log.clock, message)
        if attempt.is_gone:
            raise GiveUp(attempt.problem or "gone")
        if attempt.problem is not None:
            raise RetryLater(attempt.problem, after=attempt.retry_after)

    def page_url(self, approval: Approval) -> str:
        """The URL of the page where a person decides."""
        return f"{self._options.site}/console/agents/approvals/{approval.id}"

    # Internals

    def _visible(self, rows: Rows, principal: Principal, approval_id: str) -> Approval:
        found = store.get(rows, approval_id)
        if found is None or not self._may_see(principal, found):
            raise NotFound(
                f"There is no approval {approval_id[:100]!r} for you.", hint="List your approvals to see their ids."
            )
        return found

    def _may_see(self, principal: Principal, approval: Approval) -> bool:
        if principal.kind == "local" or principal.id == approval.owner:
            return True
        return self._options.organisation_of(principal) == approval.organisation and self._approvers.include(
            principal, approval.approvers
        )

    def _end(
        self, tx: Transaction, approval: Approval, outcome: Outcome, by: str = "", reason: str = ""
    ) -> tuple[Approval, Appended]:
        """Decide a pending approval and let its turn continue; Conflict if it was decided or its task has ended."""
        now = self._log.now()
        if approval.state != "pending" or not store.decide(tx, approval.id, outcome, by, reason, now):
            raise _too_late(approval.state if approval.state != "pending" else "decided")
        decided = replace(approval, state=outcome, decided_by=by, reason=reason, decided_at=now)
        others = store.pending_of(tx, approval.task)  # the task also waits for these
        appended = self._append(
            tx, decided, [StatusEvent("working", decided_message(decided)), *(_waiting(one) for one in others[:1])], now
        )
        if appended is None:
            raise _too_late("withdrawn")
        if outcome != "expired":  # the job itself
            self._log.jobs.cancel(tx, EXPIRE_JOB, approval.id)
        self._enqueue_webhook(tx, approval.id, outcome)
        _emit_event(tx, decided, outcome, now)
        return decided, appended

    def _append(
        self, tx: Transaction, approval: Approval, bodies: Sequence[StatusEvent], at: float, holder: str | None = None
    ) -> Appended | None:
        batch = [encode_body(one) for one in bodies]
        return self._log.append_in(tx, approval.task, batch, at, bounds=LAST_WORD, holder=holder)

    def _publish(self, approval: Approval, appended: Appended) -> None:
        size = sum(len(encode_body(event.body).json) for event in appended.events)
        self._log.publish(approval.task, appended.events, size)

    def _enqueue_webhook(self, tx: Transaction, approval_id: str, what: str) -> None:
        if self._options.webhook is not None:
            payload = {"id": approval_id, "type": f"approval.{what}", "at": self._log.now()}
            self._log.jobs.enqueue(tx, WEBHOOK_JOB, payload)

    def _checked(self, request: ApprovalRequest) -> ApprovalRequest:
        what = request.what.strip()
        if not 1 <= len(what) <= _MAX_WHAT:
            raise InvalidInput(f"Describe in 1 to {_MAX_WHAT} characters what to approve.")
        if request.deadline is not None and not 0 < request.deadline <= _MAX_DEADLINE:
            raise InvalidInput("The deadline of an approval is a number of seconds, greater than 0.")
        try:
            size = len(msgspec.json.encode(request.details))
        except (TypeError, ValueError, RecursionError, OverflowError) as error:
            raise InvalidInput(f"The details of an approval are not JSON: {error}.") from None
        if size > _MAX_DETAILS:
            raise LimitExceeded(f"The details of an approval have {size} bytes; the maximum is {_MAX_DETAILS}.")
        return msgspec.structs.replace(request, what=what, by=self._approvers.checked(request.by))

    def _summary(self, approval: Approval) -> dict[str, Any]:
        """The approval for the webhook: what people need to find it, without the details."""
        return {
            "id": approval.id,
            "what": approval.what,
            "by": list(approval.approvers),
            "agent": approval.agent,
            "task": approval.task,
            "requester": approval.requester,
            "state": approval.state,
            "decided_by": approval.decided_by or None,
            "reason": approval.reason or None,
            "expires": iso(approval.expires_at),
            "url": self.page_url(approval),
        }


def is_about_approval(body: Body) -> bool:
    """Whether the inbox, rather than the agent, wrote this event."""
    message = body.message if isinstance(body, StatusEvent) else None
    return message is not None and message.metadata is not None and APPROVAL_KEY in message.metadata


def approval_id_in(task: Task) -> str | None:
    """The id of the approval a task says it waits for."""
    return text_or_empty(_note_in(task).get("id")) or None


def awaited_approvers(task: Task) -> list[str] | None:
    """The approvers a task says it waits for; None if it waits for no approval."""
    names: Any = _note_in(task).get("by")
    return [str(name) for name in cast("list[Any]", names)] if isinstance(names, list) else None


def is_approval(state: str, message: Message | None) -> bool:
    """Whether a task that said this in this state waits for an approval."""
    return bool(_note_of(state, message))


def _note_in(task: Task) -> Json:
    return _note_of(task.state, task.status_message)


def _note_of(state: str, message: Message | None) -> Json:
    if state != "input-required" or message is None or message.metadata is None:
        return {}
    return as_object(message.metadata.get(APPROVAL_KEY))


def read_answer(message: Message) -> tuple[bool, str] | None:
    """The decision in a message, and its reason: `approve`, `refuse: too much`, or a data part with `decision` and
    `reason`. None if the message says neither.
    """
    for part in message.parts:
        given = as_object(part.data)
        if (found := _DECISIONS.get(text_or_empty(given.get("decision")).lower())) is not None:
            return found, text_or_empty(given.get("reason"))
    word, _, reason = message.text.strip().partition(" ")
    found = _DECISIONS.get(word.lower().rstrip(".,:;!"))
    return None if found is None else (found, reason)


def _waiting(approval: Approval) -> StatusEvent:
    note: dict[str, Any] = {
        "id": approval.id,
        "what": approval.what,
        "by": list(approval.approvers),
        "expires": iso(approval.expires_at),
    }
    if approval.details is not None:
        note["details"] = approval.details
    text = f"Waiting for approval by {names_text(approval.approvers)}: {approval.what}"
    return StatusEvent("input-required", _message(approval, text, note))


def _emit_event(tx: Transaction, approval: Approval, what: str, at: float) -> None:
    uri = f"agents://tasks/{approval.task}"
    emit(tx, "agents", f"approval.{what}", [uri], audience=approval.owner, at=at, data={"approval": approval.id})


def decided_message(approval: Approval) -> Message:
    """The answer for an approver who does not own the task and so cannot see it."""
    note = {"id": approval.id, "outcome": approval.state, "by": approval.decided_by, "reason": approval.reason}
    said = (
        "Nobody decided in time"
        if approval.state == "expired"
        else f"{approval.state.capitalize()} by {approval.decided_by}"
    )
    text = f"{said}: {approval.reason}" if approval.reason else f"{said}."
    return _message(approval, text, note)


def _message(approval: Approval, text: str, note: dict[str, Any]) -> Message:
    return Message(
        id=uuid7_text(), role="agent", parts=(Part(text=text),),
        task_id=approval.task, context_id=approval.context_id, metadata={APPROVAL_KEY: note},
    )  # fmt: skip


def _too_late(state: str) -> Conflict:
    texts = {
        "withdrawn": "The task has ended or continued, so there is nothing left to decide.",
        "expired": "The deadline has passed: this approval has expired.",
        "decided": "Someone else has just decided this.",
    }
    text = texts.get(state) or f"This has already been decided: it is {state}."
    return Conflict(text, details={"reason": "approval-not-pending", "state": state})
