"""Rules for namespaces: whether a name and version, once pushed, may get other content.

A namespace is the beginning of a name in whole segments: `example.org` holds for `example.org/librarian`. The most
specific one decides; the empty one holds for every name.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pentad.kernel.errors import Conflict, InvalidInput, NotFound
from pentad.kernel.ports import Database, Rows, Transaction
from pentad.rooms.directory.records.index_fields import Kind, Term, clean
from pentad.rooms.directory.store import Draft, chunks, digest_of, marks

MOST_NAMESPACES: Final = 1_000
LONGEST_NAMESPACE: Final = 300


@dataclass(frozen=True, slots=True)
class Namespace:
    """The rules of one namespace."""

    namespace: str
    immutable: bool


class Namespaces:
    """The rules of one store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def all(self) -> list[Namespace]:
        """Every namespace that has rules, the general one first."""
        return await self._database.read(namespaces)

    async def set(self, namespace: str, *, immutable: bool) -> None:
        """Set the rules of a namespace; the empty one is for all others."""
        name = _checked(namespace)

        def work(tx: Transaction) -> None:
            if tx.value("SELECT count(*) FROM directory_namespaces") >= MOST_NAMESPACES:
                raise InvalidInput(f"There are at most {MOST_NAMESPACES} namespaces with rules.", hint="Remove one.")
            tx.run("DELETE FROM directory_namespaces WHERE namespace = ?", name)
            tx.run("INSERT INTO directory_namespaces (namespace, immutable) VALUES (?, ?)", name, int(immutable))

        await self._database.write(work)

    async def remove(self, namespace: str) -> None:
        """Remove the rules of a namespace, so that those of a shorter one hold."""
        name = _checked(namespace)
        if not name:
            raise InvalidInput("The rules for all names cannot be removed.", hint="Change them.")

        def work(tx: Transaction) -> None:
            if not tx.run("DELETE FROM directory_namespaces WHERE namespace = ?", name):
                raise NotFound(f"The namespace {name!r} has no rules of its own.")

        await self._database.write(work)


def namespaces(rows: Rows) -> list[Namespace]:
    found = rows.all("SELECT namespace, immutable FROM directory_namespaces ORDER BY namespace")
    return [Namespace(name, bool(immutable)) for name, immutable in found]


def check_immutable(tx: Transaction, drafts: Sequence[Draft]) -> None:
    """Conflict if a draft has the name and version of another record, in a namespace where that is final."""
    rules = {one.namespace: one.immutable for one in namespaces(tx)}
    final = [draft for draft in drafts if _rule_for(draft.fields.name, rules)]
    if not final:
        return
    taken = _taken(tx, final)
    for draft in final:
        key = draft.fields.name, draft.fields.version, draft.fields.schema_version
        if (known := taken.setdefault(key, draft.cid)) != draft.cid and not _is_stored(tx, draft.cid):
            raise Conflict(
                f'"{key[0][:200]}" version "{key[1][:100]}" exists with other content ({known}).',
                hint="Push it with a new version. `pentad directory namespaces` shows and changes this rule.",
            )


def _rule_for(name: str, rules: dict[str, bool]) -> bool:
    """Whether versions of this name are final, by its most specific namespace."""
    rest = name
    while rest:
        if rest in rules:
            return rules[rest]
        rest = rest.rpartition("/")[0].rstrip("/")
    return rules.get("", False)


def _taken(tx: Transaction, drafts: Sequence[Draft]) -> dict[tuple[str, str, str], str]:
    """The oldest record of each name and version among these drafts, in each OASF version."""
    names = {draft.fields.name for draft in drafts}
    versions = sorted({draft.fields.version for draft in drafts})
    taken: dict[tuple[str, str, str], str] = {}
    for part in chunks([digest_of(Term(Kind.NAME, name.lower())) for name in sorted(names)], 200):
        for some in chunks(versions, 200):
            sql = (
                "SELECT r.name, r.version, r.schema_version, r.cid FROM directory_terms t"  # noqa: S608  only marks
                " JOIN directory_postings p ON p.term = t.id"
                f" JOIN directory_records r ON r.id = p.record WHERE t.digest IN ({marks(len(part))})"
                f" AND r.version IN ({marks(len(some))}) ORDER BY r.id"
            )
            for name, version, schema_version, cid in tx.all(sql, *part, *some):
                taken.setdefault((name, version, schema_version), cid)
    return taken


def _is_stored(tx: Transaction, cid: str) -> bool:
    return tx.value("SELECT 1 FROM directory_records WHERE cid = ?", cid) is not None


def _checked(namespace: str) -> str:
    name = clean(namespace.strip()).rstrip("/")
    if len(name) > LONGEST_NAMESPACE:
        raise InvalidInput(f"A namespace has at most {LONGEST_NAMESPACE} characters.")
    return name
