"""View set of products."""

from typing import Any

from django_filters import rest_framework as filters
from rest_framework import status, viewsets
from rest_framework.decorators import action
from rest_framework.filters import OrderingFilter
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework_csv.renderers import CSVStreamingRenderer

from drf.models import Product
from drf.serializers import BatchSerializer, ProductInCategorySerializer, ProductSerializer, tenant_of


class ProductFilter(filters.FilterSet):
    class Meta:
        model = Product
        fields = {"category": ["exact"], "status": ["exact"], "price": ["gte", "lte"]}


class ByCategoryId(ProductFilter):
    """Filter of the category by its id: the filter made of a relation looks first whether the category exists."""

    category = filters.UUIDFilter(field_name="category_id")


class ProductViewSet(viewsets.ModelViewSet):
    serializer_class = ProductSerializer
    filter_backends = [filters.DjangoFilterBackend, OrderingFilter]
    filterset_class = ByCategoryId
    ordering_fields = ["created_at", "price"]
    ordering = ["-created_at", "-id"]

    def get_queryset(self) -> Any:
        return Product.objects.filter(tenant_id=tenant_of(self.request))

    def perform_create(self, serializer: Any) -> None:
        who = self.request.user.id
        serializer.save(tenant_id=tenant_of(self.request), created_by=who, updated_by=who)

    def perform_update(self, serializer: Any) -> None:
        serializer.save(updated_by=self.request.user.id)

    @action(detail=False, url_path="in-categories", serializer_class=ProductInCategorySerializer)
    def in_categories(self, request: Request) -> Response:
        page = self.paginate_queryset(self.filter_queryset(self.get_queryset().select_related("category")))
        return self.get_paginated_response(self.get_serializer(page, many=True).data)

    @action(detail=False, methods=["post"], serializer_class=BatchSerializer)
    def batch(self, request: Request) -> Response:
        serializer = self.get_serializer(data=request.data["items"], many=True)
        serializer.is_valid(raise_exception=True)
        self.perform_create(serializer)
        return Response(serializer.data, status=status.HTTP_201_CREATED)

    @action(detail=False, renderer_classes=[CSVStreamingRenderer])
    def export(self, request: Request) -> Response:
        """By the add-on for CSV that the guide names."""
        rows = self.get_serializer(self.filter_queryset(self.get_queryset()), many=True).data
        return Response(rows, headers={"Content-Disposition": 'attachment; filename="products.csv"'})
