"""The probes of the doctor, a module for each group."""
