r"""What each form of the equations rests on, in words and in its general equation, for `document`.

Matrices stand upright (``\mathsf``), so that they are told apart from the symbols of a model. q are
the coordinates, v their velocities, I and D mark independent and dependent ones, s counts the
independent velocities and a the dependent ones.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["PRINCIPLES", "Principle", "principle_of"]


@dataclass(frozen=True)
class Principle:
    """The principle of a form.

    Attributes
    ----------
    title : str
    idea : str
        A paragraph in LaTeX that states the principle.
    law : tuple of str
        Its equations, as lines of a ``gather`` environment.
    meaning : str
        What the symbols stand for, and what is done with the equations.
    """

    title: str
    idea: str
    law: tuple[str, ...]
    meaning: str


_PROJECTED = (
    r"The constraints are solved for as many velocities as they bind, $v_D = \varphi(q, v_I, t)$, "
    r"and the motion is described by the coordinates and the independent velocities $v_I$ alone. "
    r"With $\mathsf{F} = \partial v/\partial v_I$, the virtual displacements are $\delta q = "
    r"\mathsf{F}\,\delta\pi$ with $\delta\pi$ arbitrary; reactions do no work on them and drop "
    r"out."
)
_QUASI = (
    r"Quasi-velocities $\eta = f(q, v, t)$ take the place of the velocities: free ones $\eta_s$, "
    r"and the constraints themselves, $\eta_a = f_a$, which vanish along the motion. Virtual "
    r"displacements have $\delta\pi_a = 0$, so that only the equations of the free ones are left. "
    r"The price is that variation and time derivative do not commute; the symbols $W$ make up for "
    r"it. The $\eta_a$ are put to zero only after all derivatives have been formed."
)

PRINCIPLES: dict[str, Principle] = {
    "lagrange": Principle(
        "Lagrange's equations with multipliers",
        r"Among all accelerations that the constraints allow at an instant, the motion has those "
        r"that are nearest to the accelerations of the free system, in the metric of the kinetic "
        r"energy (Gauss's principle of least constraint). The condition for this minimum is "
        r"d'Alembert's principle: reactions do no work on virtual displacements, and are "
        r"therefore combinations of the rows of the constraints, with multipliers $\mu$ as "
        r"coefficients.",
        (
            (
                r"\frac{d}{dt}\frac{\partial L}{\partial \dot q} - \frac{\partial L}{\partial q} ="
                r" Q + \mathsf{A}^T\mu"
            ),
            r"\mathsf{A}\,\ddot q = b",
        ),
        r"Here $\mathsf{A} = \partial f/\partial\dot q$ for the constraints $f(q, \dot q, t) = 0$ "
        r"at velocity level, $b = -f_q\,\dot q - f_t$, and $Q$ are the applied forces that have "
        r"no potential. With the derivatives written out, the first equation is $\mathsf{M}\ddot "
        r"q = h + \mathsf{A}^T\mu$, where $\mathsf{M} = L_{\dot q\dot q}$ and $h = Q + L_q - "
        r"L_{\dot q q}\,\dot q - L_{\dot q t}$. Both together are linear equations for $\ddot q$ "
        r"and $\mu$.",
    ),
    "hamilton": Principle(
        "Hamilton's equations with constraints",
        r"The Legendre transformation $p = \partial L/\partial\dot q$, $H = p\cdot\dot q - L$ "
        r"turns Gauss's principle into one for the rates of the momenta: they are nearest to "
        r"those of the free system in the metric $H_{pp}$, among all that keep the constraints "
        r"$\phi(q, p, t) = 0$. Here $\phi$ is the constraint at velocity level with $\dot q = "
        r"H_p$ put in; its rows are derivatives with respect to momenta.",
        (
            r"\dot q = \frac{\partial H}{\partial p}",
            r"\dot p = -\frac{\partial H}{\partial q} + Q + H_{pp}^{-1}\,\mathsf{A}_p^T\mu",
            (
                r"\mathsf{A}_p\,\dot p = -\phi_q\,H_p - \phi_t, \qquad \mathsf{A}_p ="
                r" \frac{\partial\phi}{\partial p}"
            ),
        ),
        r"Because $\mathsf{A}_p = \mathsf{A}\,H_{pp}$ with the rows $\mathsf{A} = \partial "
        r"f/\partial\dot q$, the reaction $H_{pp}^{-1}\mathsf{A}_p^T\mu = \mathsf{A}^T\mu$ is the "
        r"same generalised force as in Lagrange's equations.",
    ),
    "maggi": Principle(
        "Maggi's equations",
        _PROJECTED,
        (
            r"\sum_i \mathsf{F}_{is}\Bigl(\frac{d}{dt}\frac{\partial L}{\partial\dot q_i} - "
            r"\frac{\partial L}{\partial q_i} - Q_i\Bigr) = 0, \qquad s = 1, \dots, k",
        ),
        r"Lagrange's left sides are formed in all velocities and projected. With $\mathsf{M} = "
        r"L_{\dot q\dot q}$, $h = Q + L_q - L_{\dot q q}\dot q - L_{\dot q t}$ and $\ddot q = "
        r"\mathsf{F}\,\dot v_I + d$, they are $\mathsf{F}^T\mathsf{M}\,\mathsf{F}\,\dot v_I = "
        r"\mathsf{F}^T(h - \mathsf{M}\,d)$.",
    ),
    "voronets": Principle(
        "Voronets' equations",
        _PROJECTED
        + r" The Lagrangian may then be restricted to the constraints, $L_c(q, v_I, t)$, if the"
        r" terms are added that this forgets.",
        (
            r"\frac{d}{dt}\frac{\partial L_c}{\partial v_s} - \frac{\partial L_c}{\partial q_s} "
            r"- \sum_a\frac{\partial L_c}{\partial q_a}\frac{\partial\varphi_a}{\partial v_s} "
            r"- \sum_a\frac{\partial L}{\partial v_a}\,A_s^a = (\mathsf{F}^T Q)_s",
            r"A_s^a = \frac{d}{dt}\frac{\partial\varphi_a}{\partial v_s} -"
            r" \frac{\partial\varphi_a}{\partial q_s} "
            r"- \sum_b\frac{\partial\varphi_a}{\partial q_b}\frac{\partial\varphi_b}{\partial v_s}",
        ),
        r"The symbols $A_s^a$ vanish identically just where the constraints are integrable; "
        r"otherwise they carry the momenta $\partial L/\partial v_a$ of the dependent velocities, "
        r"taken before the constraints are imposed, into the equations.",
    ),
    "chaplygin": Principle(
        "Chaplygin's equations",
        _PROJECTED
        + r" The dependent coordinates occur neither in the Lagrangian nor in the constraints nor"
        r" in the forces, so that the equations of the others can be solved by themselves.",
        (
            r"\frac{d}{dt}\frac{\partial L_c}{\partial v_s} - \frac{\partial L_c}{\partial q_s} "
            r"- \sum_a\frac{\partial L}{\partial"
            r" v_a}\Bigl(\frac{d}{dt}\frac{\partial\varphi_a}{\partial v_s} "
            r"- \frac{\partial\varphi_a}{\partial q_s}\Bigr) = (\mathsf{F}^T Q)_s",
        ),
        r"$L_c$ is the Lagrangian on the constraints. The bracket is what is left of Voronets' "
        r"symbols $A_s^a$ where no $\varphi$ depends on a dependent coordinate.",
    ),
    "constrained-lagrangian": Principle(
        "The constrained Lagrangian with curvature",
        r"The constraints $\dot s^a = -A^a_\alpha(r, s)\,\dot r^\alpha$ are a connection on the "
        r"bundle $(r, s) \to r$: they lift a velocity of the base to an allowed one. The "
        r"Lagrangian on the constraints, $L_c$, obeys Lagrange's equations along the lifts up to "
        r"a force that the curvature $B$ of the connection makes.",
        (
            r"\frac{d}{dt}\frac{\partial L_c}{\partial\dot r^\alpha} - \frac{\partial "
            r"L_c}{\partial r^\alpha} + A^a_\alpha\frac{\partial L_c}{\partial s^a} = "
            r"-\frac{\partial L}{\partial\dot s^b}\,B^b_{\alpha\beta}\,\dot r^\beta + "
            r"(\mathsf{F}^T Q)_\alpha",
            r"B^b_{\alpha\beta} = \partial_\beta A^b_\alpha - \partial_\alpha A^b_\beta "
            r"+ A^a_\alpha\,\partial_{s^a}A^b_\beta - A^a_\beta\,\partial_{s^a}A^b_\alpha",
        ),
        r"$\partial L/\partial\dot s$ is taken before the constraints are imposed. Where $B$ "
        r"vanishes the constraints are holonomic, and imposing them first is right.",
    ),
    "hamel": Principle(
        "Hamel's equations",
        _QUASI,
        (
            r"\frac{d}{dt}\frac{\partial L^*}{\partial\eta_s} + \sum_r\frac{\partial"
            r" L^*}{\partial\eta_r}\,W_s^r "
            r"- \frac{\partial L^*}{\partial\pi_s} = (\mathsf{F}^T Q)_s",
            r"W_s^r = \sum_j \mathsf{F}_{js}\Bigl(\frac{d}{dt}\frac{\partial f_r}{\partial v_j} "
            r"- \frac{\partial f_r}{\partial q_j}\Bigr)",
        ),
        r"$L^*(q, \eta, t)$ is the Lagrangian in quasi-velocities, $v = F(q, \eta, t)$ their "
        r"inverse, $\mathsf{F}_{is} = \partial F_i/\partial\eta_s$, and $\partial/\partial\pi_s = "
        r"\sum_i\mathsf{F}_{is}\,\partial/\partial q_i$.",
    ),
    "hamel-second": Principle(
        "Hamel's equations of the second kind",
        _QUASI.replace("the symbols $W$", "here the symbols $T$ of the inverse"),
        (
            r"\frac{d}{dt}\frac{\partial L^*}{\partial\eta_s} - \sum_i\Bigl(\frac{\partial"
            r" L}{\partial v_i}\Bigr)^{\!*} T_s^i "
            r"- \frac{\partial L^*}{\partial\pi_s} = (\mathsf{F}^T Q)_s",
            r"T_s^i = \frac{d}{dt}\mathsf{F}_{is} - \frac{\partial F_i}{\partial\pi_s}",
        ),
        r"Only the inverse $v = F(q, \eta, t)$ on the constraints is needed, which may be "
        r"nonlinear; $\mathsf{F}_{is} = \partial F_i/\partial\eta_s$, and a star writes a "
        r"function of velocities in quasi-velocities.",
    ),
    "hamel-orthonormal": Principle(
        "Hamel's equations in an orthonormal frame",
        r"The directions that the constraints allow are spanned by vector fields $e_s(q, t)$ that "
        r"are orthonormal in the kinetic metric, $e_r^T\mathsf{M}\,e_s = \delta_{rs}$, found by "
        r"the process of Gram and Schmidt. The components of the velocity in this frame are the "
        r"quasi-velocities, $v = \sum_s e_s\,\eta_s$ up to what the constraints prescribe. Their "
        r"mass matrix is the identity: nothing is left to be solved.",
        (
            r"\frac{d}{dt}\frac{\partial L^*}{\partial\eta_s} - \sum_i\Bigl(\frac{\partial "
            r"L}{\partial v_i}\Bigr)^{\!*} T_s^i - e_s(L^*) = e_s\cdot Q",
        ),
        r"$T_s^i = \frac{d}{dt}e_s^i - \partial v_i/\partial\pi_s$, and $L^*$ is the Lagrangian in"
        r" $q$ and $\eta$.",
    ),
    "gibbs-appell": Principle(
        "The Gibbs--Appell equations",
        _PROJECTED
        + r" The accelerations are $\ddot q = \mathsf{F}\,\dot v_I + d$. Inertia has a potential in"
        r" the space of accelerations, the function $S$ of Gibbs and Appell, into which they are "
        r"put before it is differentiated.",
        (
            r"\frac{\partial S}{\partial\dot v_s} = (\mathsf{F}^T Q)_s",
            r"S = \tfrac12\,\ddot q^T\mathsf{M}\,\ddot q + \ddot q\cdot c, \qquad "
            r"\mathsf{M}\,\ddot q + c = \frac{d}{dt}\frac{\partial L}{\partial\dot q} -"
            r" \frac{\partial L}{\partial q}",
        ),
        r"$S$ is Gauss's measure of constraint up to terms without accelerations; forces with a"
        r" potential are in $c$.",
    ),
    "kane": Principle(
        "Kane's equations",
        _PROJECTED
        + r" The columns of $\mathsf{F}$ are the partial velocities. Active forces and inertia"
        r" forces balance along each of them.",
        (
            r"F_s + F_s^* = 0",
            r"F_s = \sum_i \mathsf{F}_{is}\Bigl(Q_i - \frac{\partial V}{\partial q_i}\Bigr), "
            r"\qquad F_s^* = -\sum_i \mathsf{F}_{is}\Bigl(\frac{d}{dt}\frac{\partial "
            r"T}{\partial\dot q_i} - \frac{\partial T}{\partial q_i}\Bigr)",
        ),
        r"Inertia comes from the kinetic energy $T$ alone; the potential $V$ is among the active"
        r" forces.",
    ),
    "poincare-chetaev": Principle(
        "The Poincar\\'e--Chetaev equations",
        r"The velocities are written in a frame of vector fields, $\dot q = \sum_a w_a\,e_a(q)$, "
        r"with brackets $[e_b, e_a] = c_{ba}^c\,e_c$. In the frame of a Lie group the $c$ are "
        r"constants, and the coordinates leave the kinetic energy. Constraints keep their "
        r"multipliers.",
        (
            r"\frac{d}{dt}\frac{\partial L^*}{\partial w_a} = \sum_{b,c}"
            r" c_{ba}^c\,w_b\,\frac{\partial L^*}{\partial w_c} "
            r"+ e_a(L^*) + e_a\cdot Q + \mu\cdot(f_v\,e_a)",
        ),
        r"$L^*(q, w, t)$ is the Lagrangian in the speeds $w$, and $e_a(L^*)$ its derivative along"
        r" $e_a$.",
    ),
    "elimination": Principle(
        "Elimination of coordinates",
        r"The constraints bind positions and are affine in some coordinates, so that they can be"
        r" solved for these, "
        r"$q_D = h(q_I, t)$. What is left is a free system in the independent coordinates.",
        (
            r"\frac{d}{dt}\frac{\partial L_r}{\partial v_I} - \frac{\partial L_r}{\partial q_I} "
            r"&= \Bigl(\frac{\partial q}{\partial q_I}\Bigr)^{\!T} Q, \qquad L_r(q_I, v_I, t) ="
            r" L(q_I, h, v_I, \dot h, t)",
        ),
        r"Reactions do not occur; they follow from the equations that were left out.",
    ),
    "canonical-voronets": Principle(
        "Voronets' equations in canonical form",
        _PROJECTED
        + r" The Lagrangian on the constraints, $L_c(q, v_I, t)$, has momenta $y_s = \partial"
        r" L_c/\partial v_s$ and a Hamiltonian $H = y\cdot v_I - L_c$ of its own.",
        (
            r"\dot y_s + \frac{\partial H}{\partial q_s} + \sum_a\frac{\partial H}{\partial q_a}"
            r"\frac{\partial\varphi_a}{\partial v_s} - \sum_a\frac{\partial L}{\partial v_a}\,A_s^a"
            r" = (\mathsf{F}^T Q)_s",
            r"\dot q_s = \frac{\partial H}{\partial y_s}, \qquad \dot q_a = \varphi_a",
        ),
        r"The symbols $A_s^a$ are those of Voronets' equations; everything is written in terms of "
        r"$q$ and $y$. The rates of the dependent coordinates belong to the system.",
    ),
    "canonical-quasi": Principle(
        "Canonical equations in quasi-velocities",
        _QUASI
        + r" All of them enter the Legendre transformation, $y_r = \partial L^*/\partial\eta_r$"
        r" and $H^* = \sum_r y_r\eta_r - L^*$.",
        (
            (
                r"\dot y_s + \sum_r y_r\,W_s^r + \frac{\partial H^*}{\partial\pi_s} = (\mathsf{F}^T"
                r" Q)_s"
            ),
            (
                r"\eta_s = \frac{\partial H^*}{\partial y_s}, \qquad 0 = \frac{\partial"
                r" H^*}{\partial y_a}"
            ),
        ),
        r"The last equation is algebraic: it gives the momenta $y_a$ of the bound quasi-velocities"
        r" in terms of the others.",
    ),
    "canonical-quasi-second": Principle(
        "Canonical equations in quasi-velocities, of the second kind",
        _QUASI.replace("the symbols $W$", "here the symbols $T$ of the inverse")
        + r" All of them enter the Legendre "
        r"transformation, $y_r = \partial L^*/\partial\eta_r$ and $H^* = \sum_r y_r\eta_r - L^*$.",
        (
            r"\dot y_s - \sum_{r,i} y_r\,\frac{\partial f_r}{\partial v_i}\,T_s^i + "
            r"\frac{\partial H^*}{\partial\pi_s} = (\mathsf{F}^T Q)_s",
            r"\eta_s = \frac{\partial H^*}{\partial y_s}, \qquad 0 = \frac{\partial H^*}{\partial"
            r" y_a}, \qquad "
            r"T_s^i = \frac{d}{dt}\mathsf{F}_{is} - \frac{\partial F_i}{\partial\pi_s}",
        ),
        r"The equations $0 = \partial H^*/\partial y_a$ are algebraic: they give the momenta of the"
        r" bound quasi-velocities.",
    ),
    "bates-sniatycki": Principle(
        "Hamilton's equations on the constraint manifold",
        r"The Legendre map takes the constraints to a manifold $M$ in phase space, with "
        r"coordinates $q$ and $y_s = \partial L_c/\partial v_s$. The canonical two-form, pulled "
        r"back to $M$ and restricted to the directions $\mathcal H$ that the constraints allow, "
        r"is not degenerate, and the motion is the vector field that it assigns to the energy.",
        (
            r"i_X\,\Omega_{\mathcal H} = dH_{\mathcal H} - Q, \qquad X \in \mathcal H",
            r"\mathsf{N}\,\dot y = \mathsf{F}^T\bigl((p_q^T - p_q)\,v - H_q - p_t + Q\bigr), "
            r"\qquad \mathsf{N} = \mathsf{F}^T p_y",
        ),
        r"Here $p(q, y, t)$ are the momenta on $M$, $H = p\cdot v - L$ the energy there, and "
        r"$\mathsf{F} = \partial v/\partial v_I$.",
    ),
    "implicit-lagrangian": Principle(
        "Implicit Lagrangian equations",
        r"The constraints are given by what they allow: $\dot q = \mathsf{E}(q, t)\,u$ with "
        r"speeds $u$. The Lagrangian may be written in fibre velocities $v = \sigma(q)\,\dot q$, "
        r"with momenta $p = \partial L/\partial v$; reactions vanish on the columns of "
        r"$\mathsf{E}$.",
        (
            r"\mathsf{E}^T\Bigl[\sigma^T\frac{dp}{dt} - \frac{\partial L}{\partial q} - \sum_m "
            r"p_m\bigl(\partial_i\sigma_{mj} "
            r"- \partial_j\sigma_{mi}\bigr)\dot q_j\Bigr] = \mathsf{E}^T Q",
        ),
        r"Without a bundle $\sigma$ is the identity, and the bracket is Lagrange's left side. "
        r"Constraints beside the image keep rows.",
    ),
    "implicit-hamiltonian": Principle(
        "Implicit Hamiltonian equations",
        r"The constraints are given by what they allow: $\dot q = \mathsf{E}(q, t)\,u$ with "
        r"speeds $u$. The Lagrangian in fibre velocities $v = \sigma(q)\,\dot q$ has a "
        r"Hamiltonian $H(q, p) = p\cdot v - L$ on the dual fibres.",
        (
            r"\mathsf{E}^T\Bigl[\sigma^T\dot p + \frac{\partial H}{\partial q} - \sum_m"
            r" p_m\bigl(\partial_i\sigma_{mj} "
            r"- \partial_j\sigma_{mi}\bigr)\dot q_j\Bigr] = \mathsf{E}^T Q",
            r"\frac{\partial H}{\partial p} = \sigma\,\dot q = \sigma\,\mathsf{E}\,u",
        ),
        r"Coordinates and momenta $p$ are the state, beside the speeds of a given image. The second"
        r" equation holds along the motion where its derivative does; its part $\sigma\mathsf{E}\,"
        r"\dot u$ has the rates of the speeds as multipliers.",
    ),
    "vakonomic": Principle(
        "Vakonomic equations",
        r"The action is stationary among all curves that obey the constraints (the problem of "
        r"Lagrange). This is not d'Alembert's principle: wherever the constraints are not "
        r"integrable the motions differ, and rolling bodies do not follow these. The multipliers "
        r"$\chi$ are functions of time and part of the state; their start is free.",
        (
            r"\frac{d}{dt}\frac{\partial\Lambda}{\partial\dot q} - "
            r"\frac{\partial\Lambda}{\partial q} = Q, \qquad \Lambda = L + \sum_a\chi_a f_a",
            r"f(q, \dot q, t) = 0",
        ),
        r"With $\mu = -\dot\chi$ this is $(L_{\dot q\dot q} + \chi\cdot f_{\dot q\dot q})\,\ddot "
        r"q = h + \mathsf{A}^T\mu$, together with the differentiated constraints "
        r"$\mathsf{A}\,\ddot q = b$.",
    ),
    "pontryagin": Principle(
        "Normal extremals of Pontryagin",
        r"The velocities that the constraints allow are $\dot q = V(q, u, t)$. Among these curves "
        r"the action is made stationary, with costates $\xi$ as multipliers. This is another "
        r"principle than d'Alembert's; the motions are the vakonomic ones.",
        (
            r"\frac{\partial\Lambda}{\partial u} = 0, \qquad \Lambda = L(q, V, t) - \xi\cdot V",
            r"\dot q = V, \qquad \dot\xi = \frac{\partial\Lambda}{\partial q} + Q",
        ),
        r"The first equation gives the speeds $u(q, \xi, t)$.",
    ),
    "pontryagin-eliminated": Principle(
        "Extremals of Pontryagin without costates",
        r"The velocities that the constraints allow are $\dot q = \mathsf{E}(q, t)\,u$, and the "
        r"columns of $\mathsf{E}$ are in involution: their brackets stay among them. The costates "
        r"can then be eliminated from the conditions for stationary action, and what is left is "
        r"d'Alembert's motion.",
        (
            r"\mathsf{E}^T\Bigl[\frac{d}{dt}\frac{\partial L}{\partial\dot q} - \frac{\partial "
            r"L}{\partial q} - Q\Bigr] = 0, \qquad \dot q = \mathsf{E}\,u",
        ),
        r"The constraints are integrable, and both principles agree.",
    ),
    "lagrange-dalembert-poincare": Principle(
        "The Lagrange--d'Alembert--Poincar\\'e equations",
        r"A group of symmetries is divided out. Shapes $r$ are left, the velocity $\xi$ along the "
        r"group as seen from the body, and the momenta $p_b$ along those of its directions "
        r"$e_b(r)$ that the constraints allow while the shape rests. With the nonholonomic "
        r"connection $\mathcal A$, $\xi = -\mathcal A(r)\,\dot r + \Gamma(r)\,p$ up to what the "
        r"constraints prescribe.",
        (
            r"\dot p_b = \Bigl\langle\frac{\partial\ell}{\partial\xi},\, [\xi, e_b] + "
            r"\frac{\partial e_b}{\partial r}\,\dot r\Bigr\rangle + \langle F, e_b\rangle, \qquad "
            r"p_b = \Bigl\langle\frac{\partial\ell}{\partial\xi},\, e_b\Bigr\rangle",
            r"\frac{d}{dt}\frac{\partial\ell}{\partial\dot r} - \frac{\partial\ell}{\partial r} - "
            r"\mathcal A^T\Bigl(\frac{d}{dt}\frac{\partial\ell}{\partial\xi} - "
            r"\mathrm{ad}^*_\xi\,\frac{\partial\ell}{\partial\xi}\Bigr) = F_r - \mathcal A^T F",
        ),
        r"$\ell(r, \dot r, \xi)$ is the Lagrangian at the identity of the group. The group "
        r"coordinates do not occur; they follow from $\xi$ afterwards.",
    ),
    "flow": Principle(
        "First-order equations",
        r"The rates of the symbols are given directly.",
        (r"\dot x = X(x, t)",),
        r"Nothing is derived.",
    ),
}


def principle_of(form: str, citation: str) -> Principle:
    """The principle of a form; for a form that is not in the table, what its citation says."""
    from .document_layout import escaped

    known = PRINCIPLES.get({"gauss": "lagrange", "udwadia-kalaba": "lagrange"}.get(form, form))
    if known is not None:
        return known
    title = citation.split("(")[0].strip() or form
    return Principle(
        escaped(title),
        f"The equations are those of the form ``{escaped(form)}'': {escaped(citation)}.",
        (),
        "They are given below.",
    )
