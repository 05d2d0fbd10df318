"""The web pages: they work without JavaScript, which adds live updates, the drawer and the long table."""

from __future__ import annotations

from fastapi import APIRouter

router = APIRouter(include_in_schema=False)
