"""The tools of the room, for any avatar: the original's three and Pentad's own."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import Field

from pentad.mcp.app_views import AppView
from pentad.mcp.arguments import Arguments
from pentad.mcp.call import Call
from pentad.mcp.declarations import tool
from pentad.rooms.avatars.interface import use_cases
from pentad.rooms.avatars.interface.arguments import (
    AVATAR,
    INFO_SCHEMA,
    QUERY_MORE,
    QUERY_SCHEMA,
    RESPONSE_MORE,
    RESPONSE_SCHEMA,
    AskPanel,
    GenerateResponse,
    ListAvatars,
    QueryCorpus,
    RateAnswer,
    VerifyCitation,
    VerifyResponse,
    asked,
    extended,
    listed,
    turns_of,
)
from pentad.rooms.avatars.interface.presentation import (
    AnswerView,
    AvatarListed,
    AvatarsListed,
    CheckedCitationView,
    CheckedDraftView,
    FoundPassages,
    InfoView,
    PanelView,
    RatingView,
    panel_view,
    routes_view,
)
from pentad.rooms.avatars.service import MOST_ASKED, Avatars

if TYPE_CHECKING:
    from pentad.kernel.pages import Sheet

SECONDS: Final = 120.0
"""Timeout of a tool that may wait for a language model."""

Which = Annotated[str | None, Field(description=AVATAR["avatar"]["description"])]


class QueryOf(QueryCorpus):
    avatar: Which = None


class ResponseOf(GenerateResponse):
    avatar: Which = None


class InfoOf(Arguments):
    avatar: Which = None


class DraftOf(VerifyResponse):
    avatar: Which = None


class CitationOf(VerifyCitation):
    avatar: Which = None


@tool(
    "query_corpus", title="Search a corpus", description=use_cases.QUERY, read_only=True, omit_none=False,
    tags=("search",), input_schema=extended(QUERY_SCHEMA, AVATAR, QUERY_MORE), rare=("roles", "sources"),
)  # fmt: skip
async def query_corpus(arguments: QueryOf, call: Call[Avatars]) -> FoundPassages:
    return await use_cases.query_corpus(call, arguments, arguments.avatar)


async def _show_answer(call: Call[Avatars], arguments: ResponseOf, found: Mapping[str, Any]) -> "Sheet | None":
    """The view of an answer."""
    if arguments.mode == "prompt":
        return None
    from pentad.rooms.avatars.interface.answer_blocks import answer_sheet

    avatar = await call.service.open(str(found["avatar"]))
    return await answer_sheet(avatar, arguments.question, AnswerView.model_validate(found))


@tool(
    "generate_response", title="Ask an avatar", description=use_cases.RESPONSE, read_only=True, omit_none=False,
    input_schema=extended(RESPONSE_SCHEMA, AVATAR, RESPONSE_MORE), seconds=SECONDS, rare=("mode",),
    view=AppView("answer", "Answer of an avatar", _show_answer),
)  # fmt: skip
async def generate_response(arguments: ResponseOf, call: Call[Avatars]) -> AnswerView:
    return await use_cases.generate_response(call, arguments, arguments.avatar)


@tool(
    "get_avatar_info", title="About an avatar", description=use_cases.INFO, read_only=True,
    input_schema=extended(INFO_SCHEMA, AVATAR),
)  # fmt: skip
async def get_avatar_info(arguments: InfoOf, call: Call[Avatars]) -> InfoView:
    return await use_cases.get_avatar_info(call, arguments.avatar)


@tool(
    "verify_response", title="Check a draft", description=use_cases.CHECK_DRAFT, read_only=True, omit_none=False,
    listed="room",
)  # fmt: skip
async def verify_response(arguments: DraftOf, call: Call[Avatars]) -> CheckedDraftView:
    return await use_cases.verify_response(call, arguments, arguments.avatar)


@tool(
    "verify_citation", title="Check a citation", description=use_cases.CHECK_CITATION, read_only=True, omit_none=False,
    listed="room",
)  # fmt: skip
async def verify_citation(arguments: CitationOf, call: Call[Avatars]) -> CheckedCitationView:
    return await use_cases.verify_citation(call, arguments, arguments.avatar)


@tool("ask_panel", title="Ask several avatars", read_only=True, omit_none=False, listed="room")
async def ask_panel(arguments: AskPanel, call: Call[Avatars]) -> PanelView:
    """Ask several avatars one question. Each answers from its own corpus; agreeing and differing quotes are paired."""
    question = asked(arguments.question, "question")
    members, turns = listed(arguments.avatars, MOST_ASKED), turns_of(arguments.context)
    found = await call.service.panel(call.principal, question, members, turns)
    return panel_view(found, use_cases.site_of(call))


@tool(
    "rate_answer", title="Rate an answer", action="read", destructive=False, idempotent=True, listed="room"
)  # fmt: skip
async def rate_answer(arguments: RateAnswer, call: Call[Avatars]) -> RatingView:
    """Rate an answer you received. The avatar's author sees it and may let the scores learn from it."""
    return await use_cases.rate_answer(call, arguments)


@tool("list_avatars", title="List avatars", read_only=True)
async def list_avatars(arguments: ListAvatars, call: Call[Avatars]) -> AvatarsListed:
    """List the avatars. With a question, those most likely to answer it come first."""
    every = [
        AvatarListed(
            id=one.id,
            name=one.name,
            description=one.description,
            document_count=one.documents,
            passage_count=one.passages,
        )
        for one in await call.service.list()
    ]
    if arguments.question is None:
        return AvatarsListed(avatars=every)
    return routes_view(every, await call.service.routes(asked(arguments.question, "question")))


TOOLS: Final = (
    query_corpus,
    generate_response,
    get_avatar_info,
    verify_response,
    verify_citation,
    ask_panel,
    rate_answer,
    list_avatars,
)
