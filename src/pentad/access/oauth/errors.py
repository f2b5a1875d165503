"""The authorization server's error, with the codes of RFC 6749, 7591, 8628 and 8707."""

from typing import Final

_STATUSES: Final = {"invalid_client": 401, "slow_down": 400, "temporarily_unavailable": 503, "server_error": 500}


class OAuthError(Exception):
    """An error for the client: `error`, and a sentence for its developer (ASCII, without quotes and backslashes)."""

    def __init__(self, error: str, description: str) -> None:
        super().__init__(f"{error}: {description}")
        self.error = error
        self.description = description

    @property
    def status(self) -> int:
        return _STATUSES.get(self.error, 400)

    def as_json(self) -> dict[str, str]:
        return {"error": self.error, "error_description": self.description}
