"""Print what importing, judging, reading and running cost."""

from __future__ import annotations

from bench import importing, judging, reading, running

ROW = "{:<68} {:>10}  {}"


def main() -> None:
    print(ROW.format("CPU time, best of three", "measured", "goal"))
    for rows in (importing.rows(), judging.rows(), reading.rows(), running.rows()):
        print()
        for what, measured, goal in rows:
            print(ROW.format(what, measured, goal), flush=True)


if __name__ == "__main__":
    main()
