"""Gavin's figures: their numbers against closed forms and the corrected claims of the source."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from dalembert.errors import ModelError
from dalembert.plotting import gavin_figures
from dalembert.plotting.studies.figures import leaf


@pytest.fixture(scope="module")
def figures(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gavin") / "figures"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return {figure.number: figure for figure in gavin_figures(folder)}


@pytest.mark.long
def test_seven_figures_and_their_captions_are_written(figures):
    assert sorted(figures) == [1, 3, 4, 5, 6, 7, 8]
    text = (figures[1].path.parent / "captions.md").read_text(encoding="utf-8")
    for number, figure in figures.items():
        assert figure.path.stat().st_size > 20_000
        assert f"**Figure {number}.** {figure.caption}" in text


@pytest.mark.long
def test_the_free_record_does_not_repeat_every_24_seconds(figures):
    numbers = figures[1].numbers
    assert numbers["mirror_time"] == pytest.approx(24.106, abs=5e-4)
    assert numbers["mirror_distance_rounded"] == pytest.approx(0.0027, abs=5e-5)
    assert numbers["return_time"] == pytest.approx(48.212, abs=5e-4)
    assert numbers["return_distance"] == pytest.approx(0.005, abs=5e-4)
    assert numbers["distance_near_24"] > 0.9
    assert f"{numbers['mirror_distance']:.4f}" in figures[1].caption


def test_the_arc_is_kept_and_its_reaction_is_normal(figures):
    assert figures[3].numbers["distance"] < 1e-9
    assert figures[4].numbers["worst_error"] < 1e-12
    assert figures[5].numbers["off_normal"] < 1e-10 and figures[5].numbers["power"] < 1e-10


def test_the_printed_constraint_is_integrable_and_its_motion_periodic(figures):
    assert figures[6].numbers["period"] == pytest.approx(2.7722, abs=1e-4)
    assert figures[6].numbers["distance"] < 1e-9
    assert figures[7].numbers["spread"] < 1e-9
    assert figures[8].numbers["power"] < 1e-10


def test_the_integral_of_the_printed_constraint_has_its_direction():
    """dI is parallel to (-l sin B, cos B), the row of the constraint, at random points (central
    differences).
    """
    rng = np.random.default_rng(5)
    theta, u = rng.uniform(-1, 1, (2, 50))
    length, b, h = 1.3, 5.0, 1e-6
    by_theta = (leaf(theta + h, u, length, b) - leaf(theta - h, u, length, b)) / (2 * h)
    by_u = (leaf(theta, u + h, length, b) - leaf(theta, u - h, length, b)) / (2 * h)
    B = theta + b * u / length
    np.testing.assert_allclose(
        by_theta * np.cos(B) + by_u * length * np.sin(B), 0.0, atol=1e-5 * np.abs(by_u).max()
    )


def test_another_suffix_is_refused(tmp_path):
    with pytest.raises(ModelError, match=r"use one of \.png"):
        gavin_figures(tmp_path, suffix=".bmp")
