"""Relations followed over several steps: `_extend=a.b`, lists in lists, rights at every step, circles, bounds."""

from typing import Any

import pytest

from tests.rooms.registers.site import Object, Site

pytestmark = pytest.mark.anyio

TEXT: Object = {"type": "string"}


def to(schema: Object, **more: Any) -> Object:
    return {"type": "string", "$ref": schema["id"], **more}


async def shop(site: Site) -> tuple[dict[str, str], dict[str, str]]:
    """Orders with lines of products, made by makers in countries: paths by schema, and ids by name."""
    secret = {"type": "string", "authorization": {"read": ["admin"]}}
    country = await site.made("/schemas", {"title": "Country", "properties": {"name": TEXT, "secret": secret}})
    hidden = {**to(country), "authorization": {"read": ["admin"]}}
    home = {"name": TEXT, "home": to(country), "hidden": hidden}
    maker = await site.made("/schemas", {"title": "Maker", "properties": home})
    product = await site.made("/schemas", {"title": "Product", "properties": {"name": TEXT, "maker": to(maker)}})
    line = {"type": "object", "properties": {"product": to(product), "count": {"type": "integer"}}}
    properties = {
        "lines": {"type": "array", "items": line},
        "boxes": {"type": "array", "items": {"type": "array", "items": to(product)}},
        "seller": {"type": "object", "properties": {"is": to(maker)}},
    }
    order = await site.made("/schemas", {"title": "Order", "properties": properties})
    schemas = {"country": country, "maker": maker, "product": product, "order": order}
    register = await site.made("/registers", {"title": "Shop", "schemas": [one["id"] for one in schemas.values()]})
    paths = {name: f"/api/objects/{register['id']}/{one['id']}" for name, one in schemas.items()}
    ids: dict[str, str] = {}
    for kind, name, data in (
        ("country", "nl", {"name": "Netherlands", "secret": "tulips"}),
        ("maker", "acme", {"name": "Acme", "home": "nl", "hidden": "nl"}),
        ("product", "pen", {"name": "Pen", "maker": "acme"}),
        ("product", "ink", {"name": "Ink", "maker": "acme"}),
    ):
        sent = {key: ids.get(value, value) for key, value in data.items()}
        ids[name] = (await site.send("POST", paths[kind], sent)).json["id"]
    lines = [{"product": ids["pen"], "count": 2}, {"product": ids["ink"], "count": 1}, {"count": 0}]
    data = {"lines": lines, "boxes": [[ids["pen"]], [], [ids["ink"], ids["pen"]]], "seller": {"is": ids["acme"]}}
    made = await site.send("POST", paths["order"], data)
    assert made.status == 201, made.body
    ids["order"] = made.json["id"]
    return paths, ids


@pytest.mark.requirement("registers:rest:extending")
async def test_a_dotted_name_is_followed_step_by_step(fresh_site: Site) -> None:
    site = fresh_site
    paths, ids = await shop(site)
    asked = "lines.product.maker.home,boxes.maker,seller.is"
    one = (await site.send("GET", f"{paths['order']}/{ids['order']}?_extend={asked}")).json
    [listed] = (await site.send("GET", f"{paths['order']}?_extend={asked}")).json["results"]
    assert one == listed
    pen, ink, none = one["lines"]
    assert (pen["product"]["maker"]["home"]["name"], pen["count"], none) == ("Netherlands", 2, {"count": 0})
    assert ink["product"]["maker"]["hidden"] == ids["nl"]
    assert [[item["name"] for item in box] for box in one["boxes"]] == [["Pen"], [], ["Ink", "Pen"]]
    assert one["boxes"][2][0]["maker"]["home"] == ids["nl"]
    assert one["seller"]["is"]["name"] == "Acme"
    for short in ("lines", "lines.product", "all"):
        found = (await site.send("GET", f"{paths['order']}/{ids['order']}?_extend={short}")).json
        assert found["lines"][0]["product"]["maker"] == ids["acme"], short
    both = (await site.send("GET", f"{paths['product']}/{ids['pen']}?_extend=maker.all")).json
    assert both["maker"]["home"]["name"] == both["maker"]["hidden"]["name"] == "Netherlands"


@pytest.mark.requirement("registers:rest:extending")
async def test_each_step_is_taken_with_the_readers_own_rights(fresh_site: Site) -> None:
    site = fresh_site
    paths, ids = await shop(site)
    item = f"{paths['product']}/{ids['pen']}"
    found = (await site.send("GET", f"{item}?_extend=maker.home", who="reader")).json
    assert found["maker"]["home"]["name"] == "Netherlands"
    assert "hidden" not in found["maker"]
    assert "secret" not in found["maker"]["home"]
    guessed = await site.send("GET", f"{item}?_extend=maker.hidden", who="reader")
    assert (guessed.status, "is not a relation" in guessed.json["message"]) == (400, True)
    assert "hidden" not in guessed.json["hint"]
    country, maker = (f"/api/schemas/{paths[name].rpartition('/')[2]}" for name in ("country", "maker"))
    assert (await site.send("PUT", country, {"authorization": {"read": ["admin"]}})).status == 200
    kept = (await site.send("GET", f"{item}?_extend=maker.home", who="reader")).json
    assert (kept["maker"]["name"], kept["maker"]["home"]) == ("Acme", ids["nl"])
    assert (await site.send("PUT", maker, {"authorization": {"read": ["admin"]}})).status == 200
    assert (await site.send("GET", f"{item}?_extend=maker", who="reader")).json["maker"] == ids["acme"]
    below = await site.send("GET", f"{item}?_extend=maker.home", who="reader")
    assert (below.status, "home" in below.json.get("hint", "")) == (400, False)
    assert (await site.send("GET", f"{item}?_extend=maker.home")).json["maker"]["home"]["secret"] == "tulips"


async def test_a_name_that_is_no_relation_is_refused_with_the_nearest_at_its_step(fresh_site: Site) -> None:
    site = fresh_site
    paths, ids = await shop(site)
    refused = await site.send("GET", f"{paths['order']}?_extend=lines.product.makr")
    assert (refused.status, "Did you mean 'maker'" in refused.json["message"]) == (400, True)
    assert "lines.product.makr" in refused.json["message"]
    for wrong in ("lines.count", "lines.product.name", "seller.is.home.x", "boxes.maker.home.all.x", "."):
        assert (await site.send("GET", f"{paths['order']}/{ids['order']}?_extend={wrong}")).status == 400, wrong


async def people(site: Site) -> tuple[str, list[str]]:
    """Persons of one schema: three who are each other's friends in a ring, the first also its own boss."""
    person = await site.made(
        "/schemas", {"title": "Person", "slug": f"person-{id(site)}", "properties": {"name": TEXT}}
    )
    link = to(person)
    properties = {"name": TEXT, "friend": link, "boss": link, "team": {"type": "array", "items": link}}
    assert (await site.send("PUT", f"/api/schemas/{person['id']}", {"properties": properties})).status == 200
    register = await site.made("/registers", {"title": "Staff", "schemas": [person["id"]]})
    path = f"/api/objects/{register['id']}/{person['id']}"
    ids = [(await site.send("POST", path, {"name": name})).json["id"] for name in "abc"]
    for number, uuid in enumerate(ids):
        data = {"friend": ids[(number + 1) % 3], "team": ids, "boss": ids[0]}
        assert (await site.send("PATCH", f"{path}/{uuid}", data)).status == 200
    return path, ids


async def test_circles_come_to_an_end(fresh_site: Site) -> None:
    site = fresh_site
    path, [a, b, c] = await people(site)
    found = (await site.send("GET", f"{path}/{a}?_extend=friend.friend.friend.friend,boss,team")).json
    assert found["boss"] == a
    assert [one if isinstance(one, str) else one["id"] for one in found["team"]] == [a, b, c]
    assert found["team"][0] == a
    assert found["friend"]["friend"]["id"] == c
    assert found["friend"]["friend"]["friend"] == a
    again = (await site.send("GET", f"{path}/{b}?_extend=boss.boss")).json
    assert (again["boss"]["id"], again["boss"]["boss"]) == (a, a)


@pytest.mark.requirement("registers:rest:extending")
async def test_how_far_and_how_much_is_bounded(fresh_site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site = fresh_site
    path, [a, *_] = await people(site)
    far = await site.send("GET", f"{path}/{a}?_extend={'.'.join(['friend'] * 6)}")
    assert (far.status, "at most 5 relations" in far.json["message"]) == (413, True)
    many = ",".join(f"friend.x{n}" for n in range(51))
    assert (await site.send("GET", f"{path}/{a}?_extend={many}")).status == 413
    everything = f"{path}?_extend=team.team.team"
    assert (await site.send("GET", everything)).status == 200
    for name, most in (("_MOST_RELATED", 2), ("_MOST_PLACES", 10), ("_MOST_BYTES", 500)):
        with monkeypatch.context() as patched:
            patched.setattr(f"pentad.rooms.registers.interface.extension.{name}", most)
            refused = await site.send("GET", everything)
            assert (refused.status, "_extend would show" in refused.json["message"]) == (413, True), name


async def test_the_past_is_shown_with_its_own_relatives(fresh_site: Site) -> None:
    site = fresh_site
    paths, ids = await shop(site)
    product, maker = f"{paths['product']}/{ids['pen']}", f"{paths['maker']}/{ids['acme']}"
    change = max(one["id"] for one in (await site.send("GET", "/api/audit-trails")).json["results"])
    assert (await site.send("PATCH", maker, {"name": "Acme & Daughters"})).status == 200
    then = (await site.send("GET", f"{product}?_extend=maker&_asOf=change:{change}")).json
    now = (await site.send("GET", f"{product}?_extend=maker")).json
    assert (then["maker"]["name"], now["maker"]["name"]) == ("Acme", "Acme & Daughters")


@pytest.mark.requirement("registers:rest:preconditions")
async def test_what_depends_on_others_is_sent_again_though_its_own_version_is_known(fresh_site: Site) -> None:
    site = fresh_site
    paths, ids = await shop(site)
    item = f"{paths['product']}/{ids['pen']}"
    known = {"if-none-match": (await site.send("GET", item)).headers["etag"]}
    assert (await site.send("GET", item, headers=known)).status == 304
    assert (await site.send("GET", f"{item}?_extend=maker", headers=known)).status == 200
