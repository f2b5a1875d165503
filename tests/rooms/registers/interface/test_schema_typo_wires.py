"""Typos in schemas, and properties that a closed schema does not have, over REST and from a terminal."""

from pathlib import Path

import pytest

from tests.rooms.registers.interface.terminal import Terminal
from tests.rooms.registers.site import Object, Site

TYPOS: Object = {
    "title": "Thing",
    "slug": "thing",
    "properties": {"name": {"type": "string", "minLenght": 3}, "day": {"type": "string", "format": "dat"}},
    "required": ["zz"],
}
PLACES = {"/required", "/properties/name/minLenght", "/properties/day/format"}
CLOSED: Object = {"properties": {"name": {"type": "string"}}, "additionalProperties": False}


@pytest.mark.anyio
@pytest.mark.requirement("registers:warnings:schema")
@pytest.mark.parametrize("verb", ["POST", "PUT", "PATCH"])
async def test_rest_reports_required_names_without_a_property_and_misspelt_keywords(site: Site, verb: str) -> None:
    body = {name: value for name, value in TYPOS.items() if name != "slug"}
    if verb == "POST":
        saved = await site.made("/schemas", body)
    else:
        made = await site.made("/schemas", {"title": "Thing"})
        reply = await site.send(verb, f"/api/schemas/{made['id']}", body)
        assert reply.status == 200, reply.body
        saved = reply.json
    warnings = {one["path"]: one for one in saved["warnings"]}
    assert warnings.keys() == PLACES
    assert "zz" in warnings["/required"]["message"]
    assert (warnings["/properties/name/minLenght"]["nearest"], warnings["/properties/day/format"]["nearest"]) == (
        "minLength", "date",
    )  # fmt: skip


@pytest.mark.anyio
@pytest.mark.requirement("registers:warnings:undeclared")
async def test_rest_respects_a_closed_schema_in_every_write(site: Site) -> None:
    place = await site.pair(CLOSED["properties"], additionalProperties=False)
    _, _, register, schema = place.split("/")
    made = await site.made(place, {"name": "One"})
    one, bulk = f"/api{place}/{made['id']}", f"/api/bulk/{register}/{schema}"
    wrong = {"nmae": "x"}
    for verb, path, body in (
        ("POST", f"/api{place}", wrong),
        ("PUT", one, wrong),
        ("PATCH", one, {"nmae": "x"}),
        ("POST", bulk, {"operations": [{"data": wrong}]}),
        ("POST", f"{bulk}/save", {"objects": [wrong]}),
    ):
        reply = await site.send(verb, path, body)
        text = reply.body.decode()
        assert ("is not a property of this schema" in text, "/nmae" in text) == (True, True), (verb, path, text)
    table = {"content-type": "text/csv"}
    imported = await site.send("POST", f"/api/registers/{register}/import", b"name,nmae\nTwo,x\n", headers=table)
    assert imported.status == 400, imported.body
    assert (await site.send("GET", f"/api{place}")).json["total"] == 1
    assert "nmae" not in (await site.send("GET", one)).json


@pytest.mark.requirement("registers:warnings:schema", "registers:warnings:undeclared")
def test_a_terminal_shows_typos_and_respects_a_closed_schema(tmp_path: Path, database_url: str | None) -> None:
    terminal = Terminal(tmp_path, database_url)
    saved = terminal.call("schemas", action="create", data=TYPOS)
    assert {one["path"] for one in saved["warnings"]} == PLACES
    patch = '[{"op": "add", "property": "size", "definition": {"type": "integer", "minimun": 1}}]'
    patched = terminal.run("registers", "schema", "patch", "thing", patch)
    assert patched.returncode == 0, patched.stderr
    assert "minimun" in patched.stdout + patched.stderr
    terminal.define("city", shut=CLOSED)
    wrong = {"name": "Two", "nmae": "x"}
    said = terminal.refusal("objects", action="create", register="city", schema="shut", data=wrong)
    assert "/nmae is not a property of this schema" in said
    (tmp_path / "rows.csv").write_text("name,nmae\nTwo,x\n", encoding="utf-8")
    done = terminal.run("registers", "import", "rows.csv", "-r", "city", "-s", "shut")
    assert (done.returncode != 0, "nmae" in done.stdout + done.stderr) == (True, True)
    assert terminal.call("objects", action="list", register="city", schema="shut")["total"] == 0
