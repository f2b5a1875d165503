"""Removes secrets from running text: log lines, error texts, the strings of a document.

A secret is found by its form (see `patterns`), as the password of a URL, or by its name: `password=...`,
`"api_key": "..."`, `--token ...`, `Cookie: ...`. All of this takes linear time.
"""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final, Literal

from pentad.kernel.secrets.names import LONGEST_NAME, Place, Strength, has_name_part, is_secret_member, strength_of
from pentad.kernel.secrets.patterns import has_parts, spans_of_patterns
from pentad.kernel.secrets.references import is_reference, is_sample

Verdict = Literal["no", "maybe", "yes"]

_RANDOM_LENGTH: Final = 20
"""Shorter runs are identifiers and abbreviations far more often than keys."""
_CHANGES: Final = 0.25
"""How often neighbours differ in class (upper, lower, digit). Words stay below this; base62 has 0.6, hex 0.45."""
_CHANGES_OF_LETTERS: Final = 0.35
"""The same for letters without any digit: camelCase stays below this."""
_LONGEST: Final = 10_000
_PUBLIC: Final = re.compile(
    r"(?i:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"  # UUID
    r"|(?i:(?:sha(?:1|256|384|512)|md5)[:=-][0-9a-z+/=]+|[0-9a-f]{40}|[0-9a-f]{64}|[0-9a-f]{96}|[0-9a-f]{128})"
    r"|[\w./:+-]{1,300}@(?:sha256:)?(?:[0-9a-f]{40}|[0-9a-f]{64})"  # a commit or an image, pinned
    r"|ba[a-z2-7]{50,}|Qm[1-9A-HJ-NP-Za-km-z]{44}|did:[a-z0-9]+:\S+|z6Mk[1-9A-HJ-NP-Za-km-z]{40,}"  # CID, DID
    r"|[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9:.,+Z-]+)?|[0-9A-HJKMNP-TV-Z]{26}"  # time, ULID
    r"|[\w.+-]+@[\w-]+(?:\.[\w-]+)+|@?[a-z0-9._-]+/[a-z0-9._/-]+(?:@[\w.^~*-]+)?"  # mail, package
    r"|(?:[a-z0-9](?:[a-z0-9-]{0,62})\.)+[a-z]{2,24}(?::[0-9]{1,5})?"  # host
    r"|[A-Za-z][A-Za-z0-9_-]*[@:][v^~]?[0-9]+(?:\.[0-9]+)*"  # name and version
    r"|(?:application|audio|font|image|message|model|multipart|text|video)/[\w.+-]+(?:;.*)?"
)
_RUNS: Final = re.compile(r"[A-Za-z0-9+/=]{16,}")
_PASSWORD: Final = re.compile(r"(?=\S*[a-z])(?=\S*[A-Z])(?=\S*[0-9])(?=\S*[!#$%^&*?@])[^\s/:]{8,64}")
_HEX: Final = re.compile(r"[0-9a-f]{32}|[0-9A-F]{32}")

_SHORTEST: Final = 6
_ROUNDS: Final = 4
_LONGEST_VALUE: Final = 2_000
_LONGEST_LOGIN: Final = 600

_SIGN: Final = re.compile(r"(?:=>|:=|={1,3}|:(?!:|//)|(?<=[ \t])is(?=[ \t]{1,3}[\"']))[ \t]{0,3}+")
"""What separates a name from its value: `name=value`, `"name": "value"`, `name is "value"`."""
_NAME_BACKWARDS: Final = re.compile(
    rf"[ \t]{{0,3}}+(?:\]?[\"']\\{{0,3}})?+(?P<name>[A-Za-z0-9_.-]{{1,{LONGEST_NAME}}}+)"
)
"""The name that ends here, matched against reversed text."""
_WINDOW: Final = LONGEST_NAME + 16
_FLAG: Final = re.compile(
    rf"(?<![A-Za-z0-9_-])--?(?P<name>[A-Za-z][A-Za-z0-9_-]{{0,{LONGEST_NAME}}}+)[ \t]{{1,3}}+(?=[^\s-])"
)
_ELEMENT: Final = re.compile(rf"<(?P<name>[A-Za-z][\w.-]{{0,{LONGEST_NAME}}}+)>(?P<secret>[^<>]{{1,500}}+)</")
_QUOTE: Final = re.compile(r"[bBrRfFuU]{0,2}(?P<quote>\\{0,3}[\"'])")
_BARE: Final = re.compile(r"[^\s\"',;{}\[\]<>&)\\]+")
_REFERENCE: Final = re.compile(r"<[^<>\n]{0,80}>|[^\s\"',;&)\\]+")
_PARAMETER: Final = re.compile(r"[^&#\s\"'<>\\]+")
_SCHEME: Final = re.compile(r"(?i)(?:bearer|basic|negotiate|token|apikey|bot)[ \t]{1,4}(?=\S)")
_SCHEME_OF_A_LINE: Final = re.compile(r"[A-Za-z][A-Za-z0-9-]{2,30}+[ \t]{1,4}+(?=\S*[0-9=+/])")
_LINE: Final = re.compile(r"[^\r\n]+")
_COOKIES: Final = re.compile(r"[^\s=;,\"']{1,200}+=[^\r\n\"']*")
_WORD: Final = re.compile(r"[A-Za-z]{1,24}")
_CODE: Final = re.compile(r"[A-Za-z_]+(?:\.[A-Za-z_]+)*(?:\(.*)?")
_CODE_ABOUT_A_PASSWORD: Final = re.compile(
    r"(?:self|this|os|process|settings|config|args|request|env|options|params)\.\w[\w.]*|[A-Za-z_.]+\(.*"
)
_TYPES: Final = frozenset({"str", "string", "bytes", "int", "number", "bool", "boolean", "text", "any", "object"})
_SENTENCES: Final = frozenset(
    {
        "must", "was", "were", "should", "shall", "has", "have", "had", "needs", "may", "might", "cannot", "can", "not",
        "too", "the", "this", "that", "these", "expected", "wrong", "does", "for", "please", "enter", "field", "value",
        "input", "extra", "unexpected", "unsupported", "only", "are", "got", "given", "use", "set", "check", "see",
    }
)  # fmt: skip
"""The first word of a sentence about a secret: `password: must have twelve characters`."""
_PATH: Final = re.compile(
    r"(?:~|\.{1,2})?/[\w.@/+-]*|[\w@+-][\w.@/+-]*\.(?:pem|key|crt|cer|p12|pfx|json|ya?ml|toml|txt|env|js|ts|py|sh)"
)
_SCHEME_BEFORE: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*\Z")
_ADDRESS: Final = re.compile(rf"[^\s\"'<>`]{{1,{_LONGEST_LOGIN}}}")
_PLAIN_USER: Final = re.compile(r"[A-Za-z]{0,24}(?:[._-][A-Za-z]{1,24}){0,3}")
_EXAMPLES: Final = frozenset({"user:password", "user:pass", "user:secret", "username:password", "name:password"})
_PORT_AND_QUERY: Final = re.compile(r"[0-9]{1,5}(?:/[^?#@]*)?\?[A-Za-z_]\w*=")
_WEB: Final = frozenset({"http", "https", "ws", "wss", "ftp", "ftps", "sftp", "git", "ssh"})

Span = tuple[int, int, str]


def may_hold(text: str) -> bool:
    """A quick check whether a text, or a value written as JSON, can hold a secret at all; most cannot."""
    lowered = text.lower()
    return has_name_part(lowered) or ("@" in lowered and "://" in lowered) or has_parts(lowered)


def scrub_text(text: str) -> str:
    """The text with a mark in place of each secret. Searches again, because a mark may join two halves."""
    for _ in range(_ROUNDS):
        found = found_in(text)
        if not found:
            break
        pieces: list[str] = []
        at = 0
        for kind, start, end in found:
            pieces += (text[at:start], f"[redacted:{kind}]")
            at = end
        text = "".join(pieces) + text[at:]
    return text


def found_in(text: str) -> list[tuple[str, int, int]]:
    """The secrets in a text, with kind and span; in order, without overlap."""
    if len(text) < _SHORTEST:
        return []
    lowered = text.lower()
    spans = spans_of_patterns(text, lowered)
    if has_name_part(lowered):
        spans += _named(text)
        if " -" in text or "--" in text:
            spans += _flags(text)
        if "</" in text:
            spans += _elements(text)
    if "@" in text and "://" in text:
        spans += _logins(text)
    return _joined(spans)


def is_path(value: str) -> bool:
    """Whether a value is a file path: a key file's path is not the key."""
    return len(value) <= _LONGEST_VALUE and _PATH.fullmatch(value) is not None


def _named(text: str) -> Iterator[Span]:
    """Values that follow a secret name."""
    at = 0
    while (sign := _SIGN.search(text, at)) is not None:
        at = sign.end()
        read = _NAME_BACKWARDS.match(text[max(0, sign.start() - _WINDOW) : sign.start()][::-1])
        if read is None:
            continue
        run = read["name"][::-1]
        name = run.lstrip("-.")
        start = sign.start() - read.end()
        place: Place = "flag" if run.startswith("-") else "member"
        if start > 0 and text[start - 1] in "?&;#":
            place = "parameter"
        strength = strength_of(name, place)
        if strength is None and name[-3:].lower() != "pin":
            continue
        if place == "parameter":
            found = _PARAMETER.match(text, at)
            if found is not None and not is_reference(found[0]) and is_credential(name, found[0]):
                yield at, found.end(), "url-parameter"
                at = found.end()
        elif (span := _value(text, at, name, strength)) is not None:
            if strength == "token" and sign[0].startswith("is") and _WORD.fullmatch(text, *span):
                continue  # `grpc_auth is 'maybe'` is a sentence about a setting
            yield *span, "password" if strength == "password" else "key-name"
            at = span[1]


def is_credential(name: str, value: str) -> bool:
    """Whether a URL parameter holds a credential: `?key=f3a9c2` does, `?key=name` only sorts a list."""
    return strength_of(name) is not None or (len(value) >= _SHORTEST and _WORD.fullmatch(value) is None)


def _value(text: str, at: int, name: str, strength: Strength | None) -> tuple[int, int] | None:
    """The span of the secret that begins here, or None."""
    opened = _QUOTE.match(text, at)
    if opened is not None:
        start = opened.end()
        end = _closing(text, start, opened["quote"])
        if strength is not None and (scheme := _SCHEME.match(text, start, end)) is not None:
            start = scheme.end()
        return (start, end) if end > start and _holds(name, strength, text[start:end]) else None
    last = name[-13:].lower()
    if last.endswith("cookie"):
        found = _COOKIES.match(text, at)
        return found.span() if found is not None else None
    if last.endswith("authorization") and _SCHEME.match(text, at) is None:
        scheme = _SCHEME_OF_A_LINE.match(text, at)
        if scheme is not None and (line := _LINE.match(text, scheme.end())) is not None:
            return line.span()
    if strength is not None and (scheme := _SCHEME.match(text, at)) is not None:
        at = scheme.end()
    found = (_REFERENCE if text[at : at + 1] in ("$", "{", "<", "%") else _BARE).match(text, at)
    if found is None or not _holds(name, strength, found[0]):
        return None
    return None if _is_prose_or_code(found[0], strength) else found.span()


def _holds(name: str, strength: Strength | None, value: str) -> bool:
    if strength is None:
        return is_secret_member(name, value)
    return not is_reference(value)


def _is_prose_or_code(value: str, strength: Strength | None) -> bool:
    """Whether the unquoted text after a name is a word or an expression: `token: expired`, `key = load()`."""
    if len(value) < 3 or value.lower() in _TYPES or value.lower() in _SENTENCES:
        return True
    if strength == "password":
        return _CODE_ABOUT_A_PASSWORD.fullmatch(value) is not None
    if strength == "token":
        return len(value) < 4 or (len(value) <= 40 and _CODE.fullmatch(value) is not None) or is_path(value)
    return False


def _closing(text: str, start: int, quote: str) -> int:
    """The end of a quoted value; an unclosed one ends with the line."""
    limit = min(len(text), start + _LONGEST_VALUE)
    at = start
    while (at := text.find(quote, at, limit)) >= 0:
        if len(quote) > 1 or (at - start - len(text[start:at].rstrip("\\"))) % 2 == 0:
            return at
        at += 1
    line = text.find("\n", start, limit)
    return line if line >= 0 else limit


def _flags(text: str) -> Iterator[Span]:
    """`--token value`."""
    for match in _FLAG.finditer(text):
        strength = strength_of(match["name"], "flag")
        if strength is not None and (span := _value(text, match.end(), match["name"], strength)) is not None:
            yield *span, "password" if strength == "password" else "key-name"


def _elements(text: str) -> Iterator[Span]:
    """`<password>value</password>`."""
    for match in _ELEMENT.finditer(text):
        if is_secret_member(match["name"], match["secret"]) and not is_reference(match["secret"]):
            yield *match.span("secret"), "key-name"


def _logins(text: str) -> Iterator[Span]:
    """Passwords in URLs, and tokens in place of a user name."""
    at = text.find("://")
    while at >= 0:
        start = at + 3
        scheme = _SCHEME_BEFORE.search(text[max(0, at - 30) : at])
        address = _ADDRESS.match(text, start) if scheme is not None else None
        if scheme is not None and address is not None and "@" in address[0]:
            span = login_span(scheme[0], address[0])
            if span is not None:
                yield start + span[0], start + span[1], "url-password"
        at = text.find("://", start)


def login_span(scheme: str, address: str, *, greedy: bool = False) -> tuple[int, int] | None:
    """The span of the secret after `scheme://`: the password, or a token in place of the user name.

    The password of a database may contain `/`, `?` or `#`, so there the login may extend to the last `@`. `greedy`
    means that the text is known to contain a login, so no part of it is read as a port and a query.
    """
    authority = re.split(r"[/?#]", address, maxsplit=1)[0]
    is_web = scheme.lower() in _WEB
    login, at, _ = (address if greedy else authority).rpartition("@")
    if not at and not is_web:
        user, colon, rest = address.partition(":")
        if colon and "/" not in user and _PORT_AND_QUERY.match(rest) is None:
            login, at, _ = address.rpartition("@")
    if not at:
        return None
    user, colon, password = login.partition(":")
    if login in _EXAMPLES:
        return None
    if colon and password and password not in ("x", "x-oauth-basic"):
        return None if is_reference(password) else (len(user) + 1, len(login))
    is_plain = is_reference(user) or not is_web or _PLAIN_USER.fullmatch(user) is not None
    return None if is_plain else (0, len(user))


def _joined(spans: list[Span]) -> list[tuple[str, int, int]]:
    """Merge overlapping spans under the name of the first."""
    joined: list[tuple[str, int, int]] = []
    for start, end, name in sorted(spans, key=lambda span: (span[0], -span[1])):
        if joined and start < joined[-1][2]:
            if end > joined[-1][2]:
                joined[-1] = (joined[-1][0], joined[-1][1], end)
        else:
            joined.append((name, start, end))
    return joined


def judge_value(value: str) -> Verdict:
    """Whether a value is a secret, by its form alone.

    `yes` is a form that only secrets have. `maybe` is a value that looks random: a key without a known prefix does, and
    so do some identifiers. Digests, UUIDs, content ids, versions, paths and words are `no`.
    """
    bare = value.strip()
    if len(bare) < _SHORTEST or is_reference(bare) or is_sample(bare):
        return "no"
    if found_in(bare):
        return "yes"
    if any(character.isspace() for character in bare):
        return "maybe" if any(looks_random(word) for word in bare[:_LONGEST].split()) else "no"
    return "maybe" if looks_random(bare) or _looks_like_a_password(bare) else "no"


def looks_random(value: str) -> bool:
    """Whether a value has a run of random characters."""
    if not _RANDOM_LENGTH <= len(value) <= _LONGEST:
        return False
    if _PUBLIC.fullmatch(value) or is_path(value):
        return "/" in value and any(looks_random(part) for part in value.split("/"))
    return any(_is_random(run) for run in _RUNS.findall(value)) or _is_random(value.replace("_", "").replace("-", ""))


def _looks_like_a_password(value: str) -> bool:
    return _PASSWORD.fullmatch(value) is not None and _PUBLIC.fullmatch(value) is None


def _is_random(run: str) -> bool:
    if _HEX.fullmatch(run):
        return True
    if len(run) < _RANDOM_LENGTH or _PUBLIC.fullmatch(run) or not run.isascii():
        return False
    classes = ["d" if one.isdigit() else "u" if one.isupper() else "l" for one in run if one.isalnum()]
    if len(classes) < _RANDOM_LENGTH or len(set(run)) < len(run) // 4:
        return False
    changes = sum(one != other for one, other in pairwise(classes)) / (len(classes) - 1)
    digits = classes.count("d")
    if digits == len(classes):
        return False
    return changes >= (_CHANGES if digits >= 2 else _CHANGES_OF_LETTERS)
