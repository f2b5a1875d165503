"""Refuses callers whose scopes do not reach, naming the one they need."""

from pentad.kernel.errors import Forbidden
from pentad.kernel.principal import Action, Principal


def check_right(principal: Principal, room: str, action: Action) -> None:
    if not principal.may(room, action):
        raise lacks(principal, room, action)


def lacks(principal: Principal, room: str, action: Action) -> Forbidden:
    return Forbidden(
        f"{principal.name!r} may not {action} in the {room} room.",
        hint=f"It needs the scope {room}:{action}; ask an administrator.",
        details={"required_scope": f"{room}:{action}"},
    )
