"""A user with a browser: `python chromium.py PROGRAM`, controlled by JSON lines, with one answer line for each.

`{"browser": "ada", "visit": URL, "name": ..., "password": ..., "press": "Allow", "until": PREFIX}` opens the URL, logs
in if a login form appears, presses the button, or goes back if the server refuses, and waits for a URL that begins
with PREFIX. The answer has the URL (`landed`) and the text of every page on the way (`pages`). A browser keeps its
cookies between visits.

`{"browser": "ada", "steps": [{"go": URL}, {"fill": {LABEL: TEXT}, "press": NAME}]}` does the steps in order. The
answer has `address`, `title`, `text`, number of `scripts` and `marked` tabs of the page after each step, and all
`errors`: those of scripts, and violations of the content security policy. Further steps: `{"copy": TEXT}` presses the
copy button next to the code that contains TEXT, and adds what the button `said`, what was `shown` and the `clipboard`;
`{"clock": true}` lets `{"pass": SECONDS}` move the page's clock; `{"see": TEXT}` waits for a line; `{"look": true}`
does nothing. With `"stay": true` the next steps of this browser continue on the same page.
"""

import json
import sys
from typing import Any

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, sync_playwright

MILLISECONDS = 20_000


def visit(page: Page, order: dict[str, Any]) -> dict[str, Any]:
    """Follow the pages to the wanted URL."""
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
    """Do the steps in order."""
    seen: list[dict[str, Any]] = []
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: errors.append(message.text) if _is_error(page, message) else None)
    for step in steps:
        copied: dict[str, Any] = {}
        if "clock" in step:
            page.clock.install()
        elif "go" in step:
            page.goto(step["go"])
        elif "copy" in step:
            copied = copy(page, step["copy"])
        elif "pass" in step:
            page.clock.fast_forward(1_000 * step["pass"])
        elif "see" in step:
            page.get_by_text(step["see"], exact=True).wait_for()
        elif "press" in step:
            press(page, step)
        page.wait_for_load_state()
        scripts = page.locator("script").count()
        marked = page.locator("[data-tab].connected").evaluate_all("tabs => tabs.map((tab) => tab.dataset.tab)")
        shown = {"address": page.url, "title": page.title(), "text": page.inner_text("body")}
        seen.append({**shown, "scripts": scripts, "marked": marked, **copied})
    return {"seen": seen, "errors": errors}


def press(page: Page, step: dict[str, Any]) -> None:
    """Fill in a form and press its button; if it is folded away, open it first."""
    if "open" in step:
        page.locator("summary:visible", has_text=step["open"]).click()
    for label, text in step.get("fill", {}).items():
        page.get_by_label(label, exact=True).fill(text)
    with page.expect_navigation():
        page.get_by_role("button", name=step["press"], exact=True).first.click()


def copy(page: Page, text: str) -> dict[str, Any]:
    """Press the copy button next to a code. The button shows its result only for a moment, so it is watched."""
    box = page.locator(".copied:visible", has_text=text).first
    button = box.locator("button")
    button.evaluate(
        "button => { window.said = new Promise((resolve) => new MutationObserver(() => resolve(button.textContent))"
        ".observe(button, { childList: true })); }"
    )
    button.click()
    said = page.evaluate("() => window.said")
    clipboard = page.evaluate("() => navigator.clipboard.readText()")
    return {"said": said, "shown": box.locator("pre").text_content(), "clipboard": clipboard}


def _is_error(page: Page, message: ConsoleMessage) -> bool:
    """Whether a message is an error; a page that came with a status such as 401 is not one."""
    is_status = message.text.startswith("Failed to load resource: the server responded with a status of")
    return message.type == "error" and not (is_status and message.location["url"].partition("#")[0] == page.url)


def main(program: str) -> None:
    with sync_playwright() as playwright:
        browser: Browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        contexts: dict[str, BrowserContext] = {}
        open_pages: dict[str, Page] = {}
        for line in sys.stdin:
            order = json.loads(line)
            name = order["browser"]
            if name not in contexts:
                contexts[name] = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
                contexts[name].set_default_timeout(MILLISECONDS)
            page = open_pages.pop(name, None) or contexts[name].new_page()
            try:
                answer = follow(page, order["steps"]) if "steps" in order else visit(page, order)
            except Exception as error:  # noqa: BLE001  the tests judge it
                answer = {"failed": str(error), "landed": page.url, "pages": [page.inner_text("body")]}
            if order.get("stay"):
                open_pages[name] = page
            else:
                page.close()
            print(json.dumps(answer), flush=True)  # noqa: T201
        browser.close()


main(sys.argv[1])
