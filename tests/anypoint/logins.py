"""Logins of the fake platform: users and connected apps, tokens that expire, groups they may see."""

import time
from dataclasses import dataclass, field

USERS = {"pia": "pia-password-CANARY"}
APPS = {"app-1": "app-secret-CANARY"}


@dataclass
class Logins:
    """The known logins and their tokens. `tops` limits a user or an app to one group and all below it."""

    users: dict[str, str] = field(default_factory=lambda: dict(USERS))
    apps: dict[str, str] = field(default_factory=lambda: dict(APPS))
    tops: dict[str, str] = field(default_factory=dict[str, str])
    lifetime: float = 3600.0
    _tokens: dict[str, tuple[str, bool, float]] = field(default_factory=dict[str, tuple[str, bool, float]])
    given: int = 0

    def user(self, name: str, password: str) -> str | None:
        return self._give(name, is_app=False) if password and self.users.get(name) == password else None

    def app(self, key: str, secret: str) -> str | None:
        return self._give(key, is_app=True) if secret and self.apps.get(key) == secret else None

    def _give(self, who: str, *, is_app: bool) -> str:
        self.given += 1
        token = f"tok-CANARY-{self.given}"
        self._tokens[token] = (who, is_app, time.monotonic() + self.lifetime)
        return token

    def who(self, token: str) -> tuple[str, bool] | None:
        """The owner of a token and whether it is an app; None if the token is unknown or expired."""
        who, is_app, until = self._tokens.get(token, ("", False, 0.0))
        return (who, is_app) if time.monotonic() < until else None

    def expire(self) -> None:
        """Expire all tokens."""
        self._tokens.clear()
