"""A worker that computes nothing: it speaks the messages of the real one and misbehaves on
request.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time

cancelled: set[int] = set()
jobs: list[dict] = []
arrived = threading.Condition()


def read() -> None:
    for text in sys.stdin:
        message = json.loads(text)
        with arrived:
            if "cancel" in message:
                cancelled.add(message["cancel"])
            else:
                jobs.append(message)
            arrived.notify()
    os._exit(0)


def say(message: dict, content: bytes = b"") -> None:
    sys.stdout.buffer.write(json.dumps(message).encode() + b"\n" + content)
    sys.stdout.buffer.flush()


def answer(number: int, value: object, **head: object) -> None:
    content = json.dumps(value).encode()
    say({"job": number, "status": 200, "bytes": len(content)} | head, content)


def do(kind: str, number: int, request: dict) -> None:
    match kind:
        case "echo":
            answer(number, {"pid": os.getpid(), "request": request, "quick": sys.argv[-1]})
        case "patient":  # until it is cancelled
            while number not in cancelled:
                say({"job": number, "progress": [0.5, 1.0]})
                time.sleep(0.01)
            answer(number, {"error": {"what": "cancelled"}}, status=499)
        case "deaf":
            time.sleep(1000)
        case "sleep":
            time.sleep(request["seconds"])
            answer(number, {"pid": os.getpid()})
        case "die":
            os._exit(7)
        case "out of time":
            os.kill(os.getpid(), signal.SIGXCPU)
            time.sleep(10)
        case "last":
            answer(number, {"error": {"what": "no memory"}}, status=400, last=True)
            sys.exit(1)
        case "nonsense":
            sys.stdout.buffer.write(b"this is no message\n")
            sys.stdout.buffer.flush()
        case "endless line":
            sys.stdout.buffer.write(b"x" * 8_000_000)
            sys.stdout.buffer.flush()
        case "too much":
            say({"job": number, "status": 200, "bytes": 10**12})


def main() -> None:
    if "refuse" in os.environ.get("DALEMBERT_DEBUG", ""):
        sys.exit(3)
    threading.Thread(target=read, daemon=True).start()
    say({"ready": True})
    while True:
        with arrived:
            while not jobs:
                arrived.wait()
            job = jobs.pop(0)
        do(job["kind"], job["job"], job["request"])


if __name__ == "__main__":
    main()
