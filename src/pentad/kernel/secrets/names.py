"""Decides by name alone whether something is a secret: a variable, a JSON member, a header, a parameter, a flag.

A name is read as words, whatever its spelling (`apiKey`, `api-key`, `API_KEY`, `apikey`). A word such as `password`
makes it a secret, unless its last word says that it is about one (`password_policy`, `token_count`). `key` alone says
little, so it counts only after certain words, or in places where keys are usually credentials.
"""

import re
from functools import lru_cache
from typing import Final, Literal

Place = Literal["member", "variable", "header", "parameter", "flag"]
"""The kind of a name. `member` is a JSON member, or a name of unknown kind."""
Strength = Literal["password", "token"]
"""A password may look like anything; a token never looks like a file path."""

LONGEST_NAME: Final = 200
_NAME_PARTS: Final = (
    "pass", "pwd", "secret", "token", "key", "auth", "cred", "cookie", "bearer", "otp", "ssn", "iban", "mnemonic",
    "jwt", "wachtwoord", "phrase", "recovery", "secure.", 'pat"', 'pw"', 'pin"', "pin:",
)  # fmt: skip
"""Every secret name contains one of these, in lower case; short ones include the character that ends them."""
_RARE_PARTS: Final = {
    "sess": ("sessid", "sessionid", "session_id", "session-id", "session.id", "session id"),
    "card": ("cardnumber", "card_number", "card-number", "card.number", "card number"),
    "cv": ("cvv", "cvc"),
    "=": ("pat=", "pw=", "pin=", "sig=", "sign=", "signature=", "hmac=", "code="),
}
"""The same for names that need a closer look, grouped for a quick test."""


def has_name_part(lowered: str) -> bool:
    """Whether a lower-case text can contain a secret name; most cannot."""
    return has_any(_NAME_PARTS, lowered) or any(
        has_any(parts, lowered) for sign, parts in _RARE_PARTS.items() if sign in lowered
    )


def has_any(parts: tuple[str, ...], text: str) -> bool:
    """Whether one of the parts is in a text."""
    # A loop takes 50% longer, and one pattern of all the parts far longer.
    return any(map(text.__contains__, parts))


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_BREAKS: Final = re.compile(r"[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_PASSWORDS: Final = _words("password passwords passwd passphrase passphrases passcode pwd passwort wachtwoord")
_TOKENS: Final = _words(
    "secret secrets token apikey apikeys credential credentials jwt bearer cookie cookies authorization otp totp"
    " mnemonic cvv cvc ssn iban passkey sessionid sessid"
)
_LAST: Final[dict[str, Strength]] = {"auth": "token", "creds": "token", "pass": "password"}
"""Secrets only as the last word: `basic_auth` is one, `auth_mode` is not."""
_LAST_OF_SEVERAL: Final[dict[str, Strength]] = {"pat": "token", "pw": "password"}
"""Secrets only as the last of several words: `GITHUB_PAT` is one, Pat is a person."""
_PAIRS: Final = frozenset(
    {("session", "id"), ("card", "number"), ("card", "numbers"), ("seed", "phrase"), ("recovery", "phrase"),
     ("recovery", "code"), ("recovery", "codes")}
)  # fmt: skip
_KEYS: Final = _words("key keys")
_SECRET_KEYS: Final = _words(
    "api access secret private signing encryption session subscription account storage master service auth app"
    " application license deploy shared client admin root ssh ssl tls gpg pgp hmac aes rsa webhook integration role bot"
    " server crypt token jwt"
)
"""`key` after one of these is always a secret."""
_PLAIN_KEYS: Final = _words(
    "public pub primary foreign sort partition cache routing object idempotency shortcut hot row column index group"
    " translation lookup unique composite natural surrogate message record hash range map dict order issue project"
    " metric label verify verification bucket host field"
)
"""`key` after one of these is never a secret."""
_ACCESS_TOKENS: Final = _words("access api refresh auth bearer session id oauth security personal")
"""`tokens` is a count, unless it follows one of these."""
_PLAIN_TOKENS: Final = _words(
    "next page continuation progress cancel cancellation stop eos bos sep pad unk mask cls special sync cursor resume"
    " pagination prompt completion input output cached reasoning max min image audio design per verifiable"
)
"""A token after one of these is a position in a list or a piece of text."""
_DESCRIBING: Final = _words(
    "count counts limit limits type types kind kinds name names label labels url urls uri uris endpoint endpoints host"
    " domain domains policy policies file files path paths dir directory folder header headers length len size min max"
    " ttl lifetime expiry expires expired expiration expire at in on seconds ms minutes hours days age issued method"
    " methods mode modes scheme schemes flow flows grant id ids ref refs reference references status state required"
    " optional enabled disabled supported valid invalid set present exists configured change changed updated created"
    " rotated rotation used usage budget cost price audience issuer issuers scope scopes algorithm alg format prefix"
    " suffix pattern regex hint hints help description field fields column table param params parameter parameters"
    " prompt provider providers source store manager handler version versions stdin env var variable cmd command helper"
    " script strength complexity requirements rules consent banner notice index position level group user username"
    " email owner visibility window jar subject schema reset detail details settings options config stats"
)
"""A name that ends in one of these is about a secret and does not hold one."""
_ASKING: Final = _words(
    "has is are was no not without skip disable enable use uses require requires required needs need supports allow"
    " allows show hide forgot max min num total avg count"
)
"""A name that begins with one of these is about a secret, usually a yes or no."""
_ENDINGS: Final[tuple[tuple[str, Strength], ...]] = (
    ("password", "password"), ("passwd", "password"), ("passphrase", "password"), ("passwort", "password"),
    ("pwd", "password"), ("dbpass", "password"), ("userpass", "password"), ("rootpass", "password"),
    ("secret", "token"), ("token", "token"), ("apikey", "token"), ("secretkey", "token"), ("privatekey", "token"),
    ("accesskey", "token"), ("signingkey", "token"), ("encryptionkey", "token"), ("authkey", "token"),
    ("sessionkey", "token"), ("accountkey", "token"), ("credential", "token"), ("credentials", "token"),
    ("sessionid", "token"), ("sessid", "token"), ("cookie", "token"), ("authorization", "token"),
)  # fmt: skip
"""Endings of compound words: `pgpassword`, `authtoken`, `phpsessid`."""
_PARAMETERS: Final = _words("key sig signature sign hmac code")
"""Single words that are credentials in the query of a URL but not elsewhere."""
_PIN: Final = re.compile(r"[0-9]{4,8}")


def is_secret_name(name: str, place: Place = "member") -> bool:
    """Whether a value of this name is a secret, whatever it looks like."""
    return strength_of(name, place) is not None


@lru_cache(8_192)
def strength_of(name: str, place: Place = "member") -> Strength | None:
    """The kind of secret this name indicates, or None."""
    if len(name) > LONGEST_NAME or "[redacted:" in name:
        return None
    words = _words_of(name)
    if not words:
        return None
    if "secure." in name.lower():  # how Mule and Spring mark an encrypted property
        return "token"
    last = words[-1]
    if place == "parameter" and ((words == [last] and last in _PARAMETERS) or last in ("sig", "signature")):
        return "token"
    if last in _LAST:
        return None if words[0] in _ASKING else _LAST[last]
    if last in _LAST_OF_SEVERAL and len(words) > 1:
        return _LAST_OF_SEVERAL[last]
    if words[0] in _ASKING and len(words) > 1:
        return None
    found, at = _secret_word(words)
    if found is None and last in _KEYS and (place != "member" or name.isupper()):
        plain = len(words) > 1 and words[-2] in _PLAIN_KEYS
        return None if plain or (len(words) == 1 and place == "variable") else "token"
    if found is None or (at < len(words) - 1 and last in _DESCRIBING):
        return None
    return found


def is_secret_member(name: str, value: object, place: Place = "member") -> bool:
    """Whether a named value is a secret; a `pin` is one only if it looks like a PIN."""
    if strength_of(name, place) is not None:
        return True
    if name[-3:].lower() != "pin" or isinstance(value, bool) or not isinstance(value, str | int):
        return False
    return _words_of(name)[-1:] == ["pin"] and _PIN.fullmatch(str(value)) is not None


def _words_of(name: str) -> list[str]:
    words = [word.lower() for word in _BREAKS.split(name.replace("OAuth", "Oauth")) if word]
    # `password2` is a password; `AUTH0` is a company.
    return [word if word == "auth0" else word.rstrip("0123456789") for word in words if not word.isdigit()]


def _secret_word(words: list[str]) -> tuple[Strength | None, int]:
    """The first secret among the words, and the position of its last word."""
    before = ""
    for at, word in enumerate(words):
        if word in _PASSWORDS:
            return "password", at
        if word in _TOKENS and before not in _PLAIN_TOKENS:
            # `session_id` and `secret_id` end in a describing word and are secrets nevertheless.
            return "token", at + (word == "secret" and words[at + 1 :] == ["id"])
        if word == "tokens" and before in _ACCESS_TOKENS:
            return "token", at
        if (word in _KEYS and before in _SECRET_KEYS) or (before, word) in _PAIRS:
            return "token", at
        if len(word) > 4 and word not in _TOKENS and (ending := _ending(word)) is not None:
            return ending, at
        before = word
    return None, 0


def _ending(word: str) -> Strength | None:
    for ending, strength in _ENDINGS:
        if word.endswith(ending):
            return strength
    return None
