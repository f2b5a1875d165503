"""Builds avatar folders from public manuals and books that packages carry.

`python -m benchmarks.avatars.corpora NAME FOLDER` makes one. Install the package first, or unpack it anywhere and name
that place with `--root`. The texts are not part of this repository.
"""

import argparse
import gzip
import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.environment import say


@dataclass(frozen=True, slots=True)
class Corpus:
    """A package, the files of it that make the corpus, and who the avatar is."""

    package: str
    place: str
    patterns: tuple[str, ...]
    name: str
    description: str


CORPORA: Final = {
    "politics": Corpus(
        "anarchism",
        "usr/share/doc/anarchism/html",
        ("secA[1-5].html", "secI8.html"),
        "An Anarchist FAQ",
        "History and ideas of a political movement, and the Spanish revolution.",
    ),
    "accounting": Corpus(
        "gnucash-docs",
        "usr/share/doc/gnucash-docs",
        ("gnucash-guide-en/*.html", "gnucash-help-en/*.html"),
        "GnuCash Guide",
        "Bookkeeping for persons and small firms, and how to do it with GnuCash.",
    ),
    "programming": Corpus(
        "rust-doc",
        "usr/share/doc/rust-doc/html/book",
        ("ch*.html", "appendix*.html"),
        "The Rust Programming Language",
        "A textbook of a programming language.",
    ),
    "debugging": Corpus(
        "valgrind",
        "usr/share/doc/valgrind/html",
        ("*-manual*.html", "manual-*.html", "faq.html", "quick-start.html", "cl-format.html", "dist.readme*.html"),
        "Valgrind",
        "How to find errors in memory and threads, and what a program spends its time and memory on.",
    ),
    "imaging": Corpus(
        "gimp-help-en",
        "usr/share/gimp/2.0/help/en",
        (
            "gimp-concepts*.html",
            "gimp-image*.html",
            "gimp-imaging*.html",
            "gimp-introduction*.html",
            "gimp-layer*.html",
            "gimp-selection*.html",
            "gimp-tool*.html",
            "gimp-using*.html",
            "glossary*.html",
        ),
        "GIMP",
        "How to paint, retouch photographs and work with layers in GIMP.",
    ),
    "mail": Corpus(
        "exim4-doc-html",
        "usr/share/doc/exim4-doc-html/spec_html",
        (
            "ch-[adehilp]*.html",
            "ch-format*.html",
            "ch-message*.html",
            "ch-retry*.html",
            "ch-s[em]*.html",
            "filter_ch-*.html",
        ),
        "Exim",
        "How a mail server receives, checks, routes and delivers messages.",
    ),
    "music": Corpus(
        "lilypond-doc-pdf",
        "usr/share/doc/lilypond/html/Documentation",
        ("essay.pdf", "learning.pdf", "music-glossary.pdf", "usage.pdf"),
        "LilyPond",
        "How music is engraved, what its terms mean, and how to typeset it with LilyPond.",
    ),
    "backup": Corpus(
        "bacula-doc",
        "usr/share/doc/bacula-doc/pdf",
        ("main.pdf.gz", "problems.pdf.gz"),
        "Bacula",
        "How to back up, verify and restore the computers of a network.",
    ),
    "electronics": Corpus(
        "kicad-doc-en",
        "usr/share/doc/kicad/help/en",
        ("*.html",),
        "KiCad",
        "How to draw schematics and lay out printed circuit boards with KiCad.",
    ),
    "hackers": Corpus(
        "cfi-en",
        "usr/share/doc/cfi-en/html",
        ("*.htm",),
        "Copyright Does Not Exist",
        "A history of hackers, their machines, their culture and their conflicts with the law.",
    ),
    "rendering": Corpus(
        "povray-doc",
        "usr/share/doc/povray/html",
        ("t2_[1235].html",),
        "POV-Ray Tutorial",
        "How to describe scenes and render them by ray-tracing with POV-Ray.",
    ),
    "administration": Corpus(
        "debian-handbook",
        "usr/share/doc/debian-handbook/html/en-US",
        ("*.html",),
        "The Debian Administrator's Handbook",
        "How to run Debian systems.",
    ),
}
"""Weights were fitted on `administration`, `politics` and `accounting`. Rules changed after a look at the misses of
`mail`, `imaging`, `debugging`, `programming`, `music` and `backup`. `electronics`, `hackers` and `rendering` were
measured before anyone looked at their misses. Take new corpora for the next measurement.
"""


def build(corpus: Corpus, identifier: str, root: Path, folder: Path) -> int:
    """Write the folder of the avatar; the number of its documents."""
    texts = folder / "corpus"
    texts.mkdir(parents=True, exist_ok=True)
    found = sorted({path for pattern in corpus.patterns for path in (root / corpus.place).glob(pattern)})
    for path in found:
        copy = texts / "-".join(path.relative_to(root / corpus.place).parts)
        if path.suffix == ".gz":
            copy.with_suffix("").write_bytes(gzip.decompress(path.read_bytes()))
        else:
            shutil.copyfile(path, copy)
    config = {
        "id": identifier,
        "name": corpus.name,
        "description": corpus.description,
        "corpus": {"description": f"The package {corpus.package}.", "sources": []},
        "systemPrompt": {
            "identity": corpus.description,
            "tone": "plain",
            "constraints": [],
            "citationStyle": "third person",
        },
    }
    (folder / "config.json").write_text(json.dumps(config, indent=2), encoding="utf-8")
    return len(found)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.avatars.corpora", description=__doc__)
    parser.add_argument("name", choices=sorted(CORPORA))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--root", type=Path, default=Path("/"), help="where the package is unpacked")
    given = parser.parse_args(arguments)
    corpus = CORPORA[given.name]
    count = build(corpus, given.name, given.root, given.folder)
    if not count:
        say(f"No files found: install the package {corpus.package}, or name the place where it is unpacked.")
        return 1
    say(f"{given.folder}: {count} documents of {corpus.package}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
