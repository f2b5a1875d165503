"""The service over both stores: an ingest, what is learnt from it, answers, and the score card."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from pentad.app import open_app
from pentad.kernel.errors import InvalidInput, NotFound, Unavailable
from pentad.kernel.principal import LOCAL
from pentad.rooms.avatars import store
from pentad.rooms.avatars.answers.answer_log import read_answer_uri
from pentad.rooms.avatars.answers.answer_pipeline import AnswerPipeline
from pentad.rooms.avatars.answers.feedback import accepted
from pentad.rooms.avatars.avatar_snapshot import WithoutDocument
from pentad.rooms.avatars.calibration.fit import near_misses, passage_documents
from pentad.rooms.avatars.corpus.ingest import IngestOptions
from pentad.rooms.avatars.evaluation.evaluate import evaluate
from pentad.rooms.avatars.interface.presentation import AnswerView, answer_view
from pentad.rooms.avatars.search.conversation import Turn
from pentad.rooms.avatars.service import Avatars
from pentad.settings.model import SearchSettings, Settings
from tests.behaviour.avatars.folders import beekeeper, keeper
from tests.stores import PostgresServer, Stores

pytestmark = pytest.mark.anyio

QUESTIONS = (
    "How many sluices did the Lower Marsh have in 1931?",
    "How many kilograms of stores does a colony of bees need?",
    "Why is a dike lost?",
    "What do you think of the flood of 1995?",
)


@pytest.fixture
async def avatars(stores: Stores, tmp_path: Path) -> AsyncIterator[Avatars]:
    """An empty room on each store; search by words."""
    settings = Settings(
        data=tmp_path / "data",
        database=stores.url,
        rooms=("avatars",),
        auth="none",
        search=SearchSettings(embedder="none"),
    )
    async with open_app(settings) as app:
        yield app.rooms[0].service


async def test_one_avatar_need_not_be_named_and_several_must_be(avatars: Avatars, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no avatar yet"):
        await avatars.open()
    await avatars.ingest(keeper(tmp_path))
    assert (await avatars.open()).id == "ida-brandt"
    await avatars.ingest(beekeeper(tmp_path))
    with pytest.raises(InvalidInput, match="There are 2 avatars"):
        await avatars.open()
    assert (await avatars.alone("tomas-orlik").open()).id == "tomas-orlik"
    with pytest.raises(NotFound):
        await avatars.alone("tomas-orlik").open("ida-brandt")


async def test_an_ingest_learns_what_its_scores_mean_once(avatars: Avatars, tmp_path: Path) -> None:
    folder = keeper(tmp_path)
    phases: list[str] = []
    await avatars.ingest(folder, progress=lambda phase, done, total: phases.append(phase))
    assert phases[-1] == "calibrating"
    number = (await avatars.open()).avatar.number
    kept = await avatars.database.read(lambda rows: store.calibration(rows, number))
    assert kept
    phases.clear()
    again = await avatars.ingest(folder, progress=lambda phase, done, total: phases.append(phase))
    assert not again.stored
    assert "calibrating" not in phases
    forced = await avatars.ingest(folder, IngestOptions(force=True))
    assert forced.generation == 2
    assert await avatars.database.read(lambda rows: store.calibration(rows, number)) == kept


async def test_a_dry_run_changes_nothing(avatars: Avatars, tmp_path: Path) -> None:
    report = await avatars.ingest(keeper(tmp_path), IngestOptions(dry_run=True))
    assert len(report.of("added")) == 3
    assert await avatars.list() == []


async def test_files_are_added_to_an_avatar(avatars: Avatars, tmp_path: Path) -> None:
    await avatars.ingest(keeper(tmp_path))
    more = tmp_path / "Windmills.md"
    more.write_text("The windmill at Oster Siel lifted 15 cubic metres of water in a minute.\n", encoding="utf-8")
    report = await avatars.add("ida-brandt", [more])
    assert [line.path for line in report.of("added")] == ["Windmills.md"]
    avatar = await avatars.open()
    answer = await avatars.pipeline(avatar).answer("How much water did the windmill at Oster Siel lift?")
    assert answer.citations[0].source == "Windmills"
    with pytest.raises(NotFound, match="Did you mean 'ida-brandt'"):
        await avatars.add("ida-brand", [more])


async def test_answers_are_the_same_on_both_stores(postgres_server: PostgresServer, tmp_path: Path) -> None:
    folders = (keeper(tmp_path), beekeeper(tmp_path))
    answers: list[list[AnswerView]] = []
    with postgres_server.empty_database() as url:
        for name, database in (("one", None), ("other", url)):
            settings = Settings(
                data=tmp_path / name, database=database, rooms=("avatars",), search=SearchSettings(embedder="none")
            )
            async with open_app(settings) as app:
                avatars: Avatars = app.rooms[0].service
                for folder in folders:
                    await avatars.ingest(folder)
                avatar = await avatars.open("ida-brandt")
                asking = avatars.pipeline(avatar)
                answers.append([answer_view(avatar.id, await asking.answer(question)) for question in QUESTIONS])
    assert answers[0] == answers[1]
    assert answers[0][0].citations
    assert answers[0][1].redirect == "tomas-orlik"


async def test_the_score_card_is_the_same_twice_and_every_spoilt_statement_is_caught(
    avatars: Avatars, tmp_path: Path
) -> None:
    for folder in (keeper(tmp_path), beekeeper(tmp_path)):
        await avatars.ingest(folder)
    avatar, other = await avatars.open("ida-brandt"), await avatars.open("tomas-orlik")
    steps: list[str] = []
    card = await evaluate(avatar, [other], avatars.similarity, lambda group, done, total: steps.append(group))
    again = await evaluate(avatar, [other], avatars.similarity)
    assert card.as_json() == again.as_json()
    assert list(dict.fromkeys(steps)) == ["retrieval", "answer", "abstention", "mutation"]
    figures = {line.name: line for line in card.lines}
    for name in ("changed number caught", "altered quote caught", "wrong citation caught", "false name caught"):
        assert figures[name].value == 1.0, name
        assert figures[name].of > 0
    assert figures["right passage among the first five"].value >= 0.9
    assert figures["off-topic question declined"].value >= 0.95


@pytest.mark.requirement("avatars:feedback:calibration")
async def test_scores_learn_from_what_was_searched_and_not_from_half_a_question(
    avatars: Avatars, tmp_path: Path
) -> None:
    await avatars.ingest(keeper(tmp_path))
    avatar = await avatars.open()
    turns = (Turn("user", "How many sluices did the Lower Marsh have in 1931?"), Turn("assistant", "It had 27."))
    given = await avatars.pipeline(avatar).answer("And in 1920?", turns)
    kept = await avatars.keep_answer(LOCAL, avatar, "And in 1920?", given)
    _, answer = read_answer_uri(str(kept.uri))
    await avatars.rate(LOCAL, avatar.id, answer, helpful=True)
    await avatars.review_feedback(avatar.id, {answer: "accepted"})
    (rated,) = await avatars.database.read(lambda rows: accepted(rows, avatar.avatar.number))
    assert rated.question == given.query != "And in 1920?"


@pytest.mark.requirement("avatars:eval:near-misses")
async def test_near_misses_are_questions_asked_without_the_document_that_answers_them(
    avatars: Avatars, tmp_path: Path
) -> None:
    await avatars.ingest(keeper(tmp_path))
    avatar = await avatars.open()
    ids = {one.source_id: one.id for one in await avatar.sources()}
    corpus = await passage_documents(avatar)
    assert corpus.can_leave_out(ids["letters"])
    assert not corpus.can_leave_out(ids["notes"]), "it is most of the corpus"
    question = "Why was the northern gate rebuilt in oak?"
    whole = await avatars.pipeline(avatar).answer(question)
    assert "letters" in [one.source_id for one in whole.citations]
    less = WithoutDocument(avatar, corpus.without(ids["letters"]))
    without = await AnswerPipeline(less, avatars.similarity).answer(question)
    assert "letters" not in [one.source_id for one in without.citations]
    assert without.confidence_score < whole.confidence_score
    missed = await near_misses(avatar, await avatar.some_passages(400))
    assert missed
    for ranking in missed:
        found = {corpus.where[hit.id] for hit in ranking.hits}
        assert set(ids.values()) - found, "a document is left out"


async def test_a_corpus_too_small_to_ask_about_has_an_empty_card(avatars: Avatars, tmp_path: Path) -> None:
    folder = keeper(tmp_path)
    for path in (folder / "corpus").glob("*.*"):
        path.unlink()
    (folder / "corpus" / "note.txt").write_text("Yes.\n", encoding="utf-8")
    await avatars.ingest(folder)
    card = await evaluate(await avatars.open(), [], avatars.similarity)
    assert card.lines == []
    assert card.notes


class Failing:
    """An embedder whose endpoint is gone."""

    model = "gone"
    dimensions = 4

    async def embed(self, texts: Sequence[str]) -> bytes:
        raise Unavailable("The embedding model did not respond.")


async def test_a_model_that_fails_leaves_answers_to_words(avatars: Avatars, tmp_path: Path) -> None:
    await avatars.ingest(keeper(tmp_path))
    avatar = await avatars.open()
    expected = await avatars.pipeline(avatar).answer(QUESTIONS[0])
    avatars.similarity.embedder = Failing()
    assert await avatars.pipeline(avatar).answer(QUESTIONS[0]) == expected
