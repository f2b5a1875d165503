"""Resource URI templates: the `{name}` form of RFC 6570 level 1.

A variable stands for one or more characters without `/`; `{+name}` and `{name*}` take slashes too. Values are
percent-decoded once.
"""

import re
from dataclasses import dataclass
from urllib.parse import unquote

from pentad.kernel.errors import Misconfigured

_VARIABLE = re.compile(r"\{(\+?)([A-Za-z_][A-Za-z0-9_]*)(\*?)\}")


@dataclass(frozen=True, slots=True)
class UriTemplate:
    """A compiled template."""

    text: str
    variables: tuple[str, ...]
    pattern: re.Pattern[str]

    def match(self, uri: str) -> dict[str, str] | None:
        """The variables of a URI this template stands for, or None."""
        found = self.pattern.fullmatch(uri)
        return None if found is None else {name: unquote(value) for name, value in found.groupdict().items()}


def compile_template(text: str) -> UriTemplate:
    """Compile a template; a broken one is the declaring room's mistake and says so."""
    parts: list[str] = []
    names: list[str] = []
    position = 0
    for variable in _VARIABLE.finditer(text):
        literal = text[position : variable.start()]
        if names and not literal:
            raise Misconfigured(
                f"URI template {text!r}: two variables stand side by side.", hint="Put a literal between."
            )
        parts.append(re.escape(literal))
        greedy, name, rest = variable.groups()
        if name in names:
            raise Misconfigured(f"URI template {text!r}: variable {name!r} appears twice.", hint="Rename one of them.")
        names.append(name)
        parts.append(f"(?P<{name}>.+)" if greedy or rest else f"(?P<{name}>[^/]+)")
        position = variable.end()
    tail = text[position:]
    if (
        "{" in tail
        or "}" in tail
        or any("{" in part.replace("\\{", "{") for part in parts if not part.startswith("(?P<"))
    ):
        raise Misconfigured(
            f"URI template {text!r} has a brace that is no variable.", hint="Write variables as {name}."
        )
    parts.append(re.escape(tail))
    return UriTemplate(text, tuple(names), re.compile("".join(parts), re.DOTALL))
