"""The service behind the room's tools, prompts, resources and pages."""

import asyncio
import copy
import json
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pentad.kernel.clock import iso
from pentad.kernel.errors import InvalidInput, NotFound, PentadError, Unavailable
from pentad.kernel.incidents import log_failure
from pentad.kernel.names import did_you_mean
from pentad.kernel.ports import Row, Rows
from pentad.platform import NO_NEIGHBOURS, OpenRoom, Platform
from pentad.rooms.avatars import store
from pentad.rooms.avatars.answers.answer_log import AnswerLog, AnswerRecord, Cited
from pentad.rooms.avatars.avatar_snapshot import AvatarSnapshot
from pentad.rooms.avatars.corpus.ingest_report import Progress, ignore_progress
from pentad.rooms.avatars.models import Avatar, AvatarInfo, passage_uri

if TYPE_CHECKING:
    from pentad.kernel.principal import Principal
    from pentad.rooms.avatars.answers.answer import Answer, Mode
    from pentad.rooms.avatars.answers.answer_pipeline import AnswerPipeline, OnProgress
    from pentad.rooms.avatars.answers.drafting.drafter import Drafter
    from pentad.rooms.avatars.answers.feedback import Feedback, FeedbackLog, State
    from pentad.rooms.avatars.answers.panel import Panel
    from pentad.rooms.avatars.corpus.ingest import Ingest, IngestOptions
    from pentad.rooms.avatars.corpus.ingest_report import IngestReport
    from pentad.rooms.avatars.corpus.referenced_documents import ReferenceReader
    from pentad.rooms.avatars.evaluation.author_questions import AuthorQuestion
    from pentad.rooms.avatars.evaluation.evaluate import Step
    from pentad.rooms.avatars.evaluation.score_card import ScoreCard
    from pentad.rooms.avatars.search.conversation import Turn
    from pentad.rooms.avatars.search.routing import Route
    from pentad.rooms.avatars.verification.sentence_similarity import SentenceSimilarity

MOST_ASKED: Final = 32
"""The most avatars asked at a time, on a panel or to find one that knows."""
_NAMED: Final = 20
_MOST_OTHERS: Final = 6
"""The most avatars whose questions an evaluation uses."""


class Avatars:
    """All operations of the room over one store. A view made by `alone` is limited to one avatar."""

    def __init__(self, platform: Platform) -> None:
        self.platform = platform
        self.database = platform.database
        self.search = platform.search
        self.answers = AnswerLog(self.database, platform.clock, platform.settings.keep_answers_days)
        self.only: str | None = None
        self._similarity: list[SentenceSimilarity] = []
        self._without_schemas: set[str] = set()
        """Endpoints of language models that do not support JSON Schemas."""
        self.served: dict[str, tuple[Row, OpenRoom]] = {}
        """The rooms of single avatars, each with the avatar's number and generation."""
        self.author_work = asyncio.Lock()
        """Ingests and evaluations keep a core busy, so this server runs one at a time."""

    def alone(self, avatar_id: str) -> "Avatars":
        """A view limited to one avatar."""
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
        """Shared by all views, so that no sentence is embedded twice."""
        if not self._similarity:
            from pentad.rooms.avatars.verification.sentence_similarity import SentenceSimilarity

            self._similarity.append(SentenceSimilarity(self.search.embedder))
        return self._similarity[0]

    @cached_property
    def feedback(self) -> "FeedbackLog":
        from pentad.rooms.avatars.answers.feedback import FeedbackLog

        return FeedbackLog(self.database, self.platform.clock)

    @cached_property
    def _ingest(self) -> "Ingest":
        from pentad.rooms.avatars.corpus.ingest import Ingest

        return Ingest(self.database, self.search, self.platform.clock)

    async def _all(self) -> list[AvatarInfo]:
        return await self.database.read(store.avatars)

    async def list(self) -> list[AvatarInfo]:
        """Every avatar, by id."""
        return [one for one in await self._all() if self.only in (None, one.id)]

    async def list_with_config(self) -> Sequence[Avatar]:
        """Every avatar with its configuration, by id."""
        return await self.database.read(store.avatars_with_config)

    async def open(self, avatar_id: str | None = None) -> AvatarSnapshot:
        """The current snapshot of an avatar. The id may be left out if there is only one."""
        if self.only is not None and avatar_id not in (None, self.only):
            raise NotFound(f"There is no avatar {avatar_id[:60]!r} here.", hint=f"This server is {self.only}.")
        from pentad.rooms.avatars.calibration.model import read_calibration

        model, wanted = self.model, self.only or avatar_id

        def work(rows: Rows) -> AvatarSnapshot:
            avatar = find_avatar(rows, _only_id(rows) if wanted is None else wanted)
            calibration = read_calibration(store.calibration(rows, avatar.number), model)
            return AvatarSnapshot(avatar, calibration, self.database, self.search)

        return await self.database.read(work)

    async def open_all(self, ids: Sequence[str] | None = None) -> "list[AvatarSnapshot]":
        """Snapshots of several avatars, in the given order; without ids all of them, up to a limit."""
        if ids is None:
            ids = [one.id for one in await self.list()][:MOST_ASKED]
        return [await self.open(one) for one in dict.fromkeys(ids)]

    async def ingest(
        self,
        folder: Path,
        options: "IngestOptions | None" = None,
        progress: Progress = ignore_progress,
        caller: "Principal | None" = None,
    ) -> "IngestReport":
        """Create or update an avatar from a folder. Sources may be references that the caller can read."""
        follow = self._follow(caller)
        return await self._calibrate_if_new(await self._ingest.folder(folder, options, progress, follow), progress)

    async def add(
        self,
        avatar_id: str,
        paths: Sequence[Path],
        options: "IngestOptions | None" = None,
        progress: Progress = ignore_progress,
        uris: Sequence[str] = (),
        caller: "Principal | None" = None,
    ) -> "IngestReport":
        """Add files, the documents of folders, or what the caller's references lead to, to an avatar."""
        await self.open(avatar_id)
        follow = self._follow(caller)
        return await self._calibrate_if_new(
            await self._ingest.files(avatar_id, paths, options, progress, uris, follow), progress
        )

    def _follow(self, caller: "Principal | None") -> "ReferenceReader | None":
        """Follows references to resources of this server, with the rights of a caller, and to the web."""
        if caller is None:
            return None
        from pentad.mcp.references import ONE_REFERENCE, References, Resolved
        from pentad.rooms.avatars.corpus.referenced_documents import ReferenceReader

        references = References(self.platform.neighbours, self.platform.fetcher)

        async def resolve(uri: str) -> Resolved:
            return await references.resolve(caller, uri, max_bytes=ONE_REFERENCE)

        return ReferenceReader(resolve, references.schemes())

    async def refresh(self) -> None:
        """Ingest watched folders and sources on the web again, if they changed.

        Failures are logged and do not stop the rest. No caller's rights are used, so resources of rooms are not read.
        """
        follow = self._follow_web()
        done: set[str] = set()
        for folder in self.platform.settings.watch_folders:
            report = await self._refresh(f"Ingesting {folder}", self._ingest.folder(Path(folder), follow=follow))
            done |= {report.avatar} if report is not None else set()
        for one in await self._all():
            if one.id not in done:
                await self._refresh(f"Refreshing {one.id}", self._ingest.refresh(one.id, follow))

    async def _refresh(self, doing: str, ingest: "Coroutine[Any, Any, IngestReport | None]") -> "IngestReport | None":
        try:
            report = await ingest
            if report is not None:
                await self._calibrate_if_new(report, ignore_progress)
        except (PentadError, OSError) as error:
            log_failure(error, doing)
            return None
        for line in () if report is None else report.of("failed"):
            log_failure(Unavailable(f"{line.path}: {line.note}"), doing)
        return report

    def _follow_web(self) -> "ReferenceReader":
        """Follows references to the web only."""
        from pentad.kernel.principal import LOCAL
        from pentad.mcp.references import ONE_REFERENCE, WEB, References, Resolved
        from pentad.rooms.avatars.corpus.referenced_documents import ReferenceReader

        references = References(NO_NEIGHBOURS, self.platform.fetcher)

        async def resolve(uri: str) -> Resolved:
            return await references.resolve(LOCAL, uri, max_bytes=ONE_REFERENCE)

        return ReferenceReader(resolve, WEB)

    async def evaluate(
        self,
        avatar_id: str | None = None,
        progress: "Step | None" = None,
        questions: "Sequence[AuthorQuestion]" = (),
        goals: Mapping[str, float] | None = None,
    ) -> "ScoreCard":
        """Evaluate an avatar on its own corpus and with its author's questions, and store the score card."""
        from pentad.rooms.avatars.evaluation.evaluate import evaluate

        avatar = await self.open(avatar_id)
        ids = [one.id for one in await self.list() if one.id != avatar.id]
        others = await self.open_all(ids[:_MOST_OTHERS])
        card = (await evaluate(avatar, others, self.similarity, progress, questions)).with_goals(goals or {})
        number, now = avatar.avatar.number, self.platform.clock.now()
        body = json.dumps(card.as_json(), separators=(",", ":"))
        await self.database.write(lambda tx: store.keep_evaluation(tx, number, now, body))
        return card

    async def last_evaluation(self, avatar: AvatarSnapshot) -> dict[str, Any] | None:
        """The last score card of an avatar as JSON, with its time; None if it was never evaluated."""
        found = await self.database.read(lambda rows: store.evaluation(rows, avatar.avatar.number))
        return None if found is None else {**json.loads(found[1]), "at": iso(found[0])}

    async def rate(
        self, principal: "Principal", avatar_id: str, answer_id: str, *, helpful: bool, correction: str | None = None
    ) -> "Feedback":
        """Store a rating of an answer by the reader who received it. A correction must quote the corpus."""
        from pentad.rooms.avatars.answers.feedback import LONGEST_CORRECTION
        from pentad.rooms.avatars.answers.verify_citation import Cited as Quoted
        from pentad.rooms.avatars.answers.verify_citation import check_citation

        avatar = await self.open(avatar_id)
        found = await self.answers.find(principal, avatar.id, answer_id)
        if correction is not None:
            if not correction.strip() or len(correction) > LONGEST_CORRECTION:
                raise InvalidInput(f"A correction has 1 to {LONGEST_CORRECTION} characters.")
            if (await check_citation(avatar, Quoted(correction))).match == "not_found":
                raise InvalidInput("The words of the correction are nowhere in the corpus.", hint="Quote the source.")
        return await self.feedback.rate(avatar.avatar.number, found, helpful=helpful, correction=correction)

    async def review_feedback(self, avatar_id: str | None, decisions: "Mapping[str, State]") -> AvatarSnapshot:
        """Accept or reject ratings as the author, and recalibrate the avatar with the accepted ones."""
        avatar = await self.open(avatar_id)
        await self.feedback.review(avatar.avatar.number, decisions)
        await self._calibrate(avatar)
        return await self.open(avatar.id)

    async def remove(self, avatar_id: str) -> None:
        """Remove an avatar and all its data."""
        from pentad.rooms.avatars.corpus.publish_generation import remove_avatar

        await self.database.write(lambda tx: remove_avatar(tx, self.search, find_avatar(tx, avatar_id)))

    async def remove_old_checkpoints(self) -> None:
        """Delete checkpoints of abandoned ingests."""
        from pentad.rooms.avatars.corpus.checkpoints import KEPT_SECONDS

        before = self.platform.clock.now() - KEPT_SECONDS
        await self.database.write(lambda tx: store.remove_checkpoints_before(tx, before))

    def pipeline(
        self,
        avatar: AvatarSnapshot,
        drafter: "Drafter | None" = None,
        mode: "Mode" = "extractive",
        translator: "Drafter | None" = None,
        on_progress: "OnProgress | None" = None,
    ) -> "AnswerPipeline":
        """The pipeline that answers for an avatar, with quotes or with drafts of `drafter`. `on_progress` receives
        progress messages."""
        from pentad.rooms.avatars.answers.answer_pipeline import AnswerPipeline
        from pentad.rooms.avatars.answers.drafting.drafter import ModelJudge

        async def knows(question: str) -> str | None:
            return await self._find_other_avatar(question, besides=avatar.id)

        judge = ModelJudge(drafter) if drafter is not None and mode == "endpoint" else None
        made = AnswerPipeline(avatar, self.similarity, drafter, mode, judge=judge, router=knows, translator=translator)
        return made if on_progress is None else replace(made, on_progress=on_progress)

    async def panel(
        self, principal: "Principal", question: str, ids: Sequence[str] | None = None, turns: "Sequence[Turn]" = ()
    ) -> "Panel":
        """Ask several avatars one question."""
        from pentad.rooms.avatars.answers.panel import panel

        members = await self.open_all(ids)
        if not members:
            raise NotFound("There is no avatar yet.", hint="Create one with `pentad avatars ingest`.")
        found = await panel(question, [self.pipeline(one) for one in members], self.similarity, turns)
        kept = [
            replace(one, answer=await self.keep_answer(principal, member, question, one.answer))
            for member, one in zip(members, found.answers, strict=True)
        ]
        return replace(found, answers=kept)

    async def routes(self, question: str) -> "list[Route]":
        """The avatars, those most likely to answer first."""
        from pentad.rooms.avatars.search.routing import routes

        return await routes(question, await self.open_all(), self.similarity)

    async def keep_answer(
        self, principal: "Principal", avatar: AvatarSnapshot, question: str, answer: "Answer"
    ) -> "Answer":
        """Log an answer. The result has its URI if it was logged."""
        drafted = answer.mode == "endpoint"
        record = AnswerRecord(
            question=question,
            response=answer.response,
            mode=answer.mode,
            generation=avatar.avatar.generation,
            confidence=answer.confidence,
            evidence=answer.evidence,
            query=answer.query,
            abstained=answer.abstained,
            model=self.platform.settings.model_name if drafted else None,
            citations=[
                Cited(passage_uri(avatar.id, one.chunk_id), one.source, one.quote, one.sha256)
                for one in answer.citations
            ],
        )
        uri = await self.answers.keep(principal, (avatar.avatar.number, avatar.id), record)
        return replace(answer, uri=uri, generation=record.generation)

    def endpoint_drafter(self) -> "Drafter | None":
        """The model of the configured endpoint, if there is one."""
        from pentad.rooms.avatars.answers.drafting.endpoint import EndpointDrafter, endpoint_of

        endpoint = endpoint_of(self.platform.settings)
        if endpoint is None:
            return None
        return EndpointDrafter(self.platform.fetcher, endpoint, without_schemas=self._without_schemas)

    async def _find_other_avatar(self, question: str, besides: str) -> str | None:
        """The id of another avatar that can answer."""
        from pentad.rooms.avatars.search.routing import redirect

        ids = [one.id for one in await self._all() if one.id != besides][:MOST_ASKED]
        everybody = self if self.only is None else self._unlimited()
        route = await redirect(question, await everybody.open_all(ids), self.similarity)
        return None if route is None else route.avatar

    def _unlimited(self) -> "Avatars":
        view = copy.copy(self)
        view.only = None
        return view

    async def _calibrate_if_new(self, report: "IngestReport", progress: Progress) -> "IngestReport":
        """Calibrate the new generation after an ingest, unless that is done."""
        from pentad.rooms.avatars.calibration.model import is_current

        if report.dry_run:
            return report
        avatar = await self.open(report.avatar)
        number, model = avatar.avatar.number, self.model
        if not is_current(await self.database.read(lambda rows: store.calibration(rows, number)), model):
            progress("calibrating", 0, 1)
            await self._calibrate(avatar)
            progress("calibrating", 1, 1)
        return report

    async def _calibrate(self, avatar: AvatarSnapshot) -> None:
        """Fit the scores of an avatar to its corpus and to accepted feedback."""
        from pentad.rooms.avatars.answers.feedback import accepted
        from pentad.rooms.avatars.calibration.fit import calibrate  # computes with numpy

        ids = [one.id for one in await self._all() if one.id != avatar.id]
        rated = await self.database.read(lambda rows: accepted(rows, avatar.avatar.number))
        await calibrate(avatar, await self.open_all(ids[:MOST_ASKED]), self.similarity, self.model, rated)

    async def health(self) -> dict[str, Any]:
        """The number of avatars and passages."""
        every = await self._all()
        return {"avatars": len(every), "passages": sum(one.passages for one in every)}


def find_avatar(rows: Rows, avatar_id: str) -> Avatar:
    """The avatar with this id; NotFound suggests similar ones."""
    avatar = store.avatar(rows, avatar_id)
    if avatar is None:
        known = [one.id for one in store.avatars(rows)]
        names = (
            f"There are {', '.join(known[:20])}."
            if known
            else "There are none yet. Create one with `pentad avatars ingest`."
        )
        guess = did_you_mean(avatar_id, known)
        raise NotFound(f"There is no avatar {avatar_id[:60]!r}.{' ' + guess if guess else ''}", hint=names)
    return avatar


def _only_id(rows: Rows) -> str:
    """The id of the only avatar."""
    known = [one.id for one in store.avatars(rows)]
    if not known:
        raise NotFound("There is no avatar yet.", hint="Create one with `pentad avatars ingest FOLDER`.")
    if len(known) > 1:
        raise InvalidInput(
            f"There are {len(known)} avatars; name one in `avatar`.",
            hint=f"They are {', '.join(known[:_NAMED])}.",
            details={"avatars": known[:_NAMED]},
        )
    return known[0]
