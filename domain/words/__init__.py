"""Texts of account pages and mails, a folder for each language, and the choice among the languages.

``mails`` are the mails, ``pages`` the account pages, and ``common`` what the account pages and the console both say.
``answers`` are the sentences of the API's errors that account pages show, by their English text; ``console-answers``
are those that only the console shows. `make console` builds all but the mails into the pages and the console.
"""
