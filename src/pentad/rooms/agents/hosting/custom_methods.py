"""Custom methods of an agent (`@a2a_method`). Parameters and result are validated against its type annotations.

The JSON member `id` is the parameter `task_id`. pydantic is imported only if an agent has such a method.
"""

import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, get_type_hints

import msgspec

from pentad.rooms.agents.codecs.errors import Fault, Violation
from pentad.rooms.agents.codecs.json_rpc import invalid_params

_TASK_ID: Final = "task_id"


class CustomMethod:
    """One custom method, with its validators."""

    def __init__(self, method: Callable[..., Awaitable[Any]]) -> None:
        from pydantic import Field, TypeAdapter, create_model

        hints = get_type_hints(method)
        fields: dict[str, Any] = {}
        for name, parameter in inspect.signature(method).parameters.items():
            default = ... if parameter.default is parameter.empty else parameter.default
            field = Field(default, alias="id") if name == _TASK_ID else Field(default)
            fields[name] = (hints.get(name, Any), field)
        self._method = method
        self._params = create_model("Params", **fields)
        self._result: TypeAdapter[Any] = TypeAdapter(hints.get("return", Any))

    async def __call__(self, params: msgspec.Raw) -> Any:
        """Call the method; its result as plain JSON."""
        from pydantic import ValidationError

        try:
            given: Any = msgspec.json.decode(params)
            checked = self._params.model_validate(given if isinstance(given, Mapping) else {"params": given})
        except ValidationError as error:
            raise invalid_params(
                [_violation(one) for one in error.errors(include_url=False, include_input=False)]
            ) from None
        arguments = {name: getattr(checked, name) for name in type(checked).model_fields}
        result = await self._method(**arguments)
        try:
            return self._result.dump_python(self._result.validate_python(result), mode="json", by_alias=True)
        except ValidationError:
            raise Fault("internal", "The method returned something else than it promises.") from None


def _violation(error: Mapping[str, Any]) -> Violation:
    return Violation(".".join(str(step) for step in error["loc"]) or "params", f"{error['msg']}.")
