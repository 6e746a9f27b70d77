from django.db import models
from django.db.models import Q


class Author(models.Model):
    name = models.CharField(max_length=100)
    email = models.EmailField(unique=True)
    born = models.DateField(null=True, blank=True)
    slug = models.SlugField(max_length=120, default="")

    class Meta:
        indexes = [models.Index(fields=["name", "-born"], name="author_by_name")]


class Tag(models.Model):
    name = models.CharField(max_length=30, unique=True)


class Book(models.Model):
    title = models.CharField(max_length=200, db_index=True)
    author = models.ForeignKey(Author, models.CASCADE, related_name="books")
    price = models.DecimalField(max_digits=10, decimal_places=2)
    stock = models.PositiveIntegerField(default=0)
    published_at = models.DateTimeField(null=True)
    details = models.JSONField(null=True)
    tags = models.ManyToManyField(Tag, related_name="books")

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(price__gte=0), name="book_price_not_negative")]


class Order(models.Model):
    book = models.ForeignKey(Book, models.CASCADE)
    count = models.PositiveSmallIntegerField()
    total = models.DecimalField(max_digits=12, decimal_places=2)
