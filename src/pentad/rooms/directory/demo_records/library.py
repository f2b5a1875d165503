"""A city library whose agents find, read, translate and keep what people bring in."""

from typing import Final

from pentad.rooms.directory.demo_records.entry import Entry, a2a, mcp, note, observed, prompt, skill

_DESK: Final = "Reading Room Desk <desk@lindenlibrary.example>"
_STACKS: Final = "Ottilie Brandt, Stacks and Catalogue"
_IMAGES: Final = "https://images.lindenlibrary.example"
_GIT: Final = "https://git.lindenlibrary.example"

RECORDS: Final = (
    Entry(
        "lindenlibrary.example/librarian", "v0.9.0", "0.3.1", "2024-11-04",
        "Answers questions at the reading room desk from the library's catalogue, and says which shelf to walk to.",
        _DESK, "document_or_database_question_answering",
        locators={"container_image": f"{_IMAGES}/librarian:0.9.0", "source_code": f"{_GIT}/librarian"},
        modules=(observed("prometheus"), note("lindenlibrary.example/opening-hours", weekdays="9-19", weekend="10-16")),
    ),
    Entry(
        "lindenlibrary.example/librarian", "v1.4.0", "0.7.0", "2025-05-19",
        "Answers questions at the reading room desk: finds books, journals and maps in the catalogue, reserves them,"
        " and quotes the passage an answer rests on.",
        _DESK, "document_or_database_question_answering document_passage_retrieval", "learning_management_systems",
        {"container_image": f"{_IMAGES}/librarian:1.4.0", "source_code": f"{_GIT}/librarian"},
        (a2a("https://agents.lindenlibrary.example/librarian", ("find a book", "Finds titles and their shelf.")),),
        {"team": "reading-room", "tier": "silver"},
    ),
    Entry(
        "lindenlibrary.example/librarian", "v2.0.0", "1.0.0", "2025-12-01",
        "Answers questions at the reading room desk. Finds books, journals, maps and recordings, reserves them for a"
        " reader, and quotes the passage an answer rests on.",
        _DESK, "document_or_database_question_answering document_passage_retrieval knowledge_synthesis",
        "publishing research_data_management",
        {"container_image": f"{_IMAGES}/librarian:2.0.0", "source_code": f"{_GIT}/librarian"},
        (a2a("https://agents.lindenlibrary.example/librarian",
             ("find a book", "Finds titles and their shelf."), ("quote a source", "Quotes the passage, with page.")),),
        {"team": "reading-room", "tier": "gold"}, published=True,
    ),
    Entry(
        "lindenlibrary.example/librarian", "v2.1.0", "1.1.0", "2026-04-13",
        "Answers questions at the reading room desk. Finds books, journals, maps and recordings, reserves them for a"
        " reader, quotes the passage an answer rests on, and hands long searches to the archivist.",
        _DESK, "document_or_database_question_answering literature_search knowledge_base_management",
        "publishing research_data_management",
        {"container_image": f"{_IMAGES}/librarian:2.1.0", "source_code": f"{_GIT}/librarian"},
        (a2a("https://agents.lindenlibrary.example/librarian",
             ("find a book", "Finds titles and their shelf."), ("quote a source", "Quotes the passage, with page.")),
         mcp("https://agents.lindenlibrary.example/librarian/mcp",
             ("search_catalogue", "Searches titles, authors and subjects."),
             ("reserve", "Puts a title aside for a reader."))),
        {"team": "reading-room", "tier": "gold"}, published=True,
    ),
    Entry(
        "lindenlibrary.example/translator", "1.0.2", "0.7.0", "2025-03-03",
        "Translates letters and leaflets between German, Turkish, Ukrainian and English for readers at the desk.",
        _DESK, "translation multilingual_understanding", "communication_systems",
        {"package": "https://packages.lindenlibrary.example/translator/1.0.2"},
        (prompt("translate", "Translate this letter and keep names as they are."),), {"team": "reading-room"},
    ),
    Entry(
        "lindenlibrary.example/translator", "1.1.0", "0.7.0", "2025-08-25",
        "Translates letters, leaflets and forms between German, Turkish, Ukrainian, Arabic and English, and marks what"
        " has no good equivalent.",
        _DESK, "translation multilingual_understanding paraphrasing", "communication_systems",
        {"package": "https://packages.lindenlibrary.example/translator/1.1.0"},
        (prompt("translate", "Translate this letter and keep names as they are."),), {"team": "reading-room"},
        published=True, follows=True,
    ),
    Entry(
        "lindenlibrary.example/cataloguer", "3.2.0", "0.8.0", "2025-09-15",
        "Reads title pages and writes catalogue entries: author, edition, subject headings, and doubtful cases for a"
        " person to decide.",
        _STACKS, "fact_extraction topic_labeling schema_inference", "publishing data_engineering",
        {"source_code": f"{_GIT}/cataloguer"},
        (mcp("uvx linden-cataloguer --stdio", ("describe_title_page", "Reads a scan into a catalogue entry."),
             needs="CATALOGUE_TOKEN"),),
        {"team": "stacks"},
    ),
    Entry(
        "lindenlibrary.example/archivist", "1.0.0", "1.0.0", "2026-01-20",
        "Searches the city archive by hand-list and finding aid, follows cross references for hours if need be, and"
        " reports what it did not find as well.",
        _STACKS, "long_horizon_reasoning retrieval_of_information_search", "publishing",
        {"container_image": f"{_IMAGES}/archivist:1.0.0"},
        (a2a("https://agents.lindenlibrary.example/archivist", ("search the archive", "A search with a report.")),),
        {"team": "stacks", "patience": "high"}, published=True,
    ),
    Entry(
        "lindenlibrary.example/transcriber", "0.6.1", "0.7.0", "2025-06-30",
        "Listens to interviews of the oral history collection and writes them down, with speakers and times.",
        _STACKS, "speech_recognition", "educational_technology",
        {"container_image": f"{_IMAGES}/transcriber:0.6.1"}, (observed("grafana"),), {"team": "oral-history"},
    ),
    Entry(
        "lindenlibrary.example/citation-style", "1.3.0", "1.1.0", "2026-05-04",
        "A skill for any writing agent: formats references by the house style of the library's own journal.",
        "Linden Review, the editors", "citation_management copy_editing", "publishing",
        {"source_code": f"{_GIT}/citation-style"},
        (skill("Format references and footnotes in the style of the Linden Review.", "Read", "Edit"),),
        {"team": "journal"}, published=True,
    ),
)  # fmt: skip
