"""No secret in a source reaches its record; the caller decides about possible secrets."""

import base64
import json
import string
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pentad.kernel.errors import InvalidInput
from pentad.kernel.principal import LOCAL
from pentad.rooms.directory.oasf.validator import validate
from pentad.rooms.directory.translate import host_configs
from pentad.rooms.directory.translate.envelope import Doubt
from pentad.rooms.directory.translate.formats import export_format, export_record, import_format, parse_source
from pentad.rooms.directory.translate.formats import import_record as imported
from pentad.rooms.directory.translate.import_pipeline import Importer, ImportOptions
from pentad.rooms.directory.translate.losses import Translated
from pentad.rooms.directory.translate.secret_redaction import SuspiciousSource
from tests.rooms.directory.oasf.samples import sample
from tests.rooms.directory.translate.harmless_sources import HARMLESS, Harmless
from tests.rooms.directory.translate.secret_shapes import (
    GITHUB,
    HEX,
    MIXED,
    OPENAI,
    SHAPES,
    UUID,
    WORD,
    Shape,
    Source,
    package,
    reached,
    started,
)
from tests.rooms.directory.translate.sources import CARD, CONFIG, SERVER, SKILL, zipped


def text_of(source: Source) -> str:
    return source if isinstance(source, str) else json.dumps(source)


def record_of(form: str, source: Source, doubt: Doubt = "refuse") -> Translated[dict[str, Any]]:
    known = import_format(form)
    return imported(known, parse_source(known, text_of(source)), doubt=doubt)


def everything_in(record: dict[str, Any]) -> str:
    """A record with the sources it carries, in all spellings a secret could have in it."""
    carried = [base64.b64decode(one["artifact"]["data"]).decode() for one in record["modules"] if "artifact" in one]
    return "\n".join([json.dumps(record), json.dumps(record, ensure_ascii=False), *carried])


def survivors(secrets: tuple[str, ...], text: str) -> list[str]:
    return [one for one in secrets if one in text or json.dumps(one)[1:-1] in text]


def answer_to(form: str, source: Source, doubt: Doubt) -> str:
    """Everything that comes of an import: the record and the losses, or the error."""
    try:
        record, losses = record_of(form, source, doubt)
    except InvalidInput as error:
        return json.dumps(error.as_json(), ensure_ascii=False)
    return everything_in(record) + json.dumps([loss.as_json() for loss in losses], ensure_ascii=False)


@pytest.mark.requirement("dir:import:secrets")
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.id)
def test_a_secret_of_a_source_is_withheld_and_reported(shape: Shape):
    if not shape.certain:
        with pytest.raises(SuspiciousSource) as refused:
            record_of(shape.form, shape.source)
        assert not survivors(shape.secrets, json.dumps(refused.value.as_json()) + str(refused.value))
        assert refused.value.suspicious
        kept, _ = record_of(shape.form, shape.source, "keep")
        assert survivors(shape.secrets, everything_in(kept)), "the caller says it is none"
    record, losses = record_of(shape.form, shape.source, "refuse" if shape.certain else "withhold")
    told = [loss.as_json() for loss in losses if loss.withheld]
    assert not survivors(shape.secrets, everything_in(record) + json.dumps(told))
    assert told
    assert {one["path"] for one in told} >= set(shape.paths)
    assert all(one["withheld"] for one in told)
    record["skills"] = sample("1.0.0")["skills"]
    assert validate(record).errors == [], "the record is still useful"


@pytest.mark.requirement("dir:import:harmless")
@pytest.mark.parametrize("harmless", HARMLESS, ids=lambda harmless: harmless.id)
def test_a_harmless_source_passes_as_it_is(harmless: Harmless):
    record, losses = record_of(harmless.form, harmless.source)
    assert losses == []
    exported, _ = export_record(export_format(harmless.form), record)
    assert exported == harmless.source if isinstance(harmless.source, str) else json.loads(exported) == harmless.source


@pytest.mark.requirement("dir:import:secrets")
def test_what_is_withheld_is_asked_for_instead():
    record, _ = record_of("claude", started("x", "--api-key", WORD, API_TOKEN=WORD, MODE="fast"))
    (connection,) = record["modules"][0]["data"]["connections"]
    assert connection["args"] == ["x", "--api-key", "${input:api-key}"]
    variables = {one["name"]: one for one in connection["env_vars"]}
    assert variables["API_TOKEN"]["required"] is True
    assert "default_value" not in variables["API_TOKEN"]
    assert variables["MODE"]["default_value"] == "fast"
    asked = host_configs.to_copilot(record).result
    assert {one["id"] for one in asked["inputs"]} == {"api-key", "API_TOKEN"}
    record, _ = record_of("cursor", reached(f"https://x.example.org/mcp?v=2&key={HEX}", Authorization=f"Bearer {WORD}"))
    (connection,) = record["modules"][0]["data"]["connections"]
    assert connection["url"] == "https://x.example.org/mcp?v=2&key={key}"
    assert connection["headers"] == {"Authorization": "Bearer {Authorization}"}
    made = package(environmentVariables=[{"name": "API_KEY", "value": WORD}])
    server = record_of("mcp", made).result["modules"][0]["data"]["mcp_data"]
    assert server["packages"][0]["environmentVariables"] == [{"name": "API_KEY", "isRequired": True, "isSecret": True}]


@pytest.mark.requirement("dir:import:secrets")
def test_two_secrets_are_two_questions():
    record, _ = record_of("claude", started("x", GITHUB, GITHUB[:-1] + "x", "--token", WORD, f"--token={WORD}"))
    (connection,) = record["modules"][0]["data"]["connections"]
    assert connection["args"] == [
        *("x", "${input:github-token}", "${input:github-token-2}"),
        *("--token", "${input:token}", "--token=${input:token-2}"),
    ]


@pytest.mark.requirement("dir:import:secrets")
def test_withholding_twice_changes_nothing_more():
    for shape in SHAPES:
        record, _ = record_of(shape.form, shape.source, "withhold")
        text, _ = export_record(export_format(shape.form), record)
        assert [loss for loss in record_of(shape.form, text).losses if loss.withheld] == [], shape.id


@pytest.mark.anyio
@pytest.mark.requirement("dir:import:secrets", "dir:import:suspicious")
async def test_a_bundle_withholds_what_its_skill_says_and_a_record_is_refused_whole(importer: Importer):
    archive = zipped({"SKILL.md": SKILL + f"export OPENAI_API_KEY={OPENAI}\n", "scripts/x.py": f"KEY = '{OPENAI}'"})
    made = await importer.import_one(LOCAL, archive)
    assert made.status == "imported"
    assert OPENAI not in everything_in(made.record)
    assert made.as_json()["withheld"]
    record = {**sample("1.0.0"), "description": f"Reads papers with {OPENAI}."}
    refused = await importer.import_one(LOCAL, json.dumps(record))
    assert (refused.status, refused.record) == ("suspicious", {}), "withholding would make it another record"
    assert OPENAI not in json.dumps(refused.as_json())
    kept = await importer.import_one(LOCAL, record, options=ImportOptions(doubt="keep"))
    assert (kept.status, kept.record) == ("imported", record)


@pytest.mark.anyio
@pytest.mark.requirement("dir:import:suspicious")
async def test_what_may_be_a_secret_is_stored_only_when_the_caller_decides(importer: Importer):
    source = started("x", CONTEXT=MIXED)
    for dry_run in (True, False):
        refused = await importer.import_one(LOCAL, source, options=ImportOptions(dry_run=dry_run))
        assert (refused.status, refused.cid) == ("suspicious", "")
        told = refused.as_json()
        assert [one["path"] for one in told["suspicious"]] == ["mcpServers.notes.env.CONTEXT"]
        assert MIXED not in json.dumps(told)
        assert "withhold" in " ".join(told["errors"])
    withheld = await importer.import_one(LOCAL, source, options=ImportOptions(doubt="withhold"))
    kept = await importer.import_one(LOCAL, source, options=ImportOptions(doubt="keep"))
    assert (withheld.status, kept.status) == ("imported", "imported")
    assert MIXED not in everything_in(withheld.record)
    assert MIXED in everything_in(kept.record)


_WORDS = string.ascii_letters + string.digits


def _token(prefix: str, length: int, alphabet: str = _WORDS) -> st.SearchStrategy[str]:
    # A digit and both cases, as every issuer's tokens have: a row of small letters could be a word.
    body = st.text(alphabet, min_size=length, max_size=length)
    return body.map(lambda text: prefix + "a1B"[: 3 if alphabet is _WORDS else 0] + text)


tokens = st.one_of(
    _token("ghp_", 36), _token("github_pat_", 40), _token("glpat-", 20), _token("sk-ant-api03-", 40),
    _token("sk-proj-", 40), _token("xoxb-", 24, string.digits), _token("AIza", 32), _token("sk_live_", 24),
    _token("AKIA", 16, string.ascii_uppercase + string.digits), _token("hf_", 34), _token("npm_", 36),
    _token("gsk_", 40),
    st.builds(lambda a, b: f"eyJhbGciOiJIUzI1NiJ9.eyJ{a}.{b}", _token("", 20), _token("", 30)),
)  # fmt: skip
"""Secrets that are known by their form."""

passwords = st.text(_WORDS + "$!#@%+=", min_size=9, max_size=30).filter(
    lambda text: any(one.isdigit() for one in text) and any(one.isalpha() for one in text)
)
NAMES = ("password", "API_KEY", "apiKey", "access-token", "CLIENT_SECRET", "githubToken", "x-api-key", "DB_PASSWD")


def places(value: Any, put: Callable[[Any], None]) -> Iterator[tuple[Any, Callable[[Any], None]]]:
    """Every value below a value, with what replaces it."""
    yield value, put
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, lambda new, key=key: value.__setitem__(key, new))


WAYS: tuple[Callable[[Any, str], Any], ...] = (
    lambda _, secret: secret,
    lambda old, secret: f"{old} {secret}" if isinstance(old, str) else secret,
    lambda old, secret: f"{secret}, {old}" if isinstance(old, str) else [secret],
    lambda _, secret: f"https://x.example.org/mcp/{secret}/sse",
    lambda _, secret: f"https://x.example.org/mcp?x={secret}#top",
    lambda _, secret: f"Bearer {secret}",
    lambda _, secret: f"--x={secret}",
    lambda _, secret: f'{{"x": "{secret}"}}',
    lambda old, secret: {**old, "x": secret} if isinstance(old, dict) else {"x": secret},
    lambda old, secret: {**old, secret: "x"} if isinstance(old, dict) else {secret: "x"},
    lambda old, secret: [*old, secret] if isinstance(old, list) else ["x", {"y": [secret]}],
)


@pytest.mark.requirement("dir:import:secrets")
@given(data=st.data(), secret=tokens, way=st.sampled_from(WAYS))
def test_no_known_token_survives_anywhere(data: st.DataObject, secret: str, way: Callable[[Any, str], Any]):
    form, base = data.draw(st.sampled_from([("mcp", SERVER), ("a2a", CARD), ("ghcopilot", CONFIG), ("vscode", CONFIG)]))
    root = {"source": deepcopy(base)}
    found = list(places(root["source"], lambda new: root.__setitem__("source", new)))[1:]
    old, put = found[data.draw(st.integers(0, len(found) - 1))]
    put(way(old, secret))
    for doubt in ("refuse", "withhold"):
        assert secret not in answer_to(form, root["source"], doubt)


@pytest.mark.requirement("dir:import:secrets")
@given(secret=tokens, at=st.integers(0, len(SKILL)))
def test_no_known_token_survives_in_a_skill(secret: str, at: int):
    text = f"{SKILL[:at]} {secret} {SKILL[at:]}"
    assert secret not in answer_to("agentskills", text, "withhold")


NAMED: tuple[Callable[[str, str], tuple[str, Source]], ...] = (
    lambda name, value: ("claude", started("x", **{name: value})),
    lambda name, value: ("cursor", reached("https://x.example.org", **{name: value})),
    lambda name, value: ("claude", started("x", f"--{name}", value)),
    lambda name, value: ("claude", started("x", f"--{name}={value}")),
    lambda name, value: ("claude", started("run", "-e", f"{name}={value}", "img")),
    lambda name, value: ("mcp", package(environmentVariables=[{"name": name, "value": value}])),
    lambda name, value: ("mcp", package(packageArguments=[{"type": "named", "name": f"--{name}", "default": value}])),
    lambda name, value: ("a2a", {**CARD, "metadata": {name: value}}),
    lambda name, value: ("a2a", {**CARD, "metadata": {"x": [{name: [value]}]}}),
)


@pytest.mark.requirement("dir:import:secrets")
@given(value=passwords, name=st.sampled_from(NAMES), place=st.sampled_from(NAMED))
def test_no_value_under_a_telling_name_survives(value: str, name: str, place: Callable[..., tuple[str, Source]]):
    form, source = place(name, value)
    assert not survivors((value,), answer_to(form, source, "withhold"))


@pytest.mark.requirement("dir:import:harmless")
@given(number=st.uuids())
def test_ids_in_addresses_are_no_secrets(number: Any):
    source = reached(f"https://mcp.example.org/tenants/{number}/mcp")
    assert record_of("cursor", source).losses == []
    assert UUID not in everything_in(record_of("cursor", source).result)
