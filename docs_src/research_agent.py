"""A research agent: it searches the directory, asks three agents at once, and files a report once a person agrees."""

from typing import Any

from pentad.agentvault import BaseA2AAgent


class Researcher(BaseA2AAgent):
    """Finds out about something and files a report."""

    async def run(self, turn: Any) -> Any:
        found = await turn.call_tool("agntcy_dir_search_local", query=turn.text, limit=3)
        records = found.get("record_cids", [])
        await turn.working(f"The directory has {len(records)} records about it.")
        answers = await turn.gather(*(turn.send(name, turn.text) for name in ("optimist", "sceptic", "economist")))
        report = {"subject": turn.text, "records": records, "opinions": [answer.text for answer in answers]}
        await turn.artifact("report", data=report)
        if not await turn.approve(f"File the report on {turn.text}", by="admin", details=report):
            return "The report was not filed."
        filed = await turn.call_tool("objects", action="create", register="research", schema="report", data=report)
        return f"Filed as {filed['id']}."


async def optimist(text: str) -> str:
    """Says what speaks for something."""
    return f"{text} will work."


async def sceptic(text: str) -> str:
    """Says what speaks against something."""
    return f"{text} may fail."


async def economist(text: str) -> str:
    """Says what something costs."""
    return f"{text} costs money."
