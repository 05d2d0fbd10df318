"""Print what importing, judging, reading, planning, running, ranking and looking at runs cost, and what is cached."""

from __future__ import annotations

from bench import (
    finishing,
    importing,
    judging,
    on_ray,
    pages,
    prefix,
    ranking,
    reading,
    reading_runs,
    running,
    tables,
    watching,
    whole_command,
)

ROW = "{:<68} {:>10}  {}"


def main() -> None:
    print(ROW.format("CPU time, best of three", "measured", "goal"))
    for part in (
        importing,
        judging,
        prefix,
        reading,
        tables,
        running,
        finishing,
        ranking,
        pages,
        reading_runs,
        watching,
        on_ray,
        whole_command,
    ):
        print()
        for what, measured, goal in part.rows():
            print(ROW.format(what, measured, goal), flush=True)


if __name__ == "__main__":
    main()
