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
    "deleted": Ask("objects", {"action": "list", **PLACE, "deleted": "only", "fields": ["number", "@self.deleted"]}),
    "undo": Ask("objects", {"action": "undo", **PLACE, "plan": "$plan"}, shown=False),
    "schema-add": Ask(
        "schemas",
        {
            "action": "update",
            "id": "tree",
            "data": {"properties": {"inspected": {"type": "string", "format": "date"}}},
            "fields": ["version", "required", "properties"],
        },
    ),
    "schema-lose": Ask("schemas", {"action": "update", "id": "tree", "data": {"properties": {"height": None}}}),
    "preflight": Ask(
        "schemas",
        {
            "action": "preflight",
            "id": "tree",
            "data": {
                "properties": {"height": None, "height_m": {"type": "number", "minimum": 0}},
                "required": ["height_m"],
            },
        },
    ),
    "schema-patch": Ask(
        "schemas",
        {
            "action": "patch",
            "id": "tree",
            "operations": [
                {"op": "rename", "property": "height", "to": "height_m"},
                {"op": "add", "property": "state", "definition": {"enum": ["sound", "sick"]}, "value": "sound"},
            ],
            "reason": "units in names",
            "fields": ["version"],
        },
    ),
    "schema-history": Ask("schemas", {"action": "history", "id": "tree", "limit": 1}),
    "schema-diff": Command("pentad registers schema diff tree 1 2"),
    "schema-undo": Ask("schemas", {"action": "undo", "id": "tree", "fields": ["version"]}),
    "import-bad": Command(
        "pentad registers import trees.csv --register city --schema tree --key number",
        ("trees.csv", "number,kind,height\nT-2,oak,8\nT-5,elm,3\nT-6,lime,tall\n"),
    ),
    "import-good": Command(
        "pentad registers import trees.csv --register city --schema tree --key number",
        ("trees.csv", "number,kind,height\nT-2,oak,8\nT-5,oak,3\n"),
    ),
    "transfer": Ask(
        "transfer",
        {"action": "import", **PLACE, "content": "number,height\nT-5,4\nT-5,5\n", "key": ["number"]},
    ),
    "export": Command("pentad registers export --register city --schema tree --format jsonl --fields number,height"),
    "registers-list": Command("pentad registers list"),
    "describe": Command("pentad registers describe city"),
    "attach": Ask(
        "attachments",
        {
            "action": "write",
            **PLACE,
            "id": "$tree",
            "name": "survey.md",
            "text": "# Survey\n\nHoney fungus.",
        },
    ),
    "inspection-schema": Ask(
        "schemas",
        {
            "action": "create",
            "data": {
                "title": "Inspection",
                "slug": "inspection",
                "properties": {
                    "tree": {"type": "string", "$ref": "tree"},
                    "on": {"type": "string", "format": "date"},
                    "state": {"type": "string"},
                    "cost": {"type": "number"},
                },
            },
        },
        shown=False,
    ),
    "inspections": Ask(
        "registers", {"action": "update", "id": "city", "data": {"schemas": ["tree", "inspection"]}}, shown=False
    ),
    "inspected": Ask(
        "objects",
        {
            "action": "bulk",
            "register": "city",
            "schema": "inspection",
            "operations": [
                {"data": {"tree": "$tree", "on": "2026-03-01", "state": "sick", "cost": 80}},
                {"data": {"tree": "$tree", "on": "2026-05-01", "state": "healthy", "cost": 45}},
            ],
        },
        shown=False,
    ),
    "view": Ask(
        "views",
        {
            "action": "create",
            "data": {
                "title": "Trees and their care",
                "slug": "care",
                **PLACE,
                "query": {
                    "filter": {"height": {"gte": 8}},
                    "sort": ["number"],
                    "columns": [
                        "number",
                        {"name": "Inspections", "count": "inspections"},
                        {"name": "Cost", "sum": "inspections.cost"},
                        {"name": "State", "latest": "inspections.state", "by": "on"},
                        {"name": "Cost per metre", "expression": "round(Cost / height, 1)"},
                    ],
                },
            },
            "max_tokens": 100,
        },
        shown=False,
    ),
    "run": Ask("views", {"action": "run", "id": "care"}),
    "run-command": Command("pentad registers views run care"),
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
