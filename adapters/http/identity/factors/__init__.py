"""Endpoints of proofs: a proof shown anew, second factors, passkeys.

Sessions, accounts and administration stand in the folder above.
"""
