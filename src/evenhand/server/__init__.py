"""The REST API and the web pages: `evenhand serve`. Both are doors onto the same engine and store."""
