"""Disks that fail on purpose: SQLite file systems in Python, on top of the real one."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw

Operation = tuple[str, int, bytes]
"""A write (`write`, offset, data) or a cut (`truncate`, size, nothing) that the disk has not confirmed yet."""


class _File(apsw.VFSFile):
    def __init__(self, disk: "Disk", name: str, flags: list[int]) -> None:
        super().__init__("", name, flags)
        self._disk = disk
        self._name = Path(name).name

    def xWrite(self, data: Any, offset: int) -> None:  # noqa: N802  SQLite's name
        self._disk.before_write()
        super().xWrite(data, offset)
        self._disk.written(self._name, ("write", offset, bytes(data)))

    def xTruncate(self, newsize: int) -> None:  # noqa: N802  SQLite's name
        super().xTruncate(newsize)
        self._disk.written(self._name, ("truncate", newsize, b""))

    def xSync(self, flags: int) -> None:  # noqa: N802  SQLite's name
        self._disk.before_sync()
        super().xSync(flags)
        self._disk.synced(self._name)


class Disk(apsw.VFS):
    """A real disk under its own name; the subclasses below break it."""

    def __init__(self, name: str) -> None:
        super().__init__(name, "")

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:  # noqa: N802  SQLite's name
        if not flags[0] & (apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_WAL):
            return apsw.VFSFile("", name, flags)
        return _File(self, name.filename() if isinstance(name, apsw.URIFilename) else name, flags)

    def before_write(self) -> None: ...

    def before_sync(self) -> None: ...

    def written(self, name: str, operation: Operation) -> None: ...

    def synced(self, name: str) -> None: ...


class FailingDisk(Disk):
    """Fails at the n-th write or sync after `arm`, and at all later ones until it is disarmed."""

    def __init__(self, name: str, error: Callable[[], Exception], *, syncs: bool) -> None:
        super().__init__(name)
        self._error = error
        self._syncs = syncs
        self._countdown: int | None = None
        self.fired = False

    def arm(self, n: int) -> None:
        self._countdown, self.fired = n, False

    def disarm(self) -> None:
        self._countdown = None

    def before_write(self) -> None:
        if not self._syncs:
            self._count()

    def before_sync(self) -> None:
        if self._syncs:
            self._count()

    def _count(self) -> None:
        if self._countdown is None:
            return
        self._countdown -= 1
        if self._countdown <= 0:
            self.fired = True
            raise self._error()


class ForgetfulDisk(Disk):
    """Remembers what would survive a power cut at every moment: synced operations, and perhaps some of the rest."""

    def __init__(self, name: str, moment: Callable[[], None]) -> None:
        super().__init__(name)
        self._moment = moment
        self._durable: dict[str, bytearray] = {}
        self._pending: dict[str, list[Operation]] = {}

    def before_write(self) -> None:
        self._moment()

    def before_sync(self) -> None:
        self._moment()

    def written(self, name: str, operation: Operation) -> None:
        self._pending.setdefault(name, []).append(operation)

    def synced(self, name: str) -> None:
        _replay(self._durable.setdefault(name, bytearray()), self._pending.pop(name, []))
        self._moment()

    def left_over(self, chance: random.Random | None) -> dict[str, bytes]:
        """The files that a power cut leaves: with none of the unsynced operations, or with a random choice of them."""
        found: dict[str, bytes] = {}
        for name in self._durable.keys() | self._pending.keys():
            image = bytearray(self._durable.get(name, b""))
            if chance is not None:
                _replay(image, [one for one in self._pending.get(name, []) if chance.random() < 0.5])
            found[name] = bytes(image)
        return found


def _replay(image: bytearray, operations: list[Operation]) -> None:
    for kind, position, data in operations:
        if kind == "truncate":
            del image[position:]
        else:
            image.extend(bytes(max(0, position + len(data) - len(image))))
            image[position : position + len(data)] = data
