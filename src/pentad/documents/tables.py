"""Rows of tables as lines of text that can be quoted alone: each value with the heading of its column."""

from collections.abc import Iterator, Sequence

Row = Sequence[str]


def lines(rows: Sequence[Row], *, has_header: bool) -> Iterator[str]:
    """One line for each row: `Gate: North | Keeper: Ida`, or `North | Ida` if the table has no header.

    The header gets its own line only if no row repeats it.
    """
    header, body = (rows[0], rows[1:]) if has_header and rows else ((), rows)
    if header and not any(_fits(row, header) for row in body):
        yield _joined(header)
    for row in body:
        if _fits(row, header):
            yield " | ".join(_labelled(name, value) for name, value in zip(header, row, strict=True) if value)
        elif any(row):
            yield _joined(row)


def _joined(row: Row) -> str:
    return " ".join(" | ".join(row).split())


def _fits(row: Row, header: Row) -> bool:
    return bool(header) and len(row) == len(header) and any(row)


def _labelled(name: str, value: str) -> str:
    return f"{name.rstrip(':')}: {value}" if name and name != value else value
