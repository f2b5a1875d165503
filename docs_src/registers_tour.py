"""The calls on the registers page, in order. `$name` stands for a value from an earlier answer."""

from docs_src.tour_steps import Ask, Command, Request, Table

PERMITS = {"register": "permits", "schema": "permit"}
PEOPLE = {"register": "permits", "schema": "person"}
ORDERS = {"register": "shop", "schema": "order"}

Step = Ask | Command | Request | Table

TUTORIAL: dict[str, Step] = {
    "person": Ask(
        "schemas",
        {
            "action": "create",
            "data": {
                "title": "Person",
                "slug": "person",
                "required": ["bsn", "name"],
                "properties": {
                    "bsn": {"type": "string", "unique": True},
                    "name": {"type": "string"},
                    "city": {"type": "string", "facetable": True},
                },
            },
            "fields": ["slug", "version"],
        },
    ),
    "permit": Ask(
        "schemas",
        {
            "action": "create",
            "data": {
                "title": "Permit",
                "slug": "permit",
                "required": ["number", "kind", "applicant"],
                "properties": {
                    "number": {"type": "string", "pattern": "^P-[0-9]+$", "unique": True},
                    "kind": {"enum": ["building", "event", "felling"]},
                    "status": {"enum": ["open", "granted", "refused"], "default": "open", "facetable": True},
                    "fee": {"type": "number", "minimum": 0},
                    "filed": {"type": "string", "format": "date"},
                    "applicant": {"$ref": "person", "onDelete": "RESTRICT"},
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
            "data": {"title": "Permits", "slug": "permits", "schemas": ["person", "permit"]},
            "fields": ["slug", "schemas"],
        },
    ),
    "people": Ask(
        "objects",
        {
            "action": "bulk",
            **PEOPLE,
            "operations": [
                {"action": "create", "data": {"bsn": "101", "name": "Ada", "city": "Delft"}},
                {"action": "create", "data": {"bsn": "102", "name": "Ben", "city": "Gouda"}},
                {"action": "create", "data": {"bsn": "103", "name": "Cor", "city": "Delft"}},
            ],
        },
    ),
    "create": Ask(
        "objects",
        {
            "action": "create",
            **PERMITS,
            "data": {
                "number": "P-1",
                "kind": "building",
                "fee": 250,
                "filed": "2024-03-02",
                "applicant": {"bsn": "101"},
            },
            "reason": "letter of 2 March",
        },
        keep={"permit": "id"},
    ),
    "more-permits": Ask(
        "objects",
        {
            "action": "bulk",
            **PERMITS,
            "operations": [
                {
                    "data": {
                        "number": "P-2",
                        "kind": "event",
                        "status": "granted",
                        "fee": 40,
                        "filed": "2024-04-20",
                        "applicant": {"bsn": "101"},
                    }
                },
                {
                    "data": {
                        "number": "P-3",
                        "kind": "felling",
                        "fee": 75,
                        "filed": "2024-05-20",
                        "applicant": {"bsn": "102"},
                    }
                },
            ],
        },
        shown=False,
    ),
    "through": Ask(
        "objects",
        {
            "action": "list",
            **PERMITS,
            "filter": {"applicant.city": "Delft", "fee": {"gte": 50}},
            "fields": ["number", "fee", "status"],
        },
    ),
    "evolve": Ask(
        "schemas",
        {
            "action": "patch",
            "id": "permit",
            "operations": [
                {"op": "rename", "property": "filed", "to": "received"},
                {"op": "add", "property": "channel", "definition": {"enum": ["web", "desk"]}, "value": "desk"},
            ],
            "reason": "the web form",
            "fields": ["version"],
        },
    ),
    "view": Ask(
        "views",
        {
            "action": "create",
            "data": {
                "title": "People and their permits",
                "slug": "people",
                **PEOPLE,
                "query": {
                    "sort": ["name"],
                    "columns": [
                        "name",
                        "city",
                        {"name": "Permits", "count": "permits"},
                        {"name": "Fees", "sum": "permits.fee"},
                        {"name": "Last", "latest": "permits.status", "by": "received"},
                        {"name": "Average", "expression": "round(Fees / Permits, 1)"},
                    ],
                },
            },
        },
        answered=False,
    ),
    "run": Command("pentad registers views run people"),
}
"""From an empty server to a register of permits."""

QUERIES: dict[str, Step] = {
    "run-view": Ask("views", {"action": "run", "id": "people", "filter": {"city": "Delft"}, "limit": 1}),
    "share": Ask("views", {"action": "update", "id": "people", "data": {"shared": True}}, answered=False),
    "bulk": Ask(
        "objects",
        {
            "action": "bulk",
            **PERMITS,
            "operations": [
                {
                    "action": "upsert",
                    "key": ["number"],
                    "data": {
                        "number": "P-3",
                        "kind": "felling",
                        "fee": 80,
                        "received": "2024-05-20",
                        "channel": "web",
                        "applicant": {"bsn": "102"},
                    },
                },
                {"action": "create", "data": {"number": "P-1", "kind": "event", "applicant": {"bsn": "103"}}},
            ],
            "atomic": False,
        },
    ),
    "mistake": Ask(
        "objects",
        {
            "action": "create",
            **PERMITS,
            "data": {"number": "P-4", "kind": "Event", "fee": "9", "applicant": {"bsn": "101"}},
        },
    ),
    "typo": Ask("objects", {"action": "list", **PERMITS, "filter": {"statsu": "open"}}),
    "list": Ask(
        "objects",
        {
            "action": "list",
            **PERMITS,
            "filter": {"fee": {"gte": 50}, "kind": {"in": ["building", "felling"]}},
            "sort": ["-fee"],
            "fields": ["number", "fee"],
            "facets": ["status"],
        },
    ),
    "aggregate": Ask(
        "objects",
        {
            "action": "list",
            **PERMITS,
            "aggregate": {
                "metrics": {"permits": "count", "highest": {"max": "fee"}},
                "group_by": ["status"],
                "sort": ["-highest"],
            },
        },
    ),
    "budget": Ask("objects", {"action": "list", **PERMITS, "fields": ["number", "kind"], "max_tokens": 60}),
    "through-table": Table(
        "objects",
        {"action": "list", "register": "permits"},
        (
            ({"schema": "permit", "filter": {"applicant.city": "Delft"}}, "permits whose applicant lives in Delft"),
            ({"schema": "permit", "sort": ["-applicant.name"]}, "permits by the name of the applicant"),
            (
                {"schema": "permit", "aggregate": {"group_by": ["applicant.city"]}},
                "the number of permits for each city",
            ),
            ({"schema": "person", "filter": {"permits.status": "open"}}, "people with an open permit"),
            (
                {"schema": "person", "filter": {"permits": {"status": "open", "fee": {"gt": 100}}}},
                "people with a permit that is both",
            ),
            ({"schema": "person", "filter": {"permits": {"exists": False}}}, "people without a permit"),
            (
                {
                    "schema": "person",
                    "aggregate": {"metrics": {"fees": {"sum": "permits.fee"}}, "group_by": ["city"]},
                },
                "the fees of their permits for each city",
            ),
        ),
        column="schema",
        hidden={"permit": {"fields": ["number"]}, "person": {"fields": ["name"]}},
    ),
    "extend": Ask(
        "objects",
        {
            "action": "get",
            **PERMITS,
            "id": "P-1",
            "extend": ["applicant"],
            "fields": ["number", "applicant"],
        },
    ),
    "filters": Table(
        "objects",
        {"action": "list", **PERMITS, "fields": ["number"], "sort": ["number"]},
        (
            ({"status": "open"}, "equal"),
            ({"fee": {"gte": 50, "lt": 200}}, "both hold"),
            ({"status": {"ne": "open"}}, "not equal, or without a value"),
            ({"kind": {"in": ["event", "felling"]}}, "one of these; `nin`: none of them"),
            ({"label": {"like": "build%"}}, "`%` is any text, `_` one character; ignores the case of a-z"),
            ({"label": {"contains": "p-1"}}, "part of a text; ignores the case of a-z"),
            ({"channel": {"exists": True}}, "has a value; `false`: has none"),
            ({"or": [{"fee": {"gt": 200}}, {"not": {"kind": "event"}}]}, "`and`, `or`, `not`"),
            ({"@self.version": {"gte": 3}}, "metadata"),
        ),
        ("filter", "means", "answer"),
        argument="filter",
    ),
    "relative": Table(
        "objects",
        {"action": "list", **PERMITS, "fields": ["number"], "sort": ["number"]},
        (
            ({"received": {"lt": "today"}}, "before today"),
            ({"received": {"gte": "-30d", "lte": "today"}}, "in the last 30 days; without `lte` also later ones"),
            ({"received": {"gte": "today-100years+1week"}}, "a base and two steps"),
            ({"@self.created": {"gte": "-100y"}}, "metadata too"),
        ),
        ("filter", "means", "answer"),
        argument="filter",
    ),
    "facets": Table(
        "objects",
        {"action": "list", **PERMITS, "limit": 0},
        (
            (["status"], "how often each value occurs"),
            ({"status": {"size": 1}}, "only the most frequent"),
            ({"received": {"by": "month"}}, "by `day`, `week`, `month`, `quarter` or `year`"),
            ({"fee": {"ranges": [50, 100]}}, "below, between and from these bounds"),
            (["applicant.city"], "through a reference"),
        ),
        ("`facets`", "counts", "answer"),
        argument="facets",
        member="facets",
    ),
    "figures": Table(
        "objects",
        {"action": "list", **PERMITS},
        (
            ({"metrics": {"n": "count", "mean": {"avg": "fee"}}}, "`count sum avg min max distinct`"),
            ({"group_by": [{"path": "received", "by": "month"}]}, "groups by time, as in facets"),
            (
                {"metrics": {"n": "count"}, "group_by": ["status"], "having": {"n": {"gte": 2}}, "sort": ["-n"]},
                "groups with such a figure, in this order",
            ),
        ),
        ("`aggregate`", "computes", "answer"),
        argument="aggregate",
    ),
    "columns": Table(
        "views",
        {"register": "permits"},
        (
            (
                {"schema": "permit", "columns": ["status"]},
                "a property; also `address.city`, or metadata: `@self.created`",
            ),
            ({"schema": "permit", "columns": ["applicant.city"]}, "a value through references, up to three"),
            (
                {"schema": "permit", "columns": [{"name": "City", "path": "applicant.city"}]},
                "the same under another name",
            ),
            (
                {"schema": "permit", "columns": [{"name": "With tax", "expression": "fee * 1.2"}]},
                "computed from properties and from the columns before it; null if that fails",
            ),
            (
                {"schema": "person", "columns": [{"name": "Open", "count": "permits", "filter": {"status": "open"}}]},
                "how many related objects there are, here only some",
            ),
            (
                {"schema": "person", "columns": [{"name": "Fees", "sum": "permits.fee"}]},
                "a figure over a property of related objects; of none, a sum is 0, `avg`, `min` and `max` are null",
            ),
            (
                {"schema": "person", "columns": [{"name": "Last", "latest": "permits.status", "by": "received"}]},
                "the value in the latest related object, by default the one created last",
            ),
        ),
        ("column", "value", "answer"),
        column="schema",
    ),
    "urls": Table(
        "objects",
        {"_fields": "number"},
        (
            ("status=open&fee[gte]=50", "two filters"),
            ("applicant.city=Delft", "through a reference"),
            ("applicant[city][in]=Gouda,Leiden", "the same, one of several"),
            ("_order[applicant.city]=desc&_order[number]=asc", "sorted"),
            ("_filter={%22fee%22:{%22gt%22:200}}", "a JSON filter"),
            ("_created[gt]=2024-01-01&_limit=1", "metadata, for short"),
            ("received[gt]=-1month", "relative times"),
            ("_search=building", "words"),
        ),
        path="/api/objects/permits/permit",
    ),
}
"""Queries. They come before anything that the command line writes, at a time of its own."""

CHANGES: dict[str, Step] = {
    "patch": Ask(
        "objects",
        {
            "action": "patch",
            **PERMITS,
            "id": "P-1",
            "data": {"fee": 200},
            "if_version": 2,
            "reason": "discount",
            "fields": ["number", "fee", "@self.version"],
        },
    ),
    "lost-update": Ask("objects", {"action": "patch", **PERMITS, "id": "P-1", "data": {"fee": 300}, "if_version": 2}),
    "json-patch": Ask(
        "objects",
        {
            "action": "patch",
            **PERMITS,
            "id": "P-3",
            "json_patch": [
                {"op": "test", "path": "/status", "value": "open"},
                {"op": "replace", "path": "/status", "value": "granted"},
            ],
            "fields": ["number", "status"],
        },
    ),
    "lock": Ask(
        "objects",
        {
            "action": "lock",
            **PERMITS,
            "id": "P-3",
            "seconds": 600,
            "reason": "in review",
            "fields": ["number", "@self.locked"],
        },
    ),
    "unlock": Ask("objects", {"action": "unlock", **PERMITS, "id": "P-3"}, shown=False),
    "history": Ask("objects", {"action": "history", **PERMITS, "id": "P-1", "limit": 1}),
    "diff": Ask("objects", {"action": "diff", **PERMITS, "id": "P-1", "version": 2, "to_version": 3}),
    "verify": Ask("objects", {"action": "verify", **PERMITS, "id": "P-1"}),
    "as-of": Ask(
        "objects", {"action": "get", **PERMITS, "id": "P-1", "as_of": "change:4", "fields": ["number", "fee"]}
    ),
    "plan": Ask(
        "objects",
        {
            "action": "plan",
            **PERMITS,
            "operations": [{"action": "delete", "id": "P-3"}],
            "reason": "withdrawn",
        },
        keep={"plan": "id"},
    ),
    "commit": Ask("objects", {"action": "commit", **PERMITS, "plan": "$plan"}, shown=False),
    "deleted": Ask("objects", {"action": "list", **PERMITS, "deleted": "only", "fields": ["number", "@self.deleted"]}),
    "undo": Ask("objects", {"action": "undo", **PERMITS, "plan": "$plan"}, shown=False),
    "revert": Ask(
        "objects",
        {
            "action": "revert",
            **PERMITS,
            "id": "P-1",
            "version": 2,
            "reason": "no discount",
            "fields": ["number", "fee", "@self.version"],
        },
    ),
    "can-delete": Ask("objects", {"action": "can_delete", **PEOPLE, "id": "102"}),
    "old": Ask(
        "objects",
        {"action": "create", **PERMITS, "data": {"number": "P-9", "kind": "event", "applicant": {"bsn": "103"}}},
        shown=False,
    ),
    "old-deleted": Ask("objects", {"action": "delete", **PERMITS, "id": "P-9"}, shown=False),
    "restore": Ask("objects", {"action": "restore", **PERMITS, "filter": {"kind": "event"}}),
    "old-deleted-again": Ask("objects", {"action": "delete", **PERMITS, "id": "P-9"}, shown=False),
    "purge": Ask("objects", {"action": "purge", **PERMITS, "filter": {"kind": "event"}}),
}
"""Changes of objects."""

SCHEMAS: dict[str, Step] = {
    "schema-add": Ask(
        "schemas",
        {
            "action": "update",
            "id": "permit",
            "data": {"properties": {"decided": {"type": "string", "format": "date"}}},
            "fields": ["version", "required"],
        },
    ),
    "schema-lose": Ask("schemas", {"action": "update", "id": "permit", "data": {"properties": {"fee": None}}}),
    "preflight": Ask(
        "schemas",
        {
            "action": "preflight",
            "id": "permit",
            "data": {"properties": {"channel": None, "via": {"enum": ["web", "desk"]}}, "required": ["via"]},
            "max_tokens": 230,
        },
    ),
    "schema-plan": Ask(
        "schemas",
        {
            "action": "plan",
            "id": "permit",
            "operations": [
                {
                    "op": "change",
                    "property": "kind",
                    "definition": {"enum": ["building", "event", "tree"]},
                    "values": {"felling": "tree"},
                }
            ],
        },
    ),
    "operations": Table(
        "schemas",
        {"action": "plan", "id": "permit"},
        (
            (
                [{"op": "add", "property": "note", "definition": {"type": "string"}, "after": "kind"}],
                "`property`, `definition`; `required`, `value` (for objects without one), `after` (another property)",
            ),
            (
                [{"op": "change", "property": "fee", "definition": {"maximum": 900}, "required": True}],
                "`property`; `definition` (merged, `null` removes a keyword), `required`, `value`, `values` (old: new)",
            ),
            (
                [{"op": "rename", "property": "decided", "to": "decided_on"}],
                (
                    "`property`, `to`; takes required, headings, unique, expressions, conditions, rules, views and"
                    " other schemas along"
                ),
            ),
            ([{"op": "drop", "property": "decided"}], "`property`; removes the values too"),
            (
                [{"op": "reorder", "properties": ["status", "number"]}],
                "`properties`: these first, in this order",
            ),
        ),
        ("operation", "members", "the plan says"),
        argument="operations",
        member="changes",
    ),
    "steps": Table(
        "schemas",
        {"action": "preflight", "id": "permit"},
        (
            (
                {
                    "data": {"properties": {"fee": None, "fee_eur": {"type": "number", "minimum": 0}}},
                    "migration": [{"step": "rename", "property": "fee", "to": "fee_eur"}],
                },
                "gives a property another name",
            ),
            (
                {
                    "data": {"properties": {"desk": {"type": "string"}}},
                    "migration": [{"step": "default", "property": "desk", "value": "north"}],
                },
                "fills objects without a value",
            ),
            (
                {
                    "data": {"properties": {"fee": {"type": "string"}}},
                    "migration": [{"step": "cast", "property": "fee", "to": "string"}],
                },
                "converts what can be converted without loss",
            ),
            (
                {
                    "data": {"properties": {"kind": {"enum": ["building", "event", "tree"]}}},
                    "migration": [{"step": "enum_map", "property": "kind", "values": {"felling": "tree"}}],
                },
                "replaces values",
            ),
            (
                {
                    "data": {"properties": {"channel": None}},
                    "migration": [{"step": "drop", "property": "channel"}],
                },
                "removes the values",
            ),
        ),
        ("migration", "what it does", "an object"),
        shown="migration",
        member="migrated",
    ),
    "schema-history": Ask("schemas", {"action": "history", "id": "permit", "limit": 1}),
    "schema-diff": Command("pentad registers schema diff permit 1 2"),
    "schema-undo": Ask("schemas", {"action": "undo", "id": "permit", "fields": ["version"]}),
}
"""Changes of schemas."""

FILES: dict[str, Step] = {
    "import-bad": Command(
        "pentad registers import permits.csv --register permits --schema permit --key number",
        (
            "permits.csv",
            "number,kind,fee,applicant.bsn\nP-3,felling,90,102\nP-5,party,30,103\nP-6,event,much,999\n",
        ),
    ),
    "import-good": Command(
        "pentad registers import permits.csv --register permits --schema permit --key number",
        ("permits.csv", "number,kind,fee,applicant.bsn\nP-3,felling,90,102\nP-5,event,30,103\n"),
    ),
    "transfer": Ask(
        "transfer",
        {"action": "import", **PERMITS, "content": "number,fee\nP-5,40\nP-5,50\n", "key": ["number"]},
    ),
    "export": Command(
        "pentad registers export --register permits --schema permit --format jsonl --fields number,fee,status"
    ),
    "registers-list": Command("pentad registers list"),
    "describe": Command("pentad registers describe permits"),
    "attach": Ask(
        "attachments",
        {"action": "write", **PERMITS, "id": "P-1", "name": "advice.md", "text": "# Advice\n\nMind the lime tree."},
    ),
}
"""Files."""

REST: dict[str, Step] = {
    "error-openregister": Request("GET", "/api/registers/x"),
    "error-problem": Request("GET", "/api/registers/x/describe"),
    "maker-schema": Ask(
        "schemas",
        {"action": "create", "data": {"title": "Maker", "slug": "maker", "properties": {"name": {"type": "string"}}}},
        shown=False,
    ),
    "product-schema": Ask(
        "schemas",
        {
            "action": "create",
            "data": {"title": "Product", "slug": "product", "properties": {"maker": {"$ref": "maker"}}},
        },
        shown=False,
    ),
    "order-schema": Ask(
        "schemas",
        {
            "action": "create",
            "data": {
                "title": "Order",
                "slug": "order",
                "properties": {
                    "number": {"type": "string"},
                    "tags": {"type": "array", "items": {"type": "string"}},
                    "lines": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "properties": {
                                "sku": {"type": "string"},
                                "qty": {"type": "integer"},
                                "product": {"$ref": "product"},
                            },
                        },
                    },
                },
            },
        },
        shown=False,
    ),
    "shop": Ask(
        "registers",
        {"action": "create", "data": {"title": "Shop", "slug": "shop", "schemas": ["maker", "product", "order"]}},
        shown=False,
    ),
    "maker": Ask(
        "objects",
        {"action": "create", "register": "shop", "schema": "maker", "data": {"name": "Acme"}},
        keep={"maker": "id"},
        shown=False,
    ),
    "product": Ask(
        "objects",
        {"action": "create", "register": "shop", "schema": "product", "data": {"maker": "$maker"}},
        keep={"product": "id"},
        shown=False,
    ),
    "orders": Ask(
        "objects",
        {
            "action": "bulk",
            **ORDERS,
            "operations": [
                {
                    "data": {
                        "number": "1",
                        "tags": ["gift"],
                        "lines": [{"sku": "A-1", "qty": 2, "product": "$product"}],
                    }
                },
                {"data": {"number": "2", "tags": [], "lines": [{"sku": "A-1", "qty": 1}, {"sku": "B-1", "qty": 2}]}},
            ],
        },
        shown=False,
    ),
    "lists": Table(
        "objects",
        {"action": "list", **ORDERS, "fields": ["number"], "sort": ["number"]},
        (
            ({"tags": "gift"}, "one element is equal"),
            ({"tags": {"eq": []}}, "an empty list"),
            ({"lines.sku": "A-1"}, "some object in the list has it"),
            ({"lines.sku": "A-1", "lines.qty": 2}, "some object has one, some object the other"),
            ({"lines": {"contains": {"sku": "A-1", "qty": 2}}}, "a single object has both"),
            ({"lines.sku": {"ne": "B-1"}}, "no object in the list has it"),
        ),
        ("filter", "means", "answer"),
        argument="filter",
    ),
    "rules": Ask(
        "schemas",
        {
            "action": "update",
            "id": "permit",
            "data": {
                "authorization": {
                    "read": ["public"],
                    "update": ["admin", {"group": "clerk", "match": {"status": {"$eq": "open"}}}],
                }
            },
            "fields": ["authorization"],
        },
    ),
    "webhook": Request(
        "POST",
        "/api/webhooks",
        {
            "url": "https://example.org/hook",
            "events": ["object.updated"],
            "schema": "permit",
            "maxAttempts": 8,
            "timeout": 10,
        },
    ),
}
"""REST, rules and a webhook. Nothing may be written after the webhook: it would be delivered."""

INLINE: dict[str, tuple[Ask | Request, str]] = {
    "_extend=applicant": (Request("GET", "/api/objects/permits/permit/P-1?_extend=applicant"), '"name": "Ada"'),
    "_unset=fee,applicant": (Request("GET", "/api/objects/permits/permit/P-1?_unset=fee,applicant"), '"number": "P-1"'),
    '["all"]': (Ask("objects", {"action": "get", **PERMITS, "id": "P-1", "extend": ["all"]}), '"name": "Ada"'),
    '["lines.product.maker"]': (
        Ask("objects", {"action": "list", **ORDERS, "extend": ["lines.product.maker"]}),
        '"name": "Acme"',
    ),
    '["@self.schemaVersion"]': (
        Ask("objects", {"action": "get", **PERMITS, "id": "P-1", "fields": ["@self.schemaVersion"]}),
        '"schemaVersion": "0.0.2"',
    ),
    '{"@self.schemaVersion": {"ne": "0.0.4"}}': (
        Ask("objects", {"action": "list", **PERMITS, "filter": {"@self.schemaVersion": {"ne": "0.0.4"}}}),
        '"number": "P-1"',
    ),
    "_deleted=only": (Request("GET", "/api/objects/permits/permit?_deleted=only"), '"number": "P-9"'),
    "_deleted=include": (Request("GET", "/api/objects/permits/permit?_deleted=include"), '"number": "P-9"'),
    '["-fee", "number"]': (
        Ask("objects", {"action": "list", **PERMITS, "sort": ["-fee", "number"], "limit": 1}),
        '"number": "P-1"',
    ),
    "@self[created][gt]=2024-01-01": (
        Request("GET", "/api/objects/permits/permit?@self[created][gt]=2024-01-01&_limit=1"),
        '"number": "P-1"',
    ),
    "_order[_name]=asc": (Request("GET", "/api/objects/permits/permit?_order[_name]=asc&_limit=1"), '"number": "P-1"'),
    "_ids=UUID,UUID": (Request("GET", "/api/objects/permits/permit?_ids=$permit,$maker"), '"total": 1'),
    "permits[exists]=false": (Request("GET", "/api/objects/permits/person?permits[exists]=false"), '"total": 0'),
    "filter=...": (Request("GET", "/api/objects/permits/permit?filter=x"), "_filter"),
    '{"fields": {"attachment:advice.md": ["lime"]}}': (
        Ask("objects", {"action": "list", **PERMITS, "search": "lime"}),
        '"fields": {"attachment:advice.md": ["lime"]}',
    ),
    '{"applicant": {"bsn": "101"}}': (
        Ask("objects", {"action": "patch", **PERMITS, "id": "P-1", "data": {"applicant": {"bsn": "101"}}}),
        '"unchanged": true',
    ),
    '"{{ @user }}"': (
        Ask(
            "schemas",
            {
                "action": "create",
                "data": {"title": "Note", "properties": {"by": {"type": "string", "default": "{{ @user }}"}}},
            },
        ),
        '"default": "{{ @user }}"',
    ),
}
"""Examples within the text, with the call they belong to and a part of its answer. They follow the tour."""

TOUR: dict[str, Step] = {**TUTORIAL, **QUERIES, **CHANGES, **SCHEMAS, **FILES, **REST}

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
