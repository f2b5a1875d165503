"""The three tools of the original document over every wire: their arguments, answers and errors."""

import re
from typing import Any

import pytest

from pentad.app import App
from tests.behaviour.avatars.door import Door
from tests.behaviour.avatars.folders import KEEPER, ORDER, PRINTED_TOOLS
from tests.behaviour.clients import Wire
from tests.behaviour.connecting import connect_http

pytestmark = pytest.mark.anyio

SLUICES = "How many sluices did the Lower Marsh have in 1931?"
PRINTED: dict[str, Any] = {
    "query_corpus": {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "The search query to find relevant passages"},
            "limit": {"type": "integer", "default": 5, "description": "Maximum number of passages to return"},
            "threshold": {"type": "number", "default": 0.7, "description": "Minimum similarity score (0-1)"},
        },
        "required": ["query"],
    },
    "generate_response": {
        "type": "object",
        "properties": {
            "context": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"role": {"type": "string"}, "content": {"type": "string"}},
                },
                "description": "Conversation history for context",
            },
            "question": {"type": "string", "description": "The current question or topic to respond to"},
            "passages": {"type": "array", "description": "Retrieved passages to ground the response"},
        },
        "required": ["question"],
    },
    "get_avatar_info": {"type": "object", "properties": {}},
}


@pytest.mark.requirement("avatars:tools:three", "avatars:server:tool-list")
async def test_an_avatar_alone_has_the_tools_its_configuration_lists_with_the_schemas_as_printed(alone: Door) -> None:
    tools = await alone.tools()
    assert list(tools) == [*PRINTED_TOOLS, "verify_response"], "mode prompt of generate_response needs it"
    assert {name: tools[name]["inputSchema"] for name in PRINTED} == PRINTED


@pytest.mark.requirement("avatars:tools:several")
async def test_where_several_avatars_are_served_the_printed_schemas_are_widened_by_the_avatar(quick: Door) -> None:
    tools = await quick.tools()
    for name, printed in PRINTED.items():
        schema = tools[name]["inputSchema"]
        own = {key: schema["properties"][key] for key in printed["properties"]}
        assert own == printed["properties"]
        assert list(schema["properties"])[: len(own)] == list(own), "the printed ones come first"
        assert schema.get("required") == printed.get("required")
        assert schema["properties"]["avatar"]["type"] == "string"


@pytest.mark.requirement("avatars:server:identity")
async def test_the_name_and_version_of_the_server_come_from_the_configuration(site: App) -> None:
    client = await connect_http(site, Wire("session", "2025-11-25"), path="/rooms/avatars/ida-brandt/mcp")
    assert (client.server["serverInfo"]["name"], client.server["serverInfo"]["version"]) == (
        "avatar-ida-brandt",
        "1.0.0",
    )
    await client.close()
    other = await connect_http(site, Wire("session", "2025-11-25"), path="/rooms/avatars/tomas-orlik/mcp")
    assert other.server["serverInfo"]["name"] == "avatar-tomas-orlik"
    assert len((await other.request("tools/list")).result["tools"]) == 5, "no list: all of them"
    await other.close()


@pytest.mark.requirement("avatars:query:output")
async def test_passages_have_content_source_page_and_score_first(door: Door) -> None:
    answer = await door.ask("query_corpus", query=SLUICES)
    best = answer["passages"][0]
    assert next(iter(answer)) == "passages"
    assert list(best)[:4] == ["content", "source", "page", "score"]
    assert "27 sluices" in best["content"]
    assert (best["source"], best["page"], best["section"]) == ("Notes on the Lower Marsh", None, "Sluices")
    assert 0.7 <= best["score"] <= 1
    assert best["relevance_score"] == best["score"]
    assert "raw_score" in best
    assert answer["retrieval"] == "lexical"
    assert "pentad models pull" in answer["note"], "lexical search says so"


@pytest.mark.requirement("avatars:query:defaults")
async def test_without_limit_and_threshold_five_passages_at_most_and_none_below_seven_tenths(door: Door) -> None:
    answer = await door.ask("query_corpus", query="the gate, the dike, the marsh and the tide")
    assert answer["threshold"] == 0.7
    assert len(answer["passages"]) + answer["below_threshold"] <= 5
    assert all(passage["score"] >= 0.7 for passage in answer["passages"])


@pytest.mark.requirement("avatars:query:ranking")
async def test_threshold_0_and_limit_100_give_the_whole_ranking_best_first(quick: Door) -> None:
    answer = await quick.ask("query_corpus", query="the marsh and the tide", limit=100, threshold=0)
    scores = [passage["score"] for passage in answer["passages"]]
    raw = [passage["raw_score"] for passage in answer["passages"]]
    assert len(scores) >= 4
    assert scores == sorted(scores, reverse=True)
    assert raw == sorted(raw, reverse=True)
    assert answer["below_threshold"] == 0


@pytest.mark.requirement("avatars:query:aliases")
async def test_the_names_of_the_other_document_are_understood(door: Door) -> None:
    one = await door.ask("query_corpus", query="sluices", limit=1, threshold=0)
    other = await door.ask("query_corpus", query="sluices", max_results=1, threshold=0)
    assert one == other
    assert len(one["passages"]) == 1
    followed = await door.ask("query_corpus", query="Why did she?", context="Greta Lohse kept tide tables", threshold=0)
    assert "Greta Lohse" in followed["passages"][0]["content"]


@pytest.mark.parametrize("query", ["", "   ", "\n\t"])
@pytest.mark.requirement("avatars:query:empty")
async def test_an_empty_query_is_a_clear_error(quick: Door, query: str) -> None:
    assert await quick.refused("query_corpus", query=query) == "The query is empty. A few words are enough."
    assert "is empty" in await quick.refused("generate_response", question=query)


@pytest.mark.parametrize("limit", [0, -1, 101, 10**9])
@pytest.mark.requirement("avatars:query:limit")
async def test_a_limit_out_of_range_is_refused_with_the_range(door: Door, limit: int) -> None:
    complaint = await door.refused("query_corpus", query="sluices", limit=limit)
    assert "limit" in complaint
    assert ("greater than or equal to 1" if limit < 1 else "less than or equal to 100") in complaint


@pytest.mark.parametrize(("given", "applied"), [(-3, 0), (2, 1), (0.25, 0.25), ("0.5", 0.5)])
@pytest.mark.requirement("avatars:query:threshold")
async def test_a_threshold_is_taken_within_0_and_1(quick: Door, given: Any, applied: float) -> None:
    answer = await quick.ask("query_corpus", query="sluices", threshold=given)
    assert answer["threshold"] == applied


@pytest.mark.requirement("avatars:query:filters")
async def test_sources_are_left_out_before_anything_is_ranked(quick: Door) -> None:
    about = await quick.ask("query_corpus", query="registers of the tide", threshold=0, roles=["about"])
    assert {passage["role"] for passage in about["passages"]} == {"about"}
    early = await quick.ask("query_corpus", query="the gate of the marsh", threshold=0, year_to=1940)
    assert {passage["year"] for passage in early["passages"]} == {1934}
    named = await quick.ask("query_corpus", query="the gate", threshold=0, sources=["letters"])
    assert {passage["source_id"] for passage in named["passages"]} == {"letters"}


@pytest.mark.requirement("avatars:response:output", "avatars:grounding:citation")
async def test_a_response_has_its_citations_and_confidence_and_every_quote_stands_in_the_corpus(door: Door) -> None:
    answer = await door.ask("generate_response", question=SLUICES)
    assert list(answer)[:3] == ["response", "citations", "confidence"]
    assert "27 sluices" in answer["response"]
    assert answer["confidence"] in ("high", "medium")
    first = answer["citations"][0]
    assert list(first)[:3] == ["source", "page", "quote"]
    for citation in answer["citations"]:
        assert citation["quote"].strip("\u201c\u201d") in answer["response"]
        checked = await _passage(door, citation)
        assert citation["quote"] in checked
    assert all(statement["citations"] for statement in answer["statements"])
    assert answer["mode"] == "extractive"
    assert "AI" in answer["ai_label"]


async def _passage(door: Door, citation: Any) -> str:
    return (await door.read(f"avatar://ida-brandt/passages/{citation['chunk_id']}"))["content"]


@pytest.mark.requirement("avatars:response:same")
async def test_the_same_question_has_the_same_answer_on_every_way(door: Door, quick: Door) -> None:
    one, other = [await way.ask("generate_response", question=SLUICES) for way in (door, quick)]
    uris = [answer.pop("uri") for answer in (one, other)]
    links = [[_span(cited.pop("link")) for cited in answer["citations"]] for answer in (one, other)]
    assert one == other
    assert links[0] == links[1], "a page of the console where there is an address, else a resource, of the same words"
    assert uris[0] != uris[1], "each answer is kept on its own"
    assert all(re.fullmatch(r"avatar://ida-brandt/answers/[\w-]{16}", uri) for uri in uris)


def _span(link: str) -> tuple[str, ...]:
    """The passage, and the characters that a link shows."""
    found = re.search(r"/ida-brandt/passages/(\d+)(?:/(\d+)-(\d+)|\?from=(\d+)&to=(\d+))$", link)
    assert found is not None, link
    return tuple(filter(None, found.groups()))


@pytest.mark.requirement("avatars:response:context")
async def test_a_question_that_points_back_is_understood_from_the_conversation(door: Door) -> None:
    context = [
        {"role": "user", "content": "Who kept the tide tables?"},
        {"role": "assistant", "content": "My assistant Greta Lohse kept the tide tables."},
    ]
    answer = await door.ask("generate_response", question="And what did she notice?", context=context)
    assert "two days later" in answer["response"]
    assert "should_speak" in answer
    aliases = {
        "conversation_context": "My assistant Greta Lohse kept the tide tables.",
        "session_metadata": {"topic": "tides", "participant_count": 3, "platform": "forum"},
    }
    other = await door.ask("generate_response", question="And what did she notice?", **aliases)
    assert "two days later" in other["response"]
    spoken = [{"role": "Anna", "content": "Tell me of Greta Lohse and the tide tables."}]
    third = await door.ask("generate_response", question="And what did she notice?", conversation=spoken)
    assert "two days later" in third["response"]


@pytest.mark.requirement("avatars:grounding:limits")
async def test_what_the_corpus_does_not_cover_is_not_answered(door: Door) -> None:
    answer = await door.ask("generate_response", question="Which football club won the cup final?")
    assert answer["abstained"] is True
    assert answer["reason"] in ("corpus_miss", "out_of_scope")
    assert answer["citations"] == []
    assert answer["confidence"] in ("none", "low")
    assert answer["suggestion"]


@pytest.mark.requirement("avatars:grounding:redirect")
async def test_a_question_for_somebody_else_names_who_knows(door: Door) -> None:
    answer = await door.ask(
        "generate_response", question="How many kilograms of stores does a colony of bees need for the winter?"
    )
    assert answer["abstained"] is True
    assert answer["redirect"] == "tomas-orlik"


@pytest.mark.requirement("avatars:grounding:period")
async def test_what_lies_after_the_period_is_refused_and_later_sources_are_labelled(door: Door) -> None:
    later = await door.ask("generate_response", question="What do you think of the internet and the flood of 1995?")
    assert (later["abstained"], later["reason"]) == (True, "after_period")
    about = await door.ask("generate_response", question="How many volumes do the registers in the museum fill?")
    assert "212 volumes" in about["response"]
    assert "I wrote" not in about["response"], "somebody else's words are not spoken in the first person"
    assert "1976" in about["response"]


@pytest.mark.requirement("avatars:grounding:injection")
async def test_an_order_in_a_document_is_quoted_at_most(quick: Door) -> None:
    answer = await quick.ask("generate_response", question="What did the drunken visitor write into the guest book?")
    said = answer["response"]
    for citation in answer["citations"]:
        said = said.replace(citation["quote"], "")
    assert "sold the gates" not in said
    assert ORDER.split(".")[0] in str(answer["citations"])


@pytest.mark.requirement("avatars:response:passages")
async def test_passages_that_are_handed_in_are_looked_up_in_the_corpus(door: Door) -> None:
    found = await door.ask("query_corpus", query="sluices", limit=1)
    answer = await door.ask("generate_response", question=SLUICES, passages=found["passages"])
    assert {citation["chunk_id"] for citation in answer["citations"]} == {found["passages"][0]["id"]}
    invented = {"content": "The Lower Marsh had 900 sluices, all of them of gold.", "source": "Notes", "page": 1}
    mixed = await door.ask("generate_response", question=SLUICES, passages=[invented, *found["passages"]])
    assert mixed["grounding"]["unverified_passages"] == [0]
    assert "900" not in mixed["response"]
    alone = await door.ask("generate_response", question=SLUICES, passages=[invented])
    assert (alone["abstained"], alone["reason"], alone["citations"]) == (True, "unverified", [])
    assert "gold" not in str(alone)


@pytest.mark.requirement("avatars:info:output")
async def test_an_avatar_says_what_it_is(door: Door) -> None:
    info = await door.ask("get_avatar_info")
    assert list(info)[:6] == ["id", "name", "description", "expertise", "corpus_size", "document_count"]
    assert (info["id"], info["name"], info["description"]) == (KEEPER["id"], KEEPER["name"], KEEPER["description"])
    assert info["expertise"] == KEEPER["expertise"]
    assert info["document_count"] == 3
    assert info["corpus_size"] > 1000
    assert info["corpus_summary"] == KEEPER["corpus"]["description"]


@pytest.mark.requirement("avatars:unknown")
async def test_an_unknown_avatar_is_refused_with_the_nearest_name(quick: Door) -> None:
    for tool, arguments in (("query_corpus", {"query": "x"}), ("get_avatar_info", {})):
        complaint = await quick.complaint(tool, avatar="ida-brand", **arguments)
        assert "Did you mean 'ida-brandt'?" in complaint
        assert "tomas-orlik" in complaint


@pytest.mark.requirement("avatars:which")
async def test_where_there_are_several_the_avatar_has_to_be_named(quick: Door) -> None:
    complaint = await quick.complaint("get_avatar_info")
    assert "There are 2 avatars" in complaint
    assert "ida-brandt, tomas-orlik" in complaint


@pytest.mark.requirement("avatars:alone:no-avatar")
async def test_an_avatar_served_alone_takes_no_avatar_and_shows_no_other(alone: Door) -> None:
    assert "Unknown argument 'avatar'" in await alone.complaint("get_avatar_info", avatar="tomas-orlik")
    reply = await alone.client.request("resources/read", {"uri": "avatar://tomas-orlik"})
    assert "error" in reply.final
    listed = await alone.client.everything("resources/list", "resources")
    assert [entry["uri"] for entry in listed] == ["avatar://ida-brandt", "avatar://ida-brandt/sources"]
