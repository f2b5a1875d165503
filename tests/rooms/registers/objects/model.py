"""What registers promise, in plain dicts: the model the real service is held against.

Trees have a number that is unique among the living, and may point at a parent, which is let go of when it is deleted.
"""

from dataclasses import dataclass, field
from typing import Any

State = dict[str, Any] | None
"""The data of a version, or None for a deletion."""


class Refused(Exception):
    """The model says that this cannot be done; `kind` is the code the service must answer with."""

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind


@dataclass
class Life:
    """All versions of one object, the first at 0."""

    versions: list[State] = field(default_factory=list[State])

    @property
    def now(self) -> State:
        return self.versions[-1]

    @property
    def version(self) -> int:
        return len(self.versions)

    @property
    def data(self) -> dict[str, Any]:
        """What it is, or was before it was deleted."""
        return next(state for state in reversed(self.versions) if state is not None)


class Model:
    """Every object by uuid."""

    def __init__(self) -> None:
        self.lives: dict[str, Life] = {}

    def living(self) -> dict[str, dict[str, Any]]:
        return {uuid: life.now for uuid, life in self.lives.items() if life.now is not None}

    def check(self, uuid: str | None, data: dict[str, Any]) -> None:
        """Refused unless an object may have this data now."""
        parent = data.get("parent")
        old = self.lives[uuid].now if uuid is not None else None
        kept = old is not None and old.get("parent") == parent
        if parent is not None and not kept and parent not in self.living() and parent != uuid:
            raise Refused("invalid_input")
        if any(other["number"] == data["number"] for key, other in self.living().items() if key != uuid):
            raise Refused("conflict")

    def create(self, data: dict[str, Any]) -> None:
        self.check(None, data)

    def made(self, uuid: str, data: dict[str, Any]) -> None:
        self.lives[uuid] = Life([data])

    def current(self, uuid: str, if_version: int | None) -> Life:
        life = self.lives[uuid]
        if life.now is None:
            raise Refused("not_found")
        if if_version is not None and if_version != life.version:
            raise Refused("version_mismatch")
        return life

    def replace(self, uuid: str, data: dict[str, Any], if_version: int | None) -> None:
        life = self.current(uuid, if_version)
        self.check(uuid, data)
        if data != life.now:
            life.versions.append(data)

    def delete(self, uuid: str, if_version: int | None) -> None:
        life = self.current(uuid, if_version)
        life.versions.append(None)
        for other in self.lives.values():
            if other.now is not None and other.now.get("parent") == uuid:
                other.versions.append({**other.now, "parent": None})

    def put_back(self, uuid: str, data: dict[str, Any]) -> None:
        """Restoring and going back."""
        life = self.lives[uuid]
        if life.now == data:
            return
        self.check(uuid, data)
        life.versions.append(data)
