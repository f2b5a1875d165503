"""A user with a browser: `python driver.py PROGRAM`, controlled by JSON lines, with one answer line for each.

An order is `{"browser": NAME, "options": {...}, "steps": [...]}`. A browser keeps its cookies; `options` are those of a
new Playwright context (viewport, color_scheme, java_script_enabled, storage_state). Each step is an object with one of
these:

    go: URL                     fill: {LABEL: TEXT}         choose: {LABEL: VALUE}      check: LABEL
    press: BUTTON or SELECTOR   click: SELECTOR             open: SUMMARY               key: KEY
    type: TEXT                  wait: SELECTOR              shot: FILE                  run: JAVASCRIPT
    submit: KEY                 present: SELECTOR           upload: {LABEL: {name, text}}
    axe: FILE                   media: screen or print      window: FILE
    hover: SELECTOR             focus: SELECTOR             request: {method, url, basic, json}
    view: STEP                  post: {url, fields}         cookies: all

`submit` presses a key that leads to another page; `present` waits for an invisible element, such as an option.
`axe` runs axe-core from the file and returns serious findings; `window` is a picture of the visible part of the page,
`shot` one of the whole page. Below the window, Chromium leaves frames of other origins blank in a `shot`: scroll there,
and take a `window`. `request` acts as another program; `view` does a step inside the innermost frame. `post` sends a
form that the page does not have, with the token of one that it has, and returns the status.

The answer has a page after each step: `url`, `text`, `status`, `focus` (name of the focused element), `overflow` (how
many pixels it is wider than the window), and the result of `run`. `errors` are those of scripts and of the policy.
"""

import json
import sys
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from playwright.sync_api import BrowserContext, Frame, Page, sync_playwright

MILLISECONDS = 90_000
STATUS = "Failed to load resource: the server responded with a status of"
SEND = """({ url, fields }) => {
  const form = document.createElement("form");
  Object.assign(form, { method: "post", action: url });
  const token = document.querySelector("input[name=csrf]").value;
  for (const [name, value] of Object.entries({ csrf: token, ...fields })) {
    form.append(Object.assign(document.createElement("input"), { type: "hidden", name, value }));
  }
  document.body.append(form);
  form.submit();
}"""


def do(page: Page | Frame, step: dict[str, Any]) -> Any:
    """Do one step."""
    (what, given), *_ = step.items()
    return STEPS[what](page, given)


def fill(page: Page, given: dict[str, str]) -> None:
    for label, text in given.items():
        page.get_by_label(label, exact=True).first.fill(text)


def choose(page: Page, given: dict[str, str]) -> None:
    for label, value in given.items():
        page.get_by_label(label, exact=True).first.select_option(value)


def press(page: Page, given: str) -> None:
    with page.expect_navigation():
        page.get_by_role("button", name=given, exact=True).first.click()


def upload(page: Page, given: dict[str, dict[str, str]]) -> None:
    for label, file in given.items():
        content = {"name": file["name"], "mimeType": "application/octet-stream", "buffer": file["text"].encode()}
        page.get_by_label(label, exact=True).first.set_input_files(content)


def accessibility(page: Page, script: str) -> list[str]:
    """Findings of axe-core: the rule, its severity, and where."""
    page.evaluate(Path(script).read_text(encoding="utf-8"))
    found = page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{one['id']} ({one['impact']}): {one['help']}: {[node['target'] for node in one['nodes']][:5]}"
        for one in found["violations"]
        if one["impact"] in ("serious", "critical")
    ]


def request(_page: Page, given: dict[str, Any]) -> None:
    credentials = b64encode(given["basic"].encode()).decode()
    headers = {"authorization": f"Basic {credentials}", "content-type": "application/json"}
    sent = Request(given["url"], json.dumps(given["json"]).encode(), headers, method=given["method"])
    with urlopen(sent, timeout=60) as answer:
        answer.read()


def post(page: Page, given: dict[str, Any]) -> int:
    with page.expect_navigation() as answered:
        page.evaluate(SEND, given)
    answer = answered.value
    assert answer is not None
    return answer.status


def submit(page: Page, given: str) -> None:
    with page.expect_navigation():
        page.keyboard.press(given)


STEPS: dict[str, Callable[[Any, Any], Any]] = {
    "go": lambda page, given: page.goto(given).status,
    "fill": fill,
    "choose": choose,
    "check": lambda page, given: page.get_by_label(given, exact=True).first.check(),
    "press": press,
    "click": lambda page, given: page.locator(given).first.click(),
    "open": lambda page, given: page.locator("summary", has_text=given).first.click(),
    "key": lambda page, given: page.keyboard.press(given),
    "type": lambda page, given: page.keyboard.type(given),
    "submit": submit,
    "wait": lambda page, given: page.locator(given).first.wait_for(),
    "present": lambda page, given: page.locator(given).first.wait_for(state="attached"),
    "shot": lambda page, given: str(page.screenshot(path=given, full_page=True) is None),
    "window": lambda page, given: str(page.screenshot(path=given) is None),
    "run": lambda page, given: page.evaluate(given),
    "request": request,
    "post": post,
    "cookies": lambda page, _given: page.context.cookies(),
    "upload": upload,
    "axe": accessibility,
    "media": lambda page, given: page.emulate_media(media=given),
    "focus": lambda page, given: page.locator(given).first.focus(),
    "hover": lambda page, given: page.locator(given).first.hover(),
    "view": lambda page, given: do(page.frames[-1], given),
}


def seen(page: Page, found: Any) -> dict[str, Any]:
    """The page after a step."""
    page.wait_for_load_state()
    overflow = page.evaluate("() => document.documentElement.scrollWidth - document.body.offsetWidth")
    focus = page.evaluate("() => document.activeElement?.getAttribute('name') ?? document.activeElement?.id ?? ''")
    return {"url": page.url, "text": page.inner_text("body"), "overflow": overflow, "focus": focus, "found": found}


def follow(page: Page, steps: list[dict[str, Any]]) -> dict[str, Any]:
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on(
        "console",
        lambda said: errors.append(said.text) if said.type == "error" and not said.text.startswith(STATUS) else None,
    )
    return {"seen": [seen(page, do(page, step)) for step in steps], "errors": errors}


def main(program: str) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        contexts: dict[str, BrowserContext] = {}
        for line in sys.stdin:
            order = json.loads(line)
            name = order["browser"]
            if name not in contexts:
                contexts[name] = browser.new_context(**order.get("options", {}))
                contexts[name].set_default_timeout(MILLISECONDS)
            page = contexts[name].new_page()
            try:
                answer = follow(page, order["steps"])
            except Exception as error:  # noqa: BLE001  the tests judge it
                answer = {"failed": str(error), "url": page.url, "text": page.inner_text("body")}
            page.close()
            print(json.dumps(answer), flush=True)  # noqa: T201
        browser.close()


main(sys.argv[1])
