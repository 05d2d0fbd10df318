"""Running a suite: plan, drive, commit."""
