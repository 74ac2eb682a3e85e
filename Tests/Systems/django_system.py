"""django_system.py PORT DATABASE COUNT: customers as Django REST Framework serves them, with the defaults of its tutorial: a router,
pages by number with the next one's address, and its own OpenAPI description (drf-spectacular)."""

import sys

import django
from django.conf import settings

port, database, count = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
settings.configure(
    DEBUG=False, ALLOWED_HOSTS=["127.0.0.1"], SECRET_KEY="none", ROOT_URLCONF=__name__, USE_TZ=True,
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": database}},
    INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth", "rest_framework", "drf_spectacular"],
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    REST_FRAMEWORK={
        "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema", "DEFAULT_PERMISSION_CLASSES": [],
        "DEFAULT_PAGINATION_CLASS": "rest_framework.pagination.PageNumberPagination", "PAGE_SIZE": 40,
    })
django.setup()

from django.db import connection, models  # noqa: E402
from django.core.wsgi import get_wsgi_application  # noqa: E402
from django.urls import include, path  # noqa: E402
from drf_spectacular.views import SpectacularAPIView  # noqa: E402
from rest_framework import routers, serializers, viewsets  # noqa: E402
from serving import serve  # noqa: E402


class Customer(models.Model):
    code = models.SlugField(primary_key=True, max_length=20)
    name = models.CharField(max_length=80)
    email = models.EmailField(blank=True, default="")
    balance = models.DecimalField(max_digits=9, decimal_places=2, default=0)
    visits = models.IntegerField(null=True, blank=True)
    active = models.BooleanField(default=True)
    level = models.CharField(max_length=8, choices=[("plain", "Plain"), ("gold", "Gold")], default="plain")
    joined = models.DateField(null=True, blank=True)
    changed = models.DateTimeField(auto_now=True)

    class Meta:
        app_label = "shop"
        ordering = ["code"]


class CustomerSerializer(serializers.ModelSerializer):
    class Meta:
        model = Customer
        fields = "__all__"


class Customers(viewsets.ModelViewSet):
    queryset = Customer.objects.all()
    serializer_class = CustomerSerializer


router = routers.DefaultRouter()
router.register("customers", Customers)
urlpatterns = [path("api/", include(router.urls)), path("schema/", SpectacularAPIView.as_view())]


if "shop_customer" not in connection.introspection.table_names():
    with connection.schema_editor() as editor:
        editor.create_model(Customer)
    Customer.objects.bulk_create(
        Customer(code=f"c{number:03}", name=f"Customer Nº {number}", balance=f"{number}.50", visits=number or None)
        for number in range(count))
serve(port, get_wsgi_application())
