"""Use cases of service accounts: their administration, their keys, and how they show who they are.

What a service account does with its rights stands where it stands for users.
"""
