"""Edits one table of a TOML text and leaves the rest, including comments, as it is."""

from collections.abc import Mapping, MutableMapping
from typing import TYPE_CHECKING, Any, cast

from pentad.kernel.errors import Misconfigured

if TYPE_CHECKING:
    from tomlkit import TOMLDocument


class TomlEditor:
    """Edits TOML with tomlkit, which keeps everything it does not change."""

    def with_member(self, text: str, path: tuple[str, ...], value: Mapping[str, Any]) -> str:
        """The text with `value` merged into the table at `path`; members of `value` that are None are removed."""
        import tomlkit

        document = _parsed(text)
        table = cast("MutableMapping[str, Any]", document)
        for depth, key in enumerate(path):
            if key not in table:
                table[key] = tomlkit.table(is_super_table=depth < len(path) - 1)
            table = table[key]
            if not isinstance(table, MutableMapping):
                raise Misconfigured(f"In it, {'.'.join(path[: depth + 1])!r} is not a table.")
            table = cast("MutableMapping[str, Any]", table)
        for key, inner in value.items():
            if inner is None:
                table.pop(key, None)
            elif key not in table or table[key] != inner:
                table[key] = inner
        return tomlkit.dumps(document)

    def content(self, text: str) -> dict[str, Any]:
        """The content of the text."""
        return _parsed(text).unwrap()

    def snippet(self, content: Mapping[str, Any]) -> str:
        """The content as text, to paste by hand."""
        import tomlkit

        return tomlkit.dumps(content).strip()


def _parsed(text: str) -> "TOMLDocument":
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        return tomlkit.parse(text)
    except TOMLKitError as error:
        raise Misconfigured(f"It is not valid TOML: {error}.") from None
