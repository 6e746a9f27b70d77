"""TPC-H-shaped tables, the same for the same scale: sizes, keys, dates, prices and word lists as the specification says
(chapter 4.2), as far as the queries ask for them. Comments are random words of the specification's lists, not its grammar."""
import datetime
import random

SCHEMA = """
CREATE TABLE region (r_regionkey INT NOT NULL PRIMARY KEY, r_name CHAR(25) NOT NULL, r_comment VARCHAR(152));
CREATE TABLE nation (n_nationkey INT NOT NULL PRIMARY KEY, n_name CHAR(25) NOT NULL, n_regionkey INT NOT NULL, n_comment VARCHAR(152), KEY (n_regionkey));
CREATE TABLE supplier (s_suppkey INT NOT NULL PRIMARY KEY, s_name CHAR(25) NOT NULL, s_address VARCHAR(40) NOT NULL, s_nationkey INT NOT NULL,
  s_phone CHAR(15) NOT NULL, s_acctbal DECIMAL(15,2) NOT NULL, s_comment VARCHAR(101) NOT NULL, KEY (s_nationkey));
CREATE TABLE part (p_partkey INT NOT NULL PRIMARY KEY, p_name VARCHAR(55) NOT NULL, p_mfgr CHAR(25) NOT NULL, p_brand CHAR(10) NOT NULL,
  p_type VARCHAR(25) NOT NULL, p_size INT NOT NULL, p_container CHAR(10) NOT NULL, p_retailprice DECIMAL(15,2) NOT NULL, p_comment VARCHAR(23) NOT NULL);
CREATE TABLE partsupp (ps_partkey INT NOT NULL, ps_suppkey INT NOT NULL, ps_availqty INT NOT NULL, ps_supplycost DECIMAL(15,2) NOT NULL,
  ps_comment VARCHAR(199) NOT NULL, PRIMARY KEY (ps_partkey, ps_suppkey), KEY (ps_suppkey));
CREATE TABLE customer (c_custkey INT NOT NULL PRIMARY KEY, c_name VARCHAR(25) NOT NULL, c_address VARCHAR(40) NOT NULL, c_nationkey INT NOT NULL,
  c_phone CHAR(15) NOT NULL, c_acctbal DECIMAL(15,2) NOT NULL, c_mktsegment CHAR(10) NOT NULL, c_comment VARCHAR(117) NOT NULL, KEY (c_nationkey));
CREATE TABLE orders (o_orderkey INT NOT NULL PRIMARY KEY, o_custkey INT NOT NULL, o_orderstatus CHAR(1) NOT NULL, o_totalprice DECIMAL(15,2) NOT NULL,
  o_orderdate DATE NOT NULL, o_orderpriority CHAR(15) NOT NULL, o_clerk CHAR(15) NOT NULL, o_shippriority INT NOT NULL, o_comment VARCHAR(79) NOT NULL,
  KEY (o_custkey));
CREATE TABLE lineitem (l_orderkey INT NOT NULL, l_partkey INT NOT NULL, l_suppkey INT NOT NULL, l_linenumber INT NOT NULL, l_quantity DECIMAL(15,2) NOT NULL,
  l_extendedprice DECIMAL(15,2) NOT NULL, l_discount DECIMAL(15,2) NOT NULL, l_tax DECIMAL(15,2) NOT NULL, l_returnflag CHAR(1) NOT NULL,
  l_linestatus CHAR(1) NOT NULL, l_shipdate DATE NOT NULL, l_commitdate DATE NOT NULL, l_receiptdate DATE NOT NULL, l_shipinstruct CHAR(25) NOT NULL,
  l_shipmode CHAR(10) NOT NULL, l_comment VARCHAR(44) NOT NULL, PRIMARY KEY (l_orderkey, l_linenumber), KEY (l_partkey, l_suppkey), KEY (l_suppkey));
"""

TABLES = ["region", "nation", "supplier", "part", "partsupp", "customer", "orders", "lineitem"]

REGIONS = ["AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST"]
NATIONS = [
    ("ALGERIA", 0), ("ARGENTINA", 1), ("BRAZIL", 1), ("CANADA", 1), ("EGYPT", 4), ("ETHIOPIA", 0), ("FRANCE", 3), ("GERMANY", 3), ("INDIA", 2),
    ("INDONESIA", 2), ("IRAN", 4), ("IRAQ", 4), ("JAPAN", 2), ("JORDAN", 4), ("KENYA", 0), ("MOROCCO", 0), ("MOZAMBIQUE", 0), ("PERU", 1),
    ("CHINA", 2), ("ROMANIA", 3), ("SAUDI ARABIA", 4), ("VIETNAM", 2), ("RUSSIA", 3), ("UNITED KINGDOM", 3), ("UNITED STATES", 1),
]
COLORS = """almond antique aquamarine azure beige bisque black blanched blue blush brown burlywood burnished chartreuse chiffon chocolate coral
cornflower cornsilk cream cyan dark deep dim dodger drab firebrick floral forest frosted gainsboro ghost goldenrod green grey honeydew hot indian
ivory khaki lace lavender lawn lemon light lime linen magenta maroon medium metallic midnight mint misty moccasin navajo navy olive orange orchid
pale papaya peach peru pink plum powder puff purple red rose rosy royal saddle salmon sandy seashell sienna sky slate smoke snow spring steel tan
thistle tomato turquoise violet wheat white yellow""".split()
TYPES = [["STANDARD", "SMALL", "MEDIUM", "LARGE", "ECONOMY", "PROMO"], ["ANODIZED", "BURNISHED", "PLATED", "POLISHED", "BRUSHED"],
         ["TIN", "NICKEL", "BRASS", "STEEL", "COPPER"]]
CONTAINERS = [["SM", "LG", "MED", "JUMBO", "WRAP"], ["CASE", "BOX", "BAG", "JAR", "PKG", "PACK", "CAN", "DRUM"]]
SEGMENTS = ["AUTOMOBILE", "BUILDING", "FURNITURE", "MACHINERY", "HOUSEHOLD"]
PRIORITIES = ["1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW"]
INSTRUCTIONS = ["DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN"]
MODES = ["REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB"]
WORDS = """packages requests accounts deposits foxes ideas theodolites pinto beans instructions dependencies excuses platelets asymptotes courts
dolphins sleep wake are cajole haggle nag use boost affix detect integrate furiously quickly fluffily slyly carefully blithely special pending
unusual express final regular ironic even bold silent about above according across after against along among around at""".split()

START = datetime.date(1992, 1, 1)
TODAY = (datetime.date(1995, 6, 17) - START).days
LAST_ORDER = (datetime.date(1998, 12, 31) - START).days - 151
DATES = [str(START + datetime.timedelta(days)) for days in range(2600)]


def money(cents):
    sign, cents = ("-", -cents) if cents < 0 else ("", cents)
    return f"{sign}{cents // 100}.{cents % 100:02d}"


def generate(scale, directory, seed=19920101):
    """Writes a file of tab-separated rows for each table."""
    rng = random.Random(seed)
    pick, number = rng.choice, rng.randrange

    def text(length):
        words = []
        while length > 0:
            words.append(pick(WORDS))
            length -= len(words[-1]) + 1
        return " ".join(words)

    def comment(most):
        return text(number(most * 4 // 10, most - 8))[:most]

    def phone(nation):
        return f"{nation + 10}-{number(100, 1000)}-{number(100, 1000)}-{number(1000, 10000)}"

    def table(name, rows):
        with open(directory / f"{name}.tsv", "w") as out:
            for row in rows:
                out.write("\t".join(map(str, row)) + "\n")

    suppliers, parts, customers, orders = (int(n * scale) for n in (10_000, 200_000, 150_000, 1_500_000))
    price = lambda part: 90_000 + part // 10 % 20_001 + 100 * (part % 1000)
    supplier_of = lambda part, i: (part + i * (suppliers // 4 + (part - 1) // suppliers)) % suppliers + 1
    table("region", ((i, name, comment(100)) for i, name in enumerate(REGIONS)))
    table("nation", ((i, name, region, comment(100)) for i, (name, region) in enumerate(NATIONS)))

    def supplier():
        complaints = set(rng.sample(range(1, suppliers + 1), max(suppliers // 1000, 2)))
        for i in range(1, suppliers + 1):
            nation = number(25)
            said = f"{comment(40)} Customer {text(6)} {'Complaints' if i % 2 else 'Recommends'}" if i in complaints else comment(101)
            yield i, f"Supplier#{i:09d}", comment(40), nation, phone(nation), money(number(-99_999, 1_000_000)), said[:101]

    def part():
        for i in range(1, parts + 1):
            maker = number(1, 6)
            yield (i, " ".join(rng.sample(COLORS, 5)), f"Manufacturer#{maker}", f"Brand#{maker}{number(1, 6)}", " ".join(map(pick, TYPES)), number(1, 51),
                   " ".join(map(pick, CONTAINERS)), money(price(i)), comment(23))

    def partsupp():
        for i in range(1, parts + 1):
            for n in range(4):
                yield i, supplier_of(i, n), number(1, 10_000), money(number(100, 100_001)), comment(199)

    def customer():
        for i in range(1, customers + 1):
            nation = number(25)
            yield i, f"Customer#{i:09d}", comment(40), nation, phone(nation), money(number(-99_999, 1_000_000)), pick(SEGMENTS), comment(117)

    table("supplier", supplier())
    table("part", part())
    table("partsupp", partsupp())
    table("customer", customer())
    with open(directory / "orders.tsv", "w") as order_file, open(directory / "lineitem.tsv", "w") as line_file:
        for i in range(orders):
            # Eight keys of each 32 are used; a third of the customers order nothing.
            key = i // 8 * 32 + i % 8 + 1
            who = number(1, customers + 1)
            while who % 3 == 0:
                who = number(1, customers + 1)
            ordered = number(0, LAST_ORDER + 1)
            total, open_lines, lines = 0, 0, number(1, 8)
            for line in range(1, lines + 1):
                item, quantity, discount, tax = number(1, parts + 1), number(1, 51), number(11), number(9)
                cost = quantity * price(item)
                total += cost * (100 + tax) * (100 - discount) // 10_000
                shipped = ordered + number(1, 122)
                received = shipped + number(1, 31)
                flag = pick("RA") if received <= TODAY else "N"
                status = "O" if shipped > TODAY else "F"
                open_lines += status == "O"
                line_file.write(
                    f"{key}\t{item}\t{supplier_of(item, number(4))}\t{line}\t{quantity}\t{money(cost)}\t0.{discount:02d}\t0.{tax:02d}\t{flag}\t{status}\t"
                    f"{DATES[shipped]}\t{DATES[ordered + number(30, 91)]}\t{DATES[received]}\t{pick(INSTRUCTIONS)}\t{pick(MODES)}\t{comment(44)}\n")
            status = "O" if open_lines == lines else "F" if open_lines == 0 else "P"
            order_file.write(f"{key}\t{who}\t{status}\t{money(total)}\t{DATES[ordered]}\t{pick(PRIORITIES)}\tClerk#{number(1, int(1000 * scale) + 1):09d}\t0\t{comment(79)}\n")
