"""Files made to break: workbooks that are bombs, tables that lie, lines that never end."""

import io
import json
import zipfile

from openpyxl import Workbook

SHEET = "xl/worksheets/sheet1.xml"


def parts() -> dict[str, bytes]:
    book = Workbook()
    assert book.active is not None
    for row in (["name"], ["Oak"]):
        book.active.append(row)
    file = io.BytesIO()
    book.save(file)
    with zipfile.ZipFile(file) as archive:
        return {part: archive.read(part) for part in archive.namelist()}


def zipped(content: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in content.items():
            archive.writestr(name, part)
    return file.getvalue()


def sheet(before: bytes, after: bytes) -> bytes:
    """A workbook whose sheet has something else in place of something."""
    whole = parts()
    assert before in whole[SHEET]
    return zipped({**whole, SHEET: whole[SHEET].replace(before, after, 1)})


LAUGHS = b'<!DOCTYPE x [<!ENTITY a0 "ha">' + b"".join(
    b'<!ENTITY a%d "%s">' % (number, b"&a%d;" % (number - 1) * 10) for number in range(1, 10)
)
REFUSED: dict[str, tuple[str, bytes]] = {
    "a workbook that unpacks to 20 MiB of nothing": ("xlsx", zipped({**parts(), "xl/media/x.bin": bytes(20 << 20)})),
    "a workbook of 1,200 parts": ("xlsx", zipped({**parts(), **{f"xl/media/{n}": b"x" for n in range(1_200)}})),
    "a workbook of a billion laughs": ("xlsx", sheet(b"<worksheet", LAUGHS + b"]><worksheet")),
    "a workbook with an entity from a file": (
        "xlsx",
        sheet(b"<worksheet", b'<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><worksheet'),
    ),
    "a workbook with a row at the very end": (
        "xlsx",
        sheet(b"</sheetData>", b'<row r="1048576"><c r="A1048576"><v>1</v></c></row></sheetData>'),
    ),
    "a workbook without a sheet": ("xlsx", zipped({name: part for name, part in parts().items() if name != SHEET})),
    "a workbook cut short": ("xlsx", zipped(parts())[:-300]),
    "a workbook that is a table": ("xlsx", b"name\nOak\n"),
    "a table with an open quotation mark": ("csv", b'name\n"' + b"x," * 200_000),
    "a table of columns nobody knows": ("csv", b"name,'; DROP TABLE objects; --\nx,y\n"),
    "a table with a column twice": ("csv", b"name,name\na,b\n"),
    "a table in another encoding": ("csv", "name\nBäume\n".encode("latin-1")),
    "a table with a NUL": ("csv", b"name\na\0b\n"),
    "a table with a row that is too long": ("csv", b"name\na,b,c,d\n"),
    "JSON that is no list": ("json", b'"DROP TABLE objects"'),
    "JSON cut short": ("json", b'[{"name": "x"}, {"name":'),
    "JSON of 5,000 levels": ("json", b"[" * 5_000 + b"]" * 5_000),
    "JSON with 1e400": ("json", b'[{"free": 1e400}]'),
    "a line without end": ("jsonl", b'{"name": "' + b"x" * 2_000_000),
    "a line that is no JSON": ("jsonl", b'{"name": "x"}\nSELECT 1\n'),
    "lines of broken UTF-8": ("jsonl", b'{"name": "\xff\xfe"}\n'),
    "lines with half a surrogate pair": ("jsonl", b'{"name": "\\ud800"}\n'),
}
FORMULAS = ["=1+1", "+1", "-1", "@SUM(A1)", "=cmd|' /C calc'!A0", "\t=1", '"', '""', '","', "'; DROP TABLE objects; --"]
KEPT = {
    "cells a spreadsheet would run": ("jsonl", "\n".join(json.dumps({"name": text}) for text in FORMULAS).encode()),
    "quotes within quotes": ("csv", b'name\n"""a"", ""b"""\n"line\nbreak"\n'),
}
