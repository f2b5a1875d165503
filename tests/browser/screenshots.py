"""`python -m tests.browser.screenshots`: pictures for documents, of the demo in the machine's Chromium.

They are made anew in `docs/screenshots/`. A picture of 150 kB or more is refused: every clone has to fetch it.
"""

import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from tests.browser.conftest import DRIVER
from tests.conformance.server import REPOSITORY, Served, environment, pentad, wait_until_healthy
from tests.interop.environments import playwright_python
from tests.interop.oauth_peers import chromium, started
from tests.ports import free_port

FOLDER: Final = REPOSITORY / "docs" / "screenshots"
LARGEST: Final = 150_000
WINDOW: Final[dict[str, Any]] = {"viewport": {"width": 1280, "height": 800}, "color_scheme": "light"}
QUESTION: Final = "/console/avatars/charles-babbage?q=Who+paid+for+the+engine%3F"
PICTURES: Final = {
    "home": "/",
    "registers": "/console/registers/1/1",
    "directory": "/console/directory",
    "avatars": QUESTION,
}


@contextmanager
def demo(folder: Path) -> Generator[Served]:
    """The demo, with a folder of its own."""
    port, log = free_port(), folder / "log"
    command = [pentad(), "demo", "--port", str(port), "--grpc-port", "0", "--data", str(folder / "data"), "--no-open"]
    with log.open("wb") as sink:
        process = subprocess.Popen(command, cwd=REPOSITORY, env=environment(), stdout=sink, stderr=sink)
    served = Served(port, log, process)
    try:
        wait_until_healthy(served)
        yield served
    finally:
        process.terminate()
        process.wait(timeout=30)


def main() -> None:
    if (program := chromium()) is None:
        sys.exit("There is no Chromium on this machine: install the package `chromium`.")
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="pentad-screenshots-") as folder, demo(Path(folder)) as served:
        steps: list[dict[str, Any]] = [
            {"go": f"{served.site}/login"},
            {"fill": {"Name": "admin", "Password": "admin"}},
            {"press": "Log in"},
        ]
        for name, path in PICTURES.items():
            steps += [{"go": f"{served.site}{path}"}, {"window": str(FOLDER / f"{name}.png")}]
        with started([playwright_python(), DRIVER, program], Path(folder) / "browser") as browser:
            browser.tell({"browser": "admin", "options": WINDOW, "steps": steps})
            answer = browser.hear()
    if "failed" in answer:
        sys.exit(f"{answer['failed']}\nat {answer['url']}:\n{answer['text']}")
    for name in PICTURES:
        size = (FOLDER / f"{name}.png").stat().st_size
        print(f"{name}.png  {size:,} bytes")  # noqa: T201
        if size >= LARGEST:
            sys.exit(f"{name}.png is too large.")


if __name__ == "__main__":
    main()
