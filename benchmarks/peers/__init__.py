"""The service beside its peers: the same rows, operations and checks on each, measured in one run.

``apps`` holds a small application for each peer, which runs in an environment of its own (``requirements/peers.txt``);
nothing here imports from it.
"""
