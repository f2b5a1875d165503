"""A finding as programs read it: the same from every surface, and without what it does not say."""

from typing import Any

import msgspec

from pentad.rooms.directory.oasf.findings import Finding


def told(finding: Finding) -> dict[str, Any]:
    """The facts of a finding that has them."""
    facts = msgspec.to_builtins(finding)
    return {key: value for key, value in facts.items() if value not in (None, "", [], False)}
