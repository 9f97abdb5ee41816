"""Use cases of second factors: verification, enrolment and reset.

The gate that requires them is in the logins' package.
"""
