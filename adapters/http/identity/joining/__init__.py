"""Endpoints of the ways into a tenant: invitations.

Members of a tenant are administered in the folder above.
"""
