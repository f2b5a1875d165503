"""Removes secrets from URLs and headers."""

import re
from typing import Final
from urllib.parse import unquote

from pentad.kernel.secrets.findings import Finding, Mark, Scrubbed, stars
from pentad.kernel.secrets.names import is_secret_name
from pentad.kernel.secrets.references import is_reference
from pentad.kernel.secrets.text import found_in, is_credential, judge_value, login_span

_URL: Final = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<rest>.*)", re.DOTALL)
_WORD: Final = re.compile(r"[A-Za-z][A-Za-z-]{0,40}|v?[0-9]+(?:\.[0-9]+)*")
_WEBHOOK_HOSTS: Final = ("hooks.slack.com", "discord.com/api/webhooks", "discordapp.com/api/webhooks")
_DEEPEST: Final = 2
_SCHEME: Final = re.compile(r"\s*(?:[A-Za-z][A-Za-z0-9-]{1,30}\s+)(?=\S)")


def is_url(text: str) -> bool:
    """Whether a text is a URL with an authority."""
    return _URL.match(text) is not None


def scrub_url(url: str, *, mark: Mark = stars, cautious: bool = True, greedy_login: bool = False) -> Scrubbed[str]:
    """A URL without passwords, tokens and signatures in its login, path, query and fragment.

    `cautious` also removes parts that only look random; the findings say so. With `greedy_login` everything up to the
    last `@` is the login, because people often leave database passwords unescaped.
    """
    return _Url(mark, cautious=cautious, greedy_login=greedy_login).scrub(url)


def scrub_header(name: str, value: str, *, mark: Mark = stars, cautious: bool = True) -> Scrubbed[str]:
    """A header's value without credentials; the scheme of Authorization and the names of cookies stay."""
    where = f"header.{name}"
    if is_reference(value):
        return Scrubbed(value)
    if name.lower() in ("cookie", "set-cookie"):
        return _scrub_cookies(name, value, mark)
    if is_secret_name(name, "header"):
        scheme = _SCHEME.match(value)
        finding = Finding(where, "key-name", name)
        return Scrubbed((scheme[0] if scheme else "") + mark(finding), (finding,))
    return scrub_value(value, where, name, mark=mark, cautious=cautious)


def scrub_value(value: str, where: str, name: str, *, mark: Mark = stars, cautious: bool = True) -> Scrubbed[str]:
    """A value with a harmless name: a URL is cleaned as a URL; other text only loses its secrets."""
    if is_url(value):
        scrubbed = scrub_url(value, mark=mark, cautious=cautious)
        return Scrubbed(scrubbed.clean, tuple(one._replace(where=f"{where}.{one.where}") for one in scrubbed.findings))
    if is_reference(value):
        return Scrubbed(value)
    spans = found_in(value)
    if spans:
        findings: list[Finding] = []
        clean, at = "", 0
        for kind, start, end in spans:
            findings.append(Finding(where, kind, name))
            clean += value[at:start] + mark(findings[-1])
            at = end
        return Scrubbed(clean + value[at:], tuple(findings))
    if cautious and judge_value(value) == "maybe":
        finding = Finding(where, "random", name, certain=False)
        return Scrubbed(mark(finding), (finding,))
    return Scrubbed(value)


def _scrub_cookies(name: str, value: str, mark: Mark) -> Scrubbed[str]:
    """Mask the values of all cookies; in `Set-Cookie` only the first pair, because the others are attributes."""
    findings: list[Finding] = []
    if "=" not in value:
        findings.append(Finding(f"header.{name}", "key-name", name))
        return Scrubbed(mark(findings[0]), tuple(findings))
    pairs = value.split(";")
    held = len(pairs) if name.lower() == "cookie" else 1
    for index, pair in enumerate(pairs[:held]):
        key, equals, cookie = pair.partition("=")
        if equals and not is_reference(cookie):
            findings.append(Finding(f"header.{name}", "key-name", key.strip()))
            pairs[index] = f"{key}={mark(findings[-1])}"
    return Scrubbed(";".join(pairs), tuple(findings))


class _Url:
    def __init__(self, mark: Mark, *, cautious: bool, greedy_login: bool = False) -> None:
        self._mark = mark
        self._cautious = cautious
        self._greedy_login = greedy_login
        self._findings: list[Finding] = []

    def scrub(self, url: str, depth: int = 0) -> Scrubbed[str]:
        read = _URL.fullmatch(url)
        if read is None:
            head, question, query = url.partition("?")
            return Scrubbed(self._path(head, "") + question + self._query(query, depth), tuple(self._findings))
        rest = self._login(read["scheme"], read["rest"])
        rest, hash_mark, fragment = rest.partition("#")
        rest, question, query = rest.partition("?")
        authority, slash, path = rest.partition("/")
        clean = (
            f"{read['scheme']}://{authority}{slash}{self._path(path, authority)}{question}{self._query(query, depth)}"
        )
        return Scrubbed(f"{clean}{hash_mark}{self._fragment(fragment, depth)}", tuple(self._findings))

    def _found(self, where: str, kind: str, name: str, *, certain: bool = True) -> str:
        self._findings.append(Finding(where, kind, name, certain))
        return self._mark(self._findings[-1])

    def _login(self, scheme: str, rest: str) -> str:
        span = login_span(scheme, rest, greedy=self._greedy_login)
        if span is None:
            return rest
        return rest[: span[0]] + self._found("login", "url-password", "password") + rest[span[1] :]

    def _path(self, path: str, authority: str) -> str:
        is_webhook = f"{authority}/{path}".lower().startswith(_WEBHOOK_HOSTS)
        segments = path.split("/")
        clean: list[str] = []
        for index, segment in enumerate(segments):
            name, equals, held = segment.partition("=")
            decoded = unquote(held if equals else segment)
            verdict = judge_value(decoded)
            before = unquote(segments[index - 1]) if index else ""
            is_named = is_secret_name(name.rpartition(";")[2], "parameter") if equals else False
            after_name = not equals and is_secret_name(before, "parameter") and _WORD.fullmatch(decoded) is None
            kept = f"{name}=" if equals else ""
            if is_reference(decoded) or not decoded:
                clean.append(segment)
            elif verdict == "yes" or is_named or (is_webhook and index > 0 and _WORD.fullmatch(decoded) is None):
                kind = "key-name" if is_named else "webhook-url" if is_webhook else _kind(decoded)
                clean.append(kept + self._found(f"path.{index}", kind, "path_token"))
            elif self._cautious and (verdict == "maybe" or (after_name and len(decoded) >= 6)):
                clean.append(kept + self._found(f"path.{index}", "random", "path_token", certain=False))
            else:
                clean.append(segment)
        return "/".join(clean)

    def _query(self, query: str, depth: int) -> str:
        return "&".join(self._parameter(pair, "query", depth) for pair in query.split("&")) if query else query

    def _fragment(self, fragment: str, depth: int) -> str:
        if "=" in fragment:
            return "&".join(self._parameter(pair, "fragment", depth) for pair in fragment.split("&"))
        verdict = judge_value(unquote(fragment))
        if verdict == "no" or (verdict == "maybe" and not self._cautious):
            return fragment
        return self._found("fragment", _kind(unquote(fragment)), "fragment", certain=verdict == "yes")

    def _parameter(self, pair: str, part: str, depth: int) -> str:
        name, equals, held = pair.partition("=")
        label, value = unquote(name), unquote(held.replace("+", " "))
        if not equals:
            label, value = "", unquote(name)
        where = f"{part}.{label}" if label else part
        kept = name + equals if equals else ""
        if not value or is_reference(value):
            return pair
        if label and is_secret_name(label, "parameter"):
            certain = is_credential(label, value)
            return kept + self._found(where, "key-name", label, certain=certain) if certain or self._cautious else pair
        if is_url(value):
            inner = _Url(self._mark, cautious=self._cautious).scrub(value, depth + 1) if depth < _DEEPEST else None
            if inner is None or inner.findings:
                certain = inner is not None and inner.certain
                return kept + self._found(where, "url-in-url", label, certain=certain)
            return pair
        verdict = judge_value(value)
        if verdict == "no" or (verdict == "maybe" and not self._cautious):
            return pair
        return kept + self._found(where, _kind(value), label, certain=verdict == "yes")


def _kind(value: str) -> str:
    found = found_in(value)
    return found[0][0] if found else "random"
