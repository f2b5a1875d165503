"""Removes secrets from command lines: argument lists and shell strings."""

import re
from typing import Final, overload

from pentad.kernel.secrets.findings import Finding, Mark, Scrubbed, stars
from pentad.kernel.secrets.names import strength_of
from pentad.kernel.secrets.references import is_reference
from pentad.kernel.secrets.text import is_path
from pentad.kernel.secrets.urls import scrub_header, scrub_value

_HEADER_FLAGS: Final = frozenset({"-H", "--header", "--headers", "--http-header", "--proxy-header"})
_LOGIN_FLAGS: Final = frozenset({"-u", "--user", "--login", "--proxy-user", "-U"})
_PASSWORD_FLAGS: Final = {"sshpass": "-p", "mongo": "-p", "mongosh": "-p", "login": "-p", "redis-cli": "-a"}
"""The password flags of programs; for docker and podman only with `login`, because their `-p` is otherwise a port."""
_JOINED_PASSWORDS: Final = frozenset({"mysql", "mysqldump", "mysqladmin", "mariadb", "sshpass"})
"""Programs that accept `-psecret` as one word."""
_ASSIGNED: Final = re.compile(
    r"(?P<head>(?:-{1,2}|/|\$env:)?(?:D(?=[a-z]))?)(?P<name>[A-Za-z_][\w.-]{0,200})(?P<sign>=|:(?!//|\\))(?P<value>.*)",
    re.DOTALL,
)
_PLAIN_FLAG: Final = re.compile(r"--?[A-Za-z]+(?:-[A-Za-z]+)*")
_HEADER: Final = re.compile(r"(?P<name>[A-Za-z][\w-]{0,100})(?P<sign>\s{0,3}[:=]\s{0,3})(?P<value>.*)", re.DOTALL)
_LOGIN: Final = re.compile(r"(?P<user>[^\s:/]{0,200}):(?P<password>\S+)")
_NUMBERS: Final = re.compile(r"[0-9]*:[0-9]*")
_WORDS: Final = re.compile(r"""(?:[^\s"'\\;|]|\\.|"(?:[^"\\]|\\.)*+"?|'[^']*+'?)++""", re.DOTALL)
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)
_SHELL_FLAGS: Final = frozenset({"-c", "-lc", "-ic", "-Command", "--command", "/c", "/C"})
"""The argument after one of these is a shell string."""
_DEEPEST: Final = 3
_SHORTEST: Final = 13
"""Shorter words of letters and digits are not recognised as secrets by their form."""


@overload
def scrub_command(command: str, *, mark: Mark = stars, cautious: bool = True) -> Scrubbed[str]: ...
@overload
def scrub_command(
    command: list[str] | tuple[str, ...], *, mark: Mark = stars, cautious: bool = True
) -> Scrubbed[list[str]]: ...
def scrub_command(
    command: str | list[str] | tuple[str, ...], *, mark: Mark = stars, cautious: bool = True
) -> Scrubbed[str] | Scrubbed[list[str]]:
    """A command line without credentials: a list of arguments, or a shell string, which keeps its spacing.

    Findings say `argument.<index>`. `cautious` also removes parts that only look random.
    """
    reader = _Command(mark, cautious=cautious)
    if isinstance(command, str):
        return Scrubbed(reader.shell(command, "", 0), tuple(reader.findings))
    return Scrubbed(reader.arguments(list(command), "argument", 0), tuple(reader.findings))


class _Command:
    def __init__(self, mark: Mark, *, cautious: bool) -> None:
        self._mark = mark
        self._cautious = cautious
        self.findings: list[Finding] = []

    def arguments(self, argv: list[str], where: str, depth: int) -> list[str]:
        clean: list[str] = []
        program = ""
        flag = ""
        for index, argument in enumerate(argv):
            place = f"{where}.{index}" if where else f"word.{index}"
            kept = self._argument(argument, flag, program, place, depth)
            clean.append(kept)
            if not program and not argument.startswith("-") and "=" not in argument:
                program = re.split(r"[/\\]", argument)[-1].removesuffix(".exe")
            elif argument == "login":
                program = argument
            is_flag = argument in _SHELL_FLAGS or (argument.startswith("-") and "=" not in argument)
            flag = argument if is_flag and kept == argument else ""
        return clean

    def shell(self, text: str, where: str, depth: int) -> str:
        """A shell string with each word cleaned in place."""
        words = list(_WORDS.finditer(text))
        given = [_unquoted(word[0]) for word in words]
        pieces: list[str] = []
        at = 0
        for word, old, new in zip(words, given, self.arguments(given, where, depth), strict=True):
            if new != old:
                pieces += (text[at : word.start()], _quoted(new, word[0]))
                at = word.end()
        return "".join(pieces) + text[at:]

    def _argument(self, argument: str, flag: str, program: str, where: str, depth: int) -> str:
        if (not flag and len(argument) < _SHORTEST and argument.isalnum()) or is_reference(argument):
            return argument
        if flag in _HEADER_FLAGS and (header := _HEADER.fullmatch(argument)) is not None:
            return self._header("", header, where)
        if flag in _LOGIN_FLAGS and (login := self._login("", argument, program, where)) is not None:
            return login
        if flag in _SHELL_FLAGS and depth < _DEEPEST:
            return self.shell(argument, where, depth + 1)
        if flag and not argument.startswith("-"):
            strength = "password" if _PASSWORD_FLAGS.get(program) == flag else strength_of(flag.lstrip("-"), "flag")
            if strength is not None and not (strength == "token" and is_path(argument)):
                return self._found(where, "key-name", flag.lstrip("-"))
        joined = self._joined(argument, program, where)
        if joined is not None or _PLAIN_FLAG.fullmatch(argument):
            return joined or argument
        if depth < _DEEPEST and any(character.isspace() for character in argument):
            before = len(self.findings)
            clean = self.shell(argument, where, depth + 1)
            if len(self.findings) > before:
                return clean
        return self._value(argument, where, "")

    def _joined(self, argument: str, program: str, where: str) -> str | None:
        """A flag or variable with its value in one word; None if the word is neither."""
        if argument.startswith("-H") and (header := _HEADER.fullmatch(argument[2:])) is not None:
            return self._header("-H", header, where)
        if argument.startswith("-u") and program == "curl" and len(argument) > 2:
            return self._login("-u", argument[2:], program, where)
        if argument.startswith("-p") and program in _JOINED_PASSWORDS and not is_reference(argument[2:]):
            return "-p" + self._found(where, "password", "password")
        assigned = _ASSIGNED.fullmatch(argument)
        if assigned is None or (assigned["sign"] == ":" and not argument.startswith("/")):
            return None
        name, value = assigned["name"], assigned["value"]
        head = assigned["head"] + name + assigned["sign"]
        flag = assigned["head"] + name
        if flag in _HEADER_FLAGS and (header := _HEADER.fullmatch(value)) is not None:
            return self._header(head, header, where)
        if flag in _LOGIN_FLAGS and (login := self._login(head, value, program, where)) is not None:
            return login
        strength = strength_of(name, "flag" if assigned["head"] else "variable")
        if strength is None:
            inner = self._joined(value, "", where) if assigned["head"] and "=" in value else None
            return head + (inner if inner is not None else self._value(value, where, name))
        if not value or is_reference(value) or (strength == "token" and is_path(value)):
            return argument
        return head + self._found(where, "key-name", name)

    def _header(self, head: str, header: re.Match[str], where: str) -> str:
        scrubbed = scrub_header(header["name"], header["value"], mark=self._mark, cautious=self._cautious)
        self._note(scrubbed, where)
        return f"{head}{header['name']}{header['sign']}{scrubbed.clean}"

    def _login(self, head: str, value: str, program: str, where: str) -> str | None:
        read = _LOGIN.fullmatch(value)
        if read is None or _NUMBERS.fullmatch(value) or is_reference(read["password"]):
            return None
        certain = program in ("curl", "http", "https", "wget", "xh") or "proxy" in head
        if not certain and not self._cautious:
            return None
        return f"{head}{read['user']}:{self._found(where, 'password', 'password', certain=certain)}"

    def _value(self, value: str, where: str, name: str) -> str:
        scrubbed = scrub_value(value, where, name, mark=self._mark, cautious=self._cautious)
        self.findings += scrubbed.findings
        return scrubbed.clean

    def _note(self, scrubbed: Scrubbed[str], where: str) -> None:
        self.findings += (one._replace(where=f"{where}.{one.where}") for one in scrubbed.findings)

    def _found(self, where: str, kind: str, name: str, *, certain: bool = True) -> str:
        self.findings.append(Finding(where, kind, name, certain))
        return self._mark(self.findings[-1])


def _unquoted(word: str) -> str:
    """A shell word without its quotes."""
    pieces: list[str] = []
    at = 0
    while at < len(word):
        opened = word[at]
        if opened in "\"'":
            end = _closing(word, at)
            inner = word[at + 1 : end]
            pieces.append(_ESCAPED.sub(r"\1", inner) if opened == '"' else inner)
            at = end + 1
        elif opened == "\\" and at + 1 < len(word):
            pieces.append(word[at + 1])
            at += 2
        else:
            pieces.append(opened)
            at += 1
    return "".join(pieces)


def _closing(word: str, at: int) -> int:
    end = at + 1
    while end < len(word) and word[end] != word[at]:
        end += 2 if word[end] == "\\" and word[at] == '"' else 1
    return min(end, len(word))


def _quoted(text: str, old: str) -> str:
    """A changed word, quoted if it was or if it needs to be."""
    quote = old[0] if old[0] in "\"'" else '"' if any(one.isspace() for one in text) else ""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"') if quote == '"' else text
    return f"{quote}{escaped}{quote}"
