"""Bloch and others, Internet Supplement, section 2.9: principal connections, their curvature, and the forms of a covector.

Random connections over two shape symbols with the groups SE(2) and SO(3). The library works from the local form in symbols; the
independent implementations are complex steps of the form on the whole space, with group elements as matrices.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..independent.matrix_bundles import GROUP, GROUPS, G, Here, R, library, over_places, places
from ..numeric import derivative, distance, excess, largest
from ..row_registry import Corrected, claim

RANDOM = "random connections with SE(2) and SO(3)"
#: Two numbers that are said to differ must differ by this.
APART = 1e-3


def _on(here: Here, block: str) -> Any:
    """A block of the library's connection at the configuration."""
    lib = library(here.twin.name)
    return lib.value(getattr(lib.connection, block), here.q)


def _pair(table: Any, u: Any, v: Any) -> Any:
    """A two-form, or several, on two vectors."""
    return np.einsum("...ij,i,j->...", table, u, v)


def _covector_block(here: Here, block: str, mu: Any) -> Any:
    """alpha_mu, B_mu or d alpha_mu by the library, made from those of the basis because they are linear in mu."""
    lib = library(here.twin.name)
    tables = [lib.value(getattr(lib.connection, block)(row), here.q) for row in np.eye(GROUP, dtype=int).tolist()]
    return np.tensordot(np.asarray(mu), np.array(tables), axes=1)


def _there(here: Here) -> Here:
    """The same place moved by h, with its velocities."""
    twin = here.twin
    u, v = (twin.pushed(here.h, here.q, w) for w in (here.u, here.v))
    return Here(twin, twin.moved(here.h, here.q), u, v, here.shift, here.h, here.mu)


def _apart(gaps: Any) -> float:
    """0 where the smallest gap is there, else what is missing of it."""
    return excess(APART - min(gaps))


# -- Cartan's structure equation ---------------------------------------------------------------------------------------


@claim(
    "B-Theorem-2.9.13",
    "B(u, v) = dA(hor u, hor v) = dA(u, v) - [A(u), A(v)], and B = Ad_g (dA_loc - [A_loc, A_loc]) in a local trivialisation;"
    " with the other sign of the bracket it is not",
    how=f"{RANDOM}: the library's curvature against complex steps of A, brackets by commutators of matrices",
)
def structure_equation() -> float:
    def parts(here: Here) -> tuple[Any, Any, Any]:
        A = here.twin.form(here.q)
        plain, bracket = here.twin.exterior(here.q, here.u, here.v), here.twin.bracket(A @ here.u, A @ here.v)
        return _pair(_on(here, "curvature_on_space"), here.u, here.v), plain, bracket

    def residual(here: Here) -> float:
        bend, plain, bracket = parts(here)
        local = here.twin.adjoint(here.twin.element(here.q[G])) @ _pair(_on(here, "curvature"), here.u[R], here.v[R])
        return largest(
            distance(bend, here.twin.curvature(here.q, here.u, here.v)), distance(bend, plain - bracket), distance(local, bend)
        )

    turned = [distance(bend, plain + bracket) for bend, plain, bracket in (parts(h) for name in GROUPS for h in places(name))]
    return largest(over_places(residual), _apart(turned))


@claim(
    "B-Lemma-2.9.13",
    "dA(hor u, ver v) = 0; dA(ver u, ver v) = [A(u), A(v)]",
    how=f"{RANDOM}: the library's dA on horizontal and vertical parts by the independent implementation",
)
def mixed_directions() -> float:
    def residual(here: Here) -> float:
        twin, A = here.twin, here.twin.form(here.q)
        down_u, down_v = twin.vertical(here.q, here.u), twin.vertical(here.q, here.v)
        table = _on(here, "exterior")
        bracket = twin.bracket(A @ here.u, A @ here.v)
        return largest(
            distance(_pair(table, here.u - down_u, down_v), np.zeros(GROUP)), distance(_pair(table, down_u, down_v), bracket)
        )

    return over_places(residual)


@claim(
    "B-Corollary-2.9.14",
    "Phi_g^* B = Ad_g B for a left action",
    how=f"{RANDOM}: the library's curvature at q and at g q, the action by products of matrices",
)
def equivariance_of_curvature() -> float:
    def residual(here: Here) -> float:
        there = _there(here)
        moved = _pair(_on(there, "curvature_on_space"), there.u, there.v)
        return distance(moved, here.twin.adjoint(here.h) @ _pair(_on(here, "curvature_on_space"), here.u, here.v))

    return over_places(residual)


@claim(
    "B-Corollary-2.9.14-right",
    "Phi_g^* B = Ad_{g^-1} B for a right action, where B = dA + [A, A]",
    how=f"{RANDOM}: complex steps of the right connection; it is minus the left one of -A_loc at g^-1, whose B is the"
    " library's",
)
def right_actions() -> float:
    def residual(here: Here) -> float:
        twin = here.twin

        def bend(q: Any, u: Any, v: Any) -> Any:
            A = twin.right_action_form(q)
            return twin.exterior(q, u, v, twin.right_action_form) + twin.bracket(A @ u, A @ v)

        found = bend(here.q, here.u, here.v)
        g = twin.element(here.q[G])
        lib = library(twin.name, sign=-1)
        local = _pair(lib.value(lib.connection.curvature, here.q), here.u[R], here.v[R])
        there = np.concatenate([here.q[R], twin.symbols(g @ here.h)])

        def carried(v: Any) -> Any:  # right translations leave the spatial velocity alone
            spatial = twin.right_form(here.q[G]) @ v[G]
            return np.concatenate([v[R], np.linalg.solve(twin.right_form(there[G]), spatial)])

        moved = bend(there, carried(here.u), carried(here.v))
        return largest(
            distance(found, -twin.adjoint(np.linalg.inv(g)) @ local),
            distance(moved, twin.adjoint(np.linalg.inv(here.h)) @ found),
        )

    return over_places(residual)


@claim(
    "B-Corollary-2.9.14-proof",
    "(Phi_g^*[A, A])(u, v) = [A(g q)(g u), A(g q)(g v)]; the print takes A at q, where the moved vectors are not attached",
    how=f"{RANDOM}: the library's form at g q, and at q, against Ad_g [A(u), A(v)]",
)
def bracket_of_moved_vectors() -> Corrected:
    def gap(here: Here, at: Here) -> float:
        there, A, form = _there(here), _on(here, "form"), _on(at, "form")
        expected = here.twin.adjoint(here.h) @ here.twin.bracket(A @ here.u, A @ here.v)
        return distance(here.twin.bracket(form @ there.u, form @ there.v), expected)

    return Corrected(over_places(lambda here: gap(here, _there(here))), over_places(lambda here: gap(here, here)))


# -- the curvature on the base -----------------------------------------------------------------------------------------


@claim(
    "B-2.9.1",
    "B drops to a two-form on Q/G with values in the adjoint bundle: (q, B(u, v)) and (g q, B(u', v')) are one element for all"
    " u', v' over the same vectors of the base",
    how=f"{RANDOM}: the library's B at g q on the moved vectors with vertical ones added, taken back by Ad_g",
)
def curvature_on_the_base() -> float:
    def residual(here: Here) -> float:
        there = _there(here)
        u, v = (w + here.twin.orbit(there.q) @ xi for w, xi in zip((there.u, there.v), here.shift, strict=True))
        moved = np.linalg.solve(here.twin.adjoint(here.h), _pair(_on(there, "curvature_on_space"), u, v))
        return distance(moved, _pair(_on(here, "curvature_on_space"), here.u, here.v))

    return over_places(residual)


# -- the forms of a covector -------------------------------------------------------------------------------------------


@claim(
    "B-2.9.2",
    "alpha_mu(q) = A(q)^* mu is a one-form on Q",
    how=f"{RANDOM}: the library's row against the dual of the independent implementation's form",
)
def forms_of_covectors() -> float:
    return over_places(lambda h: distance(_covector_block(h, "one_form", h.mu)[0], h.twin.form(h.q).T @ h.mu))


@claim(
    "B-Proposition-2.9.15",
    "J(alpha_mu) = mu, and Phi_g^* alpha_mu = alpha of Ad_g^* mu, with Ad_g^* the plain dual of Ad_g",
    how=f"{RANDOM}: the library's alpha_mu on the generators, and at g q on moved vectors",
)
def equivariance_of_forms() -> float:
    def residual(here: Here) -> float:
        there = _there(here)
        momentum = _covector_block(here, "one_form", here.mu)[0] @ here.twin.orbit(here.q)
        moved = _covector_block(there, "one_form", here.mu)[0] @ there.u
        turned = _covector_block(here, "one_form", here.twin.adjoint(here.h).T @ here.mu)[0] @ here.u
        return largest(distance(momentum, here.mu), distance(moved, turned))

    return over_places(residual)


@claim(
    "B-2.9.3",
    "B_mu(u, v) = <mu, B(u, v)>, and Phi_g^* B_mu = B of Ad_g^* mu",
    how=f"{RANDOM}: the library's B_mu at q against the independent implementation's curvature, and at g q on moved vectors",
)
def two_forms_of_covectors() -> float:
    def residual(here: Here) -> float:
        there = _there(here)
        plain = _pair(_covector_block(here, "two_form", here.mu), here.u, here.v)
        moved = _pair(_covector_block(there, "two_form", here.mu), there.u, there.v)
        turned = _pair(_covector_block(here, "two_form", here.twin.adjoint(here.h).T @ here.mu), here.u, here.v)
        return largest(distance(plain, here.mu @ here.twin.curvature(here.q, here.u, here.v)), distance(moved, turned))

    return over_places(residual)


def _change_along_orbit(here: Here, mu: Any) -> float:
    """How much B_mu on moved vectors differs from B_mu on the vectors themselves."""
    there = _there(here)
    moved = _pair(_covector_block(there, "two_form", mu), there.u, there.v)
    return distance(moved, _pair(_covector_block(here, "two_form", mu), here.u, here.v))


@claim(
    "B-2.9.4",
    "B_mu is the pullback of a two-form on Q/G where the coadjoint action fixes mu; the print says so for every mu, although"
    " (q, mu) and (g q, mu) are then different elements of the dual bundle and B_mu changes along the orbit",
    how="random connections with SE(2): the library's B_mu at q and at g q on moved vectors, for fixed and for other mu",
)
def two_form_on_the_base() -> Corrected:
    fixed = over_places(lambda here: _change_along_orbit(here, here.fixed), "SE(2)")
    return Corrected(fixed, over_places(lambda here: _change_along_orbit(here, here.mu), "SE(2)"))


def _exterior_gap(here: Here, mu: Any) -> float:
    """d alpha_mu - B_mu, both by the library, and d alpha_mu against complex steps."""
    found = _covector_block(here, "exterior_of", mu)
    return float(np.max(np.abs(found - _covector_block(here, "two_form", mu))))


@claim(
    "B-Proposition-2.9.16",
    "d alpha_mu = B_mu where G_mu = G, and not otherwise: on SE(2) for mu = (0, 0, 1) and not for (1, 0, 0); Phi_g^* B_mu is B"
    " of Ad_g^* mu",
    how=f"{RANDOM}: the library's d alpha_mu against its B_mu and against complex steps of alpha_mu",
)
def closed_up_to_curvature() -> float:
    def steps(here: Here) -> float:
        derivatives = derivative(lambda x: here.twin.form(x).T @ here.mu, here.q)
        return distance(_covector_block(here, "exterior_of", here.mu), derivatives.T - derivatives)

    def turned(here: Here) -> float:
        there = _there(here)
        moved = _pair(_covector_block(there, "two_form", here.mu), there.u, there.v)
        dual = here.twin.adjoint(here.h).T @ here.mu
        return distance(moved, _pair(_covector_block(here, "two_form", dual), here.u, here.v))

    upright, ahead = np.array([0.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0])
    lib = library("SE(2)").connection
    verdicts = 0.0 if lib.is_fixed([0, 0, 1]) and not lib.is_fixed([1, 0, 0]) else 1.0
    others = [_exterior_gap(here, ahead) for name in GROUPS for here in places(name)]
    return largest(
        over_places(steps),
        over_places(turned),
        over_places(lambda here: _exterior_gap(here, upright), "SE(2)"),
        _apart(others),
        verdicts,
    )


@claim(
    "B-Proposition-2.9.16-proof",
    "B_mu(u, v) = <mu, dA(u - [A(u)]_Q, v - [A(v)]_Q)>, which is d alpha_mu(u, v) where G_mu = G; with [A(u)]_Q in the second"
    " slot, as printed, it is the same, because dA(hor, ver) = 0",
    how=f"{RANDOM}: the library's B_mu and d alpha_mu against complex steps on both pairs of vectors",
)
def horizontal_parts() -> float:
    def residual(here: Here) -> float:
        twin, q = here.twin, here.q
        down, bend = twin.vertical(q, here.u), _pair(_covector_block(here, "two_form", here.mu), here.u, here.v)
        values = [here.mu @ twin.exterior(q, here.u - down, here.v - other) for other in (twin.vertical(q, here.v), down)]
        return largest(*(distance(value, bend) for value in values))

    def closed(here: Here) -> float:
        bend, plain = (_pair(_covector_block(here, block, here.fixed), here.u, here.v) for block in ("two_form", "exterior_of"))
        return distance(bend, plain)

    return largest(over_places(residual), over_places(closed, "SE(2)"))


@claim(
    "B-2.9-definition",
    "A(xi_Q) = xi, A(g q)(g v) = Ad_g A(q) v, A = Ad_g (g^-1 g_dot + A_loc r_dot), and the horizontal lift is (r_dot, -A_loc"
    " r_dot)",
    how=f"{RANDOM}: the library's form, generators and lift against matrices",
)
def connection_forms() -> float:
    def residual(here: Here) -> float:
        twin, there, A = here.twin, _there(here), _on(here, "form")
        lifted = _on(here, "horizontal_lift") @ here.u[R]
        level = here.u - twin.vertical(here.q, here.u)
        return largest(
            distance(A @ twin.orbit(here.q), np.eye(GROUP)),
            distance(_on(here, "generators"), twin.orbit(here.q)),
            distance(_on(there, "form") @ there.u, twin.adjoint(here.h) @ A @ here.u),
            distance(A, twin.form(here.q)),
            distance(lifted, level),
            distance(A @ lifted, np.zeros(GROUP)),
        )

    return over_places(residual)
