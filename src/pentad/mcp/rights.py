"""Refuses callers without credentials, and callers who lack a scope; names the scope they need."""

from pentad.kernel.errors import Forbidden, PentadError, Unauthenticated
from pentad.kernel.principal import Action, Principal


def check_right(principal: Principal, room: str, action: Action) -> None:
    """Raise unless the principal may do this in the room. Rooms use it in their routes too."""
    if not principal.may(room, action):
        refuse_anonymous(principal)
        raise missing_scope(principal, room, action)


def refuse_anonymous(principal: Principal) -> None:
    if principal.kind == "anonymous":
        raise Unauthenticated("Credentials are needed.")


def refuse_read_only(principal: Principal) -> None:
    """Raise if the caller is on a read-only server or profile.

    No scope would help, so none is named. Rooms with their own error messages for refused writes call this first.
    """
    if principal.read_only:
        raise Forbidden(
            "Nothing can be changed here: this server or profile is read-only.",
            hint="Use an endpoint that allows changes, or ask the operator.",
        )


def missing_scope(principal: Principal, room: str, action: Action) -> Forbidden:
    """The refusal of a caller who lacks a scope."""
    if action != "read":
        refuse_read_only(principal)
    return Forbidden(
        f"{principal.name!r} may not {action} in the {room} room.",
        hint=f"It needs the scope {room}:{action}; ask an administrator.",
        details={"required_scope": f"{room}:{action}"},
    )


def can_be_granted(error: PentadError, principal: Principal) -> bool:
    """Whether a client can ask its user for the missing scope, which it does after a 403 with a challenge.

    Only then is a refused tool call a protocol error rather than a result that the model reads.
    """
    return "required_scope" in error.details and principal.credential.startswith("grant:")
