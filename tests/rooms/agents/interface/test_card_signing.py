"""Signed contexts: those that go out by the key of the cards, those that come in by keys the operator trusts."""

import json
from pathlib import Path
from typing import Any

import pytest
from joserfc.jwk import ECKey, KeySet

from pentad.app import open_app
from pentad.kernel.errors import Conflict, InvalidInput, Misconfigured
from pentad.kernel.principal import LOCAL
from pentad.net.addresses import networks
from pentad.net.fetch_policy import FetchPolicy
from pentad.rooms.agents.context.integrity import check_seal, seal_items
from pentad.rooms.agents.context.outbound import prepare_context
from pentad.rooms.agents.keys import card_keys, context_keys
from pentad.rooms.agents.models import Message, Part
from pentad.settings.model import Settings
from tests.rooms.agents.interface.conftest import Caller, Other

pytestmark = pytest.mark.anyio

ITEMS = {"a": {"mediaType": "application/json", "content": {"n": 42}}, "b": {"content": "x", "mediaType": "text/plain"}}


def settings(folder: Path, **room: Any) -> Settings:
    return Settings(
        data=folder / "own",
        rooms=("agents",),
        auth="none",
        fetch=FetchPolicy(allow_networks=networks("127.0.0.0/8"), allow_http=True),
        room_tables={"agents": room},
    )


def said(context: dict[str, Any]) -> Message:
    return Message(id="m", role="user", parts=(Part(text="x"),), metadata={"mcp_context": context})


@pytest.mark.requirement("agents:context:signed-out")
async def test_a_context_that_goes_elsewhere_is_signed_by_the_key_of_the_cards(tmp_path: Path, other: Other) -> None:
    keys = tmp_path / "keys.json"
    keys.write_text(json.dumps({other.site.removeprefix("http://"): other.key}), encoding="utf-8")
    async with open_app(settings(tmp_path, agent_keys=str(keys), sign_contexts="yes")) as app, app.client() as client:
        place = f"{other.site}/agents/echo/.well-known/agent-card.json"
        await Caller(client)("agents_send_task", agent=place, text="hello", context={"items": ITEMS})
        public = KeySet.import_key_set(app.rooms[0].service.cards.signer.keys()).keys
    body = await other.app.database.read(lambda rows: bytes(rows.value("SELECT body FROM agent_events WHERE seq = 1")))
    context = json.loads(body)["message"]["metadata"]["mcp_context"]

    check_seal(context["items"], context["integrity"], public)
    with pytest.raises(Conflict):
        check_seal(context["items"], context["integrity"], [ECKey.generate_key("P-256")])


@pytest.mark.requirement("agents:context:signed-in")
async def test_where_keys_are_trusted_only_contexts_they_signed_are_taken(tmp_path: Path) -> None:
    mine, stranger = ECKey.generate_key("P-256"), ECKey.generate_key("P-256")
    file = tmp_path / "trusted.json"
    file.write_text(json.dumps({"keys": [mine.as_dict(private=False)]}), encoding="utf-8")
    async with open_app(settings(tmp_path, context_keys=str(file))) as app:
        accept = app.rooms[0].service.intake.accept
        signed = seal_items(ITEMS, mine, "ES256")
        assert (await accept(LOCAL, said({"items": ITEMS, "integrity": signed}))).metadata
        assert (await accept(LOCAL, Message(id="m", role="user", parts=(Part(text="x"),)))).id == "m"
        for wrong in (
            {"items": ITEMS},
            {"items": ITEMS, "integrity": seal_items(ITEMS)},
            {"items": ITEMS, "integrity": seal_items(ITEMS, stranger, "ES256")},
            {"items": {**ITEMS, "b": {"content": "y", "mediaType": "text/plain"}}, "integrity": signed},
        ):
            for level in ("lenient", "standard", "strict"):
                with pytest.raises((Conflict, InvalidInput)):
                    await accept(LOCAL, said(wrong), level)


@pytest.mark.parametrize("text", ["", "[]", '{"keys": []}', '{"keys": [{"kty": "odd"}]}'])
async def test_a_file_without_keys_is_a_mistake_of_the_settings(tmp_path: Path, text: str) -> None:
    file = tmp_path / "trusted.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(Misconfigured, match="context_keys"):
        async with open_app(settings(tmp_path, context_keys=str(file))):
            pass


@pytest.mark.parametrize("read", [card_keys, context_keys])
def test_a_file_that_is_not_there_is_named_by_its_setting_and_not_by_its_path(read: Any, tmp_path: Path) -> None:
    with pytest.raises(Misconfigured) as refused:
        read(str(tmp_path / "none.json"))
    assert f"rooms.agents.{read.__name__}" in refused.value.sentence()
    assert str(tmp_path) not in refused.value.sentence()


def test_a_seal_is_passed_on_as_long_as_it_holds() -> None:
    seal = seal_items(ITEMS)
    assert prepare_context({"items": ITEMS, "integrity": seal}).context == {"items": ITEMS, "integrity": seal}
    with pytest.raises(Conflict):
        prepare_context({"items": {"a": ITEMS["a"]}, "integrity": seal})
    secret = {"c": {"content": "ghp_" + "a1B2c3D4e5F6" * 3, "mediaType": "text/plain"}}
    masked = prepare_context({"items": secret, "integrity": seal_items(secret)}).context
    assert masked is not None
    assert "integrity" not in masked, "what was sealed is not what is sent"
