"""The search: `python -m soak.fuzz TARGET FOLDER [options of libFuzzer]`, guided by the branches
that inputs reach.

FOLDER takes the inputs that reach something new; a broken guarantee ends the process and leaves its
input in a file.
"""

from __future__ import annotations

import sys


def main() -> None:
    """Search with atheris; the library is instrumented while it is imported."""
    import atheris

    target, *options = sys.argv[1:]
    with atheris.instrument_imports(
        include=[
            "dalembert.model",
            "dalembert.lab",
            "dalembert.errors",
            "dalembert.integrate.storage",
            "dalembert.integrate.ensemble",
        ]
    ):
        import dalembert.integrate.ensemble.store
        import dalembert.integrate.storage.stored_motion
        import dalembert.lab.messages
        import dalembert.lab.server.handlers
        import dalembert.model.io.files
        import dalembert.model.io.robots.load  # noqa: F401
    from .mutation import mutated
    from .targets import checked

    def one(data: bytes) -> None:
        checked(target, data)

    def changed(data: bytes, most: int, seed: int) -> bytes:
        return mutated(target, data, most, seed) if seed % 4 else atheris.Mutate(data, most)

    atheris.Setup([f"fuzz-{target}", *options], one, custom_mutator=changed)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
