"""Distinguishes a reference to a secret, or a placeholder for one, from the secret itself.

`${API_KEY}`, `$TOKEN` and `<your key>` may be shown. `pa$$word` and `${KEY:-s3cret}` may not: one is a password with
dollar signs, the other has a secret as its default.
"""

import re
from typing import Final

from pentad.kernel.secrets.names import is_secret_name

LONGEST_REFERENCE: Final = 500
_SCHEMES: Final = re.compile(r"(?i)\s*(?:bearer|basic|token|digest|negotiate|apikey|bot)\s+")
_REFERENCE: Final = re.compile(
    r"\$\{[A-Za-z_]\w*(?:\.\w+)*(?::-)?\}"  # ${NAME}, ${NAME:-}
    r"|\$\{(?:input|env|config|secret|secrets|command|prompt|vault|ssm)[:.][\w./-]+\}"  # ${input:api-key}
    r"|\$\{\{[\w\s.\[\]'\"-]+\}\}|\{\{[\w\s.\[\]'\"-]+\}\}"  # ${{ secrets.NAME }}, {{ name }}
    r"|\$env:\w+|\{env:\w+\}|\{[A-Za-z_][\w-]*\}|%[A-Z_][A-Z0-9_]+%"
    r"|\$\([^()]*\)"  # $(cat file)
    r"|\$(?P<name>[A-Za-z_]\w*)"
)
_ELSEWHERE: Final = re.compile(
    r"(?:op|vault|keyring|keychain)://\S+|(?:env|secret|file):[\w./-]+|(?:os|process)\.env\S+"
)
_PLACEHOLDER: Final = re.compile(
    r"<[A-Za-z][A-Za-z _-]*>|\[redacted(?::[^\[\]]*)?\]|\[?(?:hidden|masked|redacted|removed)\]?|[*.\u2022#_-]+"
    r"|(?:<|\[|\{)?(?i:your|insert|enter|paste)[-_ ](?i:[a-z]+[-_ ]){0,6}(?i:[a-z]+)(?:[-_ ]?here)?(?:>|\]|\})?"
)
_SAMPLE: Final = re.compile(
    r"(?i)(?:change|replace)[-_ ]?(?:me|this|it)|(?:place[-_ ]?holder|dummy|sample|example|todo|tbd|fixme|redacted)"
    r"(?:[-_ ]?(?:key|token|secret|password|value))?|x{3,}|(?:sk|pk|key|token)[-_][x.*]{3,}"
)
_UNSET: Final = frozenset(
    {
        "none", "null", "nil", "true", "false", "yes", "no", "basic", "bearer", "oauth", "oauth2", "oidc", "digest",
        "required", "optional", "public", "private", "expired", "missing", "invalid", "valid", "unset", "enabled",
        "disabled", "anonymous", "default", "auto", "include", "omit", "same-origin", "string", "undefined", "revoked",
        "unknown",
    }
)  # fmt: skip
"""Words about a secret that people write in place of the secret."""
_LETTERS: Final = re.compile(r"[A-Za-z0-9]")


def is_reference(value: str) -> bool:
    """Whether a value only refers to a secret or is a placeholder, so that it may stay under a secret name."""
    if len(value) > LONGEST_REFERENCE:
        return False
    bare = _SCHEMES.sub("", value, count=1).strip()
    if not bare or bare.lower() in _UNSET or _PLACEHOLDER.fullmatch(bare) or _ELSEWHERE.fullmatch(bare):
        return True
    return ("$" in bare or "{" in bare or "%" in bare) and _is_only_references(bare)


def is_sample(value: str) -> bool:
    """Whether a value is a typical example word. Under a secret name it may still be in use."""
    return len(value) <= LONGEST_REFERENCE and _SAMPLE.fullmatch(value.strip()) is not None


def _is_only_references(bare: str) -> bool:
    """Whether nothing but punctuation such as `:` is left once the references are removed."""
    literal = ""
    end = 0
    for match in _REFERENCE.finditer(bare):
        name = match["name"]
        # A shell variable may be lower case, and a password may begin with a dollar sign: `$token`, `$ecret`.
        if name is not None and not (name.isupper() or is_secret_name(name)):
            return False
        literal += bare[end : match.start()]
        end = match.end()
    return end > 0 and _LETTERS.search(literal + bare[end:]) is None
