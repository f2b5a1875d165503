"""Who may administer what. Nobody can grant more rights than they have, or take over an account that has more."""

from typing import TYPE_CHECKING, Final

from pentad.access.scopes import exceeding, scopes_of
from pentad.kernel.errors import Forbidden
from pentad.kernel.principal import Action, Principal
from pentad.mcp.rights import refuse_anonymous

if TYPE_CHECKING:
    from pentad.access.users import User

ACCESS: Final = "access"
"""The scope `access:admin` is for users, keys, clients, sessions, settings and jobs."""
AUDIT: Final = "audit"
"""The scope `audit:admin` is for the audit trail."""
ACCOUNT: Final = "account"
"""Named by no scope of its own: a key or token reaches the account of its user with `*:read` and `*:write`."""
_ACCOUNT_PURPOSES: Final[dict[Action, str]] = {
    "read": "see the account of its user",
    "write": "end the keys and logins of its user",
}
_PURPOSES: Final = {ACCESS: "administer this server", AUDIT: "read the audit trail"}


def require(actor: Principal, topic: str = ACCESS) -> None:
    """Refuse callers without the scope for this part of administration."""
    refuse_anonymous(actor)
    if not actor.may(topic, "admin"):
        scope = f"{topic}:admin"
        raise Forbidden(
            f"{actor.name!r} may not {_PURPOSES[topic]}.",
            hint=f"It needs the scope {scope}, which the role admin has.",
            details={"required_scope": scope},
        )


def require_within(actor: Principal, scopes: frozenset[str]) -> None:
    """Refuse to grant scopes that the caller does not have."""
    if beyond := exceeding(scopes, actor.scopes):
        raise Forbidden(
            f"{actor.name!r} does not have {', '.join(sorted(beyond))}, and so cannot give it.",
            hint="Ask for less, or ask an administrator who has these rights.",
        )


def require_not_above(actor: Principal, user: "User") -> None:
    """Refuse to change a user who may do more than the caller."""
    if exceeding(scopes_of([user.role], user.scopes), actor.scopes):
        raise Forbidden(
            f"{user.name!r} may do more than {actor.name!r}.", hint="Ask an administrator who has all of these rights."
        )


def account_of(actor: Principal, action: Action = "read") -> str:
    """The name of the caller's own account, in lower case.

    A key or token needs the scope for every room, because the account is about all of them. A confined key has none.
    """
    refuse_anonymous(actor)
    if actor.user is None:
        raise Forbidden(
            f"{actor.name!r} is not a user of this server, and so has no account here.",
            hint="Log in with a user name and password.",
        )
    if actor.id != actor.user:
        raise Forbidden(
            f"The key {actor.name!r} is limited to what it creates itself.",
            hint="Use another key of the user, or the password.",
        )
    if not is_in_person(actor) and not actor.may(ACCOUNT, action):
        raise Forbidden(
            f"This API key or token may not {_ACCOUNT_PURPOSES[action]}.",
            hint=f"It needs the scope *:{action}. Or log in with your password.",
            details={"required_scope": f"*:{action}"},
        )
    return actor.user.removeprefix("user:")


def is_in_person(actor: Principal) -> bool:
    """Whether a person logged in, with a password or in a browser."""
    return actor.kind == "user" and (not actor.credential or actor.credential.startswith("session:"))


def require_in_person(actor: Principal) -> str:
    """The caller's account, if a person logged in: a stolen key or token must not make its own successor."""
    if actor.user is not None and not is_in_person(actor):
        raise Forbidden(
            "An API key or token cannot do this.", hint="Log in with your password, in the browser or with HTTP Basic."
        )
    return account_of(actor)
