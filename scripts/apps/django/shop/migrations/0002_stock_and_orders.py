import django.db.models.deletion
from django.db import migrations, models


def slugs(apps, schema_editor):
    for author in apps.get_model("shop", "Author").objects.all():
        author.slug = author.name.lower().replace(" ", "-")
        author.save()


class Migration(migrations.Migration):
    dependencies = [("shop", "0001_initial")]
    operations = [
        migrations.RenameField("author", "full_name", "name"),
        migrations.AlterField("author", "name", models.CharField(max_length=100)),
        migrations.AddField("author", "slug", models.SlugField(default="", max_length=120)),
        migrations.AddIndex("author", models.Index(fields=["name", "-born"], name="author_by_name")),
        migrations.AddField("book", "stock", models.PositiveIntegerField(default=0)),
        migrations.AddField("book", "details", models.JSONField(null=True)),
        migrations.AddConstraint("book", models.CheckConstraint(condition=models.Q(("price__gte", 0)), name="book_price_not_negative")),
        migrations.CreateModel("Order", [
            ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
            ("count", models.PositiveSmallIntegerField()),
            ("total", models.DecimalField(decimal_places=2, max_digits=12)),
            ("book", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to="shop.book")),
        ]),
        migrations.RunPython(slugs, migrations.RunPython.noop),
    ]
