"""Django REST framework, served by gunicorn: a model view set, simplejwt, django-filter and a renderer for CSV.

Sources: the guide of Django REST framework (view sets, filtering against the current user, serializers of many rows,
third-party packages), of simplejwt (claims of one's own, users without a query) and of Django (settings in a file,
password hashers, databases).
"""
