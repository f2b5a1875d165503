"""Who may do what: scopes, authorization blocks, owners, administrators, tenants and single properties."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from pentad.access.scopes import role_scopes
from pentad.kernel.errors import Forbidden, InvalidInput, NotFound, PentadError, Unauthenticated
from pentad.kernel.principal import ANONYMOUS, LOCAL, Principal
from pentad.rooms.registers.access.authorization import RIGHTS, Right, read_block
from pentad.rooms.registers.access.rules import AccessRules, groups
from pentad.rooms.registers.definitions.compiled_schema import compile_schema
from pentad.rooms.registers.models import Caller, Pair, Register, Schema, StoredObject

READER = Principal("user:rea", "rea", role_scopes("reader"))
WRITER = Principal("user:wri", "wri", role_scopes("writer"))
OTHER = Principal("user:oth", "oth", role_scopes("writer"))
ADMIN = Principal("user:adm", "adm", role_scopes("admin"))
ELSEWHERE = Principal("key:els", "els", frozenset({"directory:write"}), "key")
MEMBER = Principal("user:mem", "mem", role_scopes("writer"))
EVERYBODY = (ANONYMOUS, ELSEWHERE, READER, WRITER, OTHER, ADMIN, LOCAL)

Object = dict[str, Any]


class Members:
    """Memberships as a plain table."""

    def __init__(self, **table: str) -> None:
        self._table = table

    def of(self, principal: Principal) -> str:
        return self._table.get(principal.name, "default")


RULES = AccessRules(Members(mem="acme"))


def pair_with(
    schema: Object | None = None, register: Object | None = None, organisation: str = "default", **properties: Object
) -> Pair:
    body: Object = {"properties": {"status": {"type": "string"}, "level": {"type": "number"}, **properties}}
    if schema is not None:
        body["authorization"] = schema
    body["organisation"] = organisation
    container: Object = {"organisation": organisation}
    if register is not None:
        container["authorization"] = register
    return Pair(
        Register(1, "r", "people", "People", "0.0.1", container, (1,), 0, 0),
        Schema(1, "s", "person", "Person", "0.0.1", body, 1, 0, 0),
        compile_schema(body, parents=lambda _ref: None),
    )


def stored(data: Object, owner: str = "user:oth", organisation: str = "default") -> StoredObject:
    text = msgspec.json.encode(data).decode()
    return StoredObject(1, "00000000-0000-7000-8000-000000000001", 1, 1, 1, text, None, owner, organisation, 0, 0)


def outcome(principal: Principal, pair: Pair, right: Right, thing: StoredObject | None = None) -> str:
    """`ok`, or the name of the refusal."""
    try:
        if thing is not None and right != "create":
            RULES.check(Caller(principal), pair, right)
            RULES.check_object(Caller(principal), pair, right, thing)
        else:
            RULES.check(Caller(principal), pair, right, thing.data if thing else {})
    except PentadError as error:
        return "NotFound" if isinstance(error, NotFound) else type(error).__name__
    return "ok"


def table(pair: Pair, thing: StoredObject) -> dict[str, str]:
    """Every right for everybody, as four letters: + allowed, f forbidden, n not found, u unauthenticated."""
    letters = {"ok": "+", "Forbidden": "f", "NotFound": "n", "Unauthenticated": "u"}
    return {
        principal.name: "".join(letters[outcome(principal, pair, right, thing)] for right in RIGHTS)
        for principal in EVERYBODY
    }


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        (None, {"anonymous": "uuuu", "els": "fnff", "rea": "f+ff", "wri": "++++", "oth": "++++"}),
        ({"read": ["public"]}, {"anonymous": "u+uu", "els": "f+ff", "rea": "f+ff", "wri": "++++", "oth": "++++"}),
        ({"read": ["authenticated"]}, {"anonymous": "uuuu", "els": "fnff", "rea": "f+ff", "wri": "++++"}),
        ({"update": ["user:wri"]}, {"rea": "f+ff", "wri": "++++", "oth": "++++"}),
        ({"update": ["user:rea"]}, {"rea": "f+ff", "wri": "++f+", "oth": "++++"}),
        ({"delete": ["admin"]}, {"wri": "+++f", "oth": "++++"}),
        ({"create": ["admin"], "read": ["admin"]}, {"rea": "fnff", "wri": "nnnn", "oth": "nnnn"}),
        ({"create": ["public"], "read": ["public"]}, {"anonymous": "u+uu", "rea": "f+ff", "wri": "++++"}),
        (
            {"create": ["admin"], "update": ["admin"], "delete": ["admin"]},
            {"rea": "f+ff", "wri": "f+ff", "oth": "f+ff"},
        ),
    ],
)
@pytest.mark.requirement("registers:access:blocks")
def test_what_a_schemas_block_means_for_everybody(block: Object | None, expected: Mapping[str, str]) -> None:
    found = table(pair_with(block), stored({"status": "open"}))
    assert {name: found[name] for name in expected} == expected
    assert found["adm"] == found["local"] == "++++"


@pytest.mark.requirement("registers:access:register")
def test_a_right_needs_the_grant_of_the_register_and_of_the_schema_where_both_speak() -> None:
    thing = stored({})
    assert outcome(WRITER, pair_with({"update": ["writer"]}, {"update": ["writer"]}), "update", thing) == "ok"
    assert outcome(WRITER, pair_with({"update": ["writer"]}, {"update": ["admin"]}), "update", thing) == "Forbidden"
    assert outcome(WRITER, pair_with({"update": ["admin"]}, {"update": ["writer"]}), "update", thing) == "Forbidden"
    assert outcome(WRITER, pair_with({"read": ["public"]}, {"update": ["writer"]}), "update", thing) == "ok"


def test_a_schema_cannot_make_public_what_its_register_keeps() -> None:
    pair = pair_with({"read": ["public"]}, {"read": ["writer"]})
    assert outcome(ANONYMOUS, pair, "read", stored({})) == "Unauthenticated"
    assert outcome(WRITER, pair, "read", stored({})) == "ok"


@pytest.mark.requirement("registers:access:rules")
def test_a_rule_grants_only_what_its_conditions_hold_for() -> None:
    rule = {"group": "writer", "match": {"status": {"$eq": "open"}, "level": {"$gte": 3, "$lt": 9}}}
    pair = pair_with({"read": [rule], "create": [rule]})
    for data, expected in (
        ({"status": "open", "level": 3}, "ok"),
        ({"status": "open", "level": 9}, "NotFound"),
        ({"status": "open", "level": "4"}, "NotFound"),
        ({"status": "open"}, "NotFound"),
        ({"status": "shut", "level": 4}, "NotFound"),
    ):
        assert outcome(WRITER, pair, "read", stored(data)) == expected, data
    assert outcome(WRITER, pair, "create", stored({"status": "open", "level": 5})) == "ok"
    assert outcome(WRITER, pair, "create", stored({"status": "shut", "level": 5})) == "Forbidden"


@pytest.mark.requirement("registers:access:times")
@pytest.mark.parametrize(
    ("condition", "held"),
    [
        ({"$gt": "2026-05-17T09:59:59+02:00"}, "ok"),
        ({"$gt": "2026-05-17T08:00:00Z"}, "NotFound"),
        ({"$gte": "2026-05-17T03:00:00-05:00"}, "ok"),
        ({"$lt": "2026-05-17T08:00:00.001Z"}, "ok"),
        ({"$lt": "2026-05-17T10:00:00+03:00"}, "NotFound"),
        ({"$eq": "2026-05-17T08:00:00.000Z"}, "ok"),
        ({"$ne": "2026-05-17T08:00:00Z"}, "NotFound"),
        ({"$in": ["2025-01-01T00:00:00Z", "2026-05-17T08:00:00Z"]}, "ok"),
        ({"$nin": ["2026-05-17T08:00:00Z"]}, "NotFound"),
        ({"$gte": 1_779_004_800}, "ok"),
        ({"$lt": "2026-05-18"}, "ok"),
        ({"$gt": "a long time ago"}, "NotFound"),
        ({"$lte": "soon"}, "NotFound"),
    ],
)
def test_a_rule_compares_date_times_by_when_they_are(condition: Object, held: str) -> None:
    until = {"type": "string", "format": "date-time"}
    rule = {"group": "writer", "match": {"until": condition, "terms.until": condition}}
    pair = pair_with({"read": [rule], "create": [rule]}, until=until, terms={"properties": {"until": until}})
    when = "2026-05-17T10:00:00+02:00"
    assert outcome(WRITER, pair, "read", stored({"until": when, "terms": {"until": when}})) == held
    assert outcome(WRITER, pair, "read", stored({"until": "some day", "terms": {"until": when}})) == "NotFound"


def test_a_registers_rule_means_of_each_schema_what_its_property_is() -> None:
    rule = {"read": ["admin", {"group": "writer", "match": {"at": "2026-05-17T08:00:00Z"}}], "create": ["admin"]}
    time, text = {"type": "string", "format": "date-time"}, {"type": "string"}
    thing = stored({"at": "2026-05-17T10:00:00+02:00"})
    for facts, held in ((time, "ok"), (text, "NotFound"), (time, "ok")):
        assert outcome(WRITER, pair_with(None, rule, at=facts), "read", thing) == held


def test_a_rule_can_name_the_caller_itself() -> None:
    pair = pair_with({"update": [{"group": "authenticated", "match": {"status": "$userId"}}]})
    assert outcome(WRITER, pair, "update", stored({"status": "user:wri"})) == "ok"
    assert outcome(WRITER, pair, "update", stored({"status": "user:oth"})) == "Forbidden"


@pytest.mark.requirement("registers:access:owners")
def test_an_owner_keeps_every_right_on_its_object() -> None:
    pair = pair_with({"read": ["admin"], "update": ["admin"], "delete": ["admin"]})
    mine, theirs = stored({}, owner="user:wri"), stored({}, owner="user:oth")
    assert [outcome(WRITER, pair, right, mine) for right in ("read", "update", "delete")] == ["ok"] * 3
    assert outcome(WRITER, pair, "read", theirs) == "NotFound"


@pytest.mark.requirement("registers:organisations:isolation")
def test_objects_of_another_organisation_do_not_exist_for_members_of_this_one() -> None:
    ours, theirs = pair_with(), pair_with(organisation="acme")
    acme, common = stored({}, organisation="acme"), stored({})
    assert outcome(MEMBER, theirs, "read", acme) == "ok"
    assert outcome(MEMBER, theirs, "update", common) == "NotFound"
    assert outcome(WRITER, ours, "read", acme) == "NotFound"
    assert outcome(WRITER, theirs, "create", stored({})) == outcome(MEMBER, ours, "create", stored({})) == "NotFound"
    assert outcome(ADMIN, ours, "read", acme) == "ok"
    assert RULES.organisation(Caller(MEMBER)) == "acme"


def test_what_is_public_is_read_across_organisations_and_changed_in_none_but_its_own() -> None:
    pair = pair_with({"read": ["public"]}, organisation="acme")
    acme = stored({}, organisation="acme")
    assert outcome(WRITER, pair, "read", acme) == "ok"
    assert outcome(ANONYMOUS, pair, "read", acme) == "ok"
    assert [outcome(WRITER, pair, right, acme) for right in ("create", "update", "delete")] == ["Forbidden"] * 3


@pytest.mark.requirement("registers:access:properties")
def test_hidden_properties_are_neither_shown_nor_written_nor_lost() -> None:
    secret = {"type": "number", "authorization": {"read": ["user:wri"], "update": ["user:wri"]}}
    pair = pair_with(salary=secret)
    data = {"status": "open", "salary": 10}
    assert RULES.readable(Caller(WRITER), pair, data) is data
    assert RULES.readable(Caller(OTHER), pair, data) == {"status": "open"}
    assert RULES.hidden(Caller(OTHER), pair) == {"salary"}
    assert RULES.writable(Caller(OTHER), pair, {"status": "shut"}, data) == {"status": "shut", "salary": 10}
    with pytest.raises(Forbidden, match="salary"):
        RULES.writable(Caller(OTHER), pair, {"status": "shut", "salary": 11}, data)
    assert RULES.writable(Caller(WRITER), pair, {"salary": 11}, data) == {"salary": 11}


def test_a_protected_property_can_be_sent_back_as_it_was() -> None:
    pair = pair_with(salary={"type": "number", "authorization": {"update": ["admin"]}})
    data = {"status": "open", "salary": 10}
    changed = {"status": "shut", "salary": 10}
    assert RULES.writable(Caller(WRITER), pair, changed, data) == changed
    with pytest.raises(Forbidden):
        RULES.writable(Caller(WRITER), pair, {"status": "shut"}, data)


@pytest.mark.requirement("registers:define:owners")
def test_to_write_objects_is_not_to_define_their_register_and_schema() -> None:
    pair = pair_with()
    for entity in (pair.register, pair.schema):
        for principal in (WRITER, READER, ANONYMOUS, ELSEWHERE, MEMBER):
            assert not RULES.defines(Caller(principal), entity)
            with pytest.raises((Forbidden, Unauthenticated)):
                RULES.check_define(Caller(principal), entity)
        mine = replace(entity, body={**entity.body, "owner": "user:wri"})
        assert [RULES.defines(Caller(one), mine) for one in (WRITER, OTHER, ADMIN, LOCAL)] == [True, False, True, True]
    RULES.check_define(Caller(WRITER), None)
    with pytest.raises(Forbidden, match="may not create anything"):
        RULES.check_define(Caller(READER), None)


@pytest.mark.requirement("registers:define:groups")
def test_a_block_names_further_definers_and_never_takes_the_right_from_owner_or_administrator() -> None:
    for named, whose in ((["user:oth"], {"oth", "adm"}), (["writer"], {"wri", "oth", "adm"}), (["admin"], {"adm"})):
        schema = pair_with({"define": named, "update": ["admin"]}).schema
        everybody = (ANONYMOUS, ELSEWHERE, READER, WRITER, OTHER, ADMIN, MEMBER)
        assert {one.name for one in everybody if RULES.defines(Caller(one), schema)} == whose
        mine = replace(schema, body={**schema.body, "owner": "user:wri"})
        assert RULES.defines(Caller(WRITER), mine)


def test_an_owner_who_left_the_organisation_defines_nothing_there_any_more() -> None:
    schema = pair_with({"define": ["writer"]}, organisation="acme").schema
    mine = replace(schema, body={**schema.body, "owner": "user:wri"})
    assert not RULES.sees(Caller(WRITER), mine)
    assert not RULES.defines(Caller(WRITER), mine)
    assert RULES.defines(Caller(MEMBER), mine)


def test_registers_and_schemas_follow_their_blocks_and_owners() -> None:
    schema = pair_with({"read": ["admin"], "update": ["admin"]}).schema
    owned = Schema(2, "t", "mine", "Mine", "0.0.1", {**schema.body, "owner": "user:wri"}, 1, 0, 0)
    assert not RULES.sees(Caller(WRITER), schema)
    assert RULES.sees(Caller(WRITER), owned)
    assert RULES.sees(Caller(ADMIN), schema)


def test_definers_are_named_without_conditions() -> None:
    with pytest.raises(InvalidInput, match="a rule with conditions"):
        read_block({"define": [{"group": "writer", "match": {"x": 1}}]}, "s")
    with pytest.raises(InvalidInput, match="no right 'define'"):
        read_block({"define": ["writer"]}, "s", of_property=True)


def test_strangers_are_asked_for_credentials() -> None:
    with pytest.raises(Unauthenticated):
        RULES.check(Caller(ANONYMOUS), pair_with(), "read")
    with pytest.raises(Unauthenticated):
        RULES.check(Caller(ANONYMOUS), pair_with({"read": ["public"]}), "create", {})


def test_the_groups_of_a_caller_are_its_roles_scopes_and_id() -> None:
    assert groups(WRITER) == {
        "public", "authenticated", "user:wri", "reader", "writer", "registers:read", "registers:write",
    }  # fmt: skip
    assert groups(ANONYMOUS) == {"public"}
    assert groups(ELSEWHERE) == {"public", "authenticated", "key:els"}


@pytest.mark.parametrize(
    "raw",
    [
        "public",
        {"raed": ["public"]},
        {"read": "public"},
        {"read": [5]},
        {"read": [{"group": 5}]},
        {"read": [{"group": "a", "match": []}]},
        {"read": [{"group": "a", "match": {"x": {"$regex": "a"}}}]},
        {"read": [{"group": "a", "match": {"x": {"$in": 5}}}]},
        {"read": [{"group": "a", "match": {"x": {"$gt": None}}}]},
        {"read": [{"group": "a", "match": {"x": {"$exists": "yes"}}}]},
        {"read": [{"group": "a", "match": {"x": {}}}]},
        {"read": [{"group": "a", "matches": {}}]},
        {"read": ["a"] * 101},
    ],
)
def test_a_malformed_block_is_refused_in_words(raw: Any) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_block(raw, "person")
    assert "authorization" in refused.value.message
