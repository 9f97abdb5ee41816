"""Routes."""

from django.urls import include, path
from rest_framework.routers import DefaultRouter
from rest_framework_simplejwt.views import TokenObtainPairView

from drf.views import ProductViewSet

router = DefaultRouter()
router.register("products", ProductViewSet, basename="product")
urlpatterns = [path("api/auth/login", TokenObtainPairView.as_view()), path("api/", include(router.urls))]
