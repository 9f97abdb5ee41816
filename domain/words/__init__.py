"""Texts of account pages and mails, a folder for each language, and the choice among the languages.

``mails`` are the mails, ``pages`` the markup of account pages, ``scripts`` what their scripts say, and ``answers`` the
sentences of the API's errors that account pages show, by their English text.
"""
