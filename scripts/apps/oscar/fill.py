"""A catalogue, by oscar's own models: products with attributes and stock, an offer, a voucher, a country. No categories: their save() is 1093 with MySQL, too."""
import datetime
from decimal import Decimal
from oscar.apps.address.models import Country
from oscar.apps.catalogue.models import Product, ProductAttribute, ProductClass
from oscar.apps.offer.models import Benefit, Condition, ConditionalOffer, Range
from oscar.apps.partner.models import Partner, StockRecord
from oscar.apps.voucher.models import Voucher

Country.objects.create(iso_3166_1_a2="AT", iso_3166_1_a3="AUT", iso_3166_1_numeric="040", printable_name="Austria", name="Republic of Austria", is_shipping_country=True)
kind = ProductClass.objects.create(name="Book", track_stock=True)
ProductAttribute.objects.create(product_class=kind, name="Pages", code="pages", type="integer", required=False)
ProductAttribute.objects.create(product_class=kind, name="Weight", code="weight", type="float", required=False)
partner = Partner.objects.create(name="Händler", code="h")
for number in range(1, 31):
    product = Product(title=f"Product {number}", slug=f"product-{number}", upc=f"upc{number:05}", product_class=kind, description=f"what it is: {number} 😀")
    product.attr.pages, product.attr.weight = number * 10, number / 7
    product.save()
    StockRecord.objects.create(product=product, partner=partner, partner_sku=f"sku{number}", price=Decimal(number) + Decimal("0.99"), num_in_stock=100, price_currency="GBP")
every = Range.objects.create(name="all", includes_all_products=True)
condition = Condition.objects.create(range=every, type="Count", value=2)
benefit = Benefit.objects.create(range=every, type="Percentage", value=10)
ConditionalOffer.objects.create(name="Two", condition=condition, benefit=benefit, offer_type="Site", exclusive=False)
offer = ConditionalOffer.objects.create(name="Ten off", condition=Condition.objects.create(range=every, type="Value", value=1), benefit=Benefit.objects.create(range=every, type="Absolute", value=10), offer_type="Voucher", exclusive=False)
utc = datetime.timezone.utc
voucher = Voucher.objects.create(name="Ten off", code="TENOFF", usage="Multi-use", start_datetime=datetime.datetime(2020, 1, 1, tzinfo=utc), end_datetime=datetime.datetime(2040, 1, 1, tzinfo=utc))
voucher.offers.add(offer)
print(Product.objects.base_queryset().browsable().count())
