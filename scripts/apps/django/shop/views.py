import json
from datetime import date, datetime
from decimal import Decimal
from django.core.paginator import Paginator
from django.db import IntegrityError, transaction
from django.db.models import Avg, Count, F, Max, Sum
from django.http import HttpResponse, JsonResponse
from shop.models import Author, Book, Order, Tag


def answer(value, status=200):
    return JsonResponse(value, status=status, safe=False, json_dumps_params={"ensure_ascii": False})


def author_as_json(author):
    return {"id": author.id, "name": author.name, "email": author.email, "born": author.born and author.born.isoformat(), "books": getattr(author, "count", None)}


def book_as_json(book):
    return {"id": book.id, "title": book.title, "author": book.author.name, "price": str(book.price), "stock": book.stock,
            "published_at": book.published_at and book.published_at.isoformat(), "details": book.details, "tags": sorted(tag.name for tag in book.tags.all())}


def save_author(author, body):
    author.name, author.email, author.born = body["name"], body["email"], body["born"] and date.fromisoformat(body["born"])
    with transaction.atomic():
        author.save()


def authors(request):
    if request.method == "GET":
        return answer([author_as_json(a) for a in Author.objects.annotate(count=Count("books")).order_by("name", "id")])
    author = Author()
    try:
        save_author(author, json.loads(request.body))
    except IntegrityError as error:
        return answer({"error": error.args[0]}, 409)
    return answer(author_as_json(author), 201)


def author(request, key):
    found = Author.objects.filter(pk=key).first()
    if not found:
        return answer({"error": "not found"}, 404)
    if request.method == "PUT":
        save_author(found, json.loads(request.body))
    elif request.method == "DELETE":
        found.delete()
        return HttpResponse(status=204)
    return answer(author_as_json(found))


def books(request):
    if request.method == "POST":
        body = json.loads(request.body)
        published = body["published_at"] and datetime.fromisoformat(body["published_at"])
        try:
            with transaction.atomic():
                book = Book.objects.create(title=body["title"], author_id=body["author_id"], price=Decimal(body["price"]), stock=body["stock"], published_at=published, details=body["details"])
                book.tags.set([Tag.objects.get_or_create(name=name)[0] for name in body["tags"]])
        except IntegrityError as error:
            return answer({"error": error.args[0]}, 409)
        return answer(book_as_json(Book.objects.get(pk=book.pk)), 201)
    found = Book.objects.select_related("author").prefetch_related("tags").order_by("-price", "id")
    if "tag" in request.GET:
        found = found.filter(tags__name=request.GET["tag"])
    if "min_price" in request.GET:
        found = found.filter(price__gte=Decimal(request.GET["min_price"]))
    if "q" in request.GET:
        found = found.filter(title__icontains=request.GET["q"])
    return answer([book_as_json(b) for b in Paginator(found, 3).get_page(request.GET.get("page", 1))])


def book(request, key):
    found = Book.objects.filter(pk=key).first()
    if not found:
        return answer({"error": "not found"}, 404)
    if request.method == "PATCH":
        body = json.loads(request.body)
        Book.objects.filter(pk=key).update(price=Decimal(body["price"]), stock=body["stock"])
        found.refresh_from_db()
    return answer(book_as_json(found))


class OutOfStock(Exception):
    pass


def orders(request):
    if request.method == "GET":
        return answer(list(Order.objects.order_by("id").values("id", "book__title", "count", "total")))
    made = []
    try:
        with transaction.atomic():
            for line in json.loads(request.body):
                book = Book.objects.select_for_update().get(pk=line["book_id"])
                if book.stock < line["count"]:
                    raise OutOfStock
                Book.objects.filter(pk=book.pk).update(stock=F("stock") - line["count"])
                made.append(Order.objects.create(book=book, count=line["count"], total=book.price * line["count"]))
    except OutOfStock:
        return answer({"error": "out of stock"}, 409)
    return answer([{"id": order.id, "total": str(order.total)} for order in made], 201)


def report(request):
    found = Book.objects.values("author__name").annotate(books=Count("id"), value=Sum(F("price") * F("stock")), average=Avg("price"), latest=Max("published_at")).order_by("-value", "author__name")
    return answer(list(found))
