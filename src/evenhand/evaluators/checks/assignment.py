"""The assignment problem: pair the items of two lists so that the pairs together gain most."""

from __future__ import annotations

from collections.abc import Sequence


def best_pairs(gains: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
    """Pair rows with columns, as many as there can be, so that the sum of the gains is as large as it can be.

    >>> best_pairs([[9, 8], [8, 1]])  # taking the 9 first would leave a 1
    [(0, 1), (1, 0)]

    This is the Hungarian algorithm: rows are added one by one, each along the shortest path to a free column. With
    ``n`` the shorter side and ``m`` the longer one it takes ``n * n * m`` steps. The gains are integers, so that
    equal sums are equal; of several best pairings, the same one is found each time.
    """
    if not gains or not gains[0]:
        return []
    if len(gains) > len(gains[0]):
        return sorted((row, column) for column, row in best_pairs(list(zip(*gains, strict=True))))
    columns = len(gains[0])
    # Place 0 stands before the first row and the first column: it is where each path begins.
    row_prices, column_prices = [0] * (len(gains) + 1), [0] * (columns + 1)
    row_of = [0] * (columns + 1)
    for row in range(1, len(gains) + 1):
        row_of[0] = row
        came_from = _shortest_path(gains, row_of, row_prices, column_prices)
        column = came_from.pop()
        while column:
            row_of[column] = row_of[came_from[column]]
            column = came_from[column]
    return sorted((row_of[column] - 1, column - 1) for column in range(1, columns + 1) if row_of[column])


def _shortest_path(
    gains: Sequence[Sequence[int]], row_of: list[int], row_prices: list[int], column_prices: list[int]
) -> list[int]:
    """Return the column before each column, and at the end the free one that is reached; the prices are adjusted."""
    columns = len(column_prices) - 1
    distances: list[int | None] = [None] * (columns + 1)
    came_from = [0] * (columns + 1)
    visited = [False] * (columns + 1)
    column = 0
    while True:
        visited[column] = True
        row = row_of[column]
        nearest: int | None = None
        following = 0
        for other in range(1, columns + 1):
            if visited[other]:
                continue
            distance = -gains[row - 1][other - 1] - row_prices[row] - column_prices[other]
            known = distances[other]
            if known is None or distance < known:
                distances[other] = known = distance
                came_from[other] = column
            if nearest is None or known < nearest:
                nearest, following = known, other
        step = nearest or 0
        for other in range(columns + 1):
            if visited[other]:
                row_prices[row_of[other]] += step
                column_prices[other] -= step
            elif (known := distances[other]) is not None:
                distances[other] = known - step
        column = following
        if not row_of[column]:
            return [*came_from, column]
