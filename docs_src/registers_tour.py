"""The calls on the registers page, in order. `$name` stands for a value from an earlier answer."""

from docs_src.tour_steps import Ask, Command

PLACE = {"register": "city", "schema": "tree"}

TOUR: dict[str, Ask | Command] = {
    "schema": Ask(
        "schemas",
        {
            "action": "create",
            "data": {
                "title": "Tree",
                "slug": "tree",
                "required": ["number", "kind"],
                "properties": {
                    "number": {"type": "string", "pattern": "^T-[0-9]+$", "unique": True},
                    "kind": {"enum": ["lime", "plane", "oak"], "facetable": True},
                    "height": {"type": "number", "minimum": 0},
                    "planted": {"type": "string", "format": "date"},
                    "label": {"type": "string", "computed": "concat(kind, ' ', number)"},
                },
            },
            "fields": ["slug", "version"],
        },
    ),
    "register": Ask(
        "registers",
        {
            "action": "create",
            "data": {"title": "City", "slug": "city", "schemas": ["tree"]},
            "fields": ["slug", "schemas"],
        },
    ),
    "create": Ask(
        "objects",
        {
            "action": "create",
            **PLACE,
            "data": {"number": "T-1", "kind": "lime", "height": 18, "planted": "1987-11-02"},
            "reason": "spring survey",
        },
        keep={"tree": "id"},
    ),
    "bulk": Ask(
        "objects",
        {
            "action": "bulk",
            **PLACE,
            "operations": [
                {"action": "upsert", "key": ["number"], "data": {"number": "T-2", "kind": "oak", "height": 7.5}},
                {"action": "upsert", "key": ["number"], "data": {"number": "T-3", "kind": "plane", "height": 22}},
                {"action": "create", "data": {"number": "T-1", "kind": "oak"}},
            ],
            "atomic": False,
        },
    ),
    "mistake": Ask("objects", {"action": "create", **PLACE, "data": {"number": "T-4", "kind": "Oak", "height": "9"}}),
    "list": Ask(
        "objects",
        {
            "action": "list",
            **PLACE,
            "filter": {"height": {"gte": 5}, "kind": {"in": ["lime", "plane"]}},
            "sort": ["-height"],
            "fields": ["number", "height"],
            "facets": ["kind"],
        },
    ),
    "budget": Ask("objects", {"action": "list", **PLACE, "fields": ["number", "kind"], "max_tokens": 60}),
    "typo": Ask("objects", {"action": "list", **PLACE, "filter": {"heigth": {"gte": 5}}}),
    "aggregate": Ask(
        "objects",
        {
            "action": "list",
            **PLACE,
            "aggregate": {
                "metrics": {"trees": "count", "tallest": {"max": "height"}},
                "group_by": ["kind"],
                "sort": ["-tallest"],
            },
        },
    ),
    "patch": Ask(
        "objects",
        {
            "action": "patch",
            **PLACE,
            "id": "$tree",
            "data": {"height": 14},
            "if_version": 1,
            "reason": "crown was cut back",
            "fields": ["number", "height", "@self.version"],
        },
    ),
    "lost-update": Ask("objects", {"action": "patch", **PLACE, "id": "$tree", "data": {"height": 30}, "if_version": 1}),
    "history": Ask("objects", {"action": "history", **PLACE, "id": "$tree", "limit": 1}),
    "diff": Ask("objects", {"action": "diff", **PLACE, "id": "$tree", "version": 1, "to_version": 2}),
    "verify": Ask("objects", {"action": "verify", **PLACE, "id": "$tree"}),
    "plan": Ask(
        "objects",
        {
            "action": "plan",
            **PLACE,
            "operations": [{"action": "delete", "id": "$tree"}],
            "reason": "felled",
        },
        keep={"plan": "id"},
    ),
    "commit": Ask("objects", {"action": "commit", **PLACE, "plan": "$plan"}, shown=False),
    "undo": Ask("objects", {"action": "undo", **PLACE, "plan": "$plan"}, shown=False),
    "preflight": Ask(
        "schemas",
        {
            "action": "preflight",
            "id": "tree",
            "data": {
                "required": ["number", "kind", "height_m"],
                "properties": {
                    "number": {"type": "string", "pattern": "^T-[0-9]+$", "unique": True},
                    "kind": {"enum": ["lime", "plane", "oak"], "facetable": True},
                    "height_m": {"type": "number", "minimum": 0},
                    "planted": {"type": "string", "format": "date"},
                },
            },
        },
    ),
    "import-bad": Command(
        "pentad registers import trees.csv --register city --schema tree --key number",
        ("trees.csv", "number,kind,height\nT-2,oak,8\nT-5,elm,3\nT-6,lime,tall\n"),
    ),
    "import-good": Command(
        "pentad registers import trees.csv --register city --schema tree --key number",
        ("trees.csv", "number,kind,height\nT-2,oak,8\nT-5,oak,3\n"),
    ),
    "export": Command("pentad registers export --register city --schema tree --format jsonl --fields number,height"),
    "registers-list": Command("pentad registers list"),
}

BY_MEANING = Ask(
    "objects",
    {
        "action": "list",
        "register": "repair-workshop",
        "schema": "repair",
        "search": "needle breaks the yarn",
        "fields": ["thing", "complaint"],
        "limit": 1,
        "count": False,
    },
)
"""A question to the demo."""
