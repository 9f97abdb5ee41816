"""Work factor of passwords."""

from django.contrib.auth.hashers import Argon2PasswordHasher


class Hasher(Argon2PasswordHasher):
    """Django's way to another work factor: Argon2id of 19 MiB and two passes, as on the other servers."""

    time_cost, memory_cost, parallelism = 2, 19_456, 1
