from django.urls import path
from django.contrib import admin
from shop import views

urlpatterns = [
    path("admin/", admin.site.urls),
    path("authors", views.authors), path("authors/<int:key>", views.author),
    path("books", views.books), path("books/<int:key>", views.book),
    path("orders", views.orders), path("report", views.report),
]
