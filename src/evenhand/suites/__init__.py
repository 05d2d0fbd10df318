"""Suites: files that say what to judge, by what, and how.

``suite.read_suite`` reads one, ``suite.check`` and ``suite.problems`` find what is wrong with one,
``definition.Definition`` makes evaluators and the target from what was stored of one,
``definition_diff.definition_differences`` says what has changed in one, and ``template.init_files`` writes a first one.
"""
