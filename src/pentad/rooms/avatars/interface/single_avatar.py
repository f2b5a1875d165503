"""One avatar served alone, with its own name, version and list of tools. No tool takes `avatar`."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from pentad.mcp.arguments import Arguments
from pentad.mcp.call import Call
from pentad.mcp.declarations import Prompt, Tool, tool
from pentad.platform import OpenRoom, Room
from pentad.rooms.avatars import store
from pentad.rooms.avatars.interface import use_cases
from pentad.rooms.avatars.interface.arguments import (
    INFO_SCHEMA,
    QUERY_SCHEMA,
    RESPONSE_SCHEMA,
    GenerateResponse,
    QueryCorpus,
    VerifyCitation,
    VerifyResponse,
)
from pentad.rooms.avatars.interface.presentation import (
    AnswerView,
    CheckedCitationView,
    CheckedDraftView,
    FoundPassages,
    InfoView,
)
from pentad.rooms.avatars.interface.prompts import ask_this_avatar, grounded_answer_here
from pentad.rooms.avatars.interface.tools import SECONDS
from pentad.rooms.avatars.service import Avatars, find_avatar

if TYPE_CHECKING:
    from pentad.rooms.avatars.config import AvatarConfig


class Nothing(Arguments):
    """No arguments."""


@tool("query_corpus", title="Search the corpus", description=use_cases.QUERY_ALONE, read_only=True, omit_none=False,
      input_schema=QUERY_SCHEMA)  # fmt: skip
async def query_corpus(arguments: QueryCorpus, call: Call[Avatars]) -> FoundPassages:
    return await use_cases.query_corpus(call, arguments, None)


@tool("generate_response", title="Ask the avatar", description=use_cases.RESPONSE_ALONE, read_only=True,
      omit_none=False, input_schema=RESPONSE_SCHEMA, seconds=SECONDS)  # fmt: skip
async def generate_response(arguments: GenerateResponse, call: Call[Avatars]) -> AnswerView:
    return await use_cases.generate_response(call, arguments, None)


@tool("get_avatar_info", title="About the avatar", description=use_cases.INFO, read_only=True, input_schema=INFO_SCHEMA)
async def get_avatar_info(arguments: Nothing, call: Call[Avatars]) -> InfoView:
    return await use_cases.get_avatar_info(call, None)


@tool("verify_response", title="Check a draft", description=use_cases.CHECK_DRAFT, read_only=True, omit_none=False)
async def verify_response(arguments: VerifyResponse, call: Call[Avatars]) -> CheckedDraftView:
    return await use_cases.verify_response(call, arguments, None)


@tool(
    "verify_citation", title="Check a citation", description=use_cases.CHECK_CITATION, read_only=True, omit_none=False
)
async def verify_citation(arguments: VerifyCitation, call: Call[Avatars]) -> CheckedCitationView:
    return await use_cases.verify_citation(call, arguments, None)


TOOLS: Final = (query_corpus, generate_response, get_avatar_info, verify_response, verify_citation)


async def one_avatar(whole: Room[Avatars], avatars: Avatars, avatar_id: str) -> OpenRoom:
    """The room of one avatar; NotFound if there is none. Returns the same object until the avatar changes."""
    known = avatars.served.get(avatar_id)
    if known is not None and known[0] == await avatars.database.lookup(store.VERSION, avatar_id):
        return known[1]
    avatar = await avatars.database.read(lambda rows: find_avatar(rows, avatar_id))
    made = OpenRoom(_room(whole, avatar.config), avatars.alone(avatar_id))
    avatars.served[avatar_id] = ((avatar.number, avatar.generation), made)
    return made


def _room(whole: Room[Avatars], config: "AvatarConfig") -> Room[Any]:
    tools = offered(config)
    return replace(
        whole,
        title=config.name,
        instructions=(
            f"{config.name}: {config.description} An AI avatar that answers from its corpus alone, with citations, and"
            " says so when the corpus is silent."
        ),
        tools=tools,
        prompts=_prompts([one.name for one in tools] if config.tools is None else config.tools),
        identity=(config.server_name, config.server_version),
    )


def offered(config: "AvatarConfig") -> list[Tool]:
    """The tools the configuration lists, in its order; all tools if it lists none.

    A caller who may ask the avatar may also check a draft, because mode `prompt` of `generate_response` needs it.
    """
    known = {one.name: one for one in TOOLS}
    if config.tools is None:
        return list(TOOLS)
    more = [verify_response.name] if generate_response.name in config.tools else []
    return [known[name] for name in dict.fromkeys((*config.tools, *more)) if name in known]


def _prompts(names: Sequence[str]) -> list[Prompt]:
    """The prompts whose tools the configuration lists."""
    needs = ((ask_this_avatar, "generate_response"), (grounded_answer_here, "verify_response"))
    return [one for one, needed in needs if needed in names]
