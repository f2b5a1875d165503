"""Columns that hold secrets: encrypted on write, decrypted on read, and re-encrypted when the key changes.

At start, values that do not begin with the prefix of the newest key are rewritten in one transaction. If several
processes start together, this happens once: a value is replaced only if it is still the one that was read.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from pentad.access.secret_box import MARK, SecretBox
from pentad.kernel.ports import Database, Rows, Transaction, Value


@dataclass(frozen=True, slots=True)
class SealedColumn:
    """A column and its table's key columns. `is_text` means that it holds text, not bytes."""

    table: str
    column: str
    key: tuple[str, ...]
    is_text: bool = False

    def seal(self, box: SecretBox, plain: bytes, *key: Value) -> bytes | str:
        return self.stored(box.seal(plain, self._place(key)))

    def open(self, box: SecretBox, kept: bytes | str, *key: Value) -> bytes:
        given = kept.encode() if isinstance(kept, str) else bytes(kept)
        return box.open(given, self._place(key))

    def stored(self, value: bytes) -> bytes | str:
        return value.decode() if self.is_text else value

    def _place(self, key: Sequence[Value]) -> str:
        return "/".join([f"{self.table}.{self.column}", *map(str, key)])


SECRET: Final = SealedColumn("server_secrets", "secret", ("name", "generation"))
PRIVATE_KEY: Final = SealedColumn("signing_keys", "private", ("name", "generation"), is_text=True)
CORE_COLUMNS: Final = (SECRET, PRIVATE_KEY)


@dataclass(frozen=True, slots=True)
class _Stale:
    """A value that would now be stored differently."""

    column: SealedColumn
    key: tuple[Value, ...]
    kept: bytes | str


async def reseal(database: Database, box: SecretBox, columns: Sequence[SealedColumn]) -> int:
    """Rewrite every value that should now be stored differently; returns the number. Misconfigured if a key is
    missing."""
    if not await database.read(lambda rows: next(_stale(rows, box, columns), None)):
        return 0

    def work(tx: Transaction) -> int:
        found = list(_stale(tx, box, columns))
        for one in found:
            _rewrite(tx, box, one)
        return len(found)

    return await database.write(work)


async def check_sealed(database: Database, box: SecretBox, columns: Sequence[SealedColumn]) -> int:
    """How many values the next start would rewrite; Misconfigured if it could not decrypt them. Changes nothing."""

    def work(rows: Rows) -> int:
        found = list(_stale(rows, box, columns))
        for one in found:
            one.column.open(box, one.kept, *one.key)
        return len(found)

    return await database.read(work)


def _stale(rows: Rows, box: SecretBox, columns: Sequence[SealedColumn]) -> Iterator[_Stale]:
    for column in columns:
        prefix = box.prefix or MARK
        test = "<>" if box.prefix else "="
        beginning = f"substr({column.column}, 1, {len(prefix)})"
        # Table and column names come from the code, never from a caller.
        sql = (
            f"SELECT {column.column}, {', '.join(column.key)} FROM {column.table}"  # noqa: S608  the code's own names
            f" WHERE {column.column} IS NOT NULL AND {beginning} {test} ?"
        )
        for kept, *key in rows.all(sql, column.stored(prefix)):
            yield _Stale(column, tuple(key), kept if column.is_text else bytes(kept))


def _rewrite(tx: Transaction, box: SecretBox, one: _Stale) -> None:
    column = one.column
    plain = column.open(box, one.kept, *one.key)
    named = " AND ".join(f"{name} = ?" for name in column.key)
    tx.run(
        f"UPDATE {column.table} SET {column.column} = ? WHERE {named} AND {column.column} = ?",  # noqa: S608  the code's own names
        column.seal(box, plain, *one.key),
        *one.key,
        one.kept,
    )
