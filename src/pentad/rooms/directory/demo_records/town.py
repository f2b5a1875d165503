"""A town and its people: forms, trams, clinics, schools and a museum."""

from typing import Final

from pentad.rooms.directory.demo_records.entry import Entry, a2a, mcp, note, observed, prompt, skill

_HALL: Final = "Town Hall Digital Office <digital@havnsted.example>"
_MUSEUM: Final = "Havnsted Museum, Visitors"
_CLINIC: Final = "Eastside Clinic, Dr. Ines Falk"
_IMAGES: Final = "https://images.havnsted.example"

RECORDS: Final = (
    Entry(
        "havnsted.example/permit-guide", "1.0.0", "0.7.0", "2025-01-27",
        "Asks what you want to build and tells which permits it takes, what they cost and how long they wait.",
        _HALL, "dialogue_generation inference_deduction", "data_privacy",
        {"container_image": f"{_IMAGES}/permit-guide:1.0.0"},
        (a2a("https://agents.havnsted.example/permit-guide", ("which permits", "The permits a plan takes.")),),
        {"team": "building-office"},
    ),
    Entry(
        "havnsted.example/permit-guide", "1.1.0", "0.8.0", "2025-09-01",
        "Asks what you want to build, tells which permits it takes, what they cost and how long they wait, and fills in"
        " the forms.",
        _HALL, "dialogue_generation policy_mapping", "e_government urban_planning",
        {"container_image": f"{_IMAGES}/permit-guide:1.1.0"},
        (a2a("https://agents.havnsted.example/permit-guide", ("which permits", "The permits a plan takes.")),),
        {"team": "building-office"}, published=True, follows=True,
    ),
    Entry(
        "havnsted.example/invoice-reader", "5.1.0", "1.0.0", "2025-10-13",
        "Reads invoices from paper and mail, checks sums and tax numbers, and books what is certain.",
        _HALL, "fact_extraction image_to_text tabular_classification", "finance public_administration",
        {"container_image": f"{_IMAGES}/invoice-reader:5.1.0"}, (observed("prometheus"),), {"team": "treasury"},
    ),
    Entry(
        "havnsted.example/tram-planner", "2.0.0", "1.1.0", "2026-02-23",
        "Finds the tram and bus for people with prams, crutches or a bicycle, and knows which lift is broken today.",
        _HALL, "geospatial_analysis problem_solving", "public_transit",
        {"url": "https://trams.havnsted.example"},
        (mcp("https://trams.havnsted.example/mcp", ("plan_trip", "A trip without barriers."),
             ("lifts", "Lifts that are out of order.")),), {"team": "transport"}, published=True,
    ),
    Entry(
        "havnsted.example/complaint-sorter", "0.7.0", "0.7.0", "2025-05-05",
        "Reads what people write to the town, finds the office it is for, and how urgent it is.",
        _HALL, "topic_labeling sentiment_analysis", "risk_management",
        {"package": "https://packages.havnsted.example/complaint-sorter/0.7.0"},
        (note("havnsted.example/offices", count=23),), {"team": "front-office"},
    ),
    Entry(
        "havnsted.example/museum-guide", "0.5.0", "0.3.1", "2024-10-21",
        "Walks visitors through the harbour collection and tells the story of each ship.", _MUSEUM, "storytelling",
        locators={"container_image": f"{_IMAGES}/museum-guide:0.5.0"},
        modules=(note("havnsted.example/rooms", rooms=["harbour", "weaving", "ice"]),),
    ),
    Entry(
        "havnsted.example/museum-guide", "1.0.0", "0.8.0", "2025-06-16",
        "Walks visitors through the museum, tells the story of each piece, and tells it to children differently.",
        _MUSEUM, "storytelling user_adaptation text_to_speech", "tourism_management",
        {"container_image": f"{_IMAGES}/museum-guide:1.0.0"},
        (prompt("tell", "Tell the story of this piece to a child of eight."),), {"team": "visitors"}, published=True,
    ),
    Entry(
        "havnsted.example/clinic-scribe", "1.4.1", "1.1.0", "2026-05-11",
        "Listens to a consultation, if the patient agrees, and drafts the note for the doctor to correct.",
        _CLINIC, "speech_recognition clinical_documentation health_data_compliance", "healthcare_informatics",
        {"container_image": f"{_IMAGES}/clinic-scribe:1.4.1"},
        (a2a("https://agents.havnsted.example/clinic-scribe", ("draft a note", "A note to correct and sign.")),),
        {"team": "eastside-clinic", "data": "stays-on-site"},
    ),
    Entry(
        "havnsted.example/maths-tutor", "2.1.0", "1.0.0", "2026-03-16",
        "Works through word problems with pupils step by step and never gives the answer first.",
        "Harbour School, Year 7", "math_word_problems question_generation", "pedagogy e_learning",
        {"url": "https://tutor.havnsted.example"},
        (skill("Guide a pupil through a word problem with questions.", licence="CC-BY-4.0"),), {"team": "school"},
    ),
    Entry(
        "havnsted.example/tender-watch", "0.3.2", "1.1.0", "2026-04-27",
        "Reads new tenders every morning and tells local firms which of them they could win.",
        _HALL, "web_crawling procurement competitive_analysis", "public_administration",
        {"container_image": f"{_IMAGES}/tender-watch:0.3.2"}, (observed("grafana"),), {"team": "trade"},
    ),
    Entry(
        "havnsted.example/recycling-helper", "1.0.1", "0.8.0", "2025-12-08",
        "Says which bin a thing belongs in from its photograph, by the rules of your street.",
        _HALL, "image_classification question_answering", "sustainability",
        {"container_image": f"{_IMAGES}/recycling-helper:1.0.1"},
        (mcp("https://agents.havnsted.example/recycling/mcp", ("which_bin", "The bin a thing belongs in.")),),
        {"team": "waste"},
    ),
)  # fmt: skip
