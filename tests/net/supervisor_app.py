"""A supervisor of two workers in a process of its own, so that a test can signal and kill it. Prints its port."""

import asyncio
import sys
from pathlib import Path

from pentad.net.listen import bind
from pentad.net.supervisor import supervise

WORKER = Path(__file__).with_name("worker_app.py")


def say(what: object) -> None:
    sys.stdout.write(f"{what}\n")
    sys.stdout.flush()


def main() -> None:
    listener = bind("127.0.0.1", 0)
    command = [sys.executable, str(WORKER)]
    asyncio.run(supervise(command, listener, workers=2, ready=say))
    say("ended")


if __name__ == "__main__":
    main()
