"""Saves, lists, runs and exports views.

A view belongs to the caller who saved it. If it is shared, members of the owner's organisation who may read its
register and schema can use it too. Everyone runs it with their own rights. Only the owner and administrators can change
it.
"""

import hashlib
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec

from pentad.kernel.clock import Clock
from pentad.kernel.errors import (
    Conflict,
    Forbidden,
    InvalidInput,
    LimitExceeded,
    NotFound,
    PentadError,
    VersionMismatch,
)
from pentad.kernel.ids import opaque_id
from pentad.kernel.names import did_you_mean
from pentad.kernel.ports import Database, Rows, Transaction
from pentad.kernel.principal import Principal
from pentad.mcp.changes import list_changed, resource_updated
from pentad.mcp.rights import refuse_read_only
from pentad.rooms.registers.access.rules import is_admin
from pentad.rooms.registers.catalogue.compiled_schemas import Definitions
from pentad.rooms.registers.catalogue.related_schemas import SchemaReader
from pentad.rooms.registers.models import Audience, Caller, Pair, Schema
from pentad.rooms.registers.query.models import LARGEST_LIMIT
from pentad.rooms.registers.schema_locks import keep_schemas
from pentad.rooms.registers.views.definition import View, ViewProblem, parse_view
from pentad.rooms.registers.views.renames import SchemaNames, renamed_query
from pentad.rooms.registers.views.results import ViewPage, ViewRunner, owns, problems_for
from pentad.rooms.registers.views.store import SELECT, chosen_slug, insert_view, stored_query, update_view, view_of

if TYPE_CHECKING:
    from pentad.rooms.registers.access.rules import AccessRules
    from pentad.rooms.registers.catalogue.catalogue import Catalogue
    from pentad.rooms.registers.catalogue.schema_change import SchemaChange
    from pentad.rooms.registers.definitions.compiled_schema import CompiledSchema
    from pentad.rooms.registers.objects.service import Objects
    from pentad.rooms.registers.transfer.formats import Format
    from pentad.rooms.registers.transfer.service import Transfer

MOST_VIEWS: Final = 100
SAVED: Final = "registers.views"
"""The channel that announces new and changed views, with the ids of register and schema."""
_TRIES: Final = 10
_LONGEST_TITLE: Final = 200
_LONGEST_DESCRIPTION: Final = 2_000
_MOST_BYTES: Final = 64 * 1024
_REF: Final = re.compile(r"[A-Za-z0-9._-]{1,100}")
_CHANGEABLE: Final = ("title", "slug", "description", "query", "shared")
_ADMINISTRATOR: Final = Caller(Principal("views", "views", frozenset({"*:*"})))
_EXPORTED: Final = ("filter", "search", "sort", "fields", "as_of")


SaveView = Callable[[Transaction, View], View | None]
"""Stores a view; None if the view changed since it was prepared."""


class Views:
    """The views of the room."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        catalogue: "Catalogue",
        objects: "Objects",
        access: "AccessRules",
        transfer: "Transfer",
    ) -> None:
        self._database = database
        self._clock = clock
        self._catalogue = catalogue
        self._access = access
        self._transfer = transfer
        self._runner = ViewRunner(clock, catalogue, objects, access)
        self.page = self._runner.page
        catalogue.schemas.users.breaks.append(self.broken_by)
        catalogue.schemas.users.follows.append(self.following)
        # first, as long as all schemas still use the old names
        catalogue.schemas.users.follow.insert(0, self.follow_renames)

    # saving

    async def create(
        self,
        caller: Caller,
        pair: Pair,
        title: str,
        query: Mapping[str, Any],
        *,
        slug: str | None = None,
        description: str = "",
        shared: bool = False,
    ) -> View:
        """Save a view on a pair. It is run once, so mistakes are reported right away."""
        refuse_read_only(caller.principal)
        principal, now = caller.principal, self._clock.now()
        made = View(
            opaque_id(size=12), "", principal.id, self._shared_with(caller, shared), _checked_title(title),
            _checked_description(description), pair.register.id, pair.schema.id, dict(query), principal.scopes,
            principal.user, frozenset(), b"", now, now,
        )  # fmt: skip

        async def prepare() -> tuple[View, SaveView]:
            page = await self._checked_page(caller, made)
            return replace(made, digest=digest_of(page.answer()), uses=page.uses), save

        def save(transaction: Transaction, view: View) -> View:
            count = transaction.value("SELECT count(*) FROM views WHERE principal = ?", view.principal)
            if int(count) >= MOST_VIEWS:
                raise LimitExceeded(f"You have {MOST_VIEWS} views already.", hint="Delete one first.")
            stored = replace(view, slug=chosen_slug(transaction, view, slug))
            insert_view(transaction, stored)
            self._announce(transaction, stored)
            transaction.signal(SAVED, f"{stored.register} {stored.schema}")
            return stored

        return await self._save(title, prepare)

    async def update(
        self,
        caller: Caller,
        ref: str,
        changes: Mapping[str, Any],
        *,
        merge: bool = False,
        if_version: int | None = None,
    ) -> View:
        """Set the given members; the others stay. With `merge`, other members of the query stay too; null removes one.

        If the view changes meanwhile, for example because its schema renames a property, the members are set on the new
        form.
        """
        for name in changes:
            if name not in _CHANGEABLE:
                guess = did_you_mean(name, _CHANGEABLE)
                raise InvalidInput(
                    f"{name[:60]!r} of a view cannot be changed.{' ' + guess if guess else ''}",
                    hint=f"Change {', '.join(_CHANGEABLE)}, or save another view.",
                )

        async def prepare() -> tuple[View, SaveView]:
            known = await self._own(caller, ref)
            _check_version(known, if_version)

            def save(transaction: Transaction, view: View) -> View | None:
                if _stored_version(transaction, known, ref) != known.version:
                    return None
                slug = changes.get("slug")
                stored = view if slug is None else replace(view, slug=chosen_slug(transaction, view, slug))
                stored = update_view(transaction, stored)
                self._announce(transaction, known, stored)
                transaction.signal(SAVED, f"{stored.register} {stored.schema}")
                return stored

            return await self._with_changes(caller, known, changes, merge=merge), save

        return await self._save(ref, prepare)

    async def _save(self, name: str, prepare: Callable[[], Awaitable[tuple[View, SaveView]]]) -> View:
        """Save a view that fits its schemas; retry if they or the view change meanwhile."""
        for _ in range(_TRIES):
            versions = await self._database.read(_schema_versions)
            view, save = await prepare()

            def write(
                transaction: Transaction, view: View = view, save: SaveView = save, old: dict[int, int] = versions
            ) -> View | None:
                new, schemas = _schema_versions(transaction), {view.schema, *view.uses}
                if any(old.get(key) != new.get(key) for key in schemas):
                    return None
                keep_schemas(transaction, self._database.dialect, schemas & new.keys())
                return save(transaction, view)

            if (saved := await self._catalogue.locks.write(write)) is not None:
                return saved
            self._catalogue.forget()
        raise Conflict(f"The view {name[:60]!r} or its schema keeps changing.", hint="Try again.")

    async def _with_changes(self, caller: Caller, known: View, changes: Mapping[str, Any], *, merge: bool) -> View:
        """A view with changed members, checked."""
        changed = replace(known, updated_at=self._clock.now())
        if "title" in changes:
            changed = replace(changed, title=_checked_title(changes["title"]))
        if "description" in changes:
            changed = replace(changed, description=_checked_description(changes["description"] or ""))
        if "shared" in changes:
            changed = self._reshared(caller, changed, changes["shared"])
        if "query" in changes:
            if not isinstance(changes["query"], dict):
                raise InvalidInput("query must be an object.", hint='Write {"filter": {...}, "columns": [...]}.')
            given = cast("dict[str, Any]", changes["query"])
            query = {**known.query, **given} if merge else given
            changed = replace(changed, query={name: value for name, value in query.items() if value is not None})
            changed = replace(changed, uses=(await self._checked_page(caller, changed)).uses)
        if caller.principal.id == known.principal:
            changed = replace(changed, scopes=caller.principal.scopes, user=caller.principal.user)
        return replace(changed, digest=b"")  # the watcher compares it with the owner's rights

    async def delete(self, caller: Caller, ref: str, *, if_version: int | None = None) -> View:
        """Delete a view; its followers get a last notification."""
        known = await self._own(caller, ref)
        _check_version(known, if_version)

        def work(transaction: Transaction) -> View:
            if if_version is not None:
                _check_version(replace(known, version=_stored_version(transaction, known, ref)), if_version)
            if transaction.value("DELETE FROM views WHERE id = ? RETURNING 1", known.id) is None:
                raise _not_found(ref)
            self._announce(transaction, known)
            resource_updated(transaction, known.uri, self._audience(transaction, known))
            return known

        return await self._database.write(work)

    # finding

    async def get(self, caller: Caller, ref: str) -> View:
        """A view by id or slug. If several have the slug, the caller's own comes first, then the oldest."""
        if _REF.fullmatch(ref) is None:
            raise _not_found(ref)
        found = await self._database.read(lambda rows: rows.all(f"{SELECT} WHERE id = ? OR slug = ?", ref, ref.lower()))
        views = sorted(
            map(view_of, found), key=lambda one: (one.id != ref, not self._is_owner(caller, one), one.created_at)
        )
        for view in views:
            if await self._sees(caller, view):
                return view
        raise _not_found(ref)

    async def visible(self, caller: Caller) -> list[View]:
        """The caller's own views and those shared with it, oldest first; all views for an administrator."""
        everything = is_admin(caller.principal)
        where, params = (
            ("", ())
            if everything
            else (" WHERE principal = ? OR organisation = ?", (caller.principal.id, self._access.organisation(caller)))
        )
        sql = f"{SELECT}{where} ORDER BY created_at, id"
        views = await self._database.read(lambda rows: [view_of(row) for row in rows.all(sql, *params)])
        if everything:
            return views
        pairs = {(pair.register.id, pair.schema.id) for pair in await self._catalogue.visible_pairs(caller)}
        return [one for one in views if self._is_owner(caller, one) or (one.register, one.schema) in pairs]

    async def described(self, caller: Caller, view: View) -> dict[str, Any]:
        """A view's definition as the caller may see it, with its problems."""
        try:
            pair, parsed = await self._runner.parsed(caller, view)
        except PentadError as error:
            problem = {"path": "", "rule": "unreadable", "message": error.message}
            return {**view.wire(), "problems": [problem]}
        wire = view.wire()
        if not parsed.problems:
            return wire
        if not owns(caller, view):
            wire["query"] = _readable_query(view.query, parsed.problems)
        return {**wire, "problems": problems_for(caller, pair, view, parsed)}

    # running

    async def run(
        self,
        caller: Caller,
        ref: str,
        *,
        filter: Mapping[str, Any] | None = None,  # noqa: A002  its name on every wire
        limit: int | None = None,
        cursor: str | None = None,
    ) -> ViewPage:
        """A view's current results for the caller, with an additional filter."""
        view = await self.get(caller, ref)
        return await self._runner.page(caller, view, more=filter, limit=limit, cursor=cursor)

    async def export(
        self, caller: Caller, ref: str, kind: "Format", *, more: Mapping[str, Any] | None = None
    ) -> AsyncIterator[bytes]:
        """The bytes of a file with everything a view finds, in exactly its columns."""
        from pentad.rooms.registers.transfer.exports import write_rows

        view = await self.get(caller, ref)
        if view.query.get("columns") is None and view.query.get("aggregate") is None:
            pair = await self._catalogue.pair(caller, view.register, view.schema)
            selection = {name: view.query[name] for name in _EXPORTED if view.query.get(name) is not None}
            if more is not None:
                selection["filter"] = {"and": [selection["filter"], more]} if "filter" in selection else more
            async for part in self._transfer.export(caller, pair, kind, selection):
                yield part
            return
        first = await self._runner.page(caller, view, more=more, limit=LARGEST_LIMIT)

        async def pages() -> AsyncIterator[Sequence[Mapping[str, Any]]]:
            page = first
            while True:
                yield page.rows
                if page.cursor is None:
                    return
                page = await self._runner.page(caller, view, more=more, limit=LARGEST_LIMIT, cursor=page.cursor)

        async for part in write_rows(kind, first.columns or (), view.slug, pages()):
            yield part

    # for the watcher

    async def watched(self) -> list[tuple[int, int, frozenset[int]]]:
        """The registers and schemas with views, and the other schemas those views read."""
        sql = "SELECT DISTINCT register, schema, uses FROM views"
        found = await self._database.read(lambda rows: rows.all(sql))
        return [(int(row[0]), int(row[1]), frozenset(msgspec.json.decode(row[2]))) for row in found]

    async def of_pair(self, register: int, schema: int) -> list[View]:
        """The views on a pair."""
        sql = f"{SELECT} WHERE schema = ? AND register = ? ORDER BY id"
        return await self._database.read(lambda rows: [view_of(row) for row in rows.all(sql, schema, register)])

    # for changes of schemas

    def broken_by(
        self, rows: Rows, caller: Caller, change: "SchemaChange", old: "CompiledSchema", new: "CompiledSchema"
    ) -> Iterator[dict[str, Any]]:
        """The views a schema change would break, with their problems, if the caller may see them.

        Includes views on other schemas that read this one through relations.
        """
        for view, pair in self._reading(rows, change.current, caller):
            before = self._problems_with(rows, caller, view, pair, change.current, old)
            renamed = replace(view, query=self._renamed_query(rows, view, pair, change))
            after = self._problems_with(rows, caller, renamed, pair, change.proposed, new)
            known = {(one.part, one.column) for one in before}
            if broken := [one for one in after if (one.part, one.column) not in known]:
                problems = [one.wire() if owns(caller, view) else one.masked(pair) for one in broken]
                because = f"{problems[0]['path'].removeprefix('/query/')}: {problems[0]['message']}"
                yield {"kind": "view", "id": view.id, "title": view.title, "because": because, "problems": problems}

    def following(self, rows: Rows, caller: Caller, change: "SchemaChange") -> Iterator[dict[str, Any]]:
        """The views to be updated for renamed properties that the caller may see."""
        for view, pair in self._reading(rows, change.current, caller) if change.is_rename else ():
            if self._renamed_query(rows, view, pair, change) != view.query:
                yield {"kind": "view", "id": view.id, "title": view.title}

    def follow_renames(self, transaction: Transaction, _caller: Caller, change: "SchemaChange") -> None:
        """Update everyone's views for renamed properties, before the schema is changed."""
        for view, pair in self._reading(transaction, change.current) if change.is_rename else ():
            query = self._renamed_query(transaction, view, pair, change)
            if query != view.query:
                changed = replace(view, query=query, digest=b"", updated_at=self._clock.now())
                changed = update_view(transaction, changed)
                self._announce(transaction, changed)
                transaction.signal(SAVED, f"{view.register} {view.schema}")

    def _reading(self, rows: Rows, schema: Schema, caller: Caller | None = None) -> Iterator[tuple[View, Pair]]:
        """All views, or those of a caller, that read a schema directly or through relations, with their pairs."""
        pair_of = self._catalogue.pairs_in(rows)
        for row in rows.all(f"{SELECT} WHERE schema = ? OR uses <> '[]' ORDER BY created_at, id", schema.id):
            view = view_of(row)
            if (view.schema != schema.id and schema.id not in view.uses) or not (
                caller is None or self._may_use(caller, view)
            ):
                continue
            pair = pair_of(view.register, view.schema)
            if caller is None or self._access.sees_both(caller, pair.register, pair.schema):
                yield view, pair

    def _renamed_query(self, rows: Rows, view: View, pair: Pair, change: "SchemaChange") -> dict[str, Any]:
        """A view's query after the renames of a change. Its meaning stays the same, so no rights are checked."""
        if not change.is_rename:
            return view.query
        schema = SchemaReader(rows, self._catalogue.definitions, self._access, _ADMINISTRATOR).with_relations(pair)
        slugs = (change.current.slug, change.proposed.slug)
        return renamed_query(schema, pair.schema.id, view.query, SchemaNames(change.current.id, change.renames, slugs))

    def _problems_with(
        self, rows: Rows, caller: Caller, view: View, pair: Pair, schema: Schema, definition: "CompiledSchema"
    ) -> Sequence[ViewProblem]:
        """The problems a view would have with this schema and definition."""
        definitions = _Assumed(self._catalogue.definitions, schema.id, definition)
        reader = SchemaReader(rows, definitions, self._access, caller, schema)
        near = replace(pair, schema=schema, definition=definition) if pair.schema.id == schema.id else pair
        try:
            return parse_view(reader.with_relations(near), view.query, self._clock.now()).problems
        except InvalidInput as error:  # no property left that the caller may query
            return (ViewProblem("", error),)

    # rights

    def _is_owner(self, caller: Caller, view: View) -> bool:
        return view.principal == caller.principal.id

    def _may_use(self, caller: Caller, view: View) -> bool:
        """Whether the view is the caller's or shared with it. Does not check whether it may read the pair."""
        return owns(caller, view) or (
            view.organisation is not None
            and view.organisation == self._access.organisation(caller)
            and caller.principal.may("registers", "read")
        )

    async def _sees(self, caller: Caller, view: View) -> bool:
        if owns(caller, view):
            return True
        if not self._may_use(caller, view):
            return False
        try:
            await self._catalogue.pair(caller, view.register, view.schema)
        except PentadError:
            return False
        return True

    async def _own(self, caller: Caller, ref: str) -> View:
        """A view that the caller may change."""
        view = await self.get(caller, ref)
        refuse_read_only(caller.principal)
        if not owns(caller, view):
            raise Forbidden(
                f"The view {view.title!r} is shared with you; only its owner can change it.",
                hint="Save a view of your own.",
            )
        return view

    def _shared_with(self, caller: Caller, shared: bool) -> str | None:
        if not shared:
            return None
        self._access.require_write(caller)
        return self._access.organisation(caller)

    def _reshared(self, caller: Caller, view: View, shared: Any) -> View:
        if not isinstance(shared, bool):
            raise InvalidInput("shared must be true or false.")
        if shared == (view.organisation is not None):
            return view
        if shared and not self._is_owner(caller, view):
            raise Forbidden("Only the owner of a view can share it.", hint="Save a view of your own.")
        return replace(view, organisation=self._shared_with(caller, shared))

    async def _checked_page(self, caller: Caller, view: View) -> ViewPage:
        """The results of an unsaved view; raises its first mistake."""
        if len(stored_query(view)) > _MOST_BYTES:
            raise LimitExceeded(f"A view has at most {_MOST_BYTES:,} bytes.")
        _, parsed = await self._runner.parsed(caller, view)
        if parsed.problems:
            raise parsed.problems[0].error
        return await self._runner.page(caller, view)

    # announcements

    def _audience(self, rows: Rows, view: View) -> str:
        """The owner, and the members it is shared with who may see register and schema."""
        if view.organisation is None:
            return Audience.only_owner(view.principal).text()
        pair = self._catalogue.pairs_in(rows)(view.register, view.schema)
        groups = [
            group for one in (pair.register, pair.schema) for group in self._access.audience(one, public=False).groups
        ]
        return Audience(False, view.organisation, view.principal, tuple(groups)).text()

    def _announce(self, transaction: Transaction, *states: View) -> None:
        """Notify everyone who could see one of the view's states that the list changed."""
        for audience in {self._audience(transaction, state) for state in states}:
            list_changed(transaction, "resources", "registers", audience)


class _Assumed(Definitions):
    """Compiled schemas, one of which has a different definition than the stored one."""

    def __init__(self, known: Definitions, schema: int, definition: "CompiledSchema") -> None:
        super().__init__()
        self._known = known
        self._schema = schema
        self._definition = definition

    def of(self, rows: Rows, schema: Schema) -> "CompiledSchema":
        return self._definition if schema.id == self._schema else self._known.of(rows, schema)


def digest_of(answer: Mapping[str, Any]) -> bytes:
    """Two results differ if their digests do."""
    return hashlib.sha256(msgspec.json.encode(answer)).digest()


def _readable_query(query: Mapping[str, Any], problems: Sequence[ViewProblem]) -> dict[str, Any]:
    """The query without columns and parts that have a problem."""
    parts = {problem.part for problem in problems if problem.column is None}
    left_out = {problem.column for problem in problems if problem.column is not None}
    rest = {name: value for name, value in query.items() if name not in parts}
    if left_out and "columns" in rest:
        rest["columns"] = [column for index, column in enumerate(rest["columns"]) if index not in left_out]
    return rest if "" not in parts else {}


def _checked_title(raw: Any) -> str:
    if not isinstance(raw, str) or not 0 < len(raw.strip()) <= _LONGEST_TITLE:
        raise InvalidInput(f"A view has a title of 1 to {_LONGEST_TITLE} characters.")
    return raw.strip()


def _checked_description(raw: Any) -> str:
    if not isinstance(raw, str) or len(raw) > _LONGEST_DESCRIPTION:
        raise InvalidInput(f"The description of a view is a text of at most {_LONGEST_DESCRIPTION:,} characters.")
    return raw


def _schema_versions(rows: Rows) -> dict[int, int]:
    return {int(key): int(changes) for key, changes in rows.all("SELECT id, changes FROM schemas")}


def _stored_version(rows: Rows, view: View, ref: str) -> int:
    """The version of a view in the store; NotFound if it was deleted."""
    version = rows.value("SELECT version FROM views WHERE id = ?", view.id)
    if version is None:
        raise _not_found(ref)
    return int(version)


def _check_version(view: View, if_version: int | None) -> None:
    if if_version is not None and if_version != view.version:
        raise VersionMismatch(
            f"The view {view.slug!r} is at version {view.version}, not {if_version}.",
            hint="Read it again and repeat the change on what you find.",
            details={"current": view.version, "expected": if_version},
        )


def _not_found(ref: str) -> NotFound:
    return NotFound(f"There is no view {ref[:60]!r}.", hint="List the views to see their ids.")
