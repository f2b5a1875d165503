"""A person at a browser: `python chromium.py PROGRAM`, told what to do by JSON lines, with one answer line for each.

`{"browser": "ada", "visit": URL, "name": ..., "password": ..., "press": "Allow", "until": PREFIX}` opens the URL, logs
in if a login form appears, presses the button, or goes back if the server refuses, and waits for an address that begins
with PREFIX. The answer has the address (`landed`) and the text of every page on the way (`pages`). A browser keeps its
cookies between visits.

`{"browser": "ada", "steps": [{"go": URL}, {"fill": {LABEL: TEXT}, "press": NAME}]}` does one thing after the other. The
answer has `address`, `title`, `text` and number of `scripts` of the page after each step, and all `errors`: those of
scripts, and what the content security policy forbade.
"""

import json
import sys
from typing import Any

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, sync_playwright

MILLISECONDS = 20_000


def visit(page: Page, order: dict[str, Any]) -> dict[str, Any]:
    """Follow the pages until the wanted address."""
    pages: list[str] = []
    page.goto(order["visit"])
    while not page.url.startswith(order["until"]):
        pages.append(page.inner_text("body"))
        button = page.get_by_role("button", name=order["press"], exact=True)
        if page.locator("input[type=password]").count():
            page.locator("input[autocomplete=username]").fill(order["name"])
            page.locator("input[type=password]").fill(order["password"])
            button = page.locator("form:has(input[type=password]) button").first
        elif not button.count():
            button = page.get_by_role("link", name="Go back to")
        with page.expect_navigation():
            button.click()
    return {"landed": page.url, "pages": pages}


def follow(page: Page, steps: list[dict[str, Any]]) -> dict[str, Any]:
    """Do one step after the other."""
    seen: list[dict[str, Any]] = []
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: errors.append(message.text) if _is_error(page, message) else None)
    for step in steps:
        if "go" in step:
            page.goto(step["go"])
        else:
            for label, text in step.get("fill", {}).items():
                page.get_by_label(label, exact=True).fill(text)
            with page.expect_navigation():
                page.get_by_role("button", name=step["press"], exact=True).first.click()
        page.wait_for_load_state()
        scripts = page.locator("script").count()
        seen.append({"address": page.url, "title": page.title(), "text": page.inner_text("body"), "scripts": scripts})
    return {"seen": seen, "errors": errors}


def _is_error(page: Page, message: ConsoleMessage) -> bool:
    """Whether a message is an error; that the page itself came with a status such as 401 is none."""
    is_status = message.text.startswith("Failed to load resource: the server responded with a status of")
    return message.type == "error" and not (is_status and message.location["url"].partition("#")[0] == page.url)


def main(program: str) -> None:
    with sync_playwright() as playwright:
        browser: Browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        contexts: dict[str, BrowserContext] = {}
        for line in sys.stdin:
            order = json.loads(line)
            if order["browser"] not in contexts:
                contexts[order["browser"]] = browser.new_context()
                contexts[order["browser"]].set_default_timeout(MILLISECONDS)
            page = contexts[order["browser"]].new_page()
            try:
                answer = follow(page, order["steps"]) if "steps" in order else visit(page, order)
            except Exception as error:  # noqa: BLE001  the tests judge it
                answer = {"failed": str(error), "landed": page.url, "pages": [page.inner_text("body")]}
            page.close()
            print(json.dumps(answer), flush=True)  # noqa: T201
        browser.close()


main(sys.argv[1])
