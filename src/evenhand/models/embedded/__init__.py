"""Models that run in this process: no account, no key, nothing leaves the machine."""
