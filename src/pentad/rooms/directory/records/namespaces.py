"""Rules for namespaces: whether a pushed version is final, and whether untrusted records go into quarantine.

A namespace is the beginning of a name in whole segments: `example.org` covers `example.org/librarian`. The most
specific namespace decides; the empty one covers every name.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from pentad.kernel.errors import Conflict, InvalidInput, NotFound
from pentad.kernel.ports import Database, Rows, Transaction
from pentad.kernel.sql import chunks, marks
from pentad.rooms.directory.records.index_fields import Kind, Term, clean
from pentad.rooms.directory.store import Draft, digest_of

T = TypeVar("T")

MOST_NAMESPACES: Final = 1_000
LONGEST_NAMESPACE: Final = 300


@dataclass(frozen=True, slots=True)
class Namespace:
    """The rules of one namespace."""

    namespace: str
    immutable: bool
    quarantine: bool = False
    """Whether records that the trust policy does not trust go into quarantine."""


def _no_work(tx: Transaction) -> None:
    """Nothing to do when a rule changes."""


class Namespaces:
    """The rules of one store. `on_quarantine` is called in the transaction that changes which names are quarantined."""

    def __init__(self, database: Database, on_quarantine: Callable[[Transaction], None] = _no_work) -> None:
        self._database = database
        self._on_quarantine = on_quarantine

    async def all(self) -> list[Namespace]:
        """Every namespace with rules, the most general first."""
        return await self._database.read(namespaces)

    async def set(self, namespace: str, *, immutable: bool | None = None, quarantine: bool | None = None) -> None:
        """Set rules of a namespace; the empty one covers all others. Rules that are not given keep their value."""
        name = checked_namespace(namespace)

        def work(tx: Transaction) -> None:
            rules = {one.namespace: one for one in namespaces(tx)}
            if name not in rules and len(rules) >= MOST_NAMESPACES:
                raise InvalidInput(f"There are at most {MOST_NAMESPACES} namespaces with rules.", hint="Remove one.")
            before = rule_for(name, rules) or Namespace("", immutable=False)
            final = before.immutable if immutable is None else immutable
            held = before.quarantine if quarantine is None else quarantine
            tx.run("DELETE FROM directory_namespaces WHERE namespace = ?", name)
            tx.run(
                "INSERT INTO directory_namespaces (namespace, immutable, quarantine) VALUES (?, ?, ?)",
                name, int(final), int(held),
            )  # fmt: skip
            if held != before.quarantine:
                self._on_quarantine(tx)

        await self._database.write(work)

    async def remove(self, namespace: str) -> None:
        """Remove the rules of a namespace, so that those of a shorter one apply."""
        name = checked_namespace(namespace)
        if not name:
            raise InvalidInput("The rules for all names cannot be removed.", hint="Change them.")

        def work(tx: Transaction) -> None:
            if not tx.run("DELETE FROM directory_namespaces WHERE namespace = ?", name):
                raise NotFound(f"The namespace {name!r} has no rules of its own.")
            self._on_quarantine(tx)

        await self._database.write(work)


def namespaces(rows: Rows) -> list[Namespace]:
    found = rows.all("SELECT namespace, immutable, quarantine FROM directory_namespaces ORDER BY namespace")
    return [Namespace(name, bool(immutable), bool(quarantine)) for name, immutable, quarantine in found]


def check_immutable(
    tx: Transaction, drafts: Sequence[Draft], rules: Sequence[Namespace], gives_way: Callable[[Draft, str], bool]
) -> None:  # fmt: skip
    """Conflict if a draft has the name and version of another record, in a namespace where that is final. `gives_way`
    makes room for a draft if the record with a CID may not keep it out."""
    by_name = {one.namespace: one.immutable for one in rules}
    final = [draft for draft in drafts if rule_for(draft.fields.name, by_name)]
    if not final:
        return
    taken = _taken(tx, final)
    for draft in final:
        key = draft.fields.name, draft.fields.version, draft.fields.schema_version
        if (known := taken.setdefault(key, draft.cid)) != draft.cid and not _is_stored(tx, draft.cid):
            if gives_way(draft, known):
                taken[key] = draft.cid
                continue
            raise Conflict(
                f'"{key[0][:200]}" version "{key[1][:100]}" exists with other content ({known}).',
                hint="Push it with a new version. `pentad directory namespaces` shows and changes this rule.",
            )


def rule_for(name: str, rules: Mapping[str, T]) -> T | None:
    """The rule that applies to a name: that of its most specific namespace. Searches and references find names in other
    case and without their scheme, so rules apply to these spellings too."""
    folded = {namespace.lower(): rule for namespace, rule in rules.items()}
    scheme = next((one for one in ("https://", "http://") if name.lower().startswith(one)), "")
    rest = name[len(scheme) :]
    while rest:
        for spelling in (scheme + rest, rest):
            for known, written in ((rules, spelling), (folded, spelling.lower())):
                if written in known:
                    return known[written]
        rest = rest.rpartition("/")[0].rstrip("/")
    return rules.get("")


def _taken(tx: Transaction, drafts: Sequence[Draft]) -> dict[tuple[str, str, str], str]:
    """The oldest record of each name and version among these drafts, in each OASF version."""
    names = {draft.fields.name for draft in drafts}
    versions = {draft.fields.version for draft in drafts}
    taken: dict[tuple[str, str, str], str] = {}
    for part in chunks([digest_of(Term(Kind.NAME, name.lower())) for name in sorted(names)], 200):
        sql = (
            "SELECT p.record FROM directory_terms t JOIN directory_postings p ON p.term = t.id"  # noqa: S608  only marks
            f" WHERE t.digest IN ({marks(len(part))})"
        )
        # Two queries: in one, PostgreSQL would start from the versions, which most records share.
        for some in chunks(sorted(record for (record,) in tx.all(sql, *part)), 200):
            sql = f"SELECT name, version, schema_version, cid FROM directory_records WHERE id IN ({marks(len(some))})"  # noqa: S608
            for name, version, schema_version, cid in tx.all(f"{sql} ORDER BY id", *some):
                if version in versions:
                    taken.setdefault((name, version, schema_version), cid)
    return taken


def _is_stored(tx: Transaction, cid: str) -> bool:
    return tx.value("SELECT 1 FROM directory_records WHERE cid = ?", cid) is not None


def checked_namespace(namespace: str) -> str:
    """A namespace as it is stored; InvalidInput if it is too long."""
    name = clean(namespace.strip()).rstrip("/")
    if len(name) > LONGEST_NAMESPACE:
        raise InvalidInput(f"A namespace has at most {LONGEST_NAMESPACE} characters.")
    return name
