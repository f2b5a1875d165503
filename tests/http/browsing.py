"""A browser that keeps cookies and sends forms, without sockets."""

import re
from dataclasses import dataclass, field
from html import unescape
from urllib.parse import urlencode

from pentad.http.front import Front
from tests.behaviour.http_wire import HttpAnswer, send
from tests.console.reading import Read, is_inert, read

PASSWORD = "correct horse battery"


@dataclass
class Page:
    """A response, read completely."""

    http: HttpAnswer
    body: str

    @property
    def status(self) -> int:
        return self.http.status

    @property
    def location(self) -> str | None:
        return self.http.headers.get("location")

    @property
    def html(self) -> Read:
        page = read(self.body)
        is_inert(page)
        return page

    def hidden(self, name: str) -> str:
        """The value of a hidden field."""
        found = re.search(rf'<input type="hidden" name="{name}" value="([^"]*)">', self.body)
        assert found is not None, self.body
        return unescape(found[1])

    @property
    def cookies(self) -> list[str]:
        return [value for name, value in self.http.header_list if name == "set-cookie"]


@dataclass
class Browser:
    """One browser at one server."""

    front: Front
    host: str = "localhost:8700"
    origin: str = "http://localhost:8700"
    client: str = "192.0.2.7"
    cookies: dict[str, str] = field(default_factory=dict[str, str])

    async def get(self, path: str, **headers: str) -> Page:
        return await self.send("GET", path, headers)

    async def post(self, path: str, fields: dict[str, str] | list[tuple[str, str]], **headers: str) -> Page:
        """Send a form, as a page of this server does."""
        own = {"origin": self.origin, "sec-fetch-site": "same-origin"}
        form = {"content-type": "application/x-www-form-urlencoded"}
        return await self.send("POST", path, {**own, **form, **headers}, urlencode(fields).encode())

    async def send(self, verb: str, path: str, headers: dict[str, str], body: bytes = b"") -> Page:
        usual = {"host": self.host, "accept": "text/html,*/*;q=0.8", "sec-fetch-mode": "navigate", "user-agent": "Test"}
        if self.cookies:
            usual["cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        given = {**usual, **{name.replace("_", "-"): value for name, value in headers.items()}}
        if body:
            given["content-length"] = str(len(body))
        answer = send(
            self.front, verb, path, {name: value for name, value in given.items() if value}, body, self.client
        )
        page = Page(answer, (await answer.body()).decode())
        self._keep(page)
        return page

    async def log_in(self, name: str = "ada", password: str = PASSWORD, goal: str = "/") -> Page:
        form = await self.get(f"/login?{urlencode({'next': goal})}")
        fields = {"name": name, "password": password, "csrf": form.hidden("csrf"), "next": form.hidden("next")}
        return await self.post("/login", fields)

    def _keep(self, page: Page) -> None:
        for cookie in page.cookies:
            name, _, rest = cookie.partition("=")
            value = rest.partition(";")[0]
            if value:
                self.cookies[name] = value
            else:
                self.cookies.pop(name, None)
