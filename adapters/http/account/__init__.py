"""Pages on which people sign in, make an account and look after it, for products without pages of their own.

Their markup stands in ``adapters/http/assets``, their texts in ``domain/words``. Nothing here knows how somebody
proves who they are: the pages call the public API, as other clients do.
"""
