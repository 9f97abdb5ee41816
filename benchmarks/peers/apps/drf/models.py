"""Models on the tables that the benchmark makes."""

from uuid import uuid4

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.db import models


class User(AbstractBaseUser):
    id = models.UUIDField(primary_key=True, default=uuid4)
    tenant_id = models.UUIDField()
    email = models.EmailField(unique=True)
    password = models.CharField(max_length=200, db_column="password_hash")
    last_login = None
    USERNAME_FIELD = "email"
    objects = BaseUserManager()

    class Meta:
        app_label, db_table, managed = "drf", "users", False


class Audited(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    tenant_id = models.UUIDField(editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)
    created_by = models.UUIDField(null=True, editable=False)
    updated_by = models.UUIDField(null=True, editable=False)
    is_deleted = models.BooleanField(default=False, editable=False)
    version = models.IntegerField(default=1, editable=False)

    class Meta:
        abstract = True


class Category(Audited):
    name = models.CharField(max_length=200)
    description = models.TextField(null=True)

    class Meta:
        app_label, db_table, managed = "drf", "categories", False


class Product(Audited):
    name = models.CharField(max_length=200)
    sku = models.CharField(max_length=32)
    description = models.TextField(null=True, blank=True, max_length=10_000)
    price = models.DecimalField(max_digits=12, decimal_places=2)
    stock = models.PositiveIntegerField(default=0)
    status = models.CharField(choices=[(name, name) for name in ("draft", "live", "retired")], default="draft")
    category = models.ForeignKey(Category, models.PROTECT, null=True, related_name="products")
    released_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        app_label, db_table, managed = "drf", "products", False
