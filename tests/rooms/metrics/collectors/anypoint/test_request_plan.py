"""Scopes: groups by id, name and path, environments and regions, logins from settings and headers."""

import base64
import copy
from typing import Any

import pytest

from pentad.kernel.errors import InvalidInput, Misconfigured
from pentad.rooms.metrics.collectors.anypoint.platform_api import PlatformUrls, platform_urls
from pentad.rooms.metrics.collectors.anypoint.response_projection import redact
from tests.anypoint.engine import platform_engine
from tests.anypoint.logins import APPS, USERS
from tests.anypoint.recorded import ANSWERS, Recorded
from tests.anypoint.server import Platform
from tests.anypoint.world import Size, World
from tests.room_settings import room_settings

pytestmark = pytest.mark.anyio


async def names(world: World, **more: object) -> list[str]:
    settings = more.pop("settings", {})
    assert isinstance(settings, dict)
    app = dict(zip(("anypoint_client_id", "anypoint_client_secret"), next(iter(APPS.items())), strict=True))
    async with platform_engine(Platform(world), {**app, **settings}) as one:
        answer = await one.ask("ch", "networking", **more)
        return [entry["businessGroup"] for entry in answer.snapshot.tree]


@pytest.mark.requirement("metrics:anypoint:asking")
async def test_a_group_is_found_by_id_name_and_path() -> None:
    world = World(Size(groups=10))
    for bg in (world.orgs[1], "Brass, Tin & Co", "lumen orchards/brass, tin & co"):
        assert await names(world, bg=bg) == ["Brass, Tin & Co", "Group 8", "Group 9"]
    assert await names(world, bg="Brass, Tin & Co", recursive=False) == ["Brass, Tin & Co"]
    assert await names(world, bg="果樹園") == ["果樹園"]
    with pytest.raises(InvalidInput, match="no business group"):
        await names(world, bg="Brass")


@pytest.mark.requirement("metrics:anypoint:asking")
async def test_a_name_that_several_groups_have_is_refused_with_their_paths() -> None:
    tree = copy.deepcopy(ANSWERS["hierarchy"])
    (below,) = tree["subOrganizations"]
    twin = {**below, "id": "a0000000-0000-4000-8000-000000000003", "subOrganizations": []}
    tree["subOrganizations"] = [{**below, "name": "East", "subOrganizations": [{**twin, "name": "Sales"}]}]
    tree["subOrganizations"] += [{**twin, "id": "a0000000-0000-4000-8000-000000000004", "name": "Sales"}]
    world = Recorded(hierarchy=tree)
    with pytest.raises(InvalidInput, match="Several business groups") as refused:
        await names(world, bg="Sales")
    assert "Lumen Orchards/East/Sales, Lumen Orchards/Sales" in str(refused.value.hint)
    assert await names(world, bg="lumen orchards/east/sales") == ["Sales"]
    assert await names(world, bg="East") == ["East", "Sales"]
    assert await names(world, bg="East", recursive=False) == ["East"]


@pytest.mark.requirement("metrics:anypoint:asking")
async def test_an_ignored_group_is_left_out_and_those_below_it_are_not() -> None:
    world = World(Size(groups=10))
    ignored = {"anypoint_ignore_organizations": f" {world.orgs[1]} , "}
    found = await names(world, settings=ignored)
    assert len(found) == 9
    assert "Brass, Tin & Co" not in found
    assert "Group 8" in found


@pytest.mark.requirement("metrics:anypoint:asking")
async def test_credentials_of_a_request_begin_where_the_settings_say_unless_they_say_otherwise() -> None:
    world = World(Size(groups=10))
    (app, secret) = next(iter(APPS.items()))
    login = {"X-ANYPNT-CLIENT-ID": app, "X-ANYPNT-CLIENT-SECRET": secret}
    assert len(await names(world, credentials=login)) == 10
    assert await names(world, credentials=login, bg="Brass, Tin & Co", recursive=False) == ["Brass, Tin & Co"]
    below = {**login, "X-ANYPNT-ORG-ID": world.orgs[1]}
    assert await names(world, credentials=below) == ["Brass, Tin & Co", "Group 8", "Group 9"]
    assert await names(world, credentials=below, bg=world.orgs[2]) == ['The "Quay"'], "bg goes before the header"


@pytest.mark.requirement("metrics:anypoint:asking")
async def test_policies_that_secure_an_api_can_be_named() -> None:
    (app, secret) = next(iter(APPS.items()))
    settings = {"anypoint_client_id": app, "anypoint_client_secret": secret}
    for policies, secured in (({}, 2), ({"anypoint_security_policies": "none, of-these"}, 0)):
        async with platform_engine(Platform(Recorded()), {**settings, **policies}) as one:
            apis = (await one.ask("apm", recursive=False)).snapshot.tree[0]["apiManagerMetrics"]["apis"]
        assert apis["production"]["apisWithSecurity"] == apis["production"]["details"][0]["apisWithSecurity"] == secured


@pytest.mark.requirement("metrics:anypoint:asking")
async def test_an_exact_name_goes_before_a_type() -> None:
    environments = [
        {"id": f"e-{name}", "name": name, "isProduction": False, "type": "sandbox"} for name in ("Sandbox", "UAT")
    ]
    async with platform_engine(Platform(Recorded(environments=environments))) as one:
        for word, chosen in (("Sandbox", 1), ("sandbox", 2), ("SANDBOX", 2), ("uat", 1), ("Sandbox,UAT", 2)):
            answer = await one.ask("core", "environments.total", environments=word, recursive=False)
            assert answer.snapshot.tree[0]["coreServicesMetrics"]["environments"]["total"] == chosen, word


@pytest.mark.requirement("metrics:anypoint:asking")
@pytest.mark.parametrize("word", ["Trial 2", "trial 2", "id"])
async def test_an_environment_is_chosen_and_the_totals_are_its_own(word: str) -> None:
    world = World()
    platform = Platform(world)
    chosen = world.environments(world.root)[3]["id"] if word == "id" else word
    async with platform_engine(platform) as one:
        answer = await one.ask("osv2", environments=chosen)
        stats = answer.snapshot.tree[0]["osV2Metrics"]["stats"]
        assert [entry["environmentName"] for entry in stats["sandbox"]["details"]] == ["Trial 2"]
        assert (stats["sandbox"]["requestCount"], stats["production"]["requestCount"]) == (2500, None)
        assert platform.journal.counts["store-stats"] == 1


@pytest.mark.requirement("metrics:anypoint:asking")
async def test_environments_are_chosen_by_type() -> None:
    async with platform_engine(Platform(World())) as one:
        answer = await one.ask("osv2", environments="production")
        assert answer.snapshot.tree[0]["osV2Metrics"]["stats"]["sandbox"] == {"requestCount": None}
        with pytest.raises(InvalidInput, match="no environment 'Lime'") as refused:
            await one.ask("osv2", environments="Lime")
        assert "Trial 1" in str(refused.value.hint)


@pytest.mark.requirement("metrics:anypoint:asking")
async def test_regions_are_chosen() -> None:
    platform = Platform(World())
    async with platform_engine(platform) as one:
        answer = await one.ask("amq", regions="eu-west-1,EU-WEST-2")
        stats = answer.snapshot.tree[0]["mqMetrics"]["stats"]
        assert [entry["id"] for entry in stats["byRegion"]["production"]] == ["eu-west-1", "eu-west-2"]
        assert stats["summary"]["production"]["queues"]["commonQueues"] == 2
        assert platform.journal.counts["destinations"] == 2 * 4
        apps = await one.ask("ch", regions="eu-west-1")
        parts = apps.snapshot.tree[0]["runtimeManagerMetrics"]["cloudhub"]["applications"]
        assert parts["production"]["applicationsTotal"] == 1
        with pytest.raises(InvalidInput, match="no region"):
            await one.ask("amq", regions="mars-1")
        with pytest.raises(InvalidInput, match="does not support 'region'"):
            await one.ask("dc", regions="eu-west-1")


@pytest.mark.requirement("metrics:anypoint:asking")
async def test_a_region_chooses_fabrics_and_what_runs_on_them() -> None:
    (barn,) = ANSWERS["fabrics"]
    items = copy.deepcopy(ANSWERS["deployments"])
    items[1]["target"]["targetId"] = "f-2"
    world = Recorded(fabrics=[barn, {**barn, "id": "f-2", "region": "eu-west-1"}], deployments=items)
    async with platform_engine(Platform(world)) as one:
        for region, cores in ((None, 0.8), ("eu-west-1", 0.3), ("us-east-1", 0.5)):
            answer = await one.ask("rtf", regions=region or (), recursive=False)
            found = answer.snapshot.tree[0]["runtimeManagerMetrics"]["rtf"]
            assert found["capacity"]["fabrics"] == (1 if region else 2)
            assert found["applications"]["production"]["applicationsTotal"] == (1 if region else 2)
            assert found["applications"]["production"]["coresReserved"] == cores


@pytest.mark.requirement("metrics:anypoint:asking")
async def test_the_headers_of_a_request_log_in_and_share_nothing_with_others() -> None:
    platform = Platform(World())
    (user, password), (app, secret) = next(iter(USERS.items())), next(iter(APPS.items()))
    coded = base64.b64encode(password.encode()).decode()
    logins = [
        {"X-ANYPNT-CLIENT-ID": app, "X-ANYPNT-CLIENT-SECRET": secret},
        {"x-anypnt-username": user, "x-anypnt-password": coded},
        {"X-ANYPNT-USERNAME": user, "X-ANYPNT-PASSWORD": password, "X-PLAINTEXT-PASSWORD": "true"},
    ]
    async with platform_engine(platform, {}) as one:
        with pytest.raises(InvalidInput, match="must be provided"):
            await one.ask("dc")
        for headers in logins:
            answer = await one.ask("dc", bg=platform.world.root, credentials=headers)
            assert answer.calls >= 2
            assert answer.snapshot.coverage.failed == 0
        with pytest.raises(InvalidInput, match="not base64"):
            await one.ask("dc", credentials={"X-ANYPNT-USERNAME": user, "X-ANYPNT-PASSWORD": "ü"})


@pytest.mark.requirement("metrics:anypoint:asking")
async def test_half_a_login_does_not_become_the_operators() -> None:
    platform = Platform(World())
    async with platform_engine(platform) as one:
        with pytest.raises(InvalidInput, match="must be provided"):
            await one.ask("dc", credentials={"X-ANYPNT-CLIENT-ID": "app-1"})
        assert platform.journal.total == 0


@pytest.mark.requirement("metrics:anypoint:asking")
def test_the_vendors_planes_and_an_address_of_ones_own() -> None:
    def at(**settings: str) -> PlatformUrls:
        return platform_urls(room_settings("metrics", **settings))

    assert at().base == "https://anypoint.mulesoft.com"
    eu = at(anypoint_plane="EU")
    assert eu.store == "https://object-store-stats.eu1.anypoint.mulesoft.com"
    for gov in ({"anypoint_url": "https://gov.anypoint.mulesoft.com/"}, {"anypoint_plane": "gov"}):
        assert at(**gov).lacking == {"rtf", "apma", "arm"}
    own = at(anypoint_url="http://127.0.0.1:9/")
    assert (own.base, own.store, own.lacking) == ("http://127.0.0.1:9", "http://127.0.0.1:9", frozenset())
    private = at(anypoint_url="https://anypoint.mine", anypoint_plane="private")
    assert (private.base, private.lacking) == ("https://anypoint.mine", {"ch", "rtf", "apma", "amq", "osv2"})
    for wrong in ({"anypoint_url": "anypoint"}, {"anypoint_plane": "private"}, {"anypoint_plane": "mars"}):
        with pytest.raises(Misconfigured):
            at(**wrong)


@pytest.mark.requirement("metrics:anypoint:asking")
async def test_what_the_government_plane_does_not_have_is_unsupported() -> None:
    from pentad.rooms.metrics.collectors.anypoint.collector import collectors
    from pentad.rooms.metrics.collectors.contract import CollectorContext
    from pentad.rooms.metrics.models import Fact, Facts, Query

    none: Any = None
    settings = {"anypoint_plane": "gov", "anypoint_client_id": "a", "anypoint_client_secret": "b", "anypoint_org": "o"}
    (apma,) = [
        one for one in collectors(CollectorContext(none, room_settings("metrics", **settings))) if one.id == "apma"
    ]
    environment = {"id": "e", "name": "Live", "isProduction": True, "type": "production"}
    facts = Facts({Fact("hierarchy", ("o",)): {"id": "o", "name": "O"}, Fact("environments", ("o",)): [environment]})
    assert not apma.plan(Query(), facts).facts
    assert {sample.state for sample in apma.reduce(Query(), facts).samples if sample.value is None} == {"unsupported"}


@pytest.mark.requirement("metrics:anypoint:asking")
def test_what_is_sensitive_is_cut_out_and_the_shape_stays() -> None:
    answer = {
        "properties": {"a": "x"}, "clientId": "c", "name": "n", "configuration": {"k": [1, {"z": "y"}]},
        "list": [{"apiKey": "s", "secure": True}], "tokenEnabled": True,
    }  # fmt: skip
    assert redact(answer) == {
        "properties": {"a": "[redacted]"}, "clientId": "[redacted]", "name": "n",
        "configuration": {"k": ["[redacted]", {"z": "[redacted]"}]},
        "list": [{"apiKey": "[redacted]", "secure": True}], "tokenEnabled": True,
    }  # fmt: skip
