"""Parts of the service as data, one module each; ``composition`` joins them.

A part has the same name in every layer: ``joining`` is also ``application/identity/joining``,
``adapters/http/identity/joining`` and ``entrypoints/assembly/parts/joining.py``.
"""
