"""Serializers: products alone, in their category, and many at once."""

from typing import Any
from uuid import UUID

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework_simplejwt.serializers import TokenObtainPairSerializer
from rest_framework_simplejwt.tokens import Token

from drf.models import Category, Product, User


def tenant_of(request: Request) -> UUID:
    return UUID(request.user.token["tenant_id"])


class TokenSerializer(TokenObtainPairSerializer):
    @classmethod
    def get_token(cls, user: User) -> Token:
        token = super().get_token(user)
        token["tenant_id"] = str(user.tenant_id)
        return token


class OwnCategories(serializers.PrimaryKeyRelatedField):
    """Categories of the caller's tenant alone."""

    def get_queryset(self) -> Any:
        return Category.objects.filter(tenant_id=tenant_of(self.context["request"]))


SHARED = ["id", "name", "description", "created_at", "updated_at", "created_by", "updated_by", "is_deleted", "version"]


class CategorySerializer(serializers.ModelSerializer):
    class Meta:
        model, fields = Category, SHARED


class ProductSerializer(serializers.ModelSerializer):
    category = OwnCategories(required=False, allow_null=True, pk_field=serializers.UUIDField())

    class Meta:
        model = Product
        fields = [*SHARED, "sku", "price", "stock", "status", "category", "released_at"]


class ProductInCategorySerializer(ProductSerializer):
    category = CategorySerializer(read_only=True)


class ManyProducts(serializers.ListSerializer):
    """The guide's way to write many rows at once."""

    def create(self, validated_data: list[dict[str, Any]]) -> list[Product]:
        return Product.objects.bulk_create([Product(**row) for row in validated_data])


class BatchSerializer(ProductSerializer):
    class Meta(ProductSerializer.Meta):
        list_serializer_class = ManyProducts
