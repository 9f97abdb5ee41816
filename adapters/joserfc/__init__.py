"""JOSE: access tokens, refresh tokens, encrypted passwords, and their keys."""

from adapters.joserfc.factor_secrets import SealedFactorSecrets as SealedFactorSecrets
from adapters.joserfc.factor_secrets import SealedWebhookSecrets as SealedWebhookSecrets
from adapters.joserfc.keyring import JoserfcKeyring as JoserfcKeyring
from adapters.joserfc.passwords import JoserfcEncryptedPasswords as JoserfcEncryptedPasswords
from adapters.joserfc.refresh_tokens import SealedRefreshTokens as SealedRefreshTokens
from adapters.joserfc.sealing import WrongSecretKey as WrongSecretKey
from adapters.joserfc.tickets import SealedTickets as SealedTickets
from adapters.joserfc.tokens import LONGEST_TOKEN as LONGEST_TOKEN
from adapters.joserfc.tokens import Issuance as Issuance
from adapters.joserfc.tokens import JoserfcTokens as JoserfcTokens
