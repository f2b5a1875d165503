"""Routes for `pentad avatars ingest`, `eval`, `feedback` and `publish` with --url.

They do what the commands do on a local store.
"""

from typing import Any, Final

from starlette.requests import Request
from starlette.routing import BaseRoute

from pentad.kernel.errors import InvalidInput
from pentad.kernel.principal import Principal
from pentad.net.multipart import is_form, read_form
from pentad.platform import Operation, Parameter, is_yes, protected_route
from pentad.rooms.avatars.corpus.ingest import IngestOptions
from pentad.rooms.avatars.corpus.upload import MOST_FILES, unpack
from pentad.rooms.avatars.interface.feedback_review import evaluation_of, feedback_of, review_ratings
from pentad.rooms.avatars.interface.publication import publish_records, records_of
from pentad.rooms.avatars.service import Avatars

_PATH: Final = "/api/avatars"
_AVATAR: Final = Parameter("avatar", "The avatar, by id; needed only where there are several.")
_SOME: Final = Parameter("avatar", "Only this avatar; without it all of them.")
_STATE: Final = Parameter("state", "new (the default), accepted or rejected.")
_INGEST: Final = Operation(
    "Create or update an avatar from its folder (config.json and corpus/...), or add documents to one.",
    "avatars",
    (
        Parameter("avatar", "Add the files to this avatar; without it the files are an avatar's own folder."),
        Parameter("uri", "A resource of any room to add to the avatar, instead of files; may be repeated."),
        Parameter("source", "Only the source of this id."),
        Parameter("dry_run", "true: read the documents, change nothing.", "boolean"),
        Parameter("force", "true: read and embed again what has not changed.", "boolean"),
    ),
    uploads=("multipart/form-data",),
)


def command_routes(avatars: Avatars) -> list[BaseRoute]:
    """All routes."""
    one_at_a_time = avatars.author_work

    async def ingest(request: Request, principal: Principal) -> dict[str, Any]:
        query, content_type = request.query_params, request.headers.get("content-type", "")
        uris = query.getlist("uri")
        if len(uris) > MOST_FILES or (uris and not query.get("avatar")):
            raise InvalidInput(f"References need an avatar, and at most {MOST_FILES} are added at once.")
        if not uris and not is_form(content_type):
            raise InvalidInput("The files are missing.", hint="Send a form: -F file=@config.json;filename=config.json")
        options = IngestOptions(
            query.get("source") or None, is_yes(query.get("dry_run")), is_yes(query.get("force"))
        )  # fmt: skip
        avatar = query.get("avatar") or ""
        if not is_form(content_type):
            async with one_at_a_time:
                return (await avatars.add(avatar, [], options, uris=uris, caller=principal)).as_json()
        async with (
            read_form(request.stream(), content_type, most_parts=MOST_FILES) as form,
            unpack(form.files) as folder,
            one_at_a_time,
        ):
            if avatar:
                return (await avatars.add(avatar, [folder], options, uris=uris, caller=principal)).as_json()
            return (await avatars.ingest(folder, options, caller=principal)).as_json()

    async def evaluate(request: Request, _principal: Principal) -> dict[str, Any]:
        from pentad.rooms.avatars.evaluation.author_questions import read_questions
        from pentad.rooms.avatars.evaluation.score_card import read_goals

        query, body = request.query_params, await request.body()
        await avatars.open(query.get("avatar") or None)  # a missing avatar is reported before bad questions
        questions = read_questions(body) if body else ()
        goals = read_goals(query.getlist("goal"), with_questions=bool(questions))
        async with one_at_a_time:
            card = await avatars.evaluate(query.get("avatar") or None, questions=questions, goals=goals)
        return card.as_json()

    async def evaluation(request: Request, _principal: Principal) -> dict[str, Any]:
        return await evaluation_of(avatars, request.query_params.get("avatar") or None)

    async def feedback(request: Request, _principal: Principal) -> dict[str, Any]:
        return await feedback_of(avatars, request.query_params.get("avatar") or None, request.query_params.get("state"))

    async def review(request: Request, _principal: Principal) -> dict[str, Any]:
        query = request.query_params
        async with one_at_a_time:
            return await review_ratings(
                avatars, query.get("avatar") or None, query.getlist("accept"), query.getlist("reject")
            )

    async def records(request: Request, _principal: Principal) -> dict[str, Any]:
        found = await records_of(avatars, request.query_params.get("avatar") or None, avatars.platform.site)
        return {"records": [record for _, record in found]}

    async def publish(request: Request, principal: Principal) -> dict[str, Any]:
        avatar, site = request.query_params.get("avatar") or None, avatars.platform.site
        return {"published": await publish_records(avatars, principal, avatar, site)}

    examination = Operation(
        "Evaluate an avatar on its own corpus, and with the questions sent as JSON. The score card is stored.",
        "avatars",
        (_AVATAR, Parameter("goal", "A goal of your own, as ID=NUMBER; may be repeated.")),
    )
    showing = Operation("The last score card of an avatar.", "avatars", (_AVATAR,))
    ratings = Operation("The ratings of an avatar's answers.", "avatars", (_AVATAR, _STATE))
    reviewing = Operation(
        "Accept or reject ratings. The scores are fitted to accepted ones only.",
        "avatars",
        (
            _AVATAR,
            Parameter("accept", "The id of a rated answer; may be repeated."),
            Parameter("reject", "The id of a rated answer; may be repeated."),
        ),
    )
    printing = Operation("The OASF record of each avatar.", "avatars", (_SOME,))
    publication = Operation("Push an OASF record of each avatar to the directory.", "avatars", (_SOME,))
    return [
        protected_route("POST", f"{_PATH}/ingest", "avatars:write", _INGEST, ingest),
        protected_route("POST", f"{_PATH}/eval", "avatars:write", examination, evaluate),
        protected_route("GET", f"{_PATH}/eval", "avatars:read", showing, evaluation),
        protected_route("GET", f"{_PATH}/feedback", "avatars:write", ratings, feedback),
        protected_route("POST", f"{_PATH}/feedback", "avatars:write", reviewing, review),
        protected_route("GET", f"{_PATH}/records", "avatars:read", printing, records),
        protected_route("POST", f"{_PATH}/publish", "avatars:write", publication, publish),
    ]
