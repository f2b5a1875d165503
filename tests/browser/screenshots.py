"""`python -m tests.browser.screenshots`: pictures of the demo for the documents, in the machine's Chromium.

They are written to `docs/screenshots/`, with few colours. Files of 100 kB or more are refused, because every clone
fetches them.
"""

import sys
import tempfile
from pathlib import Path
from typing import Any, Final

from PIL import Image

from tests.browser.conftest import DEMO_LOGIN, DRIVER, running_demo
from tests.conformance.server import REPOSITORY
from tests.interop.environments import playwright_python
from tests.interop.oauth_peers import chromium, started

FOLDER: Final = REPOSITORY / "docs" / "screenshots"
LARGEST: Final = 100_000
COLOURS: Final = 256
WINDOW: Final[dict[str, Any]] = {"viewport": {"width": 1280, "height": 800}, "color_scheme": "light"}
QUESTION: Final = "/console/avatars/tree-office?q=How+many+young+trees+must+be+planted+for+each+felled+tree%3F"
PICTURES: Final = {
    "home": "/",
    "registers": "/console/registers/1/3",
    "avatars": QUESTION,
    "metrics": "/console/metrics/ch/applications.production.vcoresUsed?span=14d",
}


def main() -> None:
    if (program := chromium()) is None:
        sys.exit("There is no Chromium on this machine: install the package `chromium`.")
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="pentad-screenshots-") as folder, running_demo(Path(folder)) as demo:
        steps: list[dict[str, Any]] = [
            {"go": f"{demo.site}/login"},
            {"fill": dict(zip(("Name", "Password"), DEMO_LOGIN, strict=True))},
            {"press": "Log in"},
        ]
        for name, path in PICTURES.items():
            steps += [{"go": f"{demo.site}{path}"}, {"window": str(FOLDER / f"{name}.png")}]
        with started([playwright_python(), DRIVER, program], Path(folder) / "browser") as browser:
            browser.tell({"browser": "admin", "options": WINDOW, "steps": steps})
            answer = browser.hear()
    if "failed" in answer:
        sys.exit(f"{answer['failed']}\nat {answer['url']}:\n{answer['text']}")
    for name in PICTURES:
        path = FOLDER / f"{name}.png"
        with Image.open(path) as picture:
            picture.convert("RGB").quantize(COLOURS, Image.Quantize.MAXCOVERAGE).save(path, optimize=True)
        size = path.stat().st_size
        print(f"{name}.png  {size:,} bytes")  # noqa: T201
        if size >= LARGEST:
            sys.exit(f"{name}.png is too large.")


if __name__ == "__main__":
    main()
