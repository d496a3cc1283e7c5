"""Systems grown from a grammar beside an oracle in 40 digits: a few here, thousands in
`python -m soak grammar`.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2]))
from soak import grammar
from soak.grammar_oracle import Oracle
from soak.grammar_trees import Tree, number, statement

#: Systems that once were refused or ended in an error: a plateau of tanh(200 x) in `maggi`,
#: badly scaled mass matrices in `hamilton`.
ONCE_WRONG = (9, 25, 42)


@pytest.mark.parametrize("seed", [1, 4, *ONCE_WRONG])
def test_a_system_agrees_with_the_oracle_and_with_itself(seed: int) -> None:
    found = grammar.look(seed)
    assert found.faults == []
    assert found.counts["compared with the oracle"] == 2


def test_another_system_than_the_oracle_has_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison can fail: the library is given one part in a million more potential."""
    right = statement(1)
    wrong = replace(right, potential=Tree("*", (number(1.000001), right.potential)))
    monkeypatch.setattr(grammar, "Oracle", lambda stated: Oracle(right))
    monkeypatch.setattr(grammar, "statement", lambda seed: wrong)
    assert any("differs by" in fault for fault in grammar.look(1).faults)
