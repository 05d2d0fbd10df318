"""The site builds without a warning, all of it can be reached, and it asks nobody for anything."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).resolve().parents[2]

LINK = re.compile(r'<a\b[^>]*\bhref="([^"#:]+\.html)(?:#[^"]*)?"')
# What a browser fetches by itself; where a reader may go is another matter.
FETCHED = re.compile(
    r"""<(?:script|img|iframe|source|audio|video|embed)\b[^>]*\bsrc=["']?(?:https?:)?//[^>]*"""
    r"""|<link\b[^>]*\bhref=["']?(?:https?:)?//[^>]*"""
    r"""|url\(\s*["']?(?:https?:)?//[^)]*"""
    r"""|@import\s+(?:url\()?["'](?:https?:)?//[^;]*"""
    r"""|\b(?:fetch|import|importScripts|open)\(["'`](?:https?:)?//[^)]*""",
    re.IGNORECASE,
)


def unreachable(site: Path) -> set[str]:
    """Follow all links from the first page on, and name the pages of docs/ to which none leads."""
    pages = {path.relative_to(ROOT).with_suffix(".html") for path in (ROOT / "docs").rglob("*.md")}
    seen, ahead = set[Path](), {site / "docs" / "index.html"}
    while ahead:
        page = ahead.pop()
        seen.add(page)
        found = LINK.findall(page.read_text(encoding="utf-8"))
        ahead |= {Path(os.path.normpath(page.parent / unquote(link))) for link in found} - seen
    return {str(page) for page in pages if site / page not in seen}


def fetched(site: Path) -> list[str]:
    """Name what the files of the site would have a browser fetch from elsewhere."""
    files = [path for path in site.rglob("*") if path.suffix in {".html", ".css", ".js", ".svg"}]
    assert len(files) > 20
    return [
        f"{path.relative_to(site)}: {found}" for path in files for found in FETCHED.findall(path.read_text("utf-8"))
    ]


# One test, since the site takes a while to build.
@pytest.mark.long
@pytest.mark.timeout(600)
def test_the_site_builds_without_a_warning_and_is_whole_and_asks_nobody(tmp_path: Path) -> None:
    site = tmp_path / "site"
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-q",
        "-W",
        "--keep-going",
        "-c",
        "docs",
        "-d",
        str(tmp_path / "doctrees"),
    ]

    done = subprocess.run([*command, ".", site], cwd=ROOT, capture_output=True, text=True, timeout=500, check=False)

    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    assert unreachable(site) == set()
    assert fetched(site) == []


@pytest.mark.parametrize(
    "written",
    [
        '<script src="https://cdn.example/x.js"></script>',
        '<link rel="stylesheet" href="//fonts.example/css">',
        "body { background: url(https://example.org/x.png) }",
        '@import "https://fonts.example/css";',
        'fetch("https://example.org/count")',
    ],
)
def test_what_would_be_fetched_from_elsewhere_is_noticed(written: str) -> None:
    assert FETCHED.search(written)
