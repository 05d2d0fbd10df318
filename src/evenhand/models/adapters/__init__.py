"""Judges that other libraries made: LangChain, OpenAI clients, pydantic-ai, and plain functions.

An object is known by its shape and by where its class comes from, so that none of these libraries is imported unless
an object of theirs was given.
"""
