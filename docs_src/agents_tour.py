"""The calls on the agents page, in order. `$name` stands for a value from an earlier answer."""

from typing import Any

from docs_src.tour_steps import Ask, Command, Request

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
HELLO_FILE = '''def shout(text: str) -> str:
    """Says it louder."""
    return text.upper()
'''
FORMS = '''async def whisper(text: str) -> str:
    """Says it more quietly."""
    return text.lower()


async def countdown(turn):
    """Counts down from a number, one chunk at a time."""
    for number in range(int(turn.text), 0, -1):
        yield f"{number} "
'''
MEMORY = '''from pentad.agentvault import BaseA2AAgent


class Memory(BaseA2AAgent):
    """Repeats what you said before."""

    async def run(self, turn):
        messages = await turn.conversation.messages(limit=10)
        said = [message.text for message in messages if message.role == "user"]
        return f"Before that you said: {', '.join(said) or 'nothing'}."
'''
ORDERS = '''from pentad.agentvault import BaseA2AAgent


def ship(item):
    return {"parcel": f"P-{len(item)}"}


class Orders(BaseA2AAgent):
    """Ships an order when it is paid."""

    async def run(self, turn):
        try:
            payment = await turn.wait_for("paid", seconds=14 * 24 * 3600)
        except TimeoutError:
            turn.fail("No payment arrived.")
        shipped = await turn.step("ship", ship, turn.text)
        return f"Parcel {shipped['parcel']} is on its way, paid by {payment.text}."
'''
REMINDER = '''async def reminder(turn):
    """Says it again a moment later."""
    await turn.working("I will remind you.")
    await turn.sleep(0.2)
    return turn.text
'''
DESK = '''from pentad.agentvault import BaseA2AAgent


class Desk(BaseA2AAgent):
    """Finds an agent and greets it."""

    async def run(self, turn):
        found = await turn.call_tool("agents_list", query=turn.text)
        first = found["agents"][0]["id"]
        card = await turn.read(f"agents://cards/{first}")
        child = await turn.send(first, f"Hello, {card['name']}!")
        return child.text
'''
REPORTS = '''import time

from pentad.agentvault import agent


def count_slowly(turn):
    """Counts letters, without async."""
    turn.working("Counting.")
    time.sleep(0.1)
    return f"{len(turn.text)} letters"


@agent(isolation="process", deadline=60, memory_bytes=512 * 1024**2, cpu_seconds=10)
def reverse(text: str) -> str:
    """Runs in its own process."""
    return text[::-1]
'''
COUNT_COMMAND = """import json
import sys

turn = json.loads(sys.stdin.readline())
words = turn["message"]["parts"][0]["text"].split()
for word in words:
    print(json.dumps({"type": "artifact", "name": "words", "text": word + "\\n", "append": word != words[0]}))
print(json.dumps({"type": "end", "text": f"{len(words)} words"}))
"""
CHAIN = '''class Chain:
    """Stands for a chain of LangChain or a graph of LangGraph."""

    async def ainvoke(self, text):
        return {"output": f"Nothing new about {text}."}


news = Chain()
'''
TIDES = '''from pentad.agentvault import BaseA2AAgent


class Tides(BaseA2AAgent):
    """Says when the water comes."""

    name = "tides"
    title = "Tide table"
    version = "2.1.0"
    tags = ("sea",)
    skills = (
        {
            "id": "forecast",
            "name": "Forecast",
            "description": "High water of a day, for a harbour.",
            "examples": ["Dover, 3 May"],
        },
    )
    input_modes = ("text/plain",)
    output_modes = ("application/json",)

    async def run(self, turn):
        return {"harbour": turn.text, "high_water": ["04:10", "16:35"]}
'''
CHECKSUMS = '''import zlib

from pentad.agentvault import BaseA2AAgent


class Checksums(BaseA2AAgent):
    """Returns the checksum of each file."""

    async def run(self, turn):
        lines = []
        for file in turn.files:
            checksum = 0
            async for chunk in file.chunks():
                checksum = zlib.crc32(chunk, checksum)
            lines.append(f"{checksum:08x} {file.name} ({file.media_type})")
        if not lines:
            turn.reject("Send a file.")
        listing = "\\n".join(lines).encode()
        await turn.artifact("sums", file=listing, filename="sums.txt", media_type="text/plain")
        return lines[0]
'''
BOOKING = '''from pentad.agentvault import BaseA2AAgent


class Booking(BaseA2AAgent):
    """Books a table."""

    async def run(self, turn):
        answer = await turn.ask("For which day?")
        return f"{turn.text}, {answer.text}: booked."
'''
PAYMENTS = '''from pentad.agentvault import BaseA2AAgent


class Payments(BaseA2AAgent):
    """Pays what an administrator approves."""

    async def run(self, turn):
        decision = await turn.approve(f"Pay {turn.text}", by="admin", deadline=3 * 24 * 3600)
        if not decision:
            return f"Not paid: {decision.outcome}. {decision.reason}"
        await turn.step("pay", pay, turn.text)
        return f"Paid {turn.text}, approved by {decision.by}."


def pay(what):
    return {"paid": what}
'''
SHOP = '''from pentad.agentvault import BaseA2AAgent, StepInterrupted


def charge(item):
    with open("ledger.txt", "a") as ledger:
        ledger.write(f"{item}\\n")
    with open("ledger.txt") as ledger:
        return {"receipt": len(ledger.readlines())}


class Shop(BaseA2AAgent):
    """Sells one thing at a time."""

    async def run(self, turn):
        try:
            paid = await turn.step("charge", charge, turn.text)
        except StepInterrupted:
            turn.fail("The server stopped while you were charged. Please look at your account.")
        address = await turn.ask(f"You have receipt {paid['receipt']}. Where shall we send it?")
        return f"Receipt {paid['receipt']}: the {turn.text} goes to {address.text}."
'''
GREETER = '''from pentad.agentvault import BaseA2AAgent


class Greeter(BaseA2AAgent):
    """Greets in the language of the caller's profile."""

    async def run(self, turn):
        if turn.context is None:
            return turn.ask("Send me your profile as context.")
        kind = turn.context["items"]["profile"]["mediaType"]
        profile = await turn.context.content("profile")
        greeting = {"en": "Hello", "nl": "Hallo"}[profile["language"]]
        return f"{greeting} {profile['name']}! You sent {', '.join(turn.context['items'])} ({kind})."
'''
PROFILE = """{
  "items": {
    "profile": {"mediaType": "application/json", "content": {"name": "Ada", "language": "nl"}}
  }
}
"""
HELLO: dict[str, Any] = {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "good morning"}]}
FILES: dict[str, Any] = {
    "messageId": "m2",
    "role": "ROLE_USER",
    "parts": [
        {"raw": "SGVsbG8=", "filename": "hello.txt", "mediaType": "text/plain"},
        {"text": "Is it what I sent?"},
    ],
}
AGAIN = "pentad agents send echo 'Good night' --key order-7"
OLD: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "message/send",
    "params": {
        "message": {
            "kind": "message",
            "messageId": "m3",
            "role": "user",
            "parts": [{"kind": "text", "text": "Good evening"}],
        }
    },
}
VAULT: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tasks/send",
    "params": {"message": {"role": "user", "parts": [{"type": "text", "content": "Good night"}]}},
}
STREAM: dict[str, Any] = {"message": {"messageId": "m4", "role": "ROLE_USER", "parts": [{"text": "one two"}]}}
DEAR: dict[str, Any] = {
    "message": {
        "messageId": "m5",
        "role": "ROLE_USER",
        "parts": [{"text": "echo"}],
        "metadata": {"urn:pentad:a2a:budget": {"calls": 2}},
    }
}
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

TOUR: dict[str, Ask | Command | Request] = {
    "function": Command("pentad agents send shout good morning --agent hello:shout", ("hello.py", HELLO_FILE)),
    "http": Request("POST", "/agents/shout/message:send", {"message": HELLO}, ("hello:shout",)),
    "list": Ask("agents_list", {"query": "louder"}, hosted=("hello:shout",)),
    "send": Ask("agents_send_task", {"agent": "shout", "text": "good evening"}, hosted=("hello:shout",)),
    "class": Command("pentad agents send counter one two three --agent counter:Counter", ("counter.py", AGENT)),
    "shop": Command("pentad agents send shop lamp --agent shop:Shop", ("shop.py", SHOP)),
    "order": Ask(
        "agents_send_task", {"agent": "shop", "text": "desk"}, keep={"order": "task_id"}, hosted=("shop:Shop",)
    ),
    "delivery": Ask("agents_send_task", {"agent": "shop", "text": "Dover", "task_id": "$order"}, hosted=("shop:Shop",)),
    "async": Command("pentad agents send whisper GOOD NIGHT --agent forms:whisper", ("forms.py", FORMS)),
    "generator": Command("pentad agents send countdown 3 --agent forms:countdown"),
    "describe": Command("pentad agents search tide --agent tides:Tides", ("tides.py", TIDES)),
    "checksums": Command(
        "pentad agents send checksums --file counter.py --agent checksums:Checksums", ("checksums.py", CHECKSUMS)
    ),
    "files": Request("POST", "/agents/checksums/message:send", {"message": FILES}, ("checksums:Checksums",)),
    "booking": Command("pentad agents send booking two seats --agent booking:Booking", ("booking.py", BOOKING)),
    "greeter": Command("pentad agents send greeter hello --agent greeter:Greeter", ("greeter.py", GREETER)),
    "greeting": Command(
        "pentad agents send greeter hello --agent greeter:Greeter --context profile.json", ("profile.json", PROFILE)
    ),
    "memory": Command("pentad agents send memory tea --agent memory:Memory", ("memory.py", MEMORY)),
    "said": Ask(
        "agents_send_task",
        {"agent": "memory", "text": "tea"},
        keep={"conversation": "context_id"},
        hosted=("memory:Memory",),
        shown=False,
    ),
    "remembered": Ask(
        "agents_send_task",
        {"agent": "memory", "text": "milk", "context_id": "$conversation"},
        hosted=("memory:Memory",),
        later=60.0,
    ),
    "reminder": Command("pentad agents send reminder stand up --agent reminder:reminder", ("reminder.py", REMINDER)),
    "orders": Command("pentad agents send orders a lamp --no-wait --agent orders:Orders", ("orders.py", ORDERS)),
    "unpaid": Ask(
        "agents_send_task",
        {"agent": "orders", "text": "a desk", "wait": False},
        keep={"unpaid": "task_id"},
        hosted=("orders:Orders",),
        shown=False,
    ),
    "paid": Ask(
        "agents_send_task",
        {"agent": "orders", "task_id": "$unpaid", "event": "paid", "text": "Ada"},
        hosted=("orders:Orders",),
    ),
    "blocking": Command("pentad agents send count-slowly hello --agent reports:count_slowly", ("reports.py", REPORTS)),
    "process": Command("pentad agents send reverse hello --agent reports:reverse"),
    "desk": Command("pentad agents send desk echo --agent desk:Desk", ("desk.py", DESK)),
    "dear": Request("POST", "/agents/desk/message:send", DEAR, ("desk:Desk",)),
    "payments": Command(
        "pentad agents send payments 900 EUR to ACME --agent payments:Payments", ("payments.py", PAYMENTS)
    ),
    "approval": Ask(
        "agents_send_task",
        {"agent": "payments", "text": "20 EUR to the baker"},
        keep={"payment": "task_id", "approval": "approval_id"},
        hosted=("payments:Payments",),
        shown=False,
    ),
    "approvals": Ask("agents_approvals", {"approval_id": "$approval"}, hosted=("payments:Payments",)),
    "approved": Ask(
        "agents_send_task",
        {"agent": "payments", "task_id": "$payment", "text": "approve: it is due"},
        hosted=("payments:Payments",),
    ),
    "command": Command(
        "pentad agents send count one two --agent 'count=command: python3 count.py'", ("count.py", COUNT_COMMAND)
    ),
    "object": Command("pentad agents send news the sea --agent news=chain:news", ("chain.py", CHAIN)),
    "old": Request("POST", "/agents/echo", OLD),
    "vault": Request("POST", "/agents/echo", VAULT),
    "stream": Request("POST", "/agents/counter/message:stream", STREAM, ("counter:Counter",), keep={"streamed": "id"}),
    "resume": Request(
        "POST",
        "/agents/counter/tasks/$streamed:subscribe",
        hosted=("counter:Counter",),
        headers={"Last-Event-ID": "4"},
    ),
    "once": Command("pentad agents send echo 'Good morning' --key order-7"),
    "again": Command(AGAIN),
    "upload": Request(
        "POST",
        "/api/agents/upload?name=notes.txt",
        b"Buy tea.",
        headers={"Content-Type": "text/plain"},
        keep={"file": "url"},
    ),
    "uploaded": Ask(
        "agents_send_task",
        {"agent": "checksums", "text": "Here it is.", "files": ["$file"]},
        hosted=("checksums:Checksums",),
    ),
    "lint": Command("pentad agents context lint context.json", ("context.json", MISTAKEN), on_store=False),
    "hash": Command("pentad agents context hash good.json", ("good.json", CONTEXT), on_store=False),
    "register": Ask("agents_register_card", {"card": CARD, "list_in_directory": False}),
    "search": Command("pentad agents search tide"),
    "proxy": Ask(
        "agents_send_task",
        {
            "agent": "tool-proxy",
            "data": {"target_mcp_server_id": "pentad", "tool_name": "agents_list", "arguments": {"tags": ["none"]}},
        },
    ),
}
