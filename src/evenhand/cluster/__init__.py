"""A run on several processes or machines: one driver plans and writes, workers judge (see docs/design/ray.md)."""
