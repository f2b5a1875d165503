"""Allotments and a tree nursery: agents that plan beds, watch the weather and count what grows."""

from typing import Final

from pentad.rooms.directory.demo_records.entry import Entry, a2a, mcp, note, observed, skill

_BEDS: Final = "Green Quarter Allotments <beds@greenquarter.example>"
_NURSERY: Final = "Tree Nursery, Marek Dvorsky"
_IMAGES: Final = "https://images.greenquarter.example"

RECORDS: Final = (
    Entry(
        "greenquarter.example/gardener", "0.4.0", "0.3.1", "2024-09-16",
        "Tells what to sow, prick out and harvest this week, by bed and by the last frost.",
        _BEDS, "problem_solving question_answering",
        locators={"package": "https://packages.greenquarter.example/gardener/0.4.0"},
        modules=(note("greenquarter.example/climate", zone="7b", last_frost="04-28"),),
    ),
    Entry(
        "greenquarter.example/gardener", "1.0.0", "0.8.0", "2025-04-07",
        "Tells what to sow, prick out and harvest this week, by bed, by the last frost and by what grew there before.",
        _BEDS, "problem_solving task_decomposition", "crop_management sustainable_farming",
        {"container_image": f"{_IMAGES}/gardener:1.0.0"},
        (a2a("https://agents.greenquarter.example/gardener", ("plan a week", "Jobs for the week, bed by bed.")),),
        {"team": "beds", "tier": "silver"},
    ),
    Entry(
        "greenquarter.example/gardener", "1.2.0", "1.1.0", "2026-03-09",
        "Plans allotment beds over four years of rotation, tells what to sow and harvest this week, and hands watering"
        " to the irrigation planner.",
        _BEDS, "problem_solving project_planning multi_agent_coordination", "crop_management sustainable_farming",
        {"container_image": f"{_IMAGES}/gardener:1.2.0"},
        (a2a("https://agents.greenquarter.example/gardener",
             ("plan a week", "Jobs for the week, bed by bed."), ("rotate beds", "A rotation over four years.")),),
        {"team": "beds", "tier": "gold"}, published=True,
    ),
    Entry(
        "greenquarter.example/irrigation-planner", "2.0.1", "1.0.0", "2025-11-10",
        "Decides how long each valve opens tonight from soil probes, the forecast and the price of water.",
        _BEDS, "tabular_regression strategic_planning", "precision_agriculture iot_devices",
        {"container_image": f"{_IMAGES}/irrigation-planner:2.0.1"},
        (mcp("https://agents.greenquarter.example/irrigation/mcp", ("plan_night", "Minutes for each valve."),
             ("read_probes", "Moisture of every bed.")),), {"team": "beds"}, published=True,
    ),
    Entry(
        "greenquarter.example/leaf-doctor", "0.8.0", "0.7.0", "2025-07-14",
        "Looks at a photograph of a leaf, names the likely blight, mite or lack of a mineral, and how sure it is.",
        _BEDS, "image_classification visual_qa", "process_engineering",
        {"container_image": f"{_IMAGES}/leaf-doctor:0.8.0", "source_code": "https://git.greenquarter.example/leaf"},
        (observed("prometheus"),), {"team": "beds"},
    ),
    Entry(
        "greenquarter.example/leaf-doctor", "1.0.0", "1.1.0", "2026-02-16",
        "Looks at photographs of a leaf, front and back, names the likely blight, mite or lack of a mineral, how sure"
        " it is, and what to do without poison.",
        _BEDS, "image_classification visual_question_answering", "crop_management",
        {"container_image": f"{_IMAGES}/leaf-doctor:1.0.0"},
        (a2a("https://agents.greenquarter.example/leaf-doctor", ("diagnose a leaf", "A diagnosis with a remedy.")),),
        {"team": "beds"}, published=True,
    ),
    Entry(
        "greenquarter.example/frost-watch", "1.1.3", "0.8.0", "2025-10-06",
        "Watches the forecast of three services and warns by message when two of them expect frost.",
        _BEDS, "monitoring_alerting anomaly_detection", "environmental_monitoring climate_science",
        {"package": "https://packages.greenquarter.example/frost-watch/1.1.3"},
        (note("greenquarter.example/warning", channel="sms", before_hours=8),), {"team": "beds"},
    ),
    Entry(
        "greenquarter.example/tree-census", "0.3.0", "1.0.0", "2026-02-02",
        "Counts and measures young trees on drone pictures of the nursery and compares them with the planting list.",
        _NURSERY, "object_detection image_segmentation data_quality_assessment", "ecology",
        {"source_code": "https://git.greenquarter.example/tree-census"}, (), {"team": "nursery"},
    ),
    Entry(
        "greenquarter.example/seed-ledger", "1.5.0", "1.1.0", "2026-05-18",
        "Keeps the seed library: who lent which seeds, when they were grown last, and what is about to run out.",
        _NURSERY, "relational_database_operations spreadsheet_authoring", "inventory_management crop_management",
        {"package": "https://packages.greenquarter.example/seed-ledger/1.5.0"},
        (mcp("npx -y @greenquarter/seed-ledger", ("lend_seeds", "Writes down a loan."),
             ("running_out", "Seeds that are about to run out."), needs="LEDGER_TOKEN"),
         skill("Enter and check loans of the seed library.", "lend_seeds", "running_out")),
        {"team": "nursery"}, published=True,
    ),
)  # fmt: skip
