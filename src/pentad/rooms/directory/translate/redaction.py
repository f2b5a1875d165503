"""Keeps secrets out of records, which are there to be read: before a source is translated, its secrets are withheld.

What certainly is a secret is always withheld and told. What only may be one is for the caller to decide: the source is
refused, unless the caller says to withhold such values as well, or to keep them because they are none.
"""

from collections.abc import Sequence
from typing import Any, Final

from pentad.kernel.errors import InvalidInput
from pentad.rooms.directory.translate.envelope import Doubt
from pentad.rooms.directory.translate.losses import Loss, Translated
from pentad.rooms.directory.translate.source_scrubber import SourceScrubber, Withheld

REASON: Final = "it looks like a secret, and a record is there to be read; it has to be supplied anew"
_QUESTIONS: Final = {"mcp": "{%s}", "a2a": "{%s}", "agentskills": "<%s>"}
_OF_HOSTS: Final = "${input:%s}"
_TOLD: Final = 20


class SuspiciousSource(InvalidInput):
    """A source with values that may be secrets. It names their places, never the values."""

    def __init__(
        self, suspicious: Sequence[Withheld], withheld: Sequence[Withheld] = (), *, changes: bool = True
    ) -> None:
        places = ", ".join(dict.fromkeys(f"{one.path} ({one.kind})" for one in suspicious[:_TOLD]))
        more = f" and {len(suspicious) - _TOLD} more" if len(suspicious) > _TOLD else ""
        choice = 'to "withhold" them, or to "keep" them if they are none' if changes else 'to "keep" if they are none'
        super().__init__(
            f"values that look like secrets would be published: {places}{more}",
            hint=f"Set suspicious {choice}.",
            details={"suspicious": [one.as_json() for one in suspicious]},
        )
        self.suspicious = list(suspicious)
        self.withheld = list(withheld)


def redacted(form: str, source: dict[str, Any], doubt: Doubt) -> Translated[dict[str, Any]]:
    """A source without its secrets, which are told as losses. SuspiciousSource if the caller has to decide."""
    scrubber = SourceScrubber(_QUESTIONS.get(form, _OF_HOSTS), cautious=doubt != "keep", declares=form == "mcp")
    markdown = source.get("skillMarkdown") if form == "agentskills" else None
    if isinstance(markdown, str):
        rest = {key: value for key, value in source.items() if key != "skillMarkdown"}
        clean = {**scrubber.value(rest), "skillMarkdown": scrubber.prose(markdown, "skillMarkdown")}
    else:
        clean = scrubber.value(source)
    suspicious = [one for one in scrubber.withheld if not one.certain]
    if suspicious and doubt == "refuse":
        raise SuspiciousSource(suspicious, [one for one in scrubber.withheld if one.certain])
    return Translated(clean, [Loss(one.path, REASON, one.kind) for one in scrubber.withheld])


def check_record(record: dict[str, Any], doubt: Doubt) -> None:
    """SuspiciousSource for an OASF record with secrets in it: withholding them would make it another record."""
    scrubber = SourceScrubber("{%s}", cautious=False)
    if doubt == "keep":
        return
    scrubber.value(record)
    if scrubber.withheld:
        raise SuspiciousSource(scrubber.withheld, changes=False)
