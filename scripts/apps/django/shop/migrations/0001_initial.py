import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True
    dependencies = []
    operations = [
        migrations.CreateModel("Author", [
            ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
            ("full_name", models.CharField(max_length=60)),
            ("email", models.EmailField(max_length=254, unique=True)),
            ("born", models.DateField(blank=True, null=True)),
        ]),
        migrations.CreateModel("Tag", [
            ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
            ("name", models.CharField(max_length=30, unique=True)),
        ]),
        migrations.CreateModel("Book", [
            ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
            ("title", models.CharField(db_index=True, max_length=200)),
            ("price", models.DecimalField(decimal_places=2, max_digits=10)),
            ("published_at", models.DateTimeField(null=True)),
            ("author", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="books", to="shop.author")),
            ("tags", models.ManyToManyField(related_name="books", to="shop.tag")),
        ]),
    ]
