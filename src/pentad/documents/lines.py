"""Reads plain text other than prose, such as tables and logs. Lines stay as they are."""

from pentad.documents.document import Extracted
from pentad.documents.normalization import decoded, normal


def read(data: bytes) -> Extracted:
    return Extracted(normal(decoded(data)))
