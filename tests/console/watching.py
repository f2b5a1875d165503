"""Forms whose answer is read while it comes in."""

from urllib.parse import urlencode

from tests.behaviour.http_wire import HttpAnswer, send
from tests.console.house import csrf_of
from tests.http.browsing import Browser


async def begun(browser: Browser, path: str, fields: dict[str, str]) -> HttpAnswer:
    """Send a form; the answer, as soon as it begins."""
    body = urlencode({**fields, "csrf": await csrf_of(browser)}).encode()
    headers = {
        "host": browser.host,
        "origin": browser.origin,
        "cookie": "; ".join(f"{name}={value}" for name, value in browser.cookies.items()),
        "content-type": "application/x-www-form-urlencoded",
        "content-length": str(len(body)),
    }
    return await send(browser.front, "POST", path, headers, body, browser.client).head()


async def read_until(answer: HttpAnswer, text: str) -> str:
    """What has come once it has this text."""
    found = ""
    async for chunk in answer.chunks():
        found += chunk.decode()
        if text in found:
            return found
    raise AssertionError(f"{text!r} never came: {found}")
