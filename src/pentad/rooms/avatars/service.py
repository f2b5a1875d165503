"""The avatars as one object: what the room's tools, prompts and resources speak to."""

import copy
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pentad.kernel.errors import InvalidInput, NotFound
from pentad.kernel.names import did_you_mean
from pentad.kernel.ports import Row, Rows
from pentad.platform import OpenRoom, Platform
from pentad.rooms.avatars import store
from pentad.rooms.avatars.avatar_snapshot import AvatarSnapshot
from pentad.rooms.avatars.corpus.ingest_report import Progress, nothing_to_tell
from pentad.rooms.avatars.models import Avatar, AvatarInfo

if TYPE_CHECKING:
    from pentad.rooms.avatars.answers.answer import Mode
    from pentad.rooms.avatars.answers.answer_pipeline import AnswerPipeline
    from pentad.rooms.avatars.answers.drafting.drafter import Drafter
    from pentad.rooms.avatars.answers.panel import Panel
    from pentad.rooms.avatars.corpus.ingest import Ingest, IngestOptions
    from pentad.rooms.avatars.corpus.ingest_report import IngestReport
    from pentad.rooms.avatars.search.conversation import Turn
    from pentad.rooms.avatars.search.routing import Route
    from pentad.rooms.avatars.verification.sentence_similarity import SentenceSimilarity

MOST_ASKED: Final = 32
"""Avatars a question is put to at a time, on a panel or to find who knows."""
_NAMED: Final = 20


class Avatars:
    """Everything the room can do, over one store. A view made by `alone` knows one avatar and no other."""

    def __init__(self, platform: Platform) -> None:
        self.platform = platform
        self.database = platform.database
        self.search = platform.search
        self.only: str | None = None
        self._similarity: list[SentenceSimilarity] = []
        self.served: dict[str, tuple[Row, OpenRoom]] = {}
        """The rooms made for single avatars, each with the avatar's number and the generation it was made of."""

    def alone(self, avatar_id: str) -> "Avatars":
        """The same, for one avatar."""
        view = copy.copy(self)
        view.only = avatar_id
        return view

    @property
    def model(self) -> str | None:
        """The name of the embedding model; None without one."""
        embedder = self.search.embedder
        return None if embedder is None else embedder.model

    @property
    def similarity(self) -> "SentenceSimilarity":
        """One for all views: what one avatar's answers embedded, another's need not."""
        if not self._similarity:
            from pentad.rooms.avatars.verification.sentence_similarity import SentenceSimilarity

            self._similarity.append(SentenceSimilarity(self.search.embedder))
        return self._similarity[0]

    @cached_property
    def _ingest(self) -> "Ingest":
        from pentad.rooms.avatars.corpus.ingest import Ingest

        return Ingest(self.database, self.search, self.platform.clock)

    async def _all(self) -> list[AvatarInfo]:
        return await self.database.read(store.avatars)

    async def list(self) -> list[AvatarInfo]:
        """Every avatar, by id."""
        return [one for one in await self._all() if self.only in (None, one.id)]

    async def open(self, avatar_id: str | None = None) -> AvatarSnapshot:
        """An avatar as it is now. Which one need not be said where there is only one."""
        if self.only is not None and avatar_id not in (None, self.only):
            raise NotFound(f"There is no avatar {avatar_id[:60]!r} here.", hint=f"This server is {self.only}.")
        from pentad.rooms.avatars.calibration.model import read_calibration

        model, wanted = self.model, self.only or avatar_id

        def work(rows: Rows) -> AvatarSnapshot:
            avatar = found(rows, _meant(rows) if wanted is None else wanted)
            calibration = read_calibration(store.calibration(rows, avatar.number), model)
            return AvatarSnapshot(avatar, calibration, self.database, self.search)

        return await self.database.read(work)

    async def open_all(self, ids: Sequence[str] | None = None) -> "list[AvatarSnapshot]":
        """Several avatars, in the order named; without names all of them, up to a limit."""
        if ids is None:
            ids = [one.id for one in await self.list()][:MOST_ASKED]
        return [await self.open(one) for one in dict.fromkeys(ids)]

    async def ingest(
        self, folder: Path, options: "IngestOptions | None" = None, progress: Progress = nothing_to_tell
    ) -> "IngestReport":
        """Make an avatar of a folder, or bring it up to date."""
        return await self._learnt(await self._ingest.folder(folder, options, progress), progress)

    async def add(
        self,
        avatar_id: str,
        paths: Sequence[Path],
        options: "IngestOptions | None" = None,
        progress: Progress = nothing_to_tell,
    ) -> "IngestReport":
        """Add files, or the documents of folders, to an avatar."""
        await self.open(avatar_id)
        return await self._learnt(await self._ingest.files(avatar_id, paths, options, progress), progress)

    async def remove(self, avatar_id: str) -> None:
        """Remove an avatar with everything it has."""
        from pentad.rooms.avatars.corpus.publish_generation import remove_avatar

        await self.database.write(lambda tx: remove_avatar(tx, self.search, found(tx, avatar_id)))

    def answering(
        self, avatar: AvatarSnapshot, drafter: "Drafter | None" = None, mode: "Mode" = "extractive"
    ) -> "AnswerPipeline":
        """What answers for an avatar: with quotes, or with what `drafter` drafts."""
        from pentad.rooms.avatars.answers.answer_pipeline import AnswerPipeline

        async def knows(question: str) -> str | None:
            return await self._who_knows(question, besides=avatar.id)

        return AnswerPipeline(avatar, self.similarity, drafter, mode, router=knows)

    async def panel(self, question: str, ids: Sequence[str] | None = None, turns: "Sequence[Turn]" = ()) -> "Panel":
        """One question to several avatars."""
        from pentad.rooms.avatars.answers.panel import panel

        members = await self.open_all(ids)
        if not members:
            raise NotFound("There is no avatar yet.", hint="`pentad avatars ingest` makes one.")
        return await panel(question, [self.answering(one) for one in members], self.similarity, turns)

    async def routes(self, question: str) -> "list[Route]":
        """The avatars, the one most likely to know first."""
        from pentad.rooms.avatars.search.routing import routes

        return await routes(question, await self.open_all(), self.similarity)

    def endpoint_drafter(self) -> "Drafter | None":
        """The model behind the endpoint of the settings, if there is one."""
        from pentad.rooms.avatars.answers.drafting.endpoint import EndpointDrafter, endpoint_of

        endpoint = endpoint_of(self.platform.settings)
        return None if endpoint is None else EndpointDrafter(self.platform.fetcher, endpoint)

    async def _who_knows(self, question: str, besides: str) -> str | None:
        """The id of another avatar that can answer."""
        from pentad.rooms.avatars.search.routing import redirect

        ids = [one.id for one in await self._all() if one.id != besides][:MOST_ASKED]
        everybody = self if self.only is None else self._everybody()
        route = await redirect(question, await everybody.open_all(ids), self.similarity)
        return None if route is None else route.avatar

    def _everybody(self) -> "Avatars":
        view = copy.copy(self)
        view.only = None
        return view

    async def _learnt(self, report: "IngestReport", progress: Progress) -> "IngestReport":
        """After an ingest: what the scores of the new generation mean, unless that is known."""
        from pentad.rooms.avatars.calibration.model import is_current

        if report.dry_run:
            return report
        avatar = await self.open(report.avatar)
        number, model = avatar.avatar.number, self.model
        if not is_current(await self.database.read(lambda rows: store.calibration(rows, number)), model):
            from pentad.rooms.avatars.calibration.fit import calibrate  # computes with numpy

            progress("calibrating", 0, 1)
            ids = [one.id for one in await self._all() if one.id != avatar.id]
            await calibrate(avatar, await self.open_all(ids[:MOST_ASKED]), self.similarity, model)
            progress("calibrating", 1, 1)
        return report

    async def health(self) -> dict[str, Any]:
        """How many avatars there are, and how much they hold."""
        every = await self._all()
        return {"avatars": len(every), "passages": sum(one.passages for one in every)}


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


def _meant(rows: Rows) -> str:
    """The only avatar there is."""
    known = [one.id for one in store.avatars(rows)]
    if not known:
        raise NotFound("There is no avatar yet.", hint="`pentad avatars ingest FOLDER` makes one.")
    if len(known) > 1:
        raise InvalidInput(
            f"There are {len(known)} avatars: say in `avatar` which is meant.",
            hint=f"They are {', '.join(known[:_NAMED])}.",
            details={"avatars": known[:_NAMED]},
        )
    return known[0]
