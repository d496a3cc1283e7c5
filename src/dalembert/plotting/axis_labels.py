"""Names as they are printed: ``theta_dot`` is a theta with a dot, ``p_x`` a p with an index."""

from __future__ import annotations

import re

__all__ = ["mathtext", "words"]

_GREEK = frozenset(
    re.findall(
        r"\w+",
        """alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau
        upsilon phi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega""",
    )
)

_WHOLE = {"energy": "E", "t": "t"}


def words(text: str) -> str:
    r"""Words as they are: Matplotlib takes what stands between dollar signs for a formula.

    >>> print(words("100 $ and $"))
    100 \$ and \$
    """
    return text.replace("$", r"\$")


def mathtext(name: str) -> str:
    r"""The label of a name, in Matplotlib's mathtext.

    >>> print(mathtext("theta_dot"), mathtext("p_x"), mathtext("q12_ddot"), mathtext("chi_blade"))
    $\dot{\theta}$ $p_{x}$ $\ddot{q}_{12}$ $\chi_{\mathrm{blade}}$
    >>> print(mathtext("kinetic_energy"))
    kinetic energy
    """
    if not re.fullmatch(r"[\w ]+", name):
        return words(name)
    if name in _WHOLE:
        return f"${_WHOLE[name]}$"
    accent = ""
    for suffix in ("_ddot", "_dot"):
        if name.endswith(suffix) and len(name) > len(suffix):
            name, accent = name.removesuffix(suffix), "\\" + suffix[1:]
            break
    if name.startswith("p_") and len(name) > 2 and not accent:
        return f"$p_{{{_symbol(name[2:])}}}$"
    pieces = [word for word in name.split("_") if word]
    is_plain = all(word.isalpha() and len(word) > 1 and word not in _GREEK for word in pieces)
    if pieces and is_plain and not accent:
        return " ".join(pieces)
    return f"${_symbol(name, accent)}$"


def _symbol(name: str, accent: str = "") -> str:
    """One symbol with its accent and its indices."""
    head, *indices = [word for word in name.split("_") if word] or [r"\_" * len(name)]
    match = re.fullmatch(r"([^\W\d]+)(\d+)", head)
    if match:
        head, number = match.groups()
        indices = [number, *indices]
    body = _word(head)
    if accent:
        body = f"{accent}{{{body}}}"
    if indices:
        body += f"_{{{','.join(_word(index) for index in indices)}}}"
    return body


def _word(text: str) -> str:
    if text in _GREEK:
        return f"\\{text}"
    match = re.fullmatch(r"([^\W\d]+)(\d+)", text)
    if match and (match[1] in _GREEK or len(match[1]) == 1):
        return f"{_word(match[1])}_{{{match[2]}}}"
    is_bare = len(text) == 1 or text.isdigit() or text.startswith("\\")
    return text if is_bare else f"\\mathrm{{{text}}}"
