"""The corpora as they are read: avatars, documents, passages. One door for whatever answers from them."""

from collections.abc import Sequence

from pentad.kernel.errors import NotFound
from pentad.kernel.names import did_you_mean
from pentad.kernel.ports import Database, Rows, Transaction
from pentad.mcp.changes import list_changed, resource_updated
from pentad.rooms.avatars import store
from pentad.rooms.avatars.models import Avatar, AvatarInfo, CorpusDocument, Passage
from pentad.rooms.avatars.store import Filters
from pentad.search.documents import Ranking
from pentad.search.index import SearchIndex


class Corpora:
    """Everything that is stored, of every avatar."""

    def __init__(self, database: Database, search: SearchIndex) -> None:
        self._database = database
        self._search = search

    async def list(self) -> list[AvatarInfo]:
        """Every avatar, by id."""
        return await self._database.read(store.avatars)

    async def get(self, avatar_id: str) -> Avatar:
        """One avatar as it is now; NotFound names one that may be meant."""
        return await self._database.read(lambda rows: found(rows, avatar_id))

    async def sources(self, avatar: Avatar) -> Sequence[CorpusDocument]:
        """The documents of an avatar."""
        return await self._database.read(lambda rows: store.documents(rows, avatar.number))

    async def passages(self, avatar: Avatar, ids: Sequence[int]) -> Sequence[Passage]:
        """Passages by number, in the order asked for; those that are gone are passed over."""
        return await self._database.read(lambda rows: store.passages(rows, avatar.number, ids))

    async def text(self, document: int) -> str:
        """The whole text of a document: what character ranges point into."""
        text = await self._database.read(lambda rows: store.text_of(rows, document))
        if text is None:
            raise NotFound("There is no such document.")
        return text

    async def ranking(self, avatar: Avatar, query: str, limit: int, filters: Filters | None = None) -> Ranking:
        """The best passages by number. Documents a filter excludes take no part at all."""
        allowed = None
        if filters is not None and not filters.empty:
            allowed = await self._database.read(lambda rows: store.allowed(rows, avatar.number, filters))
        return await self._search.search(avatar.collection, query, limit=limit, allowed=allowed)

    async def remove(self, avatar_id: str) -> None:
        """Remove an avatar with all it has."""

        def work(tx: Transaction) -> None:
            avatar = found(tx, avatar_id)
            self._search.drop(tx, avatar.collection)
            store.remove_avatar(tx, avatar.number)
            list_changed(tx, "resources", "avatars")
            resource_updated(tx, f"avatar://{avatar_id}")

        await self._database.write(work)


def found(rows: Rows, avatar_id: str) -> Avatar:
    """The avatar of that id."""
    avatar = store.avatar(rows, avatar_id)
    if avatar is None:
        known = [one.id for one in store.avatars(rows)]
        names = (
            f"There are {', '.join(known[:20])}." if known else "There is none yet; `pentad avatars ingest` makes one."
        )
        guess = did_you_mean(avatar_id, known)
        raise NotFound(f"There is no avatar {avatar_id[:60]!r}.{' ' + guess if guess else ''}", hint=names)
    return avatar
