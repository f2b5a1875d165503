"""The calls on the agents page, in order. `$name` stands for a value from an earlier answer."""

from typing import Any

from docs_src.tour_steps import Ask, Command

AGENT = '''from pentad.agentvault import BaseA2AAgent


class Counter(BaseA2AAgent):
    """Counts the words of each message."""

    async def run(self, turn):
        if not turn.text.strip():
            return turn.ask("What shall I count?")
        for number, word in enumerate(turn.text.split()):
            await turn.artifact("words", text=word + "\\n", append=number > 0)
        return f"{len(turn.text.split())} words"
'''
CONTEXT = """{
  "items": {
    "profile": {"mediaType": "application/json", "content": {"name": "Ada", "language": "en"}},
    "report": {"mediaType": "application/pdf", "ref": "https://files.example.org/report.pdf"}
  }
}
"""
MISTAKEN = """{
  "items": {
    "profile": {"media_type": "application/json", "content": {"name": "Ada"}},
    "report": {"mediaType": "application/pdf"}
  }
}
"""
CARD: dict[str, Any] = {
    "schemaVersion": "1.0",
    "humanReadableId": "harbour-office/tides",
    "agentVersion": "1.2.0",
    "name": "Tide table",
    "description": "Says when the water comes, for every harbour of the coast.",
    "url": "https://tides.example.org/a2a",
    "provider": {"name": "Harbour Office"},
    "capabilities": {"a2aVersion": "0.2", "mcpVersion": "1.0"},
    "authSchemes": [{"scheme": "apiKey"}],
    "tags": ["sea"],
}

TOUR: dict[str, Ask | Command] = {
    "ten-lines": Command("pentad agents send counter one two three --agent counter:Counter", ("counter.py", AGENT)),
    "list": Ask("agents_list", {"query": "echo"}),
    "send": Ask("agents_send_task", {"agent": "echo", "text": "Good morning"}),
    "ask": Ask("agents_send_task", {"agent": "echo", "text": "ask"}, keep={"task": "task_id"}),
    "answer": Ask("agents_send_task", {"agent": "echo", "text": "Good night", "task_id": "$task"}),
    "proxy": Ask(
        "agents_send_task",
        {
            "agent": "tool-proxy",
            "data": {"target_mcp_server_id": "pentad", "tool_name": "agents_list", "arguments": {"tags": ["none"]}},
        },
    ),
    "lint": Command("pentad agents context lint context.json", ("context.json", MISTAKEN), on_store=False),
    "hash": Command("pentad agents context hash good.json", ("good.json", CONTEXT), on_store=False),
    "register": Ask("agents_register_card", {"card": CARD, "list_in_directory": False}),
    "search": Command("pentad agents search tide"),
}
