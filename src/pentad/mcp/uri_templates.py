"""Resource URI templates: the `{name}` form of RFC 6570 level 1, matched in linear time.

A variable stands for one or more characters without `/`; `{+name}` and a trailing `{name*}` take slashes too. A
variable that another one follows ends where the text between them first occurs, so that text is percent-encoded inside
a value. Values are percent-decoded once.
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
    variables = list(_VARIABLE.finditer(text))
    names = tuple(variable.group(2) for variable in variables)
    starts = [*(variable.start() for variable in variables), len(text)]
    head = text[: starts[0]]
    literals = [text[variable.end() : start] for variable, start in zip(variables, starts[1:], strict=True)]
    if any("{" in literal or "}" in literal for literal in (head, *literals)):
        raise Misconfigured(
            f"URI template {text!r} has a brace that is no variable.", hint="Write variables as {name}."
        )
    if "" in literals[:-1]:
        raise Misconfigured(f"URI template {text!r}: two variables stand side by side.", hint="Put a literal between.")
    if twice := [name for name in names if names.count(name) > 1]:
        raise Misconfigured(f"URI template {text!r}: variable {twice[0]!r} appears twice.", hint="Rename one of them.")
    parts = [re.escape(head)]
    for variable, literal in zip(variables, literals, strict=True):
        slashes, name, rest = variable.groups()
        kind = "." if slashes or rest else "[^/]"
        if variable is variables[-1]:
            parts.append(f"(?P<{name}>{kind}+){re.escape(literal)}")
        else:  # atomic: what was matched is never tried again, or a hostile address would cost powers of its length
            parts.append(f"(?>(?P<{name}>{kind}+?){re.escape(literal)})")
    return UriTemplate(text, names, re.compile("".join(parts), re.DOTALL))
