"""Batch APIs: many requests in one submission, at half the price, answered within a day."""
