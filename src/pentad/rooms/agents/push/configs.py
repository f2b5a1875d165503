"""Push configurations: set, shown, listed and deleted by the owner of the task they are about.

The fetcher decides which addresses may be reached: when one is set, and again at every delivery, as a name may lead
elsewhere by then. Tokens and credentials are shown once, to who sets them, and never again.
"""

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Final

import msgspec

from pentad.kernel.errors import Forbidden, InvalidInput, LimitExceeded, NotFound
from pentad.kernel.ids import opaque_id
from pentad.kernel.ports import Fetcher, Transaction
from pentad.kernel.principal import Principal
from pentad.net.urls import parse as parse_url
from pentad.rooms.agents.models import PushConfig
from pentad.rooms.agents.push.store import Pushing, configs_of, delete_config, insert_config, recount
from pentad.rooms.agents.tasks.task_log import TaskLog

MOST: Final = 10
"""Configurations one task may have."""

_FIELD: Final = re.compile(r"[\x20-\x7e]{1,4000}")
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,39}")
_ID: Final = re.compile(r"[\x21-\x7e]{1,200}")


def checked(config: PushConfig) -> PushConfig:
    """The configuration, with an id if it had none; InvalidInput for what could never be delivered."""
    parse_url(config.url)
    for name, value, pattern in (
        ("id", config.id or None, _ID),
        ("token", config.token, _FIELD),
        ("authentication scheme", config.scheme, _SCHEME),
        ("credentials", config.credentials, _FIELD),
    ):
        if value is not None and not pattern.fullmatch(value):
            raise InvalidInput(
                f"The {name} of the push configuration cannot be sent in a header.",
                hint="Use visible ASCII characters.",
                details={"reason": "bad-push-config"},
            )
    return config if config.id else msgspec.structs.replace(config, id=opaque_id(size=12))


class PushConfigs:
    """The configurations of tasks, for their owners. About tasks of the agents in `private` they may name this machine
    and its network; that is for tests."""

    def __init__(
        self, keeping: TaskLog, fetcher: Fetcher | None = None, private: AbstractSet[str] = frozenset()
    ) -> None:
        self._keeping = keeping
        self._fetcher = fetcher
        self._private = private

    async def admitted(self, config: PushConfig, agent: str) -> PushConfig:
        """The configuration for a task of that agent, with an id; InvalidInput for an address nobody is told at."""
        config = checked(config)
        if self._fetcher is not None:
            try:
                await self._fetcher.check(config.url, trusted=agent in self._private)
            except Forbidden as error:
                problem = {"path": "/url", "rule": "bad-push-config", "message": error.sentence()}
                raise InvalidInput(
                    f"Nothing is told at the address of the push configuration: {error.message}",
                    hint=error.hint,
                    details={"reason": "bad-push-config", "problems": [problem]},
                ) from None
        return config

    async def set(self, caller: Principal, task_id: str, config: PushConfig, *, agent: str | None = None) -> PushConfig:
        """Tell an address of what happens to the task from now on; what is given back has its secrets."""
        task = await self._keeping.owned(caller, task_id, agent)
        config = await self.admitted(config, task.agent)
        now = self._keeping.now()

        def work(transaction: Transaction) -> None:
            known = configs_of(transaction, self._keeping.secret_box, task_id)
            if len(known) >= MOST and all(one.config.id != config.id for one in known):
                raise LimitExceeded(
                    f"The task has {MOST} push configurations, the most it may have.",
                    hint="Delete one first.",
                    details={"reason": "too-many-push-configs"},
                )
            told = transaction.value("SELECT seq FROM agent_tasks WHERE id = ?", task_id)
            box, jobs = self._keeping.secret_box, self._keeping.jobs
            insert_config(transaction, box, jobs, task_id, config, told=int(told), now=now)
            recount(transaction, task_id)

        await self._keeping.database.write(work)
        return config

    async def get(
        self, caller: Principal, task_id: str, config_id: str | None = None, *, agent: str | None = None
    ) -> PushConfig:
        """One configuration, without its secrets; without an id the first."""
        for one in await self.list(caller, task_id, agent=agent):
            if config_id is None or one.id == config_id:
                return one
        raise _unknown(config_id)

    async def list(self, caller: Principal, task_id: str, *, agent: str | None = None) -> list[PushConfig]:
        """All of them, without their secrets."""
        await self._keeping.owned(caller, task_id, agent)
        found = await self.fares(task_id)
        return [msgspec.structs.replace(one.config, token=None, credentials=None) for one in found]

    async def fares(self, task_id: str) -> Sequence[Pushing]:
        """How each configuration of a task fares, for who may see the task."""
        return await self._keeping.database.read(lambda rows: configs_of(rows, self._keeping.secret_box, task_id))

    async def delete(self, caller: Principal, task_id: str, config_id: str, *, agent: str | None = None) -> None:
        await self._keeping.owned(caller, task_id, agent)
        jobs = self._keeping.jobs
        if not await self._keeping.database.write(lambda tx: delete_config(tx, jobs, task_id, config_id)):
            raise _unknown(config_id)


def _unknown(config_id: str | None) -> NotFound:
    name = "no push configuration" if config_id is None else f"no push configuration {config_id[:100]!r}"
    return NotFound(f"The task has {name}.", details={"reason": "push-config-not-found"})
