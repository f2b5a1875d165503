"""`pentad install`: each client's file, in a home of its own, from nothing, with content, twice, and broken."""

import json
import stat
import sys
from pathlib import Path
from typing import Any

import pytest
import tomlkit
from click.testing import CliRunner

from pentad.cli.install import install
from pentad.kernel.errors import Misconfigured, NotFound, PentadError
from pentad.mcp_clients.clients import CLIENTS, HttpServer, Machine, StdioServer
from pentad.mcp_clients.json_editor import parse

STDIO = StdioServer("/opt/pentad", ("mcp", "serve"))
HTTP = HttpServer("http://127.0.0.1:8700/mcp")
FILES = {
    "claude-code": ".claude.json",
    "claude-desktop": ".config/Claude/claude_desktop_config.json",
    "cursor": ".cursor/mcp.json",
    "vscode": ".config/Code/User/mcp.json",
    "codex": ".codex/config.toml",
    "gemini": ".gemini/settings.json",
}
WITH_HTTP = tuple(name for name in tuple(CLIENTS) if name != "claude-desktop")
BARE: dict[str, dict[str, str]] = {
    "claude-code": {"type": "http", "url": HTTP.url},
    "cursor": {"url": HTTP.url},
    "vscode": {"type": "http", "url": HTTP.url},
    "codex": {"url": HTTP.url},
    "gemini": {"httpUrl": HTTP.url},
}
"""What each client needs to open the browser for the login by itself: nothing but the URL."""
BEARER: dict[str, dict[str, Any]] = {
    "claude-code": {"headers": {"Authorization": "Bearer ${PENTAD_TOKEN}"}},
    "cursor": {"headers": {"Authorization": "Bearer ${env:PENTAD_TOKEN}"}},
    "vscode": {"headers": {"Authorization": "Bearer ${input:pentad-token}"}},
    "codex": {"bearer_token_env_var": "PENTAD_TOKEN"},
    "gemini": {"headers": {"Authorization": "Bearer $PENTAD_TOKEN"}},
}
"""Where each client finds the key: never in the file itself."""
WITH_COMMENTS = ("cursor", "vscode", "gemini")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "platform", "linux")
    for name in ("XDG_CONFIG_HOME", "CODEX_HOME", "CLAUDE_CONFIG_DIR", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run_install(*args: str, told: bool = False) -> str:
    result = CliRunner().invoke(install, args)
    if isinstance(result.exception, PentadError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stderr if told else result.stdout


def content(path: Path) -> dict[str, Any]:
    text = path.read_text(encoding="utf-8")
    return tomlkit.parse(text).unwrap() if path.suffix == ".toml" else parse(text, comments=True).value


@pytest.mark.parametrize("name", tuple(CLIENTS))
def test_a_client_without_a_file_gets_one(home: Path, name: str) -> None:
    run_install(name, "--rooms", "metrics", "--data", str(home / "d"))
    entry = content(home / FILES[name])[CLIENTS[name].servers]["pentad"]
    assert entry["args"][-6:] == ["mcp", "serve", "--data", str(home / "d"), "--rooms", "metrics"]
    assert not (home / (FILES[name] + ".bak")).exists()


@pytest.mark.parametrize(
    "arguments",
    [
        *([name] for name in tuple(CLIENTS)),
        *([name, "--http", *more] for name in WITH_HTTP for more in ([], ["--key"])),
    ],
)
@pytest.mark.requirement("cli:install")
def test_installing_twice_changes_nothing_the_second_time(home: Path, arguments: list[str]) -> None:
    name = arguments[0]
    run_install(*arguments)
    first = (home / FILES[name]).read_bytes()
    run_install(*arguments)
    assert (home / FILES[name]).read_bytes() == first
    assert not (home / (FILES[name] + ".bak")).exists()


@pytest.mark.parametrize("name", WITH_COMMENTS)
@pytest.mark.requirement("cli:install")
def test_comments_and_foreign_entries_stay_where_they_are(home: Path, name: str) -> None:
    path = home / FILES[name]
    path.parent.mkdir(parents=True)
    servers = CLIENTS[name].servers
    before = (
        '// mine\n{\n\t/* theme */ "theme": "dark", // of course\n'
        f'\t"{servers}": {{\n\t\t"other": {{ "command": "x" }} // keep me\n\t}},\n\t"last": [1, 2,],\n}}\n'
    )
    path.write_text(before, encoding="utf-8")
    run_install(name)
    after = path.read_text(encoding="utf-8")
    for remark in ("// mine", "/* theme */", "// of course", "// keep me"):
        assert remark in after
    found = content(path)
    assert (found["theme"], found["last"], found[servers]["other"]) == ("dark", [1, 2], {"command": "x"})
    assert '\n\t\t"pentad": {\n' in after
    assert path.with_name(path.name + ".bak").read_text(encoding="utf-8") == before


@pytest.mark.parametrize("name", ["claude-code", "claude-desktop"])
def test_unknown_keys_of_a_plain_file_survive(home: Path, name: str) -> None:
    path = home / FILES[name]
    path.parent.mkdir(parents=True, exist_ok=True)
    old = {"projects": {"/a": {"history": ["é"]}}, "mcpServers": {"pentad": {"command": "old", "env": {"A": "1"}}}}
    path.write_text(json.dumps(old, indent=4, ensure_ascii=False), encoding="utf-8")
    run_install(name)
    found = json.loads(path.read_text(encoding="utf-8"))
    assert found["projects"] == old["projects"]
    assert found["mcpServers"]["pentad"]["env"] == {"A": "1"}
    assert found["mcpServers"]["pentad"]["command"] != "old"


def test_toml_keeps_its_comments_and_other_tables(home: Path) -> None:
    path = home / FILES["codex"]
    path.parent.mkdir()
    path.write_text('# mine\nmodel = "o" # why\n\n[mcp_servers.other]\ncommand = "x"\n', encoding="utf-8")
    run_install("codex")
    text = path.read_text(encoding="utf-8")
    assert text.startswith('# mine\nmodel = "o" # why\n\n[mcp_servers.other]\ncommand = "x"\n')
    assert content(path)["mcp_servers"]["pentad"]["args"] == ["mcp", "serve"]


@pytest.mark.parametrize("name", tuple(CLIENTS))
@pytest.mark.parametrize("broken", ["{", "[1", '{"a" 1}', "\xff\xfe", "= 3"])
def test_a_broken_file_is_left_untouched_with_a_clear_error(home: Path, name: str, broken: str) -> None:
    path = home / FILES[name]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(broken.encode("latin-1"))
    with pytest.raises(Misconfigured) as caught:
        run_install(name)
    assert str(path) in caught.value.message
    assert caught.value.hint
    assert path.read_bytes() == broken.encode("latin-1")
    assert [entry.name for entry in path.parent.iterdir() if entry.is_file()] == [path.name]


@pytest.mark.parametrize("name", tuple(CLIENTS))
def test_an_entry_of_the_wrong_type_is_not_overwritten(home: Path, name: str) -> None:
    path = home / FILES[name]
    path.parent.mkdir(parents=True, exist_ok=True)
    servers = CLIENTS[name].servers
    text = f'{servers} = "none"' if name == "codex" else json.dumps({servers: "none"})
    path.write_text(text, encoding="utf-8")
    with pytest.raises(Misconfigured, match=servers):
        run_install(name)
    assert path.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("name", WITH_HTTP)
def test_changing_to_http_leaves_nothing_of_the_command(home: Path, name: str) -> None:
    run_install(name)
    run_install(name, "--http")
    entry = content(home / FILES[name])[CLIENTS[name].servers]["pentad"]
    assert "command" not in entry
    assert "args" not in entry
    assert HTTP.url in entry.values()


@pytest.mark.parametrize("name", WITH_HTTP)
@pytest.mark.requirement("cli:install:login")
def test_an_address_is_bare_unless_a_key_is_asked_for(home: Path, name: str) -> None:
    def entry() -> dict[str, Any]:
        return content(home / FILES[name])[CLIENTS[name].servers]["pentad"]

    told = run_install(name, "--http", told=True)
    assert entry() == BARE[name]
    assert CLIENTS[name].login_step.format(name="pentad") in told
    assert "PENTAD_TOKEN" not in told
    told = run_install(name, "--http", "--key", told=True)
    assert entry() == {**BARE[name], **BEARER[name]}
    assert "PENTAD_TOKEN" in told
    assert CLIENTS[name].login_step.format(name="pentad") not in told
    run_install(name, "--http")
    assert entry() == BARE[name]


@pytest.mark.requirement("cli:install:login")
def test_a_key_is_for_an_address_only(home: Path) -> None:
    result = CliRunner().invoke(install, ["cursor", "--key"])
    assert (result.exit_code, "--key needs --http" in result.stderr) == (2, True)
    assert not (home / FILES["cursor"]).exists()


def test_claude_desktop_says_why_it_takes_no_address(home: Path) -> None:
    with pytest.raises(Misconfigured, match="address"):
        run_install("claude-desktop", "--http")
    assert not (home / FILES["claude-desktop"]).exists()


@pytest.mark.parametrize("name", tuple(CLIENTS))
@pytest.mark.requirement("cli:install:print")
def test_print_shows_the_snippet_and_writes_nothing(home: Path, name: str) -> None:
    shown = run_install(name, "--print")
    assert "pentad" in shown
    assert not (home / FILES[name]).exists()


@pytest.mark.parametrize("name", WITH_HTTP)
def test_no_snippet_holds_a_key_but_every_one_says_where_it_comes_from(name: str) -> None:
    text = CLIENTS[name].snippet({"pentad": HttpServer(HTTP.url, with_key=True)})
    assert "PENTAD_TOKEN" in text or "${input:pentad-token}" in text


def test_a_link_stays_a_link_and_the_mode_stays_what_it_was(home: Path) -> None:
    real = home / "dotfiles.json"
    real.write_text("{}", encoding="utf-8")
    real.chmod(0o640)
    (home / ".claude.json").symlink_to(real)
    run_install("claude-code")
    assert (home / ".claude.json").is_symlink()
    assert "pentad" in real.read_text(encoding="utf-8")
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


def test_several_rooms_over_http_are_one_entry_each(home: Path) -> None:
    run_install("vscode", "--http", "--rooms", "metrics,agents")
    found = content(home / FILES["vscode"])
    assert list(found["servers"]) == ["pentad-metrics", "pentad-agents"]
    assert "inputs" not in found
    run_install("vscode", "--http", "--key", "--rooms", "metrics,agents")
    assert [question["id"] for question in content(home / FILES["vscode"])["inputs"]] == ["pentad-token"]


@pytest.mark.parametrize(
    ("system", "name", "expected"),
    [
        ("darwin", "vscode", "Library/Application Support/Code/User/mcp.json"),
        ("darwin", "claude-desktop", "Library/Application Support/Claude/claude_desktop_config.json"),
        ("win32", "vscode", "AppData/Roaming/Code/User/mcp.json"),
        ("linux", "claude-desktop", ".config/Claude/claude_desktop_config.json"),
    ],
)
def test_each_system_has_its_own_place(tmp_path: Path, system: str, name: str, expected: str) -> None:
    assert CLIENTS[name].path(Machine(system, tmp_path, {})) == tmp_path / expected


def test_the_names_offered_are_the_clients_that_exist() -> None:
    assert tuple(CLIENTS) == tuple(CLIENTS)


@pytest.mark.requirement("cli:profile")
def test_a_profile_becomes_a_flag_or_an_address(home: Path) -> None:
    (home / "pentad.toml").write_text("[profiles.support]\nrooms = ['avatars']\n", encoding="utf-8")
    run_install("claude-code", "--profile", "support")
    entry = content(home / FILES["claude-code"])["mcpServers"]["pentad"]
    assert entry["args"][-2:] == ["--profile", "support"]
    run_install("cursor", "--http", "--profile", "core")
    assert content(home / FILES["cursor"])["mcpServers"]["pentad"]["url"] == "http://127.0.0.1:8700/mcp/core"
    with pytest.raises(Misconfigured, match="both choose an address"):
        run_install("cursor", "--http", "--profile", "core", "--rooms", "metrics")
    with pytest.raises(NotFound, match="no profile 'sport'"):
        run_install("cursor", "--profile", "sport")
