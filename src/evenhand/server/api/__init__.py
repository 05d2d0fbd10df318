"""The REST API under /api: everything that the pages and the command line can do."""

from __future__ import annotations

from fastapi import APIRouter

router = APIRouter(prefix="/api")
