"""Settings of Django: what the application needs, and nothing that answers for its own sake."""

import os
from datetime import timedelta
from urllib.parse import urlsplit

_database = urlsplit(os.environ["PEER_DATABASE_URL"])

SECRET_KEY = os.environ["PEER_SECRET"]
ALLOWED_HOSTS = ["localhost", "127.0.0.1"]
ROOT_URLCONF = "drf.urls"
INSTALLED_APPS = ["django.contrib.contenttypes", "django.contrib.auth", "rest_framework", "django_filters", "drf"]
MIDDLEWARE = ["django.middleware.common.CommonMiddleware"]
AUTH_USER_MODEL = "drf.User"
PASSWORD_HASHERS = ["drf.hashers.Hasher"]
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": _database.path.removeprefix("/"),
        "USER": _database.username or "",
        "PASSWORD": _database.password or "",
        "HOST": _database.hostname or "",
        "PORT": _database.port or 5432,
        "CONN_MAX_AGE": None,
    }
}
USE_TZ = True
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["rest_framework_simplejwt.authentication.JWTStatelessUserAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_PAGINATION_CLASS": "rest_framework.pagination.PageNumberPagination",
    "PAGE_SIZE": 20,
}
SIMPLE_JWT = {"ACCESS_TOKEN_LIFETIME": timedelta(hours=1), "TOKEN_OBTAIN_SERIALIZER": "drf.serializers.TokenSerializer"}
