"""Columns of vectors: every row has as many numbers as the others."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from gapless.errors import FormatError
from gapless.recordings.importers.columns import vectors


def column(*rows: list[float] | None) -> pa.ChunkedArray:
    """Lists of numbers."""
    return pa.chunked_array([pa.array(rows, pa.list_(pa.float64()))])


def test_rows_of_one_length_are_a_matrix() -> None:
    """Whether the type states the length or not."""
    wanted = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(vectors(column([0, 1, 2], [3, 4, 5]), "log"), wanted)
    fixed = pa.array([[0, 1, 2], [3, 4, 5]], pa.list_(pa.float64(), 3))
    np.testing.assert_array_equal(vectors(pa.chunked_array([fixed]), "log"), wanted)


@pytest.mark.parametrize(
    "rows", [([1.0] * 7, [1.0] * 5), ([1.0] * 6, None, [1.0] * 6), ([1.0], []), ()]
)
def test_rows_of_unequal_length_are_refused_though_their_sum_would_do(rows: tuple) -> None:
    """Seven and five numbers are not two rows of six."""
    with pytest.raises(FormatError, match=r"log: lists of unequal length"):
        vectors(column(*rows), "log")
