"""Pages on which people sign in, make an account and look after it, for products without pages of their own.

Their scripts are built from ``adapters/console/source`` into ``adapters/http/assets/account``; their texts are in
``domain/words``. Nothing here knows how users prove who they are: the pages call the public API, as other clients do.
"""
