"""Instrumentation without code changes: what is replaced where, one module for each.

Every hook follows the same rules. It names what it replaces (`patching.Point`); what
is not there, or looks different than expected, is said in one line and the rest goes
on. A replacement changes no result, raises nothing of its own, draws no random number
and keeps name, signature and documentation of what it replaces.
"""
