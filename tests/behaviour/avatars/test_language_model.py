"""A language model behind an OpenAI-compatible endpoint, over real HTTP: its requests, and how its replies are used."""

import json
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from tests.behaviour.avatars.door import Door
from tests.behaviour.avatars.folders import keeper
from tests.behaviour.clients import MEMORY
from tests.behaviour.connecting import AppMaker, connected_in_memory, make_app
from tests.net.test_fetch import answering

__all__ = ["make_app"]

pytestmark = pytest.mark.anyio
SLUICES = "How many sluices did the Lower Marsh have in 1931?"
GERMAN = "Wie viele Schleusen hatte die Lower Marsh im Jahr 1931 und wer hat sie gebaut?"
TRUE = "In 1931 the Lower Marsh had 27 sluices."


class Model:
    """Answers draft requests with `drafts`, one after another, and other requests with what the test supplies."""

    def __init__(self, *drafts: str, supported: bool = True, question: str = "", schemas: bool = True) -> None:
        self.drafts = list(drafts)
        self.supported = supported
        self.question = question
        self.schemas = schemas
        self.asked: list[dict[str, Any]] = []

    async def answer(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.asked.append(body)
        if not self.schemas and "response_format" in body:
            return web.json_response({"error": {"message": "Unrecognized request argument."}}, status=400)
        return web.json_response({"choices": [{"message": {"content": self._reply(body["messages"][1]["content"])}}]})

    def _reply(self, asked: str) -> str:
        given = json.loads(asked.partition("\n\nThese statements")[0])
        if "statement" in given:
            return json.dumps({"supported": self.supported})
        if "samples" in given:
            return json.dumps({"question": self.question})
        name = next(one["name"] for one in given["sentences"] if "27 sluices" in one["text"])
        return self.drafts.pop(0).replace("S?", name)


def draft(*texts: str) -> str:
    return json.dumps({"statements": [{"text": text, "support": ["S?"]} for text in texts], "abstain": False})


async def ask(
    model: Model, make_app: AppMaker, tmp_path: Path, question: str = SLUICES, times: int = 1, **arguments: Any
) -> dict[str, Any]:
    async with answering(model.answer) as port:
        table = {"avatars": {"model_url": f"http://127.0.0.1:{port}/v1", "model_name": "m"}}
        app = await make_app(rooms=("avatars",), models=tmp_path / "none", room_tables=table)
        await app.rooms[0].service.ingest(keeper(tmp_path))
        async with connected_in_memory(app, MEMORY, {}) as client:
            door, answers = Door(client, alone=True), list[dict[str, Any]]()
            for _ in range(times):
                answers.append(await door.call("generate_response", question=question, **arguments))
            return answers[-1]


@pytest.mark.requirement("avatars:mode:structured")
async def test_a_model_is_asked_for_json_by_a_schema(make_app: AppMaker, tmp_path: Path) -> None:
    model = Model(draft(TRUE))
    answer = await ask(model, make_app, tmp_path)
    assert (answer["mode"], len(model.asked)) == ("endpoint", 1)
    form = model.asked[0]["response_format"]
    assert (form["type"], form["json_schema"]["strict"]) == ("json_schema", True)
    assert form["json_schema"]["schema"]["required"] == ["statements", "abstain"]


@pytest.mark.requirement("avatars:mode:structured")
async def test_a_model_without_schemas_is_asked_without_them_and_remembered(make_app: AppMaker, tmp_path: Path) -> None:
    model = Model(draft(TRUE), draft(TRUE), schemas=False)
    answer = await ask(model, make_app, tmp_path, times=2)
    assert answer["mode"] == "endpoint"
    assert ["response_format" in body for body in model.asked] == [True, False, False]


@pytest.mark.requirement("avatars:mode:marks")
async def test_a_reply_in_prose_with_marks_is_read(make_app: AppMaker, tmp_path: Path) -> None:
    answer = await ask(Model("In 1931 the Lower Marsh had 27 sluices [S?]."), make_app, tmp_path)
    assert (answer["mode"], answer["response"]) == ("endpoint", "In 1931 the Lower Marsh had 27 sluices [1].")


FREE = "By 1931 the Lower Marsh relied on 27 sluices, all of them worked by hand when the tide was low."


@pytest.mark.requirement("avatars:mode:paraphrase")
async def test_a_faithful_paraphrase_is_kept_as_it_is(make_app: AppMaker, tmp_path: Path) -> None:
    model = Model(draft(FREE))
    answer = await ask(model, make_app, tmp_path)
    assert answer["response"] == FREE.replace("low.", "low [1].")
    assert answer["grounding"]["supported"] == 1
    assert "statement" in json.loads(model.asked[1]["messages"][1]["content"])


@pytest.mark.requirement("avatars:mode:paraphrase")
async def test_a_paraphrase_that_the_model_itself_takes_back_is_not_said(make_app: AppMaker, tmp_path: Path) -> None:
    answer = await ask(Model(draft(FREE), draft(TRUE), supported=False), make_app, tmp_path)
    assert "relied" not in answer["response"]
    assert "27 sluices" in answer["response"]


@pytest.mark.requirement("avatars:mode:repair")
async def test_a_sentence_that_cannot_be_repaired_is_left_out_and_said_so(make_app: AppMaker, tmp_path: Path) -> None:
    wrong = "Wilhelm Harms built 900 gates in Amsterdam."
    model = Model(draft(TRUE, wrong), draft(wrong))
    answer = await ask(model, make_app, tmp_path)
    assert len(model.asked) == 2, "a draft and one repair"
    assert "Wilhelm" not in answer["response"]
    assert (answer["grounding"]["left_out"], answer["grounding"]["dropped"]) == ([wrong], 1)


@pytest.mark.requirement("avatars:mode:repair")
async def test_a_sentence_that_was_repaired_is_not_left_out(make_app: AppMaker, tmp_path: Path) -> None:
    answer = await ask(Model(draft("In 1931 the Lower Marsh had 72 sluices."), draft(TRUE)), make_app, tmp_path)
    assert "27 sluices" in answer["response"]
    assert not answer["grounding"].get("left_out")


@pytest.mark.requirement("avatars:answer:translation")
async def test_a_question_in_another_language_is_translated_and_the_answer_says_so(
    make_app: AppMaker, tmp_path: Path
) -> None:
    answer = await ask(Model(draft(TRUE), question=SLUICES), make_app, tmp_path, GERMAN)
    assert (answer["abstained"], answer["translated"]) == (False, SLUICES)
    assert answer["response"].startswith(f"I looked for \u201c{SLUICES}\u201d.")
    assert "27 sluices" in answer["response"]


@pytest.mark.requirement("avatars:answer:translation")
@pytest.mark.parametrize(("mode", "question"), [("extractive", SLUICES), ("auto", "")])
async def test_without_a_translation_the_language_is_the_reason(
    make_app: AppMaker, tmp_path: Path, mode: str, question: str
) -> None:
    answer = await ask(Model(question=question), make_app, tmp_path, GERMAN, mode=mode)
    assert (answer["reason"], answer.get("translated")) == ("language", None)


@pytest.mark.requirement("avatars:answer:translation")
async def test_the_clients_model_translates_where_no_endpoint_is_set(make_app: AppMaker, tmp_path: Path) -> None:
    app = await make_app(rooms=("avatars",), models=tmp_path / "none")
    await app.rooms[0].service.ingest(keeper(tmp_path))
    async with connected_in_memory(app, MEMORY, {"sampling": {}}) as client:
        exchange = await client.open_call("generate_response", {"question": GERMAN})
        asked = await exchange.wait_for("sampling/createMessage")
        assert "translate" in asked["params"]["systemPrompt"]
        text = json.dumps({"question": SLUICES})
        await client.respond(
            asked["id"], {"role": "assistant", "content": {"type": "text", "text": text}, "model": "m"}
        )
        answer = json.loads((await exchange.reply()).text)
    assert (answer["translated"], answer["mode"]) == (SLUICES, "extractive")
    assert "27 sluices" in answer["response"]
