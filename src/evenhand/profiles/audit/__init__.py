"""Audits of a judge: profiles made by design, scored like any others, and what each attribute does to the score."""
