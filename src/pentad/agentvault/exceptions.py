"""The exceptions of the library, in the same tree as in AgentVault.

* AgentVaultError
  * AgentCardError                    a card cannot be used
    * AgentCardValidationError        it is not a valid card
    * AgentCardFetchError             it could not be fetched: status_code, response_body
  * A2AError                          communication with an agent failed
    * A2AConnectionError              it cannot be reached
      * A2ATimeoutError               it did not answer in time
    * A2AAuthenticationError          there are no credentials, or no token for them
    * A2ARemoteAgentError             it answered with an error: status_code (HTTP or RPC), response_body
    * A2AMessageError                 an outgoing or incoming message is not valid
  * KeyManagementError                keys cannot be read or stored
"""

from typing import Any, Final

SHOWN: Final = 100


class AgentVaultError(Exception):
    """The base of all errors."""


class AgentCardError(AgentVaultError):
    """A card cannot be used."""


class AgentCardValidationError(AgentCardError):
    """The card is not valid."""


class A2AError(AgentVaultError):
    """Communication with an agent failed."""


class A2AConnectionError(A2AError):
    """The agent cannot be reached."""


class A2ATimeoutError(A2AConnectionError):
    """The agent did not answer in time."""


class A2AAuthenticationError(A2AError):
    """There are no credentials for the agent, or no token for them."""


class A2AMessageError(A2AError):
    """The outgoing or incoming message is not valid."""


class KeyManagementError(AgentVaultError):
    """Keys cannot be read or stored."""


class _ErrorResponse(AgentVaultError):
    """An error that another party returned."""

    def __init__(self, message: str, status_code: int | None = None, response_body: Any | None = None) -> None:
        super().__init__(message)
        self.status_code = status_code
        self.response_body = response_body

    def __str__(self) -> str:
        details: list[str] = []
        if self.status_code is not None:
            details.append(f"status_code={self.status_code}")
        if self.response_body is not None:
            body = repr(self.response_body)
            details.append(f"response_body={body if len(body) <= SHOWN else body[:SHOWN] + '...'}")
        message = super().__str__()
        return f"{message} ({', '.join(details)})" if details else message


class AgentCardFetchError(_ErrorResponse, AgentCardError):
    """A card could not be fetched."""


class A2ARemoteAgentError(_ErrorResponse, A2AError):
    """The agent answered with an error; `status_code` is the HTTP status or the code of the RPC error."""
