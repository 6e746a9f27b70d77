"""Vendure: its tables from its entities and a shop from its populator, with jobs in the database; the migration that it would make of what it finds; over GraphQL a catalogue with options, facets and collections by filters, promotions, channels, roles, stock, carts of guests and customers, orders from the cart over payment to fulfilment, refund and cancellation, lists with filters and sorts, and away again."""
import json, subprocess, time
import _rest

VERSION = "3.7.3"
TITLE = f"Vendure {VERSION} (TypeORM, mysql2)"
CLOCK = _rest.BOTH + r"|\$2[aby]\$\S+|\b[A-Z0-9]{16}\b|\b(?=[a-z0-9]*\d)[a-z0-9]{16,24}\b|(?<=\"transactionId\": \")\w+|(?<=Authorized\tNULL\t)\w+|(?<=Settled\tNULL\t)\w+"
UNSEEN = ("session", "job_record", "job_record_buffer")
KEYS_UNORDERED = True
PROGRAM = r'''
const path = require('path'), { bootstrap, DefaultJobQueuePlugin, dummyPaymentHandler, LanguageCode, JobQueueService, DefaultLogger, LogLevel, generateMigration } = require('@vendure/core');
const what = process.argv[2], env = process.env;
const config = {
  apiOptions: { port: +env.APP_HTTP_PORT, hostname: '127.0.0.1', adminApiPath: 'admin-api', shopApiPath: 'shop-api' },
  authOptions: { tokenMethod: ['bearer'], requireVerification: false, superadminCredentials: { identifier: 'superadmin', password: 'secret' } },
  dbConnectionOptions: { type: 'mysql', synchronize: what === 'populate', migrations: [], logging: false, host: env.APP_HOST, port: +env.APP_PORT, username: env.APP_USER, password: env.APP_PASSWORD, database: env.APP_DATABASE },
  paymentOptions: { paymentMethodHandlers: [dummyPaymentHandler] },
  customFields: {
    Product: [{ name: 'weight', type: 'float', nullable: true }, { name: 'since', type: 'datetime', nullable: true }, { name: 'motto', type: 'localeString', length: 80 }, { name: 'words', type: 'string', list: true }],
    Customer: [{ name: 'points', type: 'int', defaultValue: 7 }, { name: 'note', type: 'text', nullable: true }],
    OrderLine: [{ name: 'engraving', type: 'string', defaultValue: '' }],
  },
  logger: new DefaultLogger({ level: LogLevel.Warn }),
  plugins: [DefaultJobQueuePlugin.init({ useDatabaseForBuffer: true, pollInterval: 200 })],
};
const data = {
  defaultLanguage: LanguageCode.en, defaultZone: 'Europe',
  countries: [['Austria', 'AT', 'Europe'], ['Deutschland', 'DE', 'Europe'], ['日本', 'JP', 'Asia'], ['United States', 'US', 'Americas']].map(([name, code, zone]) => ({ name, code, zone })),
  taxRates: [{ name: 'Standard Tax', percentage: 20 }, { name: 'Reduced Tax', percentage: 10 }, { name: 'Zero Tax', percentage: 0 }],
  shippingMethods: [{ name: 'Standard Shipping', price: 500 }, { name: 'Express Shipping', price: 1000, taxRate: 20 }],
  paymentMethods: [{ name: 'Dummy', handler: { code: dummyPaymentHandler.code, arguments: [{ name: 'automaticSettle', value: 'false' }] } }],
  collections: [{ name: 'Electronics', filters: [{ code: 'facet-value-filter', args: { facetValueNames: ['Electronics'], containsAny: false } }] },
                { name: 'Computers', parentName: 'Electronics', filters: [{ code: 'facet-value-filter', args: { facetValueNames: ['Computers'], containsAny: false } }] },
                { name: 'Plants', filters: [{ code: 'variant-name-filter', args: { operator: 'contains', term: 'tree' } }] }],
};
(async () => {
  if (what === 'populate') {
    const { populate } = require('@vendure/core/cli');
    const app = await populate(() => bootstrap(config).then(async app => { await app.get(JobQueueService).start(); return app; }), data, path.join(__dirname, 'products.csv'));
    await new Promise(done => setTimeout(done, 3000));
    await app.close();
    process.exit(0);
  } else if (what === 'migration') {
    console.log('made:', await generateMigration(config, { name: 'nothing', outputDir: env.APP_WORK + '/migrations' }));
    process.exit(0);
  } else {
    await bootstrap(config).then(app => app.get(JobQueueService).start());
  }
})().catch(error => { console.error(error); process.exit(1); });
'''
PRODUCTS = '''name,slug,description,assets,facets,optionGroups,optionValues,sku,price,taxCategory,stockOnHand,trackInventory,variantAssets,variantFacets
Laptop,laptop,"Now equipped with ""seventh-generation"" processors; schnell & günstig.",,category:Electronics|category:Computers|brand:Apple,screen size|RAM,13 inch|8GB,L2201308,1299.00,Standard Tax,100,true,,
,,,,,,15 inch|8GB,L2201508,1399.00,Standard Tax,100,true,,
,,,,,,13 inch|16GB,L2201316,2199.00,Standard Tax,100,true,,
,,,,,,15 inch|16GB,L2201516,2299.00,Standard Tax,3,true,,
Tablet,tablet,Touch 😀,,category:Electronics|category:Computers|brand:Apple,storage,32GB,TBL200032,329.00,Standard Tax,100,true,,
,,,,,,128GB,TBL200128,445.00,Standard Tax,0,true,,
Bonsai Tree,bonsai-tree,Excellent semi-evergreen bonsai.,,category:Home & Garden|plant type:Indoor,,,B01MXFLUSV,19.99,Reduced Tax,10,true,,
Orchid,orchid,Gloriously elegant.,,category:Home & Garden|plant type:Indoor,,,ROR00221,65.00,Zero Tax,50,false,,
"100% _wild_ 'thing'",wild,,,brand:日本,,,W1,0.01,Zero Tax,1,true,,
'''


def install(tools):
    place = tools / "vendure"
    if not (place / "done").exists():
        place.mkdir(parents=True, exist_ok=True)
        (place / "package.json").write_text('{"private": true}')
        subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund", f"@vendure/core@{VERSION}", "mysql2@3.24.6"], cwd=place, check=True)
        (place / "done").touch()
    (place / "shop.js").write_text(PROGRAM)
    (place / "products.csv").write_text(PRODUCTS)


def environment(target, database, tools):
    return {"TZ": "UTC"}


def steps(target, database, tools, work):
    program = f"cd {tools}/vendure && APP_WORK={work} exec node shop.js"
    return {"before": [("populate", ["sh", "-c", f"{program} populate"], False), ("migration", ["sh", "-c", f"{program} migration"], _rest.MOMENT)],
            "serve": ["sh", "-c", f"{program} serve"]}


class Graph:
    """One of the two APIs, as somebody: a login's token goes with what follows."""

    def __init__(self, port, path, **headers):
        self.api, self.path = _rest.Rest(port, CLOCK, **headers), path

    def ask(self, query, wrong=False, shown=True, **variables):
        """`wrong`: whether an error is what is wanted. (An error that is one of the answers a mutation may have is none.)"""
        told = self.api.ask("POST", self.path, {"query": query, "variables": variables}, shown=shown)
        token = self.api.told.get("vendure-auth-token")
        if token:
            self.api.headers["Authorization"] = "Bearer " + token
        failed = not isinstance(self.api.answer, dict) or "errors" in self.api.answer
        return "GRAPH", " ".join(query.split())[:90], 200 if told[2] == 200 and failed == wrong else told[3], told[3]

    @property
    def data(self):
        return (self.api.answer or {}).get("data") or {}


def settle(graph):
    """What jobs do is done: none runs or waits, and a moment later, none does either."""
    def idle():
        graph.ask('{ jobs(options: {filter: {state: {in: ["PENDING", "RUNNING", "RETRYING"]}}}) { totalItems } }')
        return graph.data["jobs"]["totalItems"] == 0

    _rest.until(idle)
    time.sleep(2)
    _rest.until(idle)


LOGIN = 'mutation($n: String!, $p: String!) { login(username: $n, password: $p) { __typename ... on CurrentUser { identifier channels { code permissions } } ... on ErrorResult { errorCode message } } }'
LINES = "lines { id quantity unitPriceWithTax linePriceWithTax discountedLinePriceWithTax productVariant { sku } taxLines { description taxRate } }"
ORDER = "__typename ... on Order { id state active couponCodes totalQuantity subTotal subTotalWithTax shippingWithTax totalWithTax discounts { description amountWithTax } " + LINES + " } ... on ErrorResult { errorCode message }"
OUT = "__typename ... on ErrorResult { errorCode message }"


def admin(port):
    graph = Graph(port, "/admin-api")
    yield graph.ask("{ products { totalItems } }", wrong=True)
    yield graph.ask(LOGIN, n="superadmin", p="wrong")
    yield graph.ask(LOGIN, n="superadmin", p="secret")
    yield graph.ask("{ products(options: {sort: {id: ASC}}) { totalItems items { id name slug description enabled facetValues { code } optionGroups { code options { code } } variants { id sku name price priceWithTax stockLevel } } } }")
    yield graph.ask("{ collections(options: {sort: {position: ASC}}) { totalItems items { name slug position parent { name } breadcrumbs { name } filters { code args { name value } } productVariants(options: {sort: {sku: ASC}}) { totalItems items { sku } } } } }")
    yield graph.ask("{ facets(options: {sort: {code: ASC}}) { items { code name values { code name } } } countries(options: {sort: {code: DESC}}) { items { code name enabled } } zones { items { name members { code } } } taxRates(options: {sort: {value: ASC}, filter: {zoneId: {eq: \"1\"}}}) { totalItems } }", shown=False)
    for filters in ('name: {contains: "TA"}', 'name: {notEq: "Laptop"}', 'name: {in: ["Laptop", "Orchid"]}', 'name: {regex: "^[LT]"}', 'description: {contains: "100% _"}', 'slug: {notContains: "tree"}', 'enabled: {eq: true}, sku: {eq: "L2201308"}', '_or: [{name: {eq: "wild"}}, {slug: {eq: "wild"}}]', 'createdAt: {before: "2000-01-01T00:00:00Z"}', 'id: {in: ["1", "3"]}', 'motto: {isNull: true}', 'weight: {gt: 1}'):
        yield graph.ask("{ products(options: {filter: {%s}, sort: {name: DESC}, take: 3, skip: 0}) { totalItems items { name slug } } }" % filters)
    yield graph.ask("{ productVariants(options: {sort: {price: DESC, id: ASC}, take: 5, skip: 2, filter: {price: {between: {start: 100, end: 150000}}}}) { totalItems items { sku price stockOnHand stockAllocated trackInventory } } }")
    yield graph.ask("{ productVariants(options: {sort: {sku: DESC}, filter: {trackInventory: {eq: \"TRUE\"}}}) { totalItems items { sku stockLevels { stockOnHand stockLocation { name } } } } }", shown=False)
    # A product of its own, in two languages, with options and custom fields.
    yield graph.ask("mutation { updateGlobalSettings(input: {availableLanguages: [en, de]}) { __typename ... on GlobalSettings { availableLanguages } } }")
    yield graph.ask('mutation { createProduct(input: {enabled: true, translations: [{languageCode: en, name: "Lamp", slug: "lamp", description: "<p>Light</p>", customFields: {motto: "bright"}}, {languageCode: de, name: "Lämpchen", slug: "laempchen", description: "Licht"}], customFields: {weight: 1.25, since: "1999-12-31T23:59:59.123Z", words: ["a", "ü"]}}) { id slug languageCode translations { languageCode name slug } customFields { weight since words } } }')
    lamp = graph.data["createProduct"]["id"]
    yield graph.ask('mutation { createProduct(input: {translations: [{languageCode: en, name: "Lamp", slug: "lamp", description: ""}]}) { id slug } }')
    twin = graph.data["createProduct"]["id"]
    yield graph.ask('mutation { createProductOptionGroup(input: {code: "colour", translations: [{languageCode: en, name: "Colour"}], options: [{code: "red", translations: [{languageCode: en, name: "Red"}]}, {code: "blue", translations: [{languageCode: en, name: "Blue"}, {languageCode: de, name: "Blau"}]}]}) { id options { id code } } }')
    group = graph.data["createProductOptionGroup"]
    yield graph.ask("mutation($p: ID!, $g: ID!) { addOptionGroupToProduct(productId: $p, optionGroupId: $g) { optionGroups { code } } }", p=lamp, g=group["id"])
    variants = [{"productId": lamp, "sku": f"LAMP-{one['code']}", "price": 1000 + 500 * n, "optionIds": [one["id"]], "stockOnHand": 5 + n, "translations": [{"languageCode": "en", "name": f"Lamp {one['code']}"}]} for n, one in enumerate(group["options"])]
    yield graph.ask("mutation($v: [CreateProductVariantInput!]!) { createProductVariants(input: $v) { id sku price stockLevel options { code } } }", v=variants)
    red, blue = (one["id"] for one in graph.data["createProductVariants"])
    yield graph.ask("mutation($v: [CreateProductVariantInput!]!) { createProductVariants(input: $v) { id } }", v=variants[:1], wrong=True)
    yield graph.ask("mutation($r: ID!, $b: ID!) { updateProductVariants(input: [{id: $r, price: 1100, trackInventory: TRUE}, {id: $b, stockOnHand: 2, outOfStockThreshold: -1, useGlobalOutOfStockThreshold: false}]) { sku price stockOnHand outOfStockThreshold } }", r=red, b=blue)
    yield graph.ask("query($p: ID!) { product(id: $p) { name variantList(options: {sort: {price: DESC}}) { items { sku stockMovements { items { __typename ... on StockAdjustment { quantity } } } } } } }", p=lamp)
    yield graph.ask("mutation($p: ID!) { removeOptionGroupFromProduct(productId: $p, optionGroupId: 999) { __typename } }", p=lamp, wrong=True)
    yield graph.ask('mutation { createFacet(input: {code: "mood", isPrivate: false, translations: [{languageCode: en, name: "Mood"}], values: [{code: "cosy", translations: [{languageCode: en, name: "Cosy"}]}]}) { id values { id } } }')
    cosy = graph.data["createFacet"]["values"][0]["id"]
    yield graph.ask("mutation($p: ID!, $f: [ID!]) { updateProduct(input: {id: $p, facetValueIds: $f}) { facetValues { code facet { code } } } }", p=lamp, f=[cosy])
    yield graph.ask('mutation($f: String!) { createCollection(input: {translations: [{languageCode: en, name: "Cosy", slug: "cosy", description: ""}], filters: [{code: "facet-value-filter", arguments: [{name: "facetValueIds", value: $f}, {name: "containsAny", value: "false"}]}]}) { id name } }', f=json.dumps([cosy]))
    collection = graph.data["createCollection"]["id"]
    found = lambda: graph.ask("query($c: ID!) { collection(id: $c) { productVariants { totalItems } } }", c=collection) and graph.data["collection"]["productVariants"]["totalItems"] == 2
    _rest.until(found, 60)  # by a job
    yield graph.ask("mutation($c: ID!) { moveCollection(input: {collectionId: $c, parentId: 1, index: 0}) { position parent { id } } }", c=collection)
    yield graph.ask("{ collections(options: {topLevelOnly: true, sort: {position: ASC}}) { items { name children { name } } } }")
    yield graph.ask('mutation { createPromotion(input: {enabled: true, couponCode: "TENTH", perCustomerUsageLimit: 1, translations: [{languageCode: en, name: "a tenth"}], conditions: [{code: "minimum_order_amount", arguments: [{name: "amount", value: "1000"}, {name: "taxInclusive", value: "true"}]}], actions: [{code: "order_percentage_discount", arguments: [{name: "discount", value: "10"}]}]}) { __typename ... on Promotion { id name couponCode } } }')
    yield graph.ask('mutation { createPromotion(input: {enabled: true, translations: [{languageCode: en, name: "nothing"}], conditions: [], actions: []}) { __typename ... on ErrorResult { errorCode } } }')
    yield graph.ask('mutation { createCustomerGroup(input: {name: "Friends"}) { id name } }')
    yield graph.ask('mutation { createCustomer(input: {firstName: "Ursula", lastName: "Le Guin", emailAddress: "ursula@example.org", phoneNumber: "1", customFields: {points: 42, note: "日本 😀"}}, password: "secret") { __typename ... on Customer { id emailAddress customFields { points note } } } }')
    ursula = graph.data["createCustomer"]["id"]
    yield graph.ask('mutation { createCustomer(input: {firstName: "U", lastName: "L", emailAddress: "URSULA@example.org"}) { __typename ... on ErrorResult { errorCode message } } }')
    yield graph.ask('mutation($c: ID!) { addCustomersToGroup(customerGroupId: 1, customerIds: [$c]) { customers { totalItems } } }', c=ursula)
    yield graph.ask('mutation($c: ID!) { createCustomerAddress(customerId: $c, input: {fullName: "U", streetLine1: "1 Main", city: "Portland", postalCode: "97201", countryCode: "US", defaultShippingAddress: true}) { id country { name } } }', c=ursula)
    yield graph.ask('mutation($c: ID!) { addNoteToCustomer(input: {id: $c, note: "writes", isPublic: false}) { history(options: {sort: {id: ASC}}) { items { type data } } } }', c=ursula)
    yield graph.ask('mutation { createRole(input: {code: "reader", description: "reads", permissions: [ReadCatalog, ReadOrder]}) { id permissions } }')
    role = graph.data["createRole"]["id"]
    yield graph.ask('mutation($r: ID!) { createAdministrator(input: {firstName: "R", lastName: "R", emailAddress: "reader@example.org", password: "secret", roleIds: [$r]}) { user { roles { code } } } }', r=role)
    reader = Graph(port, "/admin-api")
    yield reader.ask(LOGIN, n="reader@example.org", p="secret")
    yield reader.ask("{ products { totalItems } }")
    yield reader.ask('mutation { deleteProduct(id: 1) { result } }', wrong=True)
    yield graph.ask('mutation { createSeller(input: {name: "other"}) { id } }')
    yield graph.ask('mutation($s: ID!) { createChannel(input: {code: "second", token: "second-token", defaultLanguageCode: de, availableLanguageCodes: [de, en], pricesIncludeTax: true, defaultCurrencyCode: EUR, availableCurrencyCodes: [EUR, USD], defaultTaxZoneId: 1, defaultShippingZoneId: 1, sellerId: $s}) { __typename ... on Channel { id code pricesIncludeTax } } }', s=graph.data["createSeller"]["id"])
    channel = graph.data["createChannel"]["id"]
    yield graph.ask("mutation($p: ID!, $c: ID!) { assignProductsToChannel(input: {productIds: [$p, 3], channelId: $c, priceFactor: 0.5}) { name channels { code } } }", p=lamp, c=channel)
    second = Graph(port, "/shop-api", **{"vendure-token": "second-token"})
    yield second.ask("{ products(options: {sort: {name: ASC}}) { totalItems items { name languageCode variants { sku price priceWithTax currencyCode } } } }")
    yield graph.ask("mutation($p: ID!, $c: ID!) { removeProductsFromChannel(input: {productIds: [$p], channelId: $c}) { channels { code } } }", p=lamp, c=channel)
    yield second.ask("{ products { totalItems } }")
    yield graph.ask("mutation($p: ID!) { deleteProduct(id: $p) { result message } }", p=twin)
    yield graph.ask("mutation { createStockLocation(input: {name: \"Cellar\", description: \"\"}) { id name } }")
    yield graph.ask("{ jobQueues { name running } stockLocations(options: {sort: {name: ASC}}) { items { name } } }", shown=False)


def shop(port):
    guest, customer, graph = Graph(port, "/shop-api"), Graph(port, "/shop-api"), Graph(port, "/admin-api")
    yield graph.ask(LOGIN, n="superadmin", p="secret", shown=False)
    yield guest.ask("{ activeOrder { id } products(options: {sort: {name: ASC}, take: 20}) { totalItems items { name variants { sku priceWithTax stockLevel } } } collections(options: {sort: {name: ASC}}) { items { name productVariants { totalItems } } } }")
    yield guest.ask('{ product(slug: "bonsai-tree") { id name facetValues { name } collections { name } variants { id priceWithTax } } }')
    tree = guest.data["product"]["variants"][0]["id"]
    add = "mutation($v: ID!, $q: Int!) { addItemToOrder(productVariantId: $v, quantity: $q) { " + ORDER + " } }"
    yield guest.ask(add, v=tree, q=2)
    yield guest.ask(add, v=tree, q=100)
    yield guest.ask(add, v="1", q=1)
    yield guest.ask(add, v="6", q=1)
    yield guest.ask(add, v="999", q=1, wrong=True)
    yield guest.ask("{ activeOrder { " + LINES + " } }")
    line = guest.data["activeOrder"]["lines"][0]["id"]
    yield guest.ask("mutation($l: ID!) { adjustOrderLine(orderLineId: $l, quantity: 3) { " + ORDER + " } }", l=line)
    yield guest.ask('mutation { applyCouponCode(couponCode: "NONE") { ' + ORDER + " } }")
    yield guest.ask('mutation { applyCouponCode(couponCode: "TENTH") { ' + ORDER + " } }")
    yield guest.ask('mutation { setCustomerForOrder(input: {firstName: "G", lastName: "Guest", emailAddress: "guest@example.org"}) { ' + ORDER + " } }")
    yield guest.ask('mutation { setOrderShippingAddress(input: {streetLine1: "Straße 1", city: "Wien", postalCode: "1010", countryCode: "AT"}) { ' + ORDER + " } }")
    yield guest.ask("{ eligibleShippingMethods { id code price priceWithTax } }")
    method = guest.data["eligibleShippingMethods"][0]["id"]
    yield guest.ask("mutation($m: [ID!]!) { setOrderShippingMethod(shippingMethodId: $m) { " + ORDER + " } }", m=[method])
    yield guest.ask('mutation { addPaymentToOrder(input: {method: "dummy", metadata: {}}) { ' + ORDER + " } }")
    yield guest.ask('mutation { transitionOrderToState(state: "ArrangingPayment") { ' + ORDER + " } }")
    yield guest.ask('mutation { addPaymentToOrder(input: {method: "dummy", metadata: {shouldDecline: true}}) { ' + ORDER + " } }")
    yield guest.ask('mutation { addPaymentToOrder(input: {method: "dummy", metadata: {public: {note: "ü"}}}) { ' + ORDER + " } }")
    first = guest.data["addPaymentToOrder"].get("id")
    yield guest.ask("{ activeOrder { id } }")
    # A customer, whose cart is merged with that of before the login.
    yield customer.ask(add, v="2", q=1)
    yield customer.ask(LOGIN, n="ursula@example.org", p="secret")
    yield customer.ask(add, v="7", q=1)
    yield customer.ask("{ activeCustomer { firstName addresses { city country { code } } customFields { points } orders { totalItems } } activeOrder { " + LINES + " } }")
    yield customer.ask("mutation { removeAllOrderLines { " + ORDER + " } }")
    yield customer.ask(add, v="5", q=2)
    yield customer.ask('mutation { setOrderShippingAddress(input: {streetLine1: "1", city: "Portland", postalCode: "97201", countryCode: "US"}) { ' + OUT + " } }")
    yield customer.ask("mutation($m: [ID!]!) { setOrderShippingMethod(shippingMethodId: $m) { " + ORDER + " } }", m=[method])
    yield customer.ask('mutation { transitionOrderToState(state: "ArrangingPayment") { ' + ORDER + " } }")
    yield customer.ask('mutation { addPaymentToOrder(input: {method: "dummy", metadata: {}}) { ' + ORDER + " } }")
    other = customer.data["addPaymentToOrder"].get("id")
    yield customer.ask("{ activeCustomer { orders(options: {sort: {createdAt: DESC}}) { totalItems items { state totalWithTax } } } }")
    yield customer.ask('mutation { registerCustomerAccount(input: {emailAddress: "new@example.org", password: "secret", firstName: "N"}) { __typename ... on ErrorResult { errorCode } } }')
    yield customer.ask('mutation { updateCustomer(input: {lastName: "K. Le Guin", customFields: {points: 43}}) { lastName customFields { points } } }')
    # The shop's side of both.
    order = "query($o: ID!) { order(id: $o) { state " + LINES + " payments { id state amount transactionId refunds { total state } } fulfillments { state } history(options: {sort: {id: ASC}}) { items { type isPublic data } } surcharges { price } modifications { priceChange } } }"
    yield graph.ask(order, o=first)
    payment, lines = graph.data["order"]["payments"][-1]["id"], graph.data["order"]["lines"]
    yield graph.ask("mutation($p: ID!) { settlePayment(id: $p) { __typename ... on Payment { state amount } ... on ErrorResult { errorCode message } } }", p=payment)
    fulfil = 'mutation($l: [OrderLineInput!]!) { addFulfillmentToOrder(input: {lines: $l, handler: {code: "manual-fulfillment", arguments: [{name: "method", value: "post"}, {name: "trackingCode", value: "T1"}]}}) { __typename ... on Fulfillment { id state } ... on ErrorResult { errorCode message } } }'
    yield graph.ask(fulfil, l=[{"orderLineId": lines[0]["id"], "quantity": 1}])
    shipped = graph.data["addFulfillmentToOrder"].get("id")
    yield graph.ask(fulfil, l=[{"orderLineId": lines[0]["id"], "quantity": 99}])
    for state in ("Shipped", "Delivered", "Pending"):
        yield graph.ask("mutation($f: ID!, $s: String!) { transitionFulfillmentToState(id: $f, state: $s) { __typename ... on Fulfillment { state nextStates } ... on ErrorResult { errorCode } } }", f=shipped, s=state)
    yield graph.ask("mutation($o: ID!, $l: [OrderLineInput!]) { cancelOrder(input: {orderId: $o, lines: $l, reason: \"too many\", cancelShipping: false}) { __typename ... on Order { state totalWithTax } ... on ErrorResult { errorCode message } } }", o=first, l=[{"orderLineId": lines[0]["id"], "quantity": 1}])
    yield graph.ask("mutation($p: ID!, $l: [OrderLineInput!]!) { refundOrder(input: {lines: $l, shipping: 0, adjustment: 0, amount: 1000, paymentId: $p, reason: \"sorry\"}) { __typename ... on Refund { state total } ... on ErrorResult { errorCode message } } }", p=payment, l=[{"orderLineId": lines[0]["id"], "quantity": 1}])
    yield graph.ask(order, o=first)
    yield graph.ask('mutation($o: ID!) { cancelOrder(input: {orderId: $o}) { __typename ... on Order { state } ... on ErrorResult { errorCode message } } }', o=other)
    yield graph.ask('mutation($o: ID!) { addNoteToOrder(input: {id: $o, note: "gone", isPublic: true}) { history { totalItems } } }', o=other)
    for options in ('sort: {totalWithTax: DESC}', 'filter: {state: {in: ["Cancelled", "PartiallyDelivered"]}}, sort: {id: ASC}', 'filter: {customerLastName: {contains: "guin"}}', 'filter: {totalWithTax: {gt: 10000}}, sort: {customerLastName: ASC}', 'filter: {active: {eq: false}}, sort: {orderPlacedAt: DESC}, take: 1', 'filter: {transactionId: {eq: "x"}}'):
        yield graph.ask("{ orders(options: {%s}) { totalItems items { id state totalQuantity totalWithTax customer { lastName } } } }" % options)
    yield graph.ask('{ customers(options: {sort: {lastName: ASC}, filter: {emailAddress: {contains: "example"}}}) { totalItems items { emailAddress groups { name } orders { totalItems } user { verified lastLogin } } } }')
    yield graph.ask('{ customers(options: {filter: {postalCode: {contains: "97"}}}) { totalItems } }')
    yield graph.ask("{ productVariants(options: {sort: {id: ASC}}) { items { sku stockOnHand stockAllocated stockMovements { items { ... on StockMovement { type quantity } } } } } }")
    # And away again.
    yield graph.ask("mutation { deleteCollection(id: 3) { result } deleteFacet(id: 1, force: false) { result message } }", shown=False)
    yield graph.ask("mutation { deleteFacet(id: 1, force: true) { result } deletePromotion(id: 1) { result } deleteProduct(id: 2) { result } deleteCustomer(id: 1) { result } }")
    yield graph.ask("mutation { deleteZone(id: 1) { result message } deleteCountry(id: 3) { result message } deleteTaxRate(id: 1) { result } deleteProductVariant(id: 1) { result } }")
    settle(graph)
    yield graph.ask("{ products(options: {sort: {id: ASC}}) { items { name variants { sku } } } collections(options: {sort: {id: ASC}}) { items { name productVariants { totalItems } } } }")


def visit(port, target, database, _run):
    yield from admin(port)
    yield from shop(port)
