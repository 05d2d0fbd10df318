"""The commands of `evenhand`: one file for each verb, or for a few that belong together."""
