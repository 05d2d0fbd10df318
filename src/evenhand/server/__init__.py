"""The REST API and the web pages (`evenhand serve`), over the same engine and store."""
