"""Providers' languages: pure translations of asks and replies, one small module each."""
