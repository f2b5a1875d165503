"""The client's end of a request in each era: what it declared, and how it is asked.

A peer lives as long as one request. The outlet is the transport's: it carries messages that belong to the request.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, Protocol, cast

from msgspec import UNSET

from pentad.kernel.errors import DeadlineExceeded
from pentad.kernel.principal import Principal
from pentad.mcp import messages
from pentad.mcp.asking import BadAnswer, InputRequired, MissingCapability, Question, is_declared
from pentad.mcp.call import LOG_LEVELS, NO_HEADERS
from pentad.mcp.conversations import Conversations
from pentad.mcp.messages import RequestId, RequestMeta
from pentad.mcp.request_state import StateSealer
from pentad.mcp.revisions import Revision
from pentad.mcp.sessions import Session

_ANSWER_SECONDS: Final = 600.0


class Outlet(Protocol):
    """Where messages of one request go."""

    @property
    def can_send(self) -> bool:
        """Whether the client takes messages before the answer; if not, they are dropped and nothing can be asked."""
        ...

    async def send(self, message: bytes) -> None: ...

    async def keep_alive(self) -> None:
        """Show that the stream is alive, without a message."""
        ...

    async def close_early(self) -> None:
        """End the stream before the answer, if the client can come back for the rest."""
        ...

    def waiting(self) -> None:
        """The handler suspended for the first time."""
        ...


class SessionKeeper(Protocol):
    """Where a session's own state is changed: the store for HTTP, memory for a connection."""

    async def set_log_level(self, session: Session, level: str) -> None: ...
    async def subscribe(self, session: Session, uri: str) -> None: ...
    async def unsubscribe(self, session: Session, uri: str) -> None: ...


class LegacyPeer:
    """A client of the handshake era: capabilities come from its session, questions are requests it answers."""

    __slots__ = (
        "_conversations",
        "_outlet",
        "headers",
        "keeper",
        "principal",
        "request_id",
        "revision",
        "session",
        "trace",
        "transport",
    )

    def __init__(
        self,
        principal: Principal,
        revision: Revision,
        session: Session | None,
        keeper: SessionKeeper,
        outlet: Outlet,
        conversations: Conversations,
        transport: str,
        trace: str | None = None,
        headers: Mapping[bytes, bytes] = NO_HEADERS,
    ) -> None:
        self.principal = principal
        self.revision = revision
        self.headers = headers
        self.session = session
        self.keeper = keeper
        self.transport = transport
        self.trace = trace
        self.request_id: RequestId | None = None
        self._outlet = outlet
        self._conversations = conversations

    @property
    def session_id(self) -> str | None:
        return self.session.id if self.session is not None else None

    def supports(self, capability: str) -> bool:
        if self.session is None or not self._outlet.can_send:
            return False
        if capability.startswith("elicitation") and not self.revision.elicitation:
            return False
        if capability == "elicitation.url" and not self.revision.url_elicitation:
            return False
        return is_declared(capability, self.session.capabilities())

    def client_info(self) -> Mapping[str, Any]:
        return self.session.client_info() if self.session is not None else {}

    def wants_log(self, level: str) -> bool:
        if self.session is None or self.session.log_level is None:
            return False
        return LOG_LEVELS.index(level) >= LOG_LEVELS.index(self.session.log_level)

    def remembered(self) -> dict[str, Any]:
        return {}

    async def send(self, message: bytes) -> None:
        await self._outlet.send(message)

    async def keep_alive(self) -> None:
        await self._outlet.keep_alive()

    async def close_stream(self) -> None:
        await self._outlet.close_early()

    def waiting(self) -> None:
        task = asyncio.current_task()
        if self.session is not None and self.request_id is not None and task is not None:
            self._conversations.running(self.session.id, self.request_id, task)
        self._outlet.waiting()

    async def ask(self, questions: Mapping[str, Question], state: dict[str, Any]) -> dict[str, Any]:
        del state  # the tool simply waits here: nothing has to survive a round trip
        for question in questions.values():
            _require(self.supports(question.capability), question)
        given = await asyncio.gather(*(self._put(question) for question in questions.values()))
        return dict(zip(questions, given, strict=True))

    async def _put(self, question: Question) -> Any:
        session = self.session
        if session is None:
            raise MissingCapability(question.capability)
        key, answer = self._conversations.expect(session.id)
        try:
            await self._outlet.send(messages.request(key, question.method, question.params()))
            async with asyncio.timeout(_ANSWER_SECONDS):
                return question.read(await answer)
        except TimeoutError:
            raise DeadlineExceeded(
                f"The client did not answer {question.method} within {_ANSWER_SECONDS / 60:g} minutes.",
                hint="Call again when somebody can answer.",
            ) from None
        finally:
            self._conversations.give_up(session.id, key)


class ModernPeer:
    """A client of the stateless era: everything it is comes with the request, questions end the call for now."""

    __slots__ = ("_meta", "_outlet", "_rounds", "_who", "headers", "principal", "revision", "trace", "transport")
    session_id: str | None = None

    def __init__(
        self,
        principal: Principal,
        revision: Revision,
        meta: RequestMeta,
        outlet: Outlet,
        transport: str,
        trace: str | None = None,
        who: Callable[[], Awaitable[Principal]] | None = None,
        headers: Mapping[bytes, bytes] = NO_HEADERS,
    ) -> None:
        self.principal = principal
        self.headers = headers
        self.revision = revision
        self.transport = transport
        self.trace = trace
        self._meta = meta
        self._outlet = outlet
        self._who = who
        self._rounds: _Rounds | None = None

    async def principal_now(self) -> Principal:
        """Who the client is by now, for a request that lasts; what it was at first where nobody can tell."""
        return self.principal if self._who is None else await self._who()

    def take_answers(
        self, sealer: StateSealer, bound_to: Callable[[], bytes], responses: Any, request_state: str | None
    ) -> None:
        """What the client answered in earlier rounds (sealed) and in this one."""
        answers, state = dict[str, Any](), dict[str, Any]()
        if request_state is not None:
            opened = sealer.open(request_state, bound_to())
            answers, state = opened.answers, opened.state
        if isinstance(responses, dict):
            answers.update(cast("dict[str, Any]", responses))
        self._rounds = _Rounds(sealer, bound_to, answers, state)

    def supports(self, capability: str) -> bool:
        declared = self._meta.client_capabilities
        return declared is not UNSET and is_declared(capability, declared)

    def client_info(self) -> Mapping[str, Any]:
        return {} if self._meta.client_info is UNSET else self._meta.client_info

    def wants_log(self, level: str) -> bool:
        wanted = self._meta.log_level
        return wanted in LOG_LEVELS and LOG_LEVELS.index(level) >= LOG_LEVELS.index(wanted)

    def remembered(self) -> dict[str, Any]:
        return dict(self._rounds.state) if self._rounds is not None else {}

    async def send(self, message: bytes) -> None:
        await self._outlet.send(message)

    async def keep_alive(self) -> None:
        await self._outlet.keep_alive()

    async def close_stream(self) -> None:
        """This era has no resumption: the stream stays."""

    def waiting(self) -> None:
        self._outlet.waiting()

    async def ask(self, questions: Mapping[str, Question], state: dict[str, Any]) -> dict[str, Any]:
        for question in questions.values():
            _require(self.supports(question.capability), question)
        if self._rounds is None:
            raise MissingCapability(next(iter(questions.values())).capability)
        return self._rounds.answers_to(questions, state)


class _Rounds:
    """The rounds of one modern call with questions: what was answered, and the seal for what is still open."""

    def __init__(
        self, sealer: StateSealer, bound_to: Callable[[], bytes], answers: dict[str, Any], state: dict[str, Any]
    ) -> None:
        self._sealer = sealer
        self._bound_to = bound_to
        self._answers = answers
        self.state = state
        self._accepted: dict[str, Any] = {}

    def answers_to(self, questions: Mapping[str, Question], state: dict[str, Any]) -> dict[str, Any]:
        """The answers, if all are there and make sense; otherwise the call ends here for this round."""
        found: dict[str, Any] = {}
        still_open: dict[str, Question] = {}
        for key, question in questions.items():
            try:
                found[key] = question.read(self._answers.get(key))
                self._accepted[key] = self._answers[key]
            except BadAnswer:
                still_open[key] = question
        if still_open:
            raise InputRequired(still_open, self._sealer.seal(self._accepted, state, self._bound_to()))
        return found


def _require(supported: bool, question: Question) -> None:
    if not supported:
        raise MissingCapability(question.capability)
