"""Texts of account pages and mails, a folder per language, and the choice of the language.

``mails`` and ``pages`` are the texts of mails and account pages, ``common`` the texts shared by account pages and
console. ``answers`` translate API errors on account pages, by their English text; ``console-answers`` those only on the
console. `make console` builds all but the mails into the pages and the console.
"""
