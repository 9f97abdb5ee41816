"""Use cases that hand a finished login over from the service's own pages to a registered application.

How somebody proves who they are stands in ``login`` and ``factors``.
"""
