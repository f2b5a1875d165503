"""Decides what is a secret, for all of Pentad: by name, by value, in URLs, headers, command lines, texts and JSON."""

from pentad.kernel.secrets.commands import scrub_command
from pentad.kernel.secrets.documents import scrub_json
from pentad.kernel.secrets.findings import Finding, Mark, Scrubbed
from pentad.kernel.secrets.names import Place, is_secret_member, is_secret_name
from pentad.kernel.secrets.references import is_reference
from pentad.kernel.secrets.text import found_in, may_hold, scrub_text
from pentad.kernel.secrets.urls import scrub_header, scrub_url, scrub_value
from pentad.kernel.secrets.values import Verdict, judge_value

__all__ = [
    "Finding",
    "Mark",
    "Place",
    "Scrubbed",
    "Verdict",
    "found_in",
    "is_reference",
    "is_secret_member",
    "is_secret_name",
    "judge_value",
    "may_hold",
    "scrub_command",
    "scrub_header",
    "scrub_json",
    "scrub_text",
    "scrub_url",
    "scrub_value",
]
