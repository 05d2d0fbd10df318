"""What judging costs: `make bench`."""
