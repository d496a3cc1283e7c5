"""XML from strangers, read with bounds: no document types, no entities, no references outside.

Expat reports what it reads; this module keeps elements and attributes only, and stops at the first
declaration that could expand or load anything.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NoReturn
from xml.parsers import expat

from ....errors import FileError, ModelError, nearest
from ...names import shortened

__all__ = ["LARGEST_XML", "Node", "Unread", "read_xml"]

#: Bounds of a file: bytes, elements, depth, attributes of an element, numbers in an attribute.
LARGEST_XML = 8_000_000
MOST_ELEMENTS = 50_000
DEEPEST = 120
MOST_ATTRIBUTES = 60
MOST_NUMBERS = 64


@dataclass
class Unread:
    """Parts of a file that are not taken over, counted by what they are."""

    counts: dict[str, int] = field(default_factory=dict)

    def note(self, what: str) -> None:
        """One more part of this kind."""
        self.counts[what] = self.counts.get(what, 0) + 1

    def attributes(self, node: Node, known: Iterable[str]) -> None:
        """Count the attributes of an element that are not among those known."""
        for key in sorted(set(node.attributes) - set(known)):
            self.note(f"{shortened(key)} of <{node.tag}>")

    def sentence(self) -> str:
        """The parts with their numbers: "3 collision shapes, 1 sensor"."""
        return ", ".join(f"{what} ({count})" for what, count in sorted(self.counts.items()))


@dataclass(frozen=True)
class Node:
    """An element: its tag, its attributes, its children and its line."""

    tag: str
    attributes: dict[str, str]
    line: int
    children: list[Node] = field(default_factory=list)

    def __iter__(self) -> Iterator[Node]:
        return iter(self.children)

    def all(self, tag: str) -> list[Node]:
        """The children with a tag."""
        return [child for child in self.children if child.tag == tag]

    def one(self, tag: str) -> Node | None:
        """The child with a tag, of which there is at most one."""
        found = self.all(tag)
        if len(found) > 1:
            found[1].fault(f"<{self.tag}> has {len(found)} elements <{tag}>", None, "keep one")
        return found[0] if found else None

    def fault(self, what: str, seen: object = None, remedy: str | None = None) -> NoReturn:
        """Raise ModelError with the line of this element."""
        fault = ModelError(f"Line {self.line}: {what}", seen, remedy)
        fault.line = self.line
        raise fault

    def text(self, key: str, default: str | None = None) -> str:
        """An attribute that must be there unless it has a default."""
        value = self.attributes.get(key, default)
        if value is None:
            self.fault(f"<{self.tag}> has no attribute `{key}`", remedy=f'write {key}="..."')
        return value.strip()

    def numbers(
        self, key: str, count: int, default: tuple[float, ...] | None = None
    ) -> list[float]:
        """An attribute of `count` finite numbers."""
        if key not in self.attributes and default is not None:
            return list(default)
        words = self.text(key).split()
        if len(words) != count or count > MOST_NUMBERS:
            self.fault(f"`{key}` of <{self.tag}> has {count} numbers", shortened(self.text(key)))
        return [self.parsed(key, word) for word in words]

    def number(self, key: str, default: float | None = None) -> float:
        """An attribute that is one finite number."""
        return self.numbers(key, 1, None if default is None else (default,))[0]

    def parsed(self, key: str, word: str) -> float:
        """A finite number from a word of an attribute."""
        try:
            value = float(word)
        except ValueError:
            value = math.nan
        if not math.isfinite(value) or "_" in word:
            self.fault(
                f"`{key}` of <{self.tag}> is not a finite number",
                shortened(word),
                "write a decimal number",
            )
        return value

    def flag(self, key: str, default: bool) -> bool:
        """An attribute that is true or false."""
        word = self.attributes.get(key)
        if word is None:
            return default
        if word not in ("true", "false"):
            self.fault(f"`{key}` of <{self.tag}> is true or false", shortened(word))
        return word == "true"

    def only(self, known: set[str]) -> None:
        """Raise ModelError for an attribute that is not known, and name the nearest one."""
        for key in self.attributes:
            if key not in known:
                near = nearest(key, sorted(known))
                remedy = f"did you mean {near}" if near else f"use {', '.join(sorted(known))}"
                self.fault(f"<{self.tag}> has an unknown attribute {shortened(key)}", None, remedy)


def read_xml(content: bytes, what: str) -> Node:
    """The root element of a file.

    Raises
    ------
    FileError
        Where the content is no XML, is too large, or declares a document type or entities.

    Examples
    --------
    >>> root = read_xml(b'<robot name="arm"><link name="a"/></robot>', "robot")
    >>> root.tag, root.children[0].text("name")
    ('robot', 'a')
    """
    if len(content) > LARGEST_XML:
        raise FileError(f"The {what} file is larger than {LARGEST_XML} bytes", remedy="shorten it")
    reader = _Reader(what)
    try:
        reader.parser.Parse(content, True)
    except expat.ExpatError as error:
        fault = FileError(
            f"The {what} file is not valid XML",
            seen=f"line {error.lineno}: {expat.ErrorString(error.code)}",
            remedy="correct it there",
        )
        fault.line = error.lineno
        raise fault from error
    except (ValueError, LookupError) as error:
        raise FileError(
            f"The {what} file has an encoding that cannot be read",
            seen=shortened(str(error)),
            remedy="save it as UTF-8",
        ) from error
    assert reader.root is not None  # Expat refuses a document without an element
    return reader.root


class _Reader:
    """Handlers of Expat that build nodes."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.root: Node | None = None
        self.stack: list[Node] = []
        self.count = 0
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.StartDoctypeDeclHandler = self.refuse
        self.parser.EntityDeclHandler = self.refuse
        self.parser.ExternalEntityRefHandler = self.refuse

    def refuse(self, *_: object) -> int:
        raise FileError(
            f"The {self.what} file declares a document type or an entity",
            seen=f"line {self.parser.CurrentLineNumber}",
            remedy="remove the declaration and write what it stands for",
        )

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.count += 1
        for value, most, name in (
            (self.count, MOST_ELEMENTS, "elements"),
            (len(self.stack), DEEPEST, "levels"),
            (len(attributes), MOST_ATTRIBUTES, "attributes of an element"),
        ):
            if value > most:
                raise FileError(
                    f"The {self.what} file has more than {most} {name}", remedy="shorten it"
                )
        node = Node(tag, attributes, self.parser.CurrentLineNumber)
        if self.stack:
            self.stack[-1].children.append(node)
        else:
            self.root = node
        self.stack.append(node)

    def end(self, _: str) -> None:
        self.stack.pop()
