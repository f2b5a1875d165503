"""Asks the user before a tool runs, for the tools that the operator names in the setting `confirm`.

The client's user is asked by elicitation. A client without it gets an error that says what would happen, with a token:
the same caller repeats the same call with `confirm_token`. A token works once, within five minutes, in any process.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Final, Literal, cast

import msgspec
from pydantic import BaseModel, Field

from pentad.kernel.clock import Clock
from pentad.kernel.errors import Forbidden, without_secrets
from pentad.kernel.ids import opaque_id, token_digest
from pentad.kernel.ports import Database, Transaction
from pentad.kernel.principal import Principal
from pentad.mcp.call import Call
from pentad.mcp.client_requests import Elicit, Elicited
from pentad.mcp.declarations import ActionsOf, Tool

ARGUMENT: Final = "confirm_token"
SECONDS: Final = 300
_STATE: Final = "pentad/confirm"
_CONFIRMED: Final = "pentad/confirmed"
_LONGEST_ARGUMENTS: Final = 1000
_Kind = Literal["token", "question", "round"]
_SCHEMA: Final = {"type": "string", "description": "From the error of the first call, once the user has agreed."}


class NotConfirmed(Forbidden, code="not_confirmed", status=403):
    """The user declined, or has not been asked yet. In the latter case, repeat the call with `token`."""

    token: str | None = None

    def as_json(self) -> dict[str, Any]:
        body = super().as_json()
        return body if self.token is None else {**body, "details": {**body.get("details", {}), ARGUMENT: self.token}}


class _Answer(BaseModel, defer_build=True):
    confirm: bool = Field(description="Go ahead.")


@dataclass(frozen=True, slots=True)
class ConfirmRule:
    """When a tool asks: at every call, or only if the call carries out one of these actions (globs)."""

    actions: tuple[str, ...] | None
    actions_of: ActionsOf

    def applies(self, arguments: Mapping[str, Any]) -> bool:
        return self.actions is None or any(
            fnmatchcase(action, pattern) for action in self.actions_of(arguments) for pattern in self.actions
        )


class ConfirmRules:
    """The setting `confirm`: names of tools or globs, each alone or with an action (`objects:delete`)."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._patterns = [pattern.partition(":") for pattern in patterns]

    def of(self, tool: Tool) -> ConfirmRule | None:
        """The rule for a tool; None if it never asks."""
        found = [action for name, _, action in self._patterns if fnmatchcase(tool.name, name)]
        other, _, done = (tool.stands_for or "").partition(":")
        if any(fnmatchcase(other, name) and fnmatchcase(done, action or "*") for name, _, action in self._patterns):
            found.append("")
        if not found:
            return None
        return ConfirmRule(tuple(found) if all(found) else None, tool.actions_of)


def with_confirm_token(entry: dict[str, Any]) -> dict[str, Any]:
    """A tool's list entry with the argument for the token."""
    schema = entry["inputSchema"]
    return {**entry, "inputSchema": {**schema, "properties": {**schema["properties"], ARGUMENT: _SCHEMA}}}


def split_token(raw: bytes) -> tuple[bytes, str | None]:
    """Split encoded arguments into the arguments without the token, and the token. Anything but an object is
    unchanged."""
    try:
        arguments = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
        given = arguments.pop(ARGUMENT, None)
        token = None if given is None else msgspec.json.decode(given, type=str | None)
    except (msgspec.MsgspecError, RecursionError):
        return raw, None
    return (raw if given is None else msgspec.json.encode(arguments)), token


class Confirmations:
    """Issues tokens and accepts them. The store keeps their hashes."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def check(self, tool: Tool, arguments: Mapping[str, Any], token: str | None, call: Call[Any]) -> None:
        """Return if the user agreed to this call. Otherwise ask, or raise NotConfirmed."""
        binding = _binding(call.principal, tool, arguments)
        if (earlier := call.state.get(_CONFIRMED)) is not None:
            await self._continue(earlier, binding, call)
        elif token is not None:
            if not await self._use("token", token, binding):
                raise NotConfirmed(
                    f"{ARGUMENT} is used, expired, or belongs to another call.",
                    hint="Call again without it, with the exact arguments you want.",
                )
        elif call.client_supports("elicitation"):
            await self._ask(tool, arguments, binding, call)
        else:
            needed = NotConfirmed(f"Not done yet: {_what(tool, arguments)}")
            needed.token = await self._issue("token", binding)
            # Set afterwards: the constructor masks anything that looks like a secret, and the caller needs this token.
            needed.hint = (
                f"Ask the user. If they agree, repeat the call within {SECONDS // 60} minutes with the same arguments"
                f" and {ARGUMENT} {needed.token!r}."
            )
            raise needed

    async def _ask(self, tool: Tool, arguments: Mapping[str, Any], binding: str, call: Call[Any]) -> None:
        """Ask by elicitation.

        In the modern era the call ends here and comes back with the answer. The question's key then has a token from
        the sealed state, so that only an answer to our question counts, and only once.
        """
        is_modern = call.revision.modern
        key: str = call.state.get(_STATE) or (await self._issue("question", binding) if is_modern else "confirm")
        call.state[_STATE] = key
        question = Elicit(f"Go ahead? {_what(tool, arguments)}", _Answer)
        answer = cast("Elicited[_Answer]", (await call.ask({key: question}))[key])
        call.state.pop(_STATE)
        if answer.content is None or not answer.content.confirm:
            raise NotConfirmed("The user declined. Nothing was changed.", hint="Do not try again unless they ask.")
        if is_modern:
            if not await self._use("question", key, binding):
                raise _used()
            call.state[_CONFIRMED] = await self._issue("round", binding)

    async def _continue(self, earlier: str, binding: str, call: Call[Any]) -> None:
        """Continue a call that was confirmed in an earlier round. The sealed state has a token for each round, so no
        round can be replayed."""
        if not await self._use("round", earlier, binding):
            raise _used()
        call.state[_CONFIRMED] = await self._issue("round", binding)

    async def _issue(self, kind: _Kind, binding: str) -> str:
        """Issue a token. Tokens of one kind are not valid as another, because the client sees the keys of questions."""
        token, now = opaque_id(size=18), self._clock.now()

        def insert(transaction: Transaction) -> None:
            transaction.run("DELETE FROM mcp_confirmations WHERE expires_at < ?", now)
            transaction.run(
                "INSERT INTO mcp_confirmations (token, binding, expires_at) VALUES (?, ?, ?)",
                token_digest(token).hex(),
                f"{kind} {binding}",
                now + SECONDS,
            )

        await self._database.write(insert)
        return token

    async def _use(self, kind: _Kind, token: str, binding: str) -> bool:
        """Use up a token; returns whether it was valid for this call. A wrong token leaves the right one usable."""
        now = self._clock.now()
        found = (token_digest(token).hex(), f"{kind} {binding}", now)

        def delete(transaction: Transaction) -> bool:
            sql = "DELETE FROM mcp_confirmations WHERE token = ? AND binding = ? AND expires_at >= ?"
            return transaction.run(sql, *found) == 1

        return await self._database.write(delete)


def _used() -> NotConfirmed:
    return NotConfirmed("This confirmation is used or expired.", hint="Call again to ask once more.")


def _binding(principal: Principal, tool: Tool, arguments: Mapping[str, Any]) -> str:
    exact = msgspec.json.encode([principal.id, tool.name, arguments], order="deterministic")
    return hashlib.sha256(exact).hexdigest()


def _what(tool: Tool, arguments: Mapping[str, Any]) -> str:
    """A description of the call for the user."""
    given = msgspec.json.encode(without_secrets(dict(arguments))).decode("utf-8")
    if len(given) > _LONGEST_ARGUMENTS:
        given = given[:_LONGEST_ARGUMENTS] + "..."
    first = " ".join(tool.description.partition("\n\n")[0].split())
    return f"{tool.title or tool.name} ({tool.name}) with {given}. {first}"
