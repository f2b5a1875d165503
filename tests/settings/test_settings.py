"""Settings: the order of the layers, the origin of each value, and what a slip is told."""

import contextlib
import dataclasses
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pentad.kernel.default_limits import Limits
from pentad.kernel.errors import Misconfigured
from pentad.mcp.profiles import Profile
from pentad.net.fetch_policy import FetchPolicy
from pentad.rooms.finder import find_rooms
from pentad.rooms.metrics.settings import MetricsSettings
from pentad.settings.catalogue import catalogue, list_settings, value_of
from pentad.settings.model import Settings, user_data_folder
from pentad.settings.rooms import declared_settings, fields_of, installed_rooms, resolve_room
from pentad.settings.sources import load_settings
from pentad.settings.values import WrongTypeError, convert

SECRET = "canary-hunter2"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "here").mkdir()
    return tmp_path


def load(home: Path, flags: dict[str, Any] | None = None, toml: str | None = None, **environ: str) -> Settings:
    if toml is not None:
        (home / "here" / "pentad.toml").write_text(toml, encoding="utf-8")
    return load_settings(flags or {}, environ={"HOME": str(home), **environ}, folder=home / "here")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(given_layers=st.sets(st.sampled_from(["file", "environment", "flag"])), numbers=st.permutations([11, 22, 33]))
@pytest.mark.requirement("cli:settings:layers")
def test_the_highest_layer_that_names_a_setting_wins_and_is_its_origin(
    home: Path, given_layers: set[str], numbers: list[int]
) -> None:
    by_layer = dict(zip(["file", "environment", "flag"], numbers, strict=True))
    found = load(
        home,
        {"port": by_layer["flag"] if "flag" in given_layers else None},
        f"port = {by_layer['file']}" if "file" in given_layers else "",
        **({"PENTAD_PORT": str(by_layer["environment"])} if "environment" in given_layers else {}),
    )
    expected = next((layer for layer in ("flag", "environment", "file") if layer in given_layers), "default")
    assert found.origin("port").layer == expected
    assert found.port == by_layer.get(expected, 8700)


@given(st.data())
def test_every_setting_can_be_given_by_a_variable_in_the_form_it_is_shown_in(data: st.DataObject) -> None:
    entry = data.draw(st.sampled_from(list(catalogue().values())))
    value = value_of(Settings(), entry.path)
    if entry.path != "data" and entry.display(value):
        assert convert(entry.kind, entry.display(value)) == value


@pytest.mark.requirement("access:limits:settings")
def test_every_setting_is_documented_and_every_limit_is_a_setting() -> None:
    paths = catalogue()
    assert all(entry.about.endswith(".") for entry in paths.values())
    for prefix, kind in (("limits", Limits), ("fetch", FetchPolicy)):
        assert {f"{prefix}.{item.name}" for item in dataclasses.fields(kind)} == {
            path for path in paths if path.startswith(prefix + ".")
        }


def test_the_named_file_comes_before_the_folders_own_and_the_data_folders_is_last(home: Path) -> None:
    data = home / "data"
    data.mkdir()
    (data / "pentad.toml").write_text("port = 1", encoding="utf-8")
    assert load(home, PENTAD_DATA=str(data)).port == 1
    assert load(home, toml="port = 2", PENTAD_DATA=str(data)).port == 2
    (home / "named.toml").write_text("port = 3", encoding="utf-8")
    assert load(home, PENTAD_DATA=str(data), PENTAD_CONFIG=str(home / "named.toml")).port == 3
    (home / "flag.toml").write_text("port = 4", encoding="utf-8")
    found = load_settings(
        config=home / "flag.toml", environ={"HOME": str(home), "PENTAD_CONFIG": str(home / "named.toml")}
    )
    assert (found.port, found.file) == (4, home / "flag.toml")


def test_a_nested_setting_is_read_from_every_layer(home: Path) -> None:
    found = load(
        home,
        {"log.level": "error"},
        "[limits]\nbody_bytes = 10\n[fetch]\nallow_networks = ['10.0.0.0/8']",
        PENTAD_LIMITS_TOOL_SECONDS="2.5",
        PENTAD_LIMITS_RESULT_BYTES="2MiB",
    )
    assert (found.limits.body_bytes, found.limits.tool_seconds, found.limits.result_bytes) == (10, 2.5, 2 << 20)
    assert [str(network) for network in found.fetch.allow_networks] == ["10.0.0.0/8"]
    assert found.log.level == "error"


def test_a_rooms_table_and_its_variables_reach_the_room(home: Path) -> None:
    found = load(
        home,
        toml="[rooms]\nopen = ['metrics', 'my.module:ROOM']\n[rooms.metrics]\nraw_days = 5\nprometheus_url = 'a'",
        PENTAD_METRICS_PROMETHEUS_URL="b",
        PENTAD_METRICS_PROMETHEUS_TOKEN=SECRET,
    )
    assert found.rooms == ("metrics", "my.module:ROOM")
    own = resolve_room(found, "metrics", MetricsSettings)
    assert own.values == MetricsSettings(raw_days=5.0, prometheus_url="b", prometheus_token=SECRET)
    assert str(own.origin("prometheus_url")) == "environment PENTAD_METRICS_PROMETHEUS_URL"
    assert str(own.origin("raw_days")) == f"file {found.file}"
    assert str(own.origin("sse")) == "default"
    assert SECRET not in repr(own.values)


def test_variables_named_after_a_platform_reach_the_metrics_room(home: Path) -> None:
    found = load(
        home,
        toml='[rooms.metrics]\nanypoint_url = "https://file.test"\nanypoint_org = "o"\n',
        PENTAD_ANYPOINT_URL="https://platform.test",
        PENTAD_ANYPOINT_CLIENT_SECRET=SECRET,
    )
    own = resolve_room(found, "metrics", MetricsSettings)
    assert own.values == MetricsSettings(
        anypoint_url="https://platform.test", anypoint_org="o", anypoint_client_secret=SECRET
    )
    assert found.warnings == ()
    assert str(own.origin("anypoint_url")) == "environment PENTAD_ANYPOINT_URL"
    assert SECRET not in repr(found) + repr(list_settings(found))


@pytest.mark.requirement("settings:rooms:checked")
@pytest.mark.parametrize(
    ("toml", "said"),
    [
        ("[rooms.metrics]\nprometheus_ulr = 'x'", "'rooms.metrics.prometheus_url'"),
        ("[rooms.metrics]\nraw_days = 'many'", "It must be a number"),
        ("[rooms.metrics]\npoll = 3", "It must be a table"),
        ("[rooms.metrics]\nraw_days = 0", "Use 1 or more"),
        ("[rooms.directory]\ngrpc_auth = 'maybe'", "required, none"),
        ("[rooms.directory]\nsync_networks = ['10.0.0.1/8']", "a network"),
        ("[rooms.agents]\nkeep_days = 0", "greater than 0"),
        ("[rooms.registers]\nanything = 1", "Remove it"),
    ],
)
def test_a_slip_in_a_rooms_table_is_refused_with_what_would_do(home: Path, toml: str, said: str) -> None:
    with pytest.raises(Misconfigured) as caught:
        load(home, toml=toml)
    assert said in caught.value.sentence()


@pytest.mark.requirement("settings:rooms:checked")
def test_a_value_of_a_room_that_does_not_fit_is_reported_with_its_file_or_variable(home: Path) -> None:
    with pytest.raises(Misconfigured, match=r"rooms\.metrics\.plain_methods \(file .*pentad\.toml\)"):
        load(home, toml="[rooms.metrics]\nplain_methods = 'perhaps'")
    (home / "here" / "pentad.toml").unlink()
    with pytest.raises(Misconfigured, match=r"^PENTAD_METRICS_PLAIN_METHODS has an invalid value"):
        load(home, PENTAD_METRICS_PLAIN_METHODS=SECRET)
    with pytest.raises(Misconfigured, match=r"^DIRECTORY_CLIENT_OIDC_CALLBACK_PORT has an invalid value") as caught:
        resolve_room(
            load(home, DIRECTORY_CLIENT_OIDC_CALLBACK_PORT=SECRET), "directory", declared_settings("directory")
        )
    assert SECRET not in caught.value.sentence()


@pytest.mark.requirement("settings:rooms:checked")
def test_an_unknown_variable_of_a_room_is_warned_about_with_the_nearest_one(home: Path) -> None:
    assert load(home, PENTAD_AVATARS_MODEL_ULR="x").warnings == (
        "The variable PENTAD_AVATARS_MODEL_ULR is not a Pentad setting. Did you mean 'PENTAD_AVATARS_MODEL_URL'?",
    )


@pytest.mark.requirement("settings:removed")
def test_a_removed_setting_is_ignored_with_a_warning_that_names_its_replacement(home: Path) -> None:
    found = load(home, toml="[rooms.agents]\nlease_seconds = 60\nopen_tasks = 5")
    [warning] = found.warnings
    assert "'rooms.agents.lease_seconds'" in warning
    assert "no longer exists" in warning
    assert "jobs" in warning
    own = resolve_room(found, "agents", declared_settings("agents"))
    assert (own.values.open_tasks, own.values.extra) == (5, {})
    assert "lease_seconds" not in repr(list_settings(found))
    (home / "here" / "pentad.toml").unlink()
    [warning] = load(home, PENTAD_AGENTS_LEASE_SECONDS="60").warnings
    assert "PENTAD_AGENTS_LEASE_SECONDS" in warning
    assert "jobs" in warning


@pytest.mark.requirement("settings:rooms:listed")
def test_every_setting_of_every_room_is_listed_with_its_description(home: Path) -> None:
    lines = {line.path: line for line in list_settings(load(home, PENTAD_AVATARS_MODEL_KEY=SECRET))}
    for room in installed_rooms():
        for name, field in fields_of(declared_settings(room)).items():
            assert lines[f"rooms.{room}.{name}"].about == field.metadata["about"]
    key = lines["rooms.avatars.model_key"]
    assert (key.value, str(key.origin)) == ("***", "environment PENTAD_AVATARS_MODEL_KEY")
    assert lines["rooms.directory.grpc_auth"].value == "required"


@pytest.mark.requirement("settings:rooms:checked")
def test_the_room_declares_the_settings_that_its_package_names() -> None:
    for room in find_rooms(()):
        assert room.settings is declared_settings(room.name)


@pytest.mark.requirement("settings:rooms:lazy")
def test_rooms_are_not_looked_for_unless_something_is_set_for_one(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def looked() -> list[str]:
        raise AssertionError("rooms were looked for")

    monkeypatch.setattr("pentad.settings.sources.installed_rooms", looked)
    load(home, {"port": 1}, "[limits]\nbody_bytes = 10", PENTAD_AUTH="none", SCHEMA_URL="http://x")


def test_rooms_may_be_a_plain_list(home: Path) -> None:
    assert load(home, toml="rooms = ['directory']").rooms == ("directory",)
    assert load(home, PENTAD_ROOMS="directory, agents").rooms == ("directory", "agents")


@pytest.mark.parametrize(
    ("toml", "said"),
    [
        ("prot = 1", "'port'"),
        ("[limits]\nbody_byte = 1", "'limits.body_bytes'"),
        ("[limit]\nbody_bytes = 1", "'limits'"),
        ("port = 'many'", "whole number"),
        ("port = true", "whole number"),
        ("port = -1", "whole number"),
        ("auth = 'maybe'", "required, none"),
        ("[fetch]\nallow_networks = ['10.0.0.1/8']", "network"),
        ("rooms = 3", "a list"),
        ("[rooms]\nopne = []", "[rooms]"),
        ("port = ", "Correct that line"),
        ("public_url = 'pentad.example'", "https://"),
        ("database = 'mysql://x'", "postgresql://"),
        ("[jwt]\nissuer = 'https://i'", "jwt.audience"),
        ("[jwt]\nroles = 3", "a table"),
        ("[jwt]\nissuer = 'https://i'\naudience = ['a']\nroles = {x = 'boss'}", "reader, writer, admin"),
        ("[[jwt.issuers]]\nissuer = 'https://i'", "jwt.issuers[0].audience"),
        ("[[jwt.issuers]]\nisuer = 'https://i'", "'isuer' is none of them"),
        ("[[jwt.issuers]]\nissuer = 3", "issuer is a text"),
        ("[jwt]\nissuers = 'x'", "JSON"),
        ("workers = 0", "at least one"),
        ("[audit]\ndays = 0", "at least a day"),
        ("[login]\naccess_token_minutes = 0.01", "0.02 (a second)"),
        ("[login]\naccess_token_minutes = 1e12", "0.02 (a second)"),
    ],
)
def test_a_slip_in_the_file_is_refused_with_what_would_do(home: Path, toml: str, said: str) -> None:
    with pytest.raises(Misconfigured) as caught:
        load(home, toml=toml)
    assert said in caught.value.sentence()


def test_an_unknown_variable_is_warned_about_with_the_nearest_one(home: Path) -> None:
    assert load(home, PENTAD_PROT="1").warnings == (
        "The variable PENTAD_PROT is not a Pentad setting. Did you mean 'PENTAD_PORT'?",
    )
    assert load(home, PENTAD_PORT="1", PENTAD_CONFIG="", PENTAD_TOKEN="x").warnings == ()


def test_a_room_table_that_looks_misspelt_is_warned_about(home: Path) -> None:
    assert "'directory'" in load(home, toml="[rooms.directry]\na = 1").warnings[0]


def test_a_wrong_variable_is_named_without_repeating_its_value(home: Path) -> None:
    with pytest.raises(Misconfigured) as caught:
        load(home, PENTAD_PORT=SECRET)
    assert "PENTAD_PORT" in caught.value.message
    assert SECRET not in caught.value.sentence()


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.4", "example.com"])
@pytest.mark.requirement("access:none-on-loopback-only")
def test_no_login_is_refused_beyond_this_machine(home: Path, host: str) -> None:
    with pytest.raises(Misconfigured, match="--auth none is refused"):
        load(home, {"host": host, "auth": "none"})


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "localhost"])
def test_no_login_is_allowed_on_this_machine(home: Path, host: str) -> None:
    assert load(home, {"host": host, "auth": "none"}).auth == "none"


def test_a_named_file_that_is_missing_is_an_error_and_not_ignored(home: Path) -> None:
    with pytest.raises(Misconfigured, match="does not exist"):
        load(home, PENTAD_CONFIG=str(home / "none.toml"))


def test_a_file_in_the_data_folder_cannot_move_the_data_folder(home: Path) -> None:
    with pytest.raises(Misconfigured, match="cannot name another"):
        load(home, toml="data = '/elsewhere'", PENTAD_DATA=str(home / "here"))


def test_secrets_are_shown_nowhere(home: Path) -> None:
    found = load(
        home,
        PENTAD_DATABASE=f"postgresql://ada:{SECRET}@db/x",
        PENTAD_ANYPOINT_CLIENT_SECRET=SECRET,
        PENTAD_FETCH_PROXY=f"http://me:{SECRET}@proxy",
        PENTAD_JWT_SECRET=SECRET,
    )
    assert SECRET not in repr(found).replace(repr(found.fetch), "")
    shown = {line.path: line.value for line in list_settings(found)}
    assert SECRET not in str(shown)
    assert shown["database"] == "postgresql://ada:***@db/x"
    assert shown["jwt.secret"] == "***"


def test_secrets_inside_a_rooms_table_are_masked_too() -> None:
    hidden = {"url": f"https://me:{SECRET}@splunk/x", "token": SECRET, "headers": {"x-mine": SECRET}}
    loader = {**hidden, "index": "figures"}
    shown = {line.path: line.value for line in list_settings(Settings(room_tables={"r": {"loaders": {"a": loader}}}))}
    assert SECRET not in str(shown)
    assert "figures" in shown["rooms.r.loaders"]


@given(
    st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=8),
    st.text(st.characters(exclude_characters="&#", categories=["L", "N", "P", "S"]), max_size=12),
)
def test_a_masked_address_never_shows_the_password(user: str, password: str) -> None:
    canary = f"9{password}9"

    def shown_address(url: str) -> str:
        return catalogue()["database"].display(url)

    assert canary not in shown_address(f"postgresql://{user}:{canary}@host:5432/name")
    assert canary not in shown_address(f"postgresql://{user}@host/name?password={canary}&x=1")


@given(st.text(max_size=30), st.sampled_from([entry.kind for entry in catalogue().values()]))
def test_any_text_is_a_value_or_refused_and_nothing_else(text: str, kind: Any) -> None:
    with contextlib.suppress(WrongTypeError):
        convert(kind, text)


def test_the_data_folder_follows_the_systems_custom(tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path)}
    assert user_data_folder(home, "linux") == tmp_path / ".local" / "share" / "pentad"
    assert user_data_folder({**home, "XDG_DATA_HOME": "/x"}, "linux") == Path("/x/pentad")
    assert user_data_folder(home, "darwin") == tmp_path / "Library" / "Application Support" / "pentad"
    assert user_data_folder({**home, "LOCALAPPDATA": "/l"}, "win32") == Path("/l/pentad")


def test_an_address_of_the_server_can_be_clicked(home: Path) -> None:
    assert load(home, {"host": "::1", "port": 1}).url("/mcp") == "http://[::1]:1/mcp"
    assert load(home, {"host": "0.0.0.0"}).url() == "http://127.0.0.1:8700/"
    assert load(home, {"public_url": "https://p.example/"}).url("/mcp") == "https://p.example/mcp"


def test_a_token_issuer_is_built_from_its_settings(home: Path) -> None:
    [issuer] = load(
        home,
        PENTAD_JWT_ISSUER="https://i.example",
        PENTAD_JWT_AUDIENCE="pentad,api",
        PENTAD_JWT_SECRET="x" * 32,
        PENTAD_JWT_ROLES="pentad-admins=admin,clerks=registers:read registers:write",
    ).trusted_issuers()
    assert (issuer.audiences, issuer.algorithms) == (("pentad", "api"), ("HS256",))
    assert issuer.roles == {"pentad-admins": "admin", "clerks": "registers:read registers:write"}
    assert issuer.scopes is None


ISSUERS = """
[jwt]
issuer = "https://one.example"
audience = ["pentad"]

[[jwt.issuers]]
issuer = "https://two.example"
audience = ["api"]
algorithms = ["ES256"]
jwks_url = "http://keycloak.auth.svc/keys"
roles_claim = "realm_access.roles"
roles = { pentad-admins = "admin", clerks = ["registers:read", "registers:write"] }
scopes = { "mcp.use" = "directory:read" }
leeway = 5

[[jwt.issuers]]
issuer = "https://three.example"
audience = "api"
secret = "%s"
"""


@pytest.mark.requirement("access:jwt:issuers")
def test_several_issuers_each_have_a_table(home: Path) -> None:
    found = load(home, toml=ISSUERS % (SECRET * 3))
    one, two, three = found.trusted_issuers()
    assert (one.issuer, one.is_discovered, one.place) == ("https://one.example", True, "jwt")
    assert (two.jwks_url, two.leeway, two.roles_claim) == ("http://keycloak.auth.svc/keys", 5, "realm_access.roles")
    assert (two.audiences, two.algorithms) == (("api",), ("ES256",))
    assert two.roles == {"pentad-admins": "admin", "clerks": "registers:read registers:write"}
    assert two.scopes == {"mcp.use": "directory:read"}
    assert (three.algorithms, three.place) == (("HS256",), "jwt.issuers[1]")
    shown = {line.path: line.value for line in list_settings(found)}
    assert shown["jwt.issuers"] == "https://two.example,https://three.example"
    assert SECRET not in repr(found) + str(shown)


def test_issuers_come_from_the_environment_as_json(home: Path) -> None:
    text = '[{"issuer": "https://one.example", "audience": ["pentad"], "roles": {"staff": "reader"}}]'
    [issuer] = load(home, PENTAD_JWT_ISSUERS=text).trusted_issuers()
    assert (issuer.issuer, issuer.roles) == ("https://one.example", {"staff": "reader"})


def test_an_issuer_set_twice_is_refused(home: Path) -> None:
    toml = "[jwt]\nissuer = 'https://i'\naudience = ['a']\n[[jwt.issuers]]\nissuer = 'https://i'\naudience = ['b']"
    with pytest.raises(Misconfigured, match="set twice"):
        load(home, toml=toml)


@pytest.mark.parametrize(
    ("toml", "name"),
    [
        ('forwarded_allow_ips = ["*"]', "forwarded_allow_ips"),
        ('public_pages = ["everything"]', "public_pages"),
        ('allowed_origins = ["*"]', "allowed_origins"),
        ('allowed_origins = ["null"]', "allowed_origins"),
        ('allowed_origins = ["http://localhost:6274/page"]', "allowed_origins"),
        ('allowed_origins = ["localhost:6274"]', "allowed_origins"),
    ],
)
@pytest.mark.requirement("net:proxies:settings", "access:guards:settings", "access:public-pages:setting")
def test_who_may_come_in_is_never_a_guess(home: Path, toml: str, name: str) -> None:
    with pytest.raises(Misconfigured, match=name):
        load(home, toml=toml)


@pytest.mark.requirement("net:proxies:settings", "access:guards:settings", "access:public-pages:setting")
def test_proxies_origins_and_public_pages_come_from_the_settings(home: Path) -> None:
    found = load(
        home,
        toml='forwarded_allow_ips = ["10.0.0.0/8"]\nallowed_origins = ["http://localhost:6274/"]',
        PENTAD_PUBLIC_PAGES="openapi,llms",
    )
    assert found.proxies().trust("10.1.2.3")
    assert not found.proxies().trust("11.1.2.3")
    assert found.is_public("openapi")
    assert not found.is_public("metrics")


@pytest.mark.requirement("login:provider:settings")
def test_an_identity_provider_is_read_from_file_and_environment(home: Path) -> None:
    toml = """
        [login]
        session_days = 7
        [login.provider]
        issuer = "https://login.example.com/realms/staff"
        client_id = "pentad"
        groups_claim = "realm_access.roles"
        domains = ["@Example.com"]
        [login.provider.roles]
        ops = "admin"
        staff = ["writer", "metrics:admin"]
    """
    settings = load(home, toml=toml, PENTAD_LOGIN_PROVIDER_CLIENT_SECRET="s3cret-value")
    assert settings.login.session_days == 7
    provider = settings.login.provider.checked()
    assert provider is not None
    assert (provider.name, provider.client_secret, provider.domains) == (
        "login.example.com",
        "s3cret-value",
        ("example.com",),
    )
    assert provider.rights(["staff", "x"]) == ("writer", {"metrics:admin"})
    assert "s3cret-value" not in repr(settings) + repr(provider) + repr(list_settings(settings))
    assert settings.origin("login.provider.client_secret").layer == "environment"


@pytest.mark.requirement("login:provider:settings")
@pytest.mark.parametrize(
    ("toml", "said"),
    [
        ('issuer = "http://login.example.com"\nclient_id = "x"', "https"),
        ('issuer = "https://login.example.com"', "client_id"),
        ('issuer = "https://login.example.com"\nclient_id = "x"\nscopes = ["email"]', "openid"),
        ('issuer = "https://login.example.com"\nclient_id = "x"\nroles = {a = "boss"}', "reader, writer or admin"),
        ('issuer = "https://login.example.com"\nclient_id = "x"\nroles = {a = "metrics:read"}', "reader, writer or"),
        ('issuer = "https://a.example"\nclient_id = "x"\nclient_secret_file = "/nowhere/at/all"', "cannot be read"),
        ('issuer = "https://a.example"\nclient_id = "x"\nclient_secret = "a"\nclient_secret_file = "b"', "both"),
        ('isuer = "https://a.example"', "login.provider.issuer"),
    ],
)
def test_a_slip_in_the_identity_provider_ends_the_start(home: Path, toml: str, said: str) -> None:
    with pytest.raises(Misconfigured) as refused:
        load(home, toml=f"[login.provider]\n{toml}\n")
    assert said in refused.value.sentence()


@pytest.mark.parametrize("name", ["session_idle_hours", "session_days"])
def test_a_session_that_would_end_at_once_is_refused(home: Path, name: str) -> None:
    with pytest.raises(Misconfigured):
        load(home, toml=f"[login]\n{name} = 0\n")


@pytest.mark.requirement("tools:profiles:settings")
def test_profiles_are_tables_and_their_mistakes_are_named(home: Path) -> None:
    found = load(home, toml="[profiles.support]\nrooms = ['avatars']\ntools = ['objects']\nread_only = true")
    assert found.profiles == {"support": Profile(rooms=("avatars",), tools=("objects",), read_only=True)}
    (line,) = (one for one in list_settings(found) if one.path == "profiles")
    assert line.value == "support=avatars objects (read-only)"
    for toml, said in (
        ("[profiles.x]\nroom = ['a']", "'room' is none of them"),
        ("[profiles.x]\nlists = 'some'", "one of all, common, search"),
        ("profiles = 3", "a table"),
        ("[profiles.core]\nrooms = ['a']", "built in"),
    ):
        with pytest.raises(Misconfigured) as caught:
            load(home, toml=toml)
        assert said in caught.value.sentence()
