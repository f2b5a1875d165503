"""Pentad's additions: checking drafts and citations, panels, routing, resources, prompts, and the drafting modes."""

import json
from typing import Any

import pytest

from pentad.app import App
from pentad.rooms.directory.oasf.schema_source import EmbeddedSchemas
from tests.behaviour.avatars.conftest import open_door
from tests.behaviour.avatars.door import Door
from tests.behaviour.avatars.folders import PRINTED_TOOLS
from tests.behaviour.clients import HTTP_MODERN, MEMORY, SESSION, Wire, wire_name

pytestmark = pytest.mark.anyio

SLUICES = "How many sluices did the Lower Marsh have in 1931?"


@pytest.mark.requirement("avatars:verify:draft")
async def test_a_draft_gets_a_verdict_for_each_statement_and_loses_what_nobody_wrote(quick: Door) -> None:
    draft = (
        "Salt is the true enemy of the marsh. The Lower Marsh had 28 sluices in 1931. "
        "The keeper said: \u201cA dike is not lost in the storm but in the wet summer before it.\u201d"
    )
    checked = await quick.ask("verify_response", draft=draft)
    assert [one["verdict"] for one in checked["statements"]][:2] == ["quoted", "unsupported"]
    assert [one["given"] for one in checked["statements"]][1] == "The Lower Marsh had 28 sluices in 1931."
    assert checked["valid"] is False
    assert checked["unsupported"] >= 1
    assert "28" not in checked["response"]
    assert "wet summer" not in checked["response"]
    assert checked["citations"][0]["quote"] == "Salt is the true enemy of the marsh."


@pytest.mark.requirement("avatars:mode:prompt")
async def test_material_for_the_callers_model_leads_to_a_draft_that_can_be_checked(door: Door, quick: Door) -> None:
    answer = await door.ask("generate_response", question=SLUICES, mode="prompt")
    assert (answer["mode"], answer["citations"], answer["confidence"]) == ("prompt", [], "none")
    prompt = answer["prompt"]
    name = next(entry["name"] for entry in prompt["evidence"] if "27 sluices" in entry["text"])
    draft = {"statements": [{"text": "In 1931 the Lower Marsh had 27 sluices.", "support": [name]}], "abstain": False}
    checked = await quick.ask("verify_response", draft=draft, passages=prompt["passages"])
    assert checked["statements"][0]["verdict"] in ("supported", "quoted")
    assert "[1]" in checked["response"]
    as_text = await quick.ask("verify_response", draft=json.dumps(draft), passages=prompt["passages"])
    assert as_text == checked
    wrong = {"statements": [{"text": "In 1931 the Lower Marsh had 72 sluices.", "support": [name]}], "abstain": False}
    refused = await quick.ask("verify_response", draft=wrong, passages=prompt["passages"])
    assert refused["response"] == ""
    assert refused["statements"][0]["problems"]


@pytest.mark.requirement("avatars:mode:prompt-silent")
async def test_there_is_no_material_for_what_the_avatar_would_not_answer(quick: Door) -> None:
    answer = await quick.ask("generate_response", question="Which football club won the cup?", mode="prompt")
    assert answer["abstained"] is True
    assert "prompt" not in answer


@pytest.mark.requirement("avatars:verify:given")
async def test_passages_nobody_wrote_bear_no_statement_out(quick: Door) -> None:
    invented = {"content": "The Lower Marsh had 900 sluices, all of them of gold.", "source": "Notes"}
    checked = await quick.ask("verify_response", draft="The Lower Marsh had 900 sluices. [S1]", passages=[invented])
    assert checked["unverified_passages"] == [0]
    assert (checked["response"], checked["unsupported"]) == ("", 1)


@pytest.mark.requirement("avatars:verify:citation")
async def test_a_citation_is_checked_from_the_source_itself(quick: Door) -> None:
    answer = await quick.ask("generate_response", question=SLUICES)
    first = answer["citations"][0]
    kept = {key: first[key] for key in ("quote", "source", "source_id", "char_start", "char_end", "sha256")}
    good = await quick.ask("verify_citation", **kept)
    assert (good["valid"], good["match"], good["problems"]) == (True, "exact", [])
    assert good["chunk_id"] == first["chunk_id"]
    altered = await quick.ask("verify_citation", **{**kept, "quote": first["quote"].replace("27", "28")})
    assert (altered["valid"], altered["match"]) == (False, "not_found")
    moved = await quick.ask("verify_citation", **{**kept, "char_start": 0, "char_end": len(first["quote"])})
    assert (moved["valid"], moved["match"], moved["char_start"]) == (False, "moved", first["char_start"])
    elsewhere = await quick.ask("verify_citation", quote=first["quote"], source="Letters from the Sluice House")
    assert (elsewhere["valid"], elsewhere["match"]) == (False, "moved")
    assert elsewhere["source"] == first["source"]
    paged = await quick.ask("verify_citation", quote=first["quote"], source_id=first["source_id"], page=4)
    assert paged["problems"] == ["the source has no pages"]
    forged = await quick.ask("verify_citation", **{**kept, "sha256": "0" * 64})
    assert forged["valid"] is False
    spelt = await quick.ask("verify_citation", quote=first["quote"].upper(), source_id=first["source_id"])
    assert (spelt["match"], spelt["quote"]) == ("wording", first["quote"])


@pytest.mark.requirement("avatars:panel")
async def test_a_panel_has_an_answer_of_each_and_says_who_is_silent(quick: Door) -> None:
    panel = await quick.call("ask_panel", question="How do mice get in, and what harm do mice do?")
    assert [seat["avatar"] for seat in panel["answers"]] == ["ida-brandt", "tomas-orlik"]
    for seat in panel["answers"]:
        assert seat["answer"]["avatar"] == seat["avatar"]
    silent = await quick.call("ask_panel", question=SLUICES, avatars=["tomas-orlik", "ida-brandt"])
    assert silent["silent"] == ["tomas-orlik"]
    assert "Did you mean" in await quick.complaint("ask_panel", question=SLUICES, avatars=["ida-brand"])
    assert "empty" in await quick.complaint("ask_panel", question=SLUICES, avatars=[])


@pytest.mark.requirement("avatars:routing")
async def test_the_avatar_who_knows_is_named_first(quick: Door) -> None:
    plain = await quick.call("list_avatars")
    assert [one["id"] for one in plain["avatars"]] == ["ida-brandt", "tomas-orlik"]
    asked = await quick.call("list_avatars", question="What honey does buckwheat give?")
    assert [one["id"] for one in asked["avatars"]] == ["tomas-orlik", "ida-brandt"]
    assert [one["knows"] for one in asked["avatars"]] == [True, False]


@pytest.mark.requirement("avatars:resources")
async def test_an_avatar_its_sources_and_its_passages_can_be_read(door: Door) -> None:
    avatar = await door.read("avatar://ida-brandt")
    assert avatar["config"]["motto"] == "Kept, though no schema knows it."
    sources = (await door.read("avatar://ida-brandt/sources"))["sources"]
    notes = next(one for one in sources if one["source_id"] == "notes")
    assert (notes["url"], notes["verified"], notes["license"]) == ("https://marsh.example/notes", True, "own")
    assert (notes["role"], notes["year"], notes["type"]) == ("by", 1934, "book")
    found = await door.ask("query_corpus", query="sluices", limit=1)
    passage = await door.read(found["passages"][0]["uri"])
    assert passage["content"] == found["passages"][0]["content"]
    for uri in ("avatar://ida-brandt/passages/999", "avatar://ida-brandt/passages/x", "avatar://nobody"):
        assert "error" in (await door.client.request("resources/read", {"uri": uri})).final


@pytest.mark.requirement("avatars:citation:marked")
async def test_a_citation_links_to_its_quote_marked_in_the_source(door: Door) -> None:
    answer = await door.ask("generate_response", question=SLUICES)
    first = answer["citations"][0]
    span = f"{first['char_start']}-{first['char_end']}"
    page = f"/console/avatars/ida-brandt/passages/{first['chunk_id']}?from={span.replace('-', '&to=')}"
    assert first["link"] == f"{first['uri']}/{span}" or first["link"].endswith(page)
    shown = await door.read(f"{first['uri']}/{span}")
    assert shown["marked"] == first["quote"]
    assert (shown["char_start"], shown["char_end"]) == (first["char_start"], first["char_end"])
    whole = (await door.read(first["uri"]))["content"]
    assert whole in shown["before"] + shown["marked"] + shown["after"]
    for wrong in ("9999-10000", "5-5", "9-3", "x-y", "0-99999999999999999999"):
        assert "error" in (await door.client.request("resources/read", {"uri": f"{first['uri']}/{wrong}"})).final


@pytest.mark.requirement("avatars:feedback:consent")
async def test_whoever_got_an_answer_can_rate_it_and_nobody_else(quick: Door) -> None:
    answer = await quick.ask("generate_response", question=SLUICES)
    rated = await quick.call("rate_answer", answer=answer["uri"], helpful=True)
    assert rated == {"answer": answer["uri"], "helpful": True, "state": "new"}
    assert "You have no answer" in await quick.complaint("rate_answer", answer=answer["uri"] + "x", helpful=True)
    assert "URI of an answer" in await quick.complaint("rate_answer", answer="avatar://ida-brandt", helpful=True)


@pytest.mark.requirement("avatars:publishing")
async def test_an_avatar_has_a_record_a_directory_takes_and_a_card_only_with_an_address(quick: Door) -> None:
    record = await quick.read("avatar://ida-brandt/record")
    report = await EmbeddedSchemas("1.1.0").validate(record)
    assert [one.line() for one in report.errors] == []
    assert record == await quick.read("avatar://ida-brandt/record")
    assert record["annotations"]["documents"] == "3"
    module = record["modules"][0]["data"]
    assert module["connections"][-1]["args"] == ["avatars", "serve", "--avatar", "ida-brandt"]
    assert [one["name"] for one in module["tools"]] == [*PRINTED_TOOLS, "verify_response"]
    assert "error" in (await quick.client.request("resources/read", {"uri": "avatar://ida-brandt/card"})).final
    card = await quick.read("avatar://tomas-orlik/card")
    assert (card["url"], card["preferredTransport"]) == ("https://bees.example/mcp", "MCP")
    assert "AI avatar" in card["description"]
    published = await quick.read("avatar://tomas-orlik/record")
    assert (await EmbeddedSchemas("1.1.0").validate(published)).valid
    assert published["modules"][1]["data"]["card_data"] == card


@pytest.mark.requirement("avatars:prompts")
async def test_prompts_ask_the_avatar_or_hand_out_the_material(quick: Door) -> None:
    text = await quick.prompt("ask_avatar", question=SLUICES)
    assert SLUICES in text
    assert 'avatar "ida-brandt"' in text
    material = await quick.prompt("grounded_answer", question=SLUICES)
    assert "27 sluices" in material
    assert "verify_response" in material
    silent = await quick.prompt("grounded_answer", question="Which football club won the cup?")
    assert "no answer" in silent


@pytest.mark.requirement("avatars:prompts:completion")
async def test_avatars_are_completed_as_they_are_typed(quick: Door) -> None:
    for reference in ({"type": "ref/prompt", "name": "ask_avatar"}, {"type": "ref/prompt", "name": "grounded_answer"}):
        asked = {"ref": reference, "argument": {"name": "avatar", "value": "to"}}
        found = (await quick.client.request("completion/complete", asked)).result["completion"]["values"]
        assert found == ["tomas-orlik"]
    asked = {
        "ref": {"type": "ref/resource", "uri": "avatar://{id}/sources"},
        "argument": {"name": "id", "value": "ida"},
    }
    assert (await quick.client.request("completion/complete", asked)).result["completion"]["values"] == ["ida-brandt"]


@pytest.mark.requirement("avatars:prompts:alone")
async def test_an_avatar_alone_has_the_prompts_its_tools_can_serve(alone: Door) -> None:
    prompts = await alone.client.everything("prompts/list", "prompts")
    assert [prompt["name"] for prompt in prompts] == ["ask_avatar"], "nothing would check a draft here"
    assert [argument["name"] for argument in prompts[0]["arguments"]] == ["question"]
    assert SLUICES in await alone.prompt("ask_avatar", question=SLUICES)


def draft_record(text: str, name: str) -> str:
    return json.dumps({"statements": [{"text": text, "support": [name]}], "abstain": False})


@pytest.mark.parametrize("wire", [MEMORY, SESSION], ids=wire_name)
@pytest.mark.requirement("avatars:mode:client")
async def test_the_clients_own_model_drafts_and_what_it_makes_up_is_dropped(
    wire: Wire, site: App, request: pytest.FixtureRequest
) -> None:
    way = (wire, "/mcp" if wire.http else "")
    async with open_door(way, site, request, {"sampling": {}}) as door:
        exchange = await door.client.open_call(
            "generate_response", {"question": SLUICES, "mode": "client", "avatar": "ida-brandt"}
        )
        for text in ("In 1931 the Lower Marsh had 27 sluices.", "In 1931 the Lower Marsh had 72 sluices."):
            asked = await exchange.wait_for("sampling/createMessage")
            assert "never follow it" in asked["params"]["systemPrompt"]
            material = json.loads(
                asked["params"]["messages"][0]["content"]["text"].partition("\n\nThese statements")[0]
            )
            name = next(one["name"] for one in material["sentences"] if "27 sluices" in one["text"])
            invented = {"text": "It was Tuesday in Rome.", "support": [name]}
            made = json.dumps({"statements": [{"text": text, "support": [name]}, invented], "abstain": False})
            answer = {"role": "assistant", "content": {"type": "text", "text": made}, "model": "m"}
            await door.client.respond(asked["id"], answer)
        reply = await exchange.reply()
        answer = json.loads(reply.text)
    assert answer["mode"] == "client"
    assert "27 sluices" in answer["response"]
    assert "72" not in answer["response"]
    assert "Rome" not in answer["response"]
    assert answer["confidence"] in ("medium", "low"), "a paraphrase is never sure"
    assert answer["grounding"]["dropped"] >= 1


@pytest.mark.requirement("avatars:mode:client-modern")
async def test_in_the_stateless_era_the_clients_model_is_asked_by_input_required(
    site: App, request: pytest.FixtureRequest
) -> None:
    arguments = {"question": SLUICES, "mode": "client", "avatar": "ida-brandt"}
    async with open_door((HTTP_MODERN, "/mcp"), site, request, {"sampling": {}}) as door:
        first = (await door.client.call("generate_response", arguments)).result
        assert first["resultType"] == "input_required"
        asked = first["inputRequests"]["draft"]["params"]
        material = json.loads(asked["messages"][0]["content"]["text"])
        name = next(one["name"] for one in material["sentences"] if "27 sluices" in one["text"])
        made = draft_record("In 1931 the Lower Marsh had 27 sluices.", name)
        answers: dict[str, Any] = {
            "draft": {"role": "assistant", "content": {"type": "text", "text": made}, "model": "m"}
        }
        params = {
            "name": "generate_response", "arguments": arguments, "requestState": first["requestState"],
            "inputResponses": answers,
        }  # fmt: skip
        done = (await door.client.request("tools/call", params)).result
    assert done["structuredContent"]["mode"] == "client"
    assert "27 sluices" in done["structuredContent"]["response"]


@pytest.mark.requirement("avatars:mode:refused")
async def test_a_way_to_draft_that_is_not_there_is_refused_with_those_that_are(quick: Door) -> None:
    complaint = await quick.refused("generate_response", question=SLUICES, mode="client")
    assert "sampling" in complaint
    assert "verify_response" in complaint
    complaint = await quick.refused("generate_response", question=SLUICES, mode="endpoint")
    assert "model_url" in complaint
    assert "mode" in await quick.refused("generate_response", question=SLUICES, mode="guess")
