"""The use cases behind the tools, for a named avatar and for an avatar served alone."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, Final

from pentad.kernel.errors import InvalidInput
from pentad.mcp.call import Call
from pentad.mcp.rights import refuse_read_only
from pentad.rooms.avatars.avatar_snapshot import AvatarSnapshot
from pentad.rooms.avatars.interface.arguments import (
    GenerateResponse,
    QueryCorpus,
    RateAnswer,
    VerifyCitation,
    VerifyResponse,
    asked,
)
from pentad.rooms.avatars.interface.presentation import (
    AnswerView,
    CheckedCitationView,
    CheckedDraftView,
    EvidenceView,
    FoundPassages,
    InfoView,
    PromptView,
    RatingView,
    answer_view,
    checked_citation_view,
    checked_draft_view,
    info_view,
    passages_view,
)
from pentad.rooms.avatars.search.conversation import Turn, rewrite_query
from pentad.rooms.avatars.service import Avatars

QUERY: Final = (
    "Retrieve relevant passages from the avatar's corpus using semantic search.\n\n`score` is the probability that a"
    " passage is relevant; threshold 0 returns the whole ranking."
)
QUERY_ALONE: Final = (
    f"{QUERY} `limit` is 1 to 100. Also accepted: `roles`, `year_from`, `year_to` and `sources` as filters,"
    " `max_results` for `limit`, `context` for the conversation so far."
)
"""For servers that list only the original's arguments."""
RESPONSE: Final = (
    "Generate a grounded response based on retrieved passages and conversation context.\n\nEvery statement cites a"
    " passage and was checked against it. Without an answer, the avatar says so and why."
)
RESPONSE_ALONE: Final = (
    f"{RESPONSE} Passages you pass in are checked against the corpus first. Also accepted: `mode` (auto, extractive,"
    " endpoint, client, prompt), `conversation_context` or `conversation` for `context`."
)
INFO: Final = "Return metadata about the avatar."
CHECK_DRAFT: Final = (
    "Check a text drafted in the avatar's name. Each statement gets a verdict (quoted, supported, unsure, unsupported);"
    " wrong quotes and citations are repaired; `response` is what may be said."
)
CHECK_CITATION: Final = "Check that quoted words are in that source, on that page and at that place, or where they are."


def site_of(call: Call[Avatars]) -> str | None:
    """The address of this server, if there is one: the operator's, or the one a call over HTTP came to."""
    platform = call.service.platform
    if platform.public_url is not None:
        return platform.public_url
    return platform.site if call.peer.transport == "http" else None


async def query_corpus(call: Call[Avatars], arguments: QueryCorpus, avatar_id: str | None) -> FoundPassages:
    """Search an avatar's passages."""
    from pentad.rooms.avatars.search.retrieval import retrieve

    query = asked(arguments.query, "query")
    avatar = await call.service.open(avatar_id)
    allowed = await avatar.allowed(arguments.filters)
    asked_for = rewrite_query(query, arguments.turns).query
    found = await retrieve(avatar, asked_for, arguments.most, call.service.similarity, allowed)
    return passages_view(avatar, found, arguments.most, arguments.least)


async def generate_response(call: Call[Avatars], arguments: GenerateResponse, avatar_id: str | None) -> AnswerView:
    """Ask an avatar."""
    service, question = call.service, asked(arguments.question, "question")
    avatar = await service.open(avatar_id)
    turns, given = arguments.turns, arguments.passages or ()
    if arguments.mode == "prompt":
        return await _material(service, avatar, question, turns, given)
    steps = itertools.count(1)

    async def on_progress(text: str) -> None:
        await call.progress(next(steps), message=text)

    if arguments.mode == "client":
        from pentad.rooms.avatars.answers.drafting.drafter import ClientDrafter

        client = ClientDrafter(call)
        pipeline = service.pipeline(avatar, client, "client", client, on_progress)
    elif arguments.mode != "extractive" and (drafter := service.endpoint_drafter()) is not None:
        pipeline = service.pipeline(avatar, drafter, "endpoint", drafter, on_progress)
    elif arguments.mode == "endpoint":
        raise InvalidInput(
            "No language model is configured on this server.",
            hint="Set model_url and model_name in [rooms.avatars], or use mode extractive, client or prompt.",
        )
    elif arguments.mode != "extractive" and call.client_supports("sampling"):
        from pentad.rooms.avatars.answers.drafting.drafter import ClientDrafter

        pipeline = service.pipeline(avatar, translator=ClientDrafter(call), on_progress=on_progress)
    else:
        pipeline = service.pipeline(avatar, on_progress=on_progress)
    answer = await pipeline.answer(question, turns, given)
    return answer_view(
        avatar.id, await service.keep_answer(call.principal, avatar, question, answer), site=site_of(call)
    )


async def get_avatar_info(call: Call[Avatars], avatar_id: str | None) -> InfoView:
    """Describe an avatar."""
    return info_view(await call.service.open(avatar_id), call.service.model)


async def verify_response(call: Call[Avatars], arguments: VerifyResponse, avatar_id: str | None) -> CheckedDraftView:
    """Check a draft."""
    from pentad.rooms.avatars.answers.verify_response import check_draft

    draft: str | Mapping[str, Any] = arguments.draft
    if isinstance(draft, str):
        asked(draft, "draft")
    avatar = await call.service.open(avatar_id)
    checked = await check_draft(avatar, _parsed(draft), arguments.passages, call.service.similarity)
    return checked_draft_view(avatar, checked, site_of(call))


async def verify_citation(call: Call[Avatars], arguments: VerifyCitation, avatar_id: str | None) -> CheckedCitationView:
    """Check a citation."""
    from pentad.rooms.avatars.answers.verify_citation import Cited, check_citation

    asked(arguments.quote, "quote")
    avatar = await call.service.open(avatar_id)
    given = arguments.model_dump(include=set(Cited.__dataclass_fields__))
    return checked_citation_view(avatar, await check_citation(avatar, Cited(**given)))


async def rate_answer(call: Call[Avatars], arguments: RateAnswer) -> RatingView:
    """Store the caller's rating of an answer. Readers may rate, unless the server is read-only."""
    from pentad.rooms.avatars.answers.answer_log import answer_uri, read_answer_uri

    refuse_read_only(call.principal)
    avatar_id, answer_id = read_answer_uri(arguments.answer)
    kept = await call.service.rate(
        call.principal, avatar_id, answer_id, helpful=arguments.helpful, correction=arguments.correction
    )
    return RatingView(
        answer=answer_uri(avatar_id, kept.answer),
        helpful=kept.rating.helpful,
        correction=kept.rating.correction,
        state=kept.state,
    )


async def _material(
    service: Avatars, avatar: AvatarSnapshot, question: str, turns: Sequence[Turn], given: Sequence[Any]
) -> AnswerView:
    """The material for the caller's model, or the avatar's reply if it has no answer."""
    from pentad.rooms.avatars.answers.answer import Answer
    from pentad.rooms.avatars.answers.drafting.drafter import SCHEMA, material

    pipeline = service.pipeline(avatar)
    plan = await pipeline.plan(question, turns, given)
    if plan.decision.reason is not None or (plan.given is not None and not plan.given.passages):
        return answer_view(avatar.id, await pipeline.answer(question, turns, given), "prompt")
    made = material(avatar.persona, question, [scored.passage for scored in plan.decision.passages], turns)
    prompt = PromptView(
        system=made.prompt.system,
        question=made.prompt.question,
        answer_schema=dict(SCHEMA),
        evidence=[EvidenceView.model_validate(entry) for entry in made.listed()],
        passages=list(made.passages),
    )
    empty = Answer(
        response=made.as_text(),
        citations=(),
        confidence="none",
        confidence_score=0.0,
        abstained=False,
        mode="extractive",
        ai_label=avatar.persona.label,
        retrieval=plan.found.retrieval,
        query=plan.search.query,
    )
    return answer_view(avatar.id, empty, "prompt", prompt)


def _parsed(draft: str | Mapping[str, Any]) -> str | dict[str, Any]:
    """The draft, parsed if it looks like JSON."""
    if not isinstance(draft, str):
        return dict(draft)
    if not draft.lstrip().startswith(("{", "```")):
        return draft
    from pentad.rooms.avatars.verification.drafts import LONGEST_DRAFT, from_reply

    if len(draft) > LONGEST_DRAFT:
        return draft
    read = from_reply(draft)
    return {
        "statements": [{"text": one.text, "support": list(one.support)} for one in read.statements],
        "abstain": read.abstain,
    }
