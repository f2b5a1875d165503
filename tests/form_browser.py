"""A browser without a screen, for real servers: it keeps cookies, follows redirects of one site, and submits forms."""

import urllib.error
import urllib.request
from dataclasses import dataclass, field
from html.parser import HTMLParser
from http.cookiejar import CookieJar
from typing import Any
from urllib.parse import urlencode, urljoin, urlsplit

_SECONDS = 60.0


@dataclass
class FormOnPage:
    """A form: where it goes, what it sends, and its buttons by their labels."""

    action: str
    fields: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    buttons: dict[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    asks_password: bool = False


@dataclass(frozen=True)
class Page:
    """The current page. `left` is the URL of another site that the server redirected to."""

    url: str
    status: int
    text: str
    forms: list[FormOnPage]
    html: str
    left: str | None = None


class FormBrowser:
    """One visitor of one site."""

    def __init__(self) -> None:
        cookies = urllib.request.HTTPCookieProcessor(CookieJar())
        self._opener = urllib.request.build_opener(cookies, _SameSite())
        self._opener.addheaders = [("Accept", "text/html"), ("User-Agent", "form-browser")]

    def open(self, url: str, form: list[tuple[str, str]] | None = None) -> Page:
        request = urllib.request.Request(url, None if form is None else urlencode(form).encode())
        if form is not None:
            site = urlsplit(url)
            request.add_header("Origin", f"{site.scheme}://{site.netloc}")
        try:
            with self._opener.open(request, timeout=_SECONDS) as answer:
                return _page(answer.url, answer.status, answer.read())
        except urllib.error.HTTPError as answer:
            with answer:
                left = answer.headers.get("Location") if 300 <= answer.code < 400 else None
                return _page(answer.url, answer.code, answer.read(), left)

    def submit(self, page: Page, form: FormOnPage, press: str, **fields: str) -> Page:
        """Fill in the fields and press the button with this label."""
        pairs = [*((name, value) for name, value in form.fields if name not in fields), *fields.items()]
        button = form.buttons[press]
        return self.open(urljoin(page.url, form.action), [*pairs, *([button] if button[0] else [])])

    def log_in(self, url: str, name: str, password: str) -> Page:
        """Open a page, and log in if necessary."""
        page = self.open(url)
        for form in page.forms:
            if form.asks_password:
                return self.submit(page, form, "Log in", name=name, password=password)
        return page

    def approve(self, authorization_url: str, name: str, password: str) -> str:
        """Log in if necessary, consent, and return the client's URL that the server then redirects to."""
        page = self.log_in(authorization_url, name, password)
        consent = next((form for form in page.forms if "Allow" in form.buttons), None)
        assert consent is not None, f"{page.status} {page.url}\n{page.text}"
        page = self.submit(page, consent, "Allow")
        assert page.left is not None, f"{page.status} {page.url}\n{page.text}"
        return page.left


class _SameSite(urllib.request.HTTPRedirectHandler):
    """Follows redirects within the site; a redirect elsewhere is returned as the answer."""

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        if urlsplit(newurl).netloc != urlsplit(req.full_url).netloc:
            return None
        return super().redirect_request(req, fp, code, msg, headers, newurl)


class _Forms(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.forms: list[FormOnPage] = []
        self.words: list[str] = []
        self._button: tuple[str, str] | None = None
        self._area: str | None = None
        self._select: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.forms.append(FormOnPage(given.get("action", "")))
        elif tag == "button":
            self._button = given.get("name", ""), given.get("value", "")
        elif tag == "textarea":
            self._area = given.get("name", "")
            self.forms[-1].fields.append((self._area, ""))
        elif tag == "select":
            self._select = given.get("name", "")
        elif tag == "option" and self._select is not None:
            known = {name for name, _ in self.forms[-1].fields}
            if "selected" in given or self._select not in known:  # without a choice, the first option is sent
                others = [pair for pair in self.forms[-1].fields if pair[0] != self._select]
                self.forms[-1].fields = [*others, (self._select, given.get("value", ""))]
        elif tag == "input" and self.forms:
            form, kind = self.forms[-1], given.get("type", "text")
            form.asks_password = form.asks_password or kind == "password"
            if "name" in given and (kind not in ("checkbox", "radio") or "checked" in given):
                form.fields.append((given["name"], given.get("value", "")))

    def handle_endtag(self, tag: str) -> None:
        if tag == "button":
            self._button = None
        elif tag == "textarea":
            self._area = None
        elif tag == "select":
            self._select = None

    def handle_data(self, data: str) -> None:
        if self._area is not None:
            name, text = self.forms[-1].fields.pop()
            self.forms[-1].fields.append((name, text + data.removeprefix("\n")))
        if text := data.strip():
            self.words.append(text)
            if self._button is not None and self.forms:
                self.forms[-1].buttons[text] = self._button


def _page(url: str, status: int, body: bytes, left: str | None = None) -> Page:
    reader, html = _Forms(), body.decode("utf-8", "replace")
    reader.feed(html)
    return Page(url, status, "\n".join(reader.words), reader.forms, html, left)
