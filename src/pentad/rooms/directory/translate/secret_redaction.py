"""Removes secrets from a source before it is translated, because records are public.

Certain secrets are always withheld and reported. For values that may be secrets the caller decides: the source is
refused unless the caller chooses to withhold or keep them. `kernel.secrets` decides what a secret is; this module knows
where to look: variables, headers, arguments and URLs of MCP configurations, inputs of a server.json, members of a card,
the text of a skill. Each secret is replaced by a placeholder that asks for the value.
"""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

from pentad.kernel.errors import InvalidInput
from pentad.kernel.json_values import as_list, as_object, text_or_none
from pentad.kernel.secrets.commands import scrub_command
from pentad.kernel.secrets.documents import depth_of
from pentad.kernel.secrets.findings import Finding, Scrubbed
from pentad.kernel.secrets.names import Place, is_secret_member, is_secret_name, strength_of
from pentad.kernel.secrets.references import is_reference
from pentad.kernel.secrets.text import found_in, is_path, judge_value
from pentad.kernel.secrets.urls import is_url, scrub_header, scrub_url, scrub_value
from pentad.rooms.directory.translate.envelope import Doubt
from pentad.rooms.directory.translate.launches import PLACEHOLDER
from pentad.rooms.directory.translate.losses import Loss, Translated

REASON: Final = "it looks like a secret, and records are public; supply it again where it is used"
_QUESTIONS: Final = {"mcp": "{%s}", "a2a": "{%s}", "agentskills": "<%s>"}
_OF_HOSTS: Final = "${input:%s}"
_MOST_LISTED: Final = 20


class Withheld(NamedTuple):
    """The place and kind of a withheld secret. If not certain, it may not be a secret."""

    path: str
    kind: str
    certain: bool

    def as_json(self) -> dict[str, str]:
        return {"path": self.path, "kind": self.kind}


class SuspiciousSource(InvalidInput):
    """A source with values that may be secrets. The error names their places, never the values."""

    def __init__(
        self, suspicious: Sequence[Withheld], withheld: Sequence[Withheld] = (), *, changes: bool = True
    ) -> None:
        places = ", ".join(dict.fromkeys(f"{one.path} ({one.kind})" for one in suspicious[:_MOST_LISTED]))
        more = f" and {len(suspicious) - _MOST_LISTED} more" if len(suspicious) > _MOST_LISTED else ""
        choice = 'to "withhold" them, or to "keep" them if they are none' if changes else 'to "keep" if they are none'
        super().__init__(
            f"values that look like secrets would be published: {places}{more}",
            hint=f"Set suspicious {choice}.",
            details={"suspicious": [one.as_json() for one in suspicious]},
        )
        self.suspicious = list(suspicious)
        self.withheld = list(withheld)


def redact_secrets(form: str, source: dict[str, Any], doubt: Doubt) -> Translated[dict[str, Any]]:
    """A source without its secrets, which are reported as losses. SuspiciousSource if the caller must decide."""
    scrubber = SourceScrubber(_QUESTIONS.get(form, _OF_HOSTS), cautious=doubt != "keep", declares=form == "mcp")
    markdown = source.get("skillMarkdown") if form == "agentskills" else None
    if isinstance(markdown, str):
        rest = {key: value for key, value in source.items() if key != "skillMarkdown"}
        clean = {**scrubber.value(rest), "skillMarkdown": scrubber.prose(markdown, "skillMarkdown")}
    else:
        clean = scrubber.value(source)
    suspicious = [one for one in scrubber.withheld if not one.certain]
    if suspicious and doubt == "refuse":
        raise SuspiciousSource(suspicious, [one for one in scrubber.withheld if one.certain])
    return Translated(clean, [Loss(one.path, REASON, one.kind) for one in scrubber.withheld])


def check_record(record: dict[str, Any], doubt: Doubt) -> None:
    """SuspiciousSource if an OASF record contains secrets: withholding them would change the record."""
    scrubber = SourceScrubber("{%s}", cautious=False)
    if doubt == "keep":
        return
    scrubber.value(record)
    if scrubber.withheld:
        raise SuspiciousSource(scrubber.withheld, changes=False)


Kind = Literal["plain", "names", "inputs", "definitions", "definition"]


class ValueContext(NamedTuple):
    """The context of a value.

    `names` is an object of names and values, `inputs` a list of objects with a name and a value, `definitions` an
    object whose members describe what they are named after, and `definition` one of these members.
    """

    name: str = ""
    place: Place = "member"
    kind: Kind = "plain"
    is_secret: bool = False
    is_public: bool = False


_ANYWHERE: Final = ValueContext()
_PLACES: Final[Mapping[str, Place]] = {
    "env": "variable", "environment": "variable", "environmentVariables": "variable", "env_vars": "variable",
    "headers": "header",
}  # fmt: skip
_ARGUMENTS: Final = frozenset({"runtimeArguments", "packageArguments"})
_VALUES: Final = frozenset({"value", "default", "default_value"})
_SAMPLES: Final = frozenset({"example", "examples", "x-example", "const", "enum", "choices"})
_DEFINITIONS: Final = frozenset(
    {"securitySchemes", "schemes", "security", "securityRequirements", "flows", "scopes", "properties", "variables"}
)
"""Objects whose members are named after secrets but describe them: `securitySchemes.apiKey`, `properties.token`."""

_PUBLIC: Final = frozenset(
    {"signature", "protected", "digest", "fileSha256", "integrity", "checksum", "sha256", "sha512", "x5c", "x5t", "kid",
     "n", "x", "y", "data", "certificate", "fingerprint", "thumbprint"}
)  # fmt: skip
"""Members with random-looking but public values."""

_IDENTITY: Final = frozenset({"name", "version"})
"""Members of the source itself that say which one it is, such as `org.example/Web-Search_v2`."""

_DESCRIBED: Final = ("auth", "authorization", "oauth")
"""Endings of names of objects that describe how to log in; their members are checked one by one."""

_SCHEME: Final = re.compile(r"(?:bearer|basic|digest)\s+(?=\S)", re.IGNORECASE)
_NAME_BEFORE: Final = re.compile(r"([A-Za-z_][\w.-]{0,80})[\"'`]?\s{0,3}[:=]\s{0,3}[\"'`]?(?:[A-Za-z]{1,10}\s)?\Z")
_ADDRESS: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s\"'<>`)\]]+")
_ASSIGNMENT: Final = re.compile(
    r"(?<![\w?&/-])(?P<head>(?P<name>[A-Z][A-Z0-9_]{2,80})=[\"']?)(?P<value><[^<>\n]{0,80}>|[^\s\"'`;&|)]+)"
)
"""A shell assignment in the middle of a text. Its value is in use, even if it is a plain word."""
_LONG_WORD: Final = re.compile(r"[^\s\"'`<>()\[\]{},;]{20,}")
_NO_NAME: Final = re.compile(r"[^\w-]+")
_DEEPEST: Final = 60
_ROUNDS: Final = 4
"""How often a text is searched: replacing one secret may reveal another."""


class SourceScrubber:
    """Scrubs one source. `question` is the placeholder of its format, such as `${input:%s}`.

    With `cautious` every possible secret is removed, otherwise only certain ones. With `declares` the format is
    server.json, where placeholders must be declared.
    """

    def __init__(self, question: str, *, cautious: bool, declares: bool = False) -> None:
        self._question = question
        self._cautious = cautious
        self._declares = declares
        self._labels: Counter[str] = Counter()
        self.withheld: list[Withheld] = []

    def value(self, value: Any, path: str = "", around: ValueContext = _ANYWHERE) -> Any:
        """Any JSON value without secrets."""
        if isinstance(value, dict):
            return self._object(as_object(value), path, around)
        if isinstance(value, list):
            return [self._item(item, f"{path}[{at}]", around) for at, item in enumerate(as_list(value))]
        if isinstance(value, str):
            return self._text(value, path, around)
        if around.is_secret and isinstance(value, int | float) and not isinstance(value, bool):
            return self._found(path, "key-name", around.name, is_variable=around.place == "variable")
        return value

    def _item(self, item: Any, path: str, around: ValueContext) -> Any:
        """An item of a list. A variable or a header may be written as one line."""
        if around.kind != "inputs" or not isinstance(item, str):
            return self.value(item, path, around)
        if around.place == "variable":
            return self._words([item], [path])[0]
        name, sign, value = item.partition(":")
        if not sign:
            return self.value(item, path)
        return (
            name
            + sign
            + self._record_findings(scrub_header(name, value, mark=self._mark, cautious=self._cautious), path)
        )

    def prose(self, text: str, path: str) -> str:
        """A text for people: only the secrets in it are replaced."""
        for _ in range(_ROUNDS):
            spans = found_in(text)
            if not spans:
                break
            pieces: list[str] = []
            at = 0
            for kind, start, end in spans:
                before = _NAME_BEFORE.search(text[max(0, start - 120) : start])
                pieces += (text[at:start], self._found(path, kind, before[1] if before else ""))
                at = end
            text = "".join(pieces) + text[at:]
        text = _ASSIGNMENT.sub(lambda match: self._assignment(match, path), text)
        text = _ADDRESS.sub(
            lambda match: self._record_findings(scrub_url(match[0], mark=self._mark, cautious=self._cautious), path),
            text,
        )
        return _LONG_WORD.sub(lambda match: self._word(match[0], path), text) if self._cautious else text

    def _assignment(self, match: re.Match[str], path: str) -> str:
        name, value = match["name"], match["value"]
        if is_reference(value) or not is_secret_name(name, "variable") or (not _is_password(name) and is_path(value)):
            return match[0]
        return match["head"] + self._found(path, "key-name", name)

    def _word(self, word: str, path: str) -> str:
        core = word.rstrip(".:!?")
        if "://" in word or judge_value(core) != "maybe":
            return word
        return self._found(path, "random", "", certain=False) + word[len(core) :]

    def _object(self, given: dict[str, Any], path: str, around: ValueContext) -> dict[str, Any]:
        clean: dict[str, Any] = {}
        command = self._command(given, path)
        owner = _owner(given, around)
        for key, item in given.items():
            visible_name = self._key(key, path, clean)
            below = f"{path}.{visible_name}" if path else visible_name
            if key in command:
                clean[visible_name] = command[key]
            elif key in _ARGUMENTS and isinstance(item, list):
                clean[visible_name] = self._arguments(as_list(item), below)
            else:
                context = _child(key, item, around, owner)
                clean[visible_name] = self.value(
                    item, below, context._replace(is_public=True) if not path and key in _IDENTITY else context
                )
        return self._declared(clean, given, around) if clean != given else clean

    def _text(self, value: str, path: str, around: ValueContext) -> str:
        if not value or is_reference(value) or value.startswith("data:"):
            return value
        if around.is_secret and (_is_password(around.name, around.place) or not is_path(value)):
            return self._named(value, path, around)
        if around.place == "header":
            return self._record_findings(
                scrub_header(around.name, value, mark=self._mark, cautious=self._cautious), path
            )
        if value[0] in '{["' and (inner := _parsed(value)) is not None:
            clean = self.value(inner, path)
            return value if clean == inner else json.dumps(clean, ensure_ascii=False)
        if any(character.isspace() for character in value):
            return self.prose(value, path)
        cautious = self._cautious and not around.is_public
        if is_url(value):
            return self._record_findings(scrub_url(value, mark=self._mark, cautious=cautious), path)
        return self._record_findings(scrub_value(value, path, around.name, mark=self._mark, cautious=cautious), path)

    def _named(self, value: str, path: str, around: ValueContext) -> str:
        """The value under the name of a secret; the scheme of a header stays."""
        scheme = _SCHEME.match(value)
        question = self._found(path, "key-name", around.name, is_variable=around.place == "variable")
        return (scheme[0] if scheme else "") + question

    def _command(self, given: dict[str, Any], path: str) -> dict[str, Any]:
        """The `command` and `args` of an MCP server, checked as one command line."""
        command, args = given.get("command"), given.get("args")
        if isinstance(args, list) and not isinstance(command, list):
            program = text_or_none(command)
            clean = self._line([program or "run", *as_list(args)], path, "args", before=f"{path}.command")
            return {"args": clean[1:], **({"command": clean[0]} if program else {})}
        lines: dict[str, Any] = {}
        for key in ("command", "args"):
            line: Any = given.get(key)
            if isinstance(line, list):
                lines[key] = self._line(as_list(line), path, key)
            elif isinstance(line, str):
                lines[key] = self._record_findings(
                    scrub_command(line, mark=self._mark, cautious=self._cautious), f"{path}.{key}"
                )  # fmt: skip
        return lines

    def _line(self, words: list[Any], path: str, key: str, before: str | None = None) -> list[Any]:
        """A command line as a list; `before` is the place of its first word, if it is elsewhere."""
        first = [before] if before else []
        places = first + [f"{path}.{key}[{at}]" for at in range(len(words) - len(first))]
        clean = self._words([str(word) for word in words], places)
        return [old if str(old) == new else new for old, new in zip(words, clean, strict=True)]

    def _words(self, words: list[str], places: list[str]) -> list[str]:
        clean, findings = scrub_command(words, mark=self._mark, cautious=self._cautious)
        for one in findings:
            self.withheld.append(Withheld(places[int(one.where.split(".")[1])], one.kind, one.certain))
        return clean

    def _arguments(self, items: list[Any], path: str) -> list[Any]:
        """The arguments of a package in server.json, checked as one command line: a flag may precede its value."""
        clean: list[Any] = []
        words, places, owners = ["run"], [path], [(-1, "")]
        for at, item in enumerate(items):
            argument = as_object(item)
            key = next((key for key in ("value", "default") if text_or_none(argument.get(key))), "")
            rest = {name: one for name, one in argument.items() if name != key}
            clean.append(self.value(rest, f"{path}[{at}]") if argument else self.value(item, f"{path}[{at}]"))
            for member in ("name", key):
                if text_or_none(argument.get(member)) and (member == key or argument.get("type") == "named"):
                    words.append(argument[member])
                    places.append(f"{path}[{at}].{member}")
                    owners.append((at, member))
        for (at, member), old, new in zip(owners, words, self._words(words, places), strict=True):
            if at >= 0:
                given = as_object(items[at])
                is_left = old == new and member != "name" and given.get("isSecret") is True and not is_reference(old)
                name = text_or_none(given.get("name")) or ""
                clean[at][member] = self._found(f"{path}[{at}].{member}", "key-name", name) if is_left else new
        return [
            self._declared({key: cleaned[key] for key in given if key in cleaned}, given, ValueContext())
            if given
            else cleaned
            for cleaned, given in ((one, as_object(item)) for one, item in zip(clean, items, strict=True))
        ]

    def _declared(self, clean: dict[str, Any], given: dict[str, Any], around: ValueContext) -> dict[str, Any]:
        """An object with its placeholders declared, if the format requires it."""
        for key in _VALUES & clean.keys():
            if clean[key] == given.get(key):
                continue
            is_all = isinstance(clean[key], str) and is_reference(clean[key]) and _SCHEME.match(clean[key]) is None
            if is_all and (key != "value" or (self._declares and around.place == "variable")):
                del clean[key]  # a placeholder is no default, and a variable is asked for by its name
                if self._declares:
                    clean |= {"isRequired": True, "isSecret": True}
        if not self._declares:
            return clean
        questions = [
            name
            for key in ("value", "url")
            if isinstance(clean.get(key), str) and clean[key] != given.get(key)
            for name in PLACEHOLDER.findall(clean[key])
        ]
        declared = {name: {"isRequired": True, "isSecret": True} for name in questions}
        return clean | ({"variables": {**declared, **as_object(clean.get("variables"))}} if declared else {})

    def _key(self, key: str, path: str, taken: Mapping[str, Any]) -> str:
        """A member's name, which may be a secret too."""
        verdict = judge_value(key) if len(key) >= 12 else "no"
        if verdict == "no" or (verdict == "maybe" and not self._cautious):
            return key
        visible_name = f"withheld-{len(taken) + 1}"
        self.withheld.append(Withheld(f"{path}.{visible_name}" if path else visible_name, "key", verdict == "yes"))
        return visible_name

    def _record_findings(self, scrubbed: Scrubbed[str], path: str) -> str:
        self.withheld += [Withheld(path, one.kind, one.certain) for one in scrubbed.findings]
        return scrubbed.clean

    def _mark(self, finding: Finding) -> str:
        return self._ask(finding.name, finding.kind)

    def _found(self, path: str, kind: str, name: str, *, certain: bool = True, is_variable: bool = False) -> str:
        self.withheld.append(Withheld(path, kind, certain))
        return self._ask(name, kind, is_variable=is_variable)

    def _ask(self, name: str, kind: str, *, is_variable: bool = False) -> str:
        """A placeholder for a value. Secrets get different names, except for variables with the same name."""
        label = _NO_NAME.sub("_", name.lstrip("-")).strip("_") or kind
        label = kind if judge_value(label) != "no" else label  # the name may be a secret too
        label = label if label[0].isalpha() else f"value_{label}"
        self._labels[label] += not (is_variable and self._labels[label])
        number = self._labels[label]
        return self._question % (label if number == 1 or is_variable else f"{label}-{number}")


def _owner(given: dict[str, Any], around: ValueContext) -> ValueContext:
    """The context of an object's value: the name in the object, or the name of the object itself."""
    says_so = given.get("isSecret") is True or given.get("password") is True
    if around.kind == "definition":
        is_secret = says_so or is_secret_name(around.name, "header")
        return ValueContext(around.name, "member", is_secret=is_secret or around.is_secret)
    name = next((name for key in ("name", "key", "header", "id") if (name := text_or_none(given.get(key)))), "")
    place = around.place if around.kind == "inputs" else "member"
    plain_name = name.lstrip("-")
    is_secret = says_so or around.is_secret or is_secret_name(plain_name, "header" if place == "member" else place)
    return ValueContext(plain_name or around.name, place, is_secret=is_secret)


def _child(key: str, item: Any, around: ValueContext, owner: ValueContext) -> ValueContext:
    """The context of a member of an object."""
    if around.kind == "names":
        return ValueContext(key, around.place, is_secret=is_secret_member(key, item, around.place))
    if key in _VALUES or (key in _SAMPLES and around.kind in ("definition", "inputs")):
        return owner
    if key in _PLACES and isinstance(item, dict | list):
        return ValueContext(key, _PLACES[key], "names" if isinstance(item, dict) else "inputs", around.is_secret)
    if key in _DEFINITIONS and isinstance(item, dict | list):
        return ValueContext(key, kind="definitions")
    if around.kind == "definitions":
        return ValueContext(key, kind="definition")
    is_described = bool(as_object(item)) and key.lower().endswith(_DESCRIBED)
    is_secret = around.is_secret or (not is_described and is_secret_member(key, item))
    return ValueContext(key, is_secret=is_secret, is_public=key in _PUBLIC)


def _is_password(name: str, place: Place = "variable") -> bool:
    """Whether a name is that of a password, which may look like a path; a key or token never does."""
    return strength_of(name, place) == "password"


def _parsed(text: str) -> Any:
    """JSON inside a text; None if it is not JSON."""
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if isinstance(value, int | float) or value == text or depth_of(value) > _DEEPEST:
        return None
    return value
