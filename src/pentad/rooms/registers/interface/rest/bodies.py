"""A request's body against its model, refused with every problem at once."""

from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from pentad.mcp.arguments import refusal

M = TypeVar("M", bound=BaseModel)


def body_as(model: type[M], given: dict[str, Any]) -> M:
    """The body as the model has it."""
    try:
        return model.model_validate(given)
    except ValidationError as error:
        raise refusal(model, error, given) from None
