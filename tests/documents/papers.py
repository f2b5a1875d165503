"""Makes documents for tests: small true files of every format that has a structure of its own."""

import io
import zipfile
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

from PIL import Image, ImageDraw, ImageFont

_W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_OPF = 'xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/"'


def pdf(
    pages: Sequence[Sequence[str]],
    *,
    labels: Sequence[tuple[int, str]] = (),
    title: str | None = None,
    encrypted: bool = False,
) -> bytes:
    """A PDF with these lines on its pages; no lines make a blank page.

    `labels` are ranges of printed labels: the page they begin at, counted from 0, and their definition in PDF's words,
    for example `(0, "/S /r")` or `(2, "/S /D /St 1")`.
    """
    objects: list[bytes] = []

    def add(body: str | bytes) -> int:
        objects.append(body if isinstance(body, bytes) else body.encode("latin-1"))
        return len(objects)

    add("")  # 1: the catalogue, written last
    add("")  # 2: the tree of pages
    font = add("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>")
    kids: list[int] = []
    for lines in pages:
        stream = _page_stream(lines)
        content = add(b"<< /Length %d >>\nstream\n%b\nendstream" % (len(stream), stream))
        kids.append(
            add(
                f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {content} 0 R"
                f" /Resources << /Font << /F1 {font} 0 R >> >> >>"
            )
        )
    numbers = " ".join(f"{start} << {definition} >>" for start, definition in labels)
    named = f" /PageLabels << /Nums [{numbers}] >>" if labels else ""
    objects[0] = f"<< /Type /Catalog /Pages 2 0 R{named} >>".encode("latin-1")
    tree = " ".join(f"{kid} 0 R" for kid in kids)
    objects[1] = f"<< /Type /Pages /Kids [{tree}] /Count {len(kids)} >>".encode("latin-1")
    info = add(f"<< /Title ({title}) >>") if title else 0
    trailer = f" /Info {info} 0 R" if info else ""
    if encrypted:
        lock = add(f"<< /Filter /Standard /V 1 /R 2 /O <{'41' * 32}> /U <{'42' * 32}> /P -4 >>")
        trailer += f" /Encrypt {lock} 0 R /ID [<{'00' * 16}> <{'00' * 16}>]"
    return _pdf_file(objects, trailer)


def picture(lines: Sequence[str], kind: str = "PNG") -> bytes:
    """A picture of a page with these lines."""
    out = io.BytesIO()
    _drawn(lines).save(out, kind)
    return out.getvalue()


def scan(pages: Sequence[Sequence[str]], kind: str = "PDF") -> bytes:
    """A PDF, or a TIFF, whose pages are nothing but pictures of these lines; no lines make a white one."""
    out = io.BytesIO()
    first, *others = [_drawn(lines) for lines in pages]
    first.save(out, kind, save_all=True, append_images=others)
    return out.getvalue()


def _drawn(lines: Sequence[str]) -> Image.Image:
    page = Image.new("L", (1000, 1200), "white")
    ImageDraw.Draw(page).multiline_text(
        (80, 100), "\n".join(lines), font=ImageFont.load_default(28), fill="black", spacing=14
    )
    return page


def _page_stream(lines: Sequence[str]) -> bytes:
    shown = [f"1 0 0 1 72 {720 - 14 * place} Tm ({_pdf_text(line)}) Tj" for place, line in enumerate(lines) if line]
    return ("BT /F1 11 Tf " + "\n".join(shown) + " ET").encode("cp1252") if shown else b""


def _pdf_text(line: str) -> str:
    return line.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")


def _pdf_file(objects: Sequence[bytes], trailer: str) -> bytes:
    out = io.BytesIO()
    out.write(b"%PDF-1.4\n")
    places: list[int] = []
    for number, body in enumerate(objects, 1):
        places.append(out.tell())
        out.write(b"%d 0 obj\n%b\nendobj\n" % (number, body))
    table = out.tell()
    out.write(f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode())
    for place in places:
        out.write(f"{place:010d} 00000 n \n".encode())
    out.write(f"trailer << /Size {len(objects) + 1} /Root 1 0 R{trailer} >>\nstartxref\n{table}\n%%EOF\n".encode())
    return out.getvalue()


def zipped(parts: Mapping[str, str | bytes]) -> bytes:
    """A ZIP with these parts."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return out.getvalue()


def paragraph(text: str, style: str | None = None) -> str:
    """A paragraph of a Word document."""
    styled = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{styled}<w:r><w:t>{escape(text)}</w:t></w:r></w:p>"


def docx(body: str, *, styles: str = "", title: str | None = None, head: str = "") -> bytes:
    """A Word document with this body in WordprocessingML."""
    named = "" if title is None else f'<p xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{title}</dc:title></p>'
    parts = {
        "[Content_Types].xml": "<Types/>",
        "word/document.xml": f'<?xml version="1.0"?>{head}<w:document {_W} xmlns:mc="m"><w:body>{body}</w:body>'
        "</w:document>",
        "word/styles.xml": f"<w:styles {_W}>{styles}</w:styles>",
    }
    return zipped({**parts, "docProps/core.xml": named} if named else parts)


def heading_style(style_id: str, name: str, based_on: str | None = None) -> str:
    """A style of a Word document."""
    base = f'<w:basedOn w:val="{based_on}"/>' if based_on else ""
    return f'<w:style w:styleId="{style_id}"><w:name w:val="{name}"/>{base}</w:style>'


def epub(
    pages: Mapping[str, str], *, title: str = "A Book", hrefs: Mapping[str, str] | None = None, **extra: str
) -> bytes:
    """An EPUB whose spine is these pages, bodies in XHTML by file name; `hrefs` gives other references to them."""
    hrefs = hrefs or {}
    items = "".join(
        f'<item id="p{n}" href="{hrefs.get(name, name)}" media-type="application/xhtml+xml"/>'
        for n, name in enumerate(pages)
    )
    spine = "".join(f'<itemref idref="p{n}"/>' for n, _ in enumerate(pages))
    parts: dict[str, str | bytes] = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
        '<rootfile full-path="OEBPS/content.opf"/></rootfiles></container>',
        "OEBPS/content.opf": f"<package {_OPF}><metadata><dc:title>{title}</dc:title></metadata>"
        f"<manifest>{items}</manifest><spine>{spine}</spine></package>",
    }
    for name, body in pages.items():
        parts[f"OEBPS/{name}"] = f"<html><head><title>t</title></head><body>{body}</body></html>"
    return zipped({**parts, **{name.replace("__", "/"): content for name, content in extra.items()}})
