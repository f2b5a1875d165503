"""What a process imports: start-up time is part of the product, and the direction of imports is kept."""

import ast
import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import pentad

SOURCE = Path(pentad.__file__).parent
HEAVY_FOR_STDIO = (
    "starlette", "uvicorn", "aiohttp", "psycopg", "psycopg_pool", "joserfc", "argon2", "cryptography", "rich",
    "prometheus_client", "jsonschema_rs", "grpc", "google", "uvloop", "httptools", "opentelemetry", "multiprocessing",
    "difflib",
)  # fmt: skip
LATER = (
    "mcp.http", "http", "console", "kernel.pages", "kernel.secrets.text", "access.tokens", "access.passwords",
    "access.audit_query", "administration.traces", "storage.integrity",
)  # fmt: skip
"""What only some calls need, or errors."""
SERVE_STDIO = """
import asyncio, sys, tempfile
from pathlib import Path

async def main() -> None:
    from pentad.app import open_app
    from pentad.settings.model import Settings
    import pentad.cli.main, pentad.cli.mcp, pentad.mcp.stdio
    with tempfile.TemporaryDirectory() as folder:
        async with open_app(Settings(data=Path(folder), rooms=("tests.behaviour.room:ROOM",))) as app:
            async with app.client() as client:
                await client.call_tool("echo", {"text": "x"})

asyncio.run(main())
print("\\n".join(sys.modules))
"""


def loaded_by(program: str) -> set[str]:
    ended = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        encoding="utf-8",
        cwd=SOURCE.parents[1],
        check=True,
        timeout=60,
    )
    return set(ended.stdout.split())


@pytest.mark.requirement("imports:stdio-light")
def test_a_stdio_server_that_has_answered_a_call_has_loaded_nothing_it_does_not_need() -> None:
    loaded = loaded_by(SERVE_STDIO)
    assert "pentad.mcp.connection" in loaded
    tops = {name.partition(".")[0] for name in loaded}
    assert tops.isdisjoint(HEAVY_FOR_STDIO)
    assert [part for part in LATER if f"pentad.{part}" in loaded] == []
    ours = {name for name in loaded if name.startswith("pentad.cli.")}
    assert "pentad.cli.serve" not in ours, "a verb is loaded when it is run"


SERVE_DIRECTORY = """
import asyncio, sys, tempfile
from pathlib import Path

async def main() -> None:
    from pentad.app import open_app
    from pentad.settings.model import Settings
    import pentad.cli.main, pentad.cli.mcp, pentad.mcp.stdio
    with tempfile.TemporaryDirectory() as folder:
        async with open_app(Settings(data=Path(folder), rooms=("directory",))) as app:
            async with app.client() as client:
                await client.call_tool("agntcy_dir_search_local", {"names": ["*"]})

asyncio.run(main())
print("\\n".join(sys.modules))
"""


@pytest.mark.requirement("imports:stdio-light")
def test_the_directory_loads_neither_grpc_nor_cryptography_before_they_are_needed() -> None:
    loaded = loaded_by(SERVE_DIRECTORY)
    assert {name.partition(".")[0] for name in loaded}.isdisjoint(HEAVY_FOR_STDIO)
    for part in (
        "oasf.validator",
        "oasf.repair",
        "oasf.json_schema",
        "pages",
        "translate.importing",
        "trust.keys",
        "wire.server",
    ):
        assert f"pentad.rooms.directory.{part}" not in loaded


LIBRARY = SOURCE / "agentvault"
"""What people import has the names of the library it stands in for, where that has them."""


IMPORT = re.compile(r"^\s*(?:import|from)\s+(\.|\w+)", re.MULTILINE)
"""What looks like an import; only the syntax tree tells whether it is one."""


@cache
def modules() -> dict[Path, str]:
    return {path: path.read_text(encoding="utf-8") for path in sorted(SOURCE.rglob("*.py"))}


def named(path: Path) -> str:
    return str(path.relative_to(SOURCE))


@pytest.mark.requirement("imports:no-reexports")
def test_a_package_marker_holds_one_docstring_and_nothing_else() -> None:
    silent: list[str] = []
    talkative: list[str] = []
    for path, text in modules().items():
        marker = path.name == "__init__.py" and path.parent != SOURCE
        if text.startswith('"""') and not marker:
            continue  # the usual case; the tree of every module would cost seconds
        tree = ast.parse(text)
        if not ast.get_docstring(tree):
            silent.append(named(path))
        if marker and LIBRARY not in (path.parent, path.parent.parent) and len(tree.body) > 1:
            talkative.append(named(path))
    assert silent == [], "a module says why it exists"
    assert talkative == []


@pytest.mark.requirement("imports:referees-outside")
def test_no_module_of_the_product_imports_a_referee() -> None:
    referees = {"mcp", "mcp_types", "fastmcp", "a2a", "agentvault", "agentvault_server_sdk"}
    forbidden = {*referees, "pytest", "hypothesis", "tests"}
    for path, text in modules().items():
        if {*forbidden, "."}.isdisjoint(IMPORT.findall(text)):
            continue
        for node in ast.walk(ast.parse(text)):
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{named(path)} imports relatively"
                names = [node.module or ""]
            assert forbidden.isdisjoint(name.partition(".")[0] for name in names), named(path)


@pytest.mark.requirement("imports:rooms-apart")
def test_a_room_that_imports_another_breaks_the_contract(tmp_path: Path) -> None:
    for part in ("rooms/metrics", "rooms/registers"):  # two rooms will do; the whole graph would cost seconds
        shutil.copytree(SOURCE / part, tmp_path / "src" / "pentad" / part, ignore=_all_but_python)
    for marker in ("__init__.py", "rooms/__init__.py"):
        shutil.copy(SOURCE / marker, tmp_path / "src" / "pentad" / marker)
    shutil.copy(SOURCE.parents[1] / "pyproject.toml", tmp_path)
    service = tmp_path / "src" / "pentad" / "rooms" / "metrics" / "service.py"
    service.write_text(
        service.read_text(encoding="utf-8") + "\nimport pentad.rooms.registers.service\n", encoding="utf-8"
    )
    ended = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache", "--no-logo", "--contract", "rooms"],
        capture_output=True,
        encoding="utf-8",
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path / "src")},
        check=False,
        timeout=60,
    )
    assert ended.returncode == 1
    assert "pentad.rooms.metrics is not allowed to import pentad.rooms.registers" in ended.stdout


def _all_but_python(folder: str, names: list[str]) -> list[str]:
    return [name for name in names if not name.endswith(".py") and not Path(folder, name).is_dir()]
