"""A small software house: agents that review, test, release and look after systems at night."""

from typing import Final

from pentad.rooms.directory.demo_records.entry import Entry, a2a, mcp, note, observed, prompt, skill

_TOOLS: Final = "Toolmakers at Kettle & Rook <tools@kettlerook.example>"
_NIGHT: Final = "Night Shift, Samira Haddad"
_IMAGES: Final = "https://images.kettlerook.example"
_GIT: Final = "https://git.kettlerook.example"

RECORDS: Final = (
    Entry(
        "kettlerook.example/echo", "0.1.0", "0.3.1", "2024-08-05",
        "Says back what it was told. For trying out connections.", _TOOLS, "text_completion",
        locators={"source_code": f"{_GIT}/echo"}, modules=(observed("stdout"),),
    ),
    Entry(
        "kettlerook.example/echo", "1.0.0", "0.8.0", "2025-02-10",
        "Says back what it was told, with the time it took. For trying out connections.",
        _TOOLS, "text_completion", "apis_integration", {"container_image": f"{_IMAGES}/echo:1.0.0"},
        (a2a("https://agents.kettlerook.example/echo", ("echo", "Says back what it was told.")),),
        {"team": "tools"},
    ),
    Entry(
        "kettlerook.example/echo", "1.2.0", "1.1.0", "2026-01-12",
        "Says back what it was told, whole or word by word, with the time it took. For trying out connections.",
        _TOOLS, "text_completion", "software_engineering", {"container_image": f"{_IMAGES}/echo:1.2.0"},
        (a2a("https://agents.kettlerook.example/echo", ("echo", "Says back what it was told.")),
         mcp("uvx kettlerook-echo", ("echo", "Says back what it was told."))),
        {"team": "tools", "tier": "bronze"}, published=True,
    ),
    Entry(
        "kettlerook.example/reviewer", "2.3.0", "0.7.0", "2025-04-28",
        "Reads a change and writes the three remarks that matter most, each with the line and a better version.",
        _TOOLS, "code_optimization problem_solving", "software_engineering",
        {"container_image": f"{_IMAGES}/reviewer:2.3.0"}, (prompt("review", "Review this change."),), {"team": "tools"},
    ),
    Entry(
        "kettlerook.example/reviewer", "3.0.0", "1.0.0", "2025-10-27",
        "Reads a change with the code around it and writes the three remarks that matter most, each with the line and a"
        " better version.",
        _TOOLS, "code_optimization quality_evaluation", "software_development quality_assurance",
        {"container_image": f"{_IMAGES}/reviewer:3.0.0"},
        (mcp("npx -y @kettlerook/reviewer", ("review_change", "Remarks on a diff."), needs="GIT_TOKEN"),),
        {"team": "tools", "tier": "gold"},
    ),
    Entry(
        "kettlerook.example/reviewer", "3.1.0-rc.1", "1.1.0", "2026-06-01",
        "Reads a change with the code around it, runs the tests it touches, and writes the three remarks that matter"
        " most, each with the line and a better version.",
        _TOOLS, "code_review static_analysis", "software_engineering",
        {"container_image": f"{_IMAGES}/reviewer:3.1.0-rc.1"},
        (mcp("npx -y @kettlerook/reviewer@next", ("review_change", "Remarks on a diff."), needs="GIT_TOKEN"),),
        {"team": "tools", "tier": "gold", "stage": "candidate"},
    ),
    Entry(
        "kettlerook.example/test-writer", "1.0.0", "1.0.0", "2025-11-24",
        "Writes the tests a function lacks, runs them, and keeps only those that can fail.",
        _TOOLS, "test_case_generation text_to_code", "software_development",
        {"package": "https://packages.kettlerook.example/test-writer/1.0.0"},
        (skill("Write missing tests and prove that each can fail.", "Read", "Write", "Bash", licence="MIT"),),
        {"team": "tools"}, published=True,
    ),
    Entry(
        "kettlerook.example/release-clerk", "4.0.2", "1.1.0", "2026-04-20",
        "Collects what changed since the last release, writes the notes, tags, and waits for a person before it ships.",
        _TOOLS, "release_management pull_request_management", "software_engineering",
        {"container_image": f"{_IMAGES}/release-clerk:4.0.2"},
        (a2a("https://agents.kettlerook.example/release-clerk", ("prepare release", "Notes and a tag to approve.")),),
        {"team": "tools"}, published=True,
    ),
    Entry(
        "kettlerook.example/incident-scribe", "1.2.0", "0.8.0", "2025-08-11",
        "Sits in the incident channel, keeps the timeline, and drafts the report for the morning.",
        _NIGHT, "summarization audit_trail_summarization", "incident_management devops",
        {"container_image": f"{_IMAGES}/incident-scribe:1.2.0"}, (observed("grafana"),), {"team": "night-shift"},
    ),
    Entry(
        "kettlerook.example/secret-sniffer", "0.9.4", "1.0.0", "2025-12-15",
        "Searches repositories and images for keys and passwords that should not be there, and tells the owner alone.",
        _NIGHT, "secret_leak_detection vulnerability_analysis", "application_security",
        {"binary": "https://downloads.kettlerook.example/secret-sniffer-0.9.4"},
        (mcp("secret-sniffer serve --stdio", ("scan_repository", "Finds secrets in a repository.")),),
        {"team": "night-shift"}, published=True,
    ),
    Entry(
        "kettlerook.example/query-whisperer", "2.2.0", "1.1.0", "2026-03-30",
        "Turns a question in plain words into SQL, explains the plan, and refuses to write.",
        _TOOLS, "query_generation query_optimization", "database_administration",
        {"package": "https://packages.kettlerook.example/query-whisperer/2.2.0"},
        (mcp("uvx query-whisperer", ("ask", "A question in words."), ("explain", "The plan of a statement."),
             needs="DATABASE_URL"),), {"team": "tools"},
    ),
    Entry(
        "kettlerook.example/log-reader", "0.2.0", "0.3.1", "2024-12-09",
        "Reads logs of a night and says which lines are new.", _NIGHT, "summarization sentence_similarity",
        locators={"binary": "https://downloads.kettlerook.example/log-reader-0.2.0"},
        modules=(note("kettlerook.example/retention", days=14),),
    ),
)  # fmt: skip
