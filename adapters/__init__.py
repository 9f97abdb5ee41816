"""The world behind the ports: one room per technology, none of which knows another."""
