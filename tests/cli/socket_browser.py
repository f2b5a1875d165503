"""A browser of the tests that really connects: it keeps cookies, follows redirects and sends the forms of pages."""

import html
import re
from http.cookiejar import CookieJar
from urllib.error import HTTPError
from urllib.parse import urlencode, urljoin
from urllib.request import HTTPCookieProcessor, Request, build_opener


class SocketBrowser:
    """One browser; `page` is the last page it has seen."""

    def __init__(self) -> None:
        self._opener = build_opener(HTTPCookieProcessor(CookieJar()))
        self.url = ""
        self.status = 0
        self.page = ""

    def open(self, url: str, fields: "list[tuple[str, str]] | None" = None) -> str:
        """Open a page; with fields, send a form."""
        body = None if fields is None else urlencode(fields).encode()
        try:
            answer = self._opener.open(Request(urljoin(self.url, url), body, {"Accept": "text/html"}), timeout=30)
        except HTTPError as error:
            answer = error
        with answer:
            self.url, self.status, self.page = answer.url, answer.status or 0, answer.read().decode()
        return self.page

    def send(self, button: str, **typed: str) -> str:
        """Press a button of the page, in the form that has it, with what was typed; boxes stay as they are."""
        forms = [one for one in re.findall(r"<form.*?</form>", self.page, re.DOTALL) if f">{button}</button>" in one]
        assert len(forms) == 1, (button, self.page)
        action = re.search(r'<form[^>]* action="([^"]*)"', forms[0])
        fields = [(name, typed[name]) for name in typed]
        for tag in re.findall(r"<(?:input|button)[^>]*>", forms[0]):
            given = {key: html.unescape(value) for key, value in re.findall(r'([\w-]+)="([^"]*)"', tag)}
            is_sent = given.get("type") == "hidden" or (given.get("type") == "checkbox" and "checked" in given)
            if "name" in given and given["name"] not in typed and is_sent:
                fields.append((given["name"], given["value"]))
        pressed = re.search(rf"<button([^>]*)>{re.escape(button)}</button>", forms[0])
        named = dict(re.findall(r'([\w-]+)="([^"]*)"', pressed[1])) if pressed else {}
        if "name" in named:
            fields.append((named["name"], named["value"]))
        return self.open(html.unescape(action[1]) if action else self.url, fields)
