"""The 22 queries of TPC-H over files of several formats, against the answers of DuckDB over Parquet.

    pip install duckdb==2.0.1 tpchgen-cli==4.0.0
    python tests/reference/python/sql_tpch.py PROGRAM [SCALE [FORMAT...]]
    python tests/reference/python/sql_tpch.py --answers crates/wharf-sql/tests/data/tpch.json

The first generates the tables (SCALE 0.1), writes them in each FORMAT (parquet idv zds msgpack) with PROGRAM, which is `wharf-sql`, runs all queries
with it and with DuckDB, compares the answers and prints the times. The second writes queries and answers at scale 0.01 for the tests of `wharf-sql`,
which generate the same tables. Numbers may differ in the last digits: DuckDB computes with decimals, formats without them with doubles.
"""

import datetime
import decimal
import json
import math
import pathlib
import subprocess
import sys
import tempfile
import time

import duckdb

# The columns of each table: name and, where a format keeps another type, d for a date and m for an amount of money.
TABLES = {
    "region": "r_regionkey r_name r_comment",
    "nation": "n_nationkey n_name n_regionkey n_comment",
    "supplier": "s_suppkey s_name s_address s_nationkey s_phone s_acctbal:m s_comment",
    "customer": "c_custkey c_name c_address c_nationkey c_phone c_acctbal:m c_mktsegment c_comment",
    "part": "p_partkey p_name p_mfgr p_brand p_type p_size p_container p_retailprice:m p_comment",
    "partsupp": "ps_partkey ps_suppkey ps_availqty ps_supplycost:m ps_comment",
    "orders": "o_orderkey o_custkey o_orderstatus o_totalprice:m o_orderdate:d o_orderpriority o_clerk o_shippriority o_comment",
    "lineitem": "l_orderkey l_partkey l_suppkey l_linenumber l_quantity:m l_extendedprice:m l_discount:m l_tax:m l_returnflag l_linestatus l_shipdate:d l_commitdate:d l_receiptdate:d l_shipinstruct l_shipmode l_comment",
}

# The queries with the parameters of the specification's validation, but for tables that are one hundredth as large.
QUERIES = {
    "q01": """SELECT l_returnflag, l_linestatus, sum(l_quantity) AS sum_qty, sum(l_extendedprice) AS sum_base_price,
        sum(l_extendedprice * (1 - l_discount)) AS sum_disc_price, sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)) AS sum_charge,
        avg(l_quantity) AS avg_qty, avg(l_extendedprice) AS avg_price, avg(l_discount) AS avg_disc, count(*) AS count_order
        FROM lineitem WHERE l_shipdate <= DATE '1998-09-02'
        GROUP BY l_returnflag, l_linestatus ORDER BY l_returnflag, l_linestatus""",
    "q02": """SELECT s_acctbal, s_name, n_name, p_partkey, p_mfgr, s_address, s_phone, s_comment
        FROM part, supplier, partsupp, nation, region
        WHERE p_partkey = ps_partkey AND s_suppkey = ps_suppkey AND p_size = 15 AND p_type LIKE '%BRASS' AND s_nationkey = n_nationkey
        AND n_regionkey = r_regionkey AND r_name = 'EUROPE' AND ps_supplycost = (SELECT min(ps_supplycost) FROM partsupp, supplier, nation, region
            WHERE p_partkey = ps_partkey AND s_suppkey = ps_suppkey AND s_nationkey = n_nationkey AND n_regionkey = r_regionkey AND r_name = 'EUROPE')
        ORDER BY s_acctbal DESC, n_name, s_name, p_partkey LIMIT 100""",
    "q03": """SELECT l_orderkey, sum(l_extendedprice * (1 - l_discount)) AS revenue, o_orderdate, o_shippriority
        FROM customer, orders, lineitem
        WHERE c_mktsegment = 'BUILDING' AND c_custkey = o_custkey AND l_orderkey = o_orderkey
        AND o_orderdate < DATE '1995-03-15' AND l_shipdate > DATE '1995-03-15'
        GROUP BY l_orderkey, o_orderdate, o_shippriority ORDER BY revenue DESC, o_orderdate LIMIT 10""",
    "q04": """SELECT o_orderpriority, count(*) AS order_count FROM orders
        WHERE o_orderdate >= DATE '1993-07-01' AND o_orderdate < DATE '1993-10-01'
        AND EXISTS (SELECT * FROM lineitem WHERE l_orderkey = o_orderkey AND l_commitdate < l_receiptdate)
        GROUP BY o_orderpriority ORDER BY o_orderpriority""",
    "q05": """SELECT n_name, sum(l_extendedprice * (1 - l_discount)) AS revenue FROM customer, orders, lineitem, supplier, nation, region
        WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND l_suppkey = s_suppkey AND c_nationkey = s_nationkey AND s_nationkey = n_nationkey
        AND n_regionkey = r_regionkey AND r_name = 'ASIA' AND o_orderdate >= DATE '1994-01-01' AND o_orderdate < DATE '1995-01-01'
        GROUP BY n_name ORDER BY revenue DESC""",
    "q06": """SELECT sum(l_extendedprice * l_discount) AS revenue FROM lineitem
        WHERE l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1995-01-01' AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24""",
    "q07": """SELECT supp_nation, cust_nation, l_year, sum(volume) AS revenue FROM (
            SELECT n1.n_name AS supp_nation, n2.n_name AS cust_nation, extract(year FROM l_shipdate) AS l_year, l_extendedprice * (1 - l_discount) AS volume
            FROM supplier, lineitem, orders, customer, nation n1, nation n2
            WHERE s_suppkey = l_suppkey AND o_orderkey = l_orderkey AND c_custkey = o_custkey AND s_nationkey = n1.n_nationkey AND c_nationkey = n2.n_nationkey
            AND ((n1.n_name = 'FRANCE' AND n2.n_name = 'GERMANY') OR (n1.n_name = 'GERMANY' AND n2.n_name = 'FRANCE'))
            AND l_shipdate BETWEEN DATE '1995-01-01' AND DATE '1996-12-31') AS shipping
        GROUP BY supp_nation, cust_nation, l_year ORDER BY supp_nation, cust_nation, l_year""",
    "q08": """SELECT o_year, sum(CASE WHEN nation = 'BRAZIL' THEN volume ELSE 0 END) / sum(volume) AS mkt_share FROM (
            SELECT extract(year FROM o_orderdate) AS o_year, l_extendedprice * (1 - l_discount) AS volume, n2.n_name AS nation
            FROM part, supplier, lineitem, orders, customer, nation n1, nation n2, region
            WHERE p_partkey = l_partkey AND s_suppkey = l_suppkey AND l_orderkey = o_orderkey AND o_custkey = c_custkey AND c_nationkey = n1.n_nationkey
            AND n1.n_regionkey = r_regionkey AND r_name = 'AMERICA' AND s_nationkey = n2.n_nationkey
            AND o_orderdate BETWEEN DATE '1995-01-01' AND DATE '1996-12-31' AND p_type = 'ECONOMY ANODIZED STEEL') AS all_nations
        GROUP BY o_year ORDER BY o_year""",
    "q09": """SELECT nation, o_year, sum(amount) AS sum_profit FROM (
            SELECT n_name AS nation, extract(year FROM o_orderdate) AS o_year, l_extendedprice * (1 - l_discount) - ps_supplycost * l_quantity AS amount
            FROM part, supplier, lineitem, partsupp, orders, nation
            WHERE s_suppkey = l_suppkey AND ps_suppkey = l_suppkey AND ps_partkey = l_partkey AND p_partkey = l_partkey AND o_orderkey = l_orderkey
            AND s_nationkey = n_nationkey AND p_name LIKE '%green%') AS profit
        GROUP BY nation, o_year ORDER BY nation, o_year DESC""",
    "q10": """SELECT c_custkey, c_name, sum(l_extendedprice * (1 - l_discount)) AS revenue, c_acctbal, n_name, c_address, c_phone, c_comment
        FROM customer, orders, lineitem, nation
        WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND o_orderdate >= DATE '1993-10-01' AND o_orderdate < DATE '1994-01-01'
        AND l_returnflag = 'R' AND c_nationkey = n_nationkey
        GROUP BY c_custkey, c_name, c_acctbal, c_phone, n_name, c_address, c_comment ORDER BY revenue DESC, c_custkey LIMIT 20""",
    "q11": """SELECT ps_partkey, sum(ps_supplycost * ps_availqty) AS value FROM partsupp, supplier, nation
        WHERE ps_suppkey = s_suppkey AND s_nationkey = n_nationkey AND n_name = 'GERMANY'
        GROUP BY ps_partkey HAVING sum(ps_supplycost * ps_availqty) > (SELECT sum(ps_supplycost * ps_availqty) * 0.01 FROM partsupp, supplier, nation
            WHERE ps_suppkey = s_suppkey AND s_nationkey = n_nationkey AND n_name = 'GERMANY')
        ORDER BY value DESC, ps_partkey""",
    "q12": """SELECT l_shipmode, sum(CASE WHEN o_orderpriority = '1-URGENT' OR o_orderpriority = '2-HIGH' THEN 1 ELSE 0 END) AS high_line_count,
        sum(CASE WHEN o_orderpriority <> '1-URGENT' AND o_orderpriority <> '2-HIGH' THEN 1 ELSE 0 END) AS low_line_count
        FROM orders, lineitem WHERE o_orderkey = l_orderkey AND l_shipmode IN ('MAIL', 'SHIP') AND l_commitdate < l_receiptdate AND l_shipdate < l_commitdate
        AND l_receiptdate >= DATE '1994-01-01' AND l_receiptdate < DATE '1995-01-01'
        GROUP BY l_shipmode ORDER BY l_shipmode""",
    "q13": """SELECT c_count, count(*) AS custdist FROM (
            SELECT c_custkey, count(o_orderkey) AS c_count FROM customer LEFT OUTER JOIN orders ON c_custkey = o_custkey AND o_comment NOT LIKE '%special%requests%'
            GROUP BY c_custkey) AS c_orders
        GROUP BY c_count ORDER BY custdist DESC, c_count DESC""",
    "q14": """SELECT 100.00 * sum(CASE WHEN p_type LIKE 'PROMO%' THEN l_extendedprice * (1 - l_discount) ELSE 0 END) / sum(l_extendedprice * (1 - l_discount)) AS promo_revenue
        FROM lineitem, part WHERE l_partkey = p_partkey AND l_shipdate >= DATE '1995-09-01' AND l_shipdate < DATE '1995-10-01'""",
    "q15": """WITH revenue AS (SELECT l_suppkey AS supplier_no, round(sum(l_extendedprice * (1 - l_discount)), 2) AS total_revenue FROM lineitem
            WHERE l_shipdate >= DATE '1996-01-01' AND l_shipdate < DATE '1996-04-01' GROUP BY l_suppkey)
        SELECT s_suppkey, s_name, s_address, s_phone, total_revenue FROM supplier, revenue
        WHERE s_suppkey = supplier_no AND total_revenue = (SELECT max(total_revenue) FROM revenue) ORDER BY s_suppkey""",
    "q16": """SELECT p_brand, p_type, p_size, count(DISTINCT ps_suppkey) AS supplier_cnt FROM partsupp, part
        WHERE p_partkey = ps_partkey AND p_brand <> 'Brand#45' AND p_type NOT LIKE 'MEDIUM POLISHED%' AND p_size IN (49, 14, 23, 45, 19, 3, 36, 9)
        AND ps_suppkey NOT IN (SELECT s_suppkey FROM supplier WHERE s_comment LIKE '%Customer%Complaints%')
        GROUP BY p_brand, p_type, p_size ORDER BY supplier_cnt DESC, p_brand, p_type, p_size LIMIT 100""",
    "q17": """SELECT sum(l_extendedprice) / 7.0 AS avg_yearly FROM lineitem, part
        WHERE p_partkey = l_partkey AND p_brand = 'Brand#23' AND p_container = 'MED BOX'
        AND l_quantity < (SELECT 0.2 * avg(l_quantity) FROM lineitem WHERE l_partkey = p_partkey)""",
    "q18": """SELECT c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice, sum(l_quantity) AS quantity FROM customer, orders, lineitem
        WHERE o_orderkey IN (SELECT l_orderkey FROM lineitem GROUP BY l_orderkey HAVING sum(l_quantity) > 250)
        AND c_custkey = o_custkey AND o_orderkey = l_orderkey
        GROUP BY c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice ORDER BY o_totalprice DESC, o_orderdate, o_orderkey LIMIT 100""",
    "q19": """SELECT sum(l_extendedprice * (1 - l_discount)) AS revenue FROM lineitem, part
        WHERE (p_partkey = l_partkey AND p_brand = 'Brand#12' AND p_container IN ('SM CASE', 'SM BOX', 'SM PACK', 'SM PKG')
            AND l_quantity >= 1 AND l_quantity <= 11 AND p_size BETWEEN 1 AND 5 AND l_shipmode IN ('AIR', 'AIR REG') AND l_shipinstruct = 'DELIVER IN PERSON')
        OR (p_partkey = l_partkey AND p_brand = 'Brand#23' AND p_container IN ('MED BAG', 'MED BOX', 'MED PKG', 'MED PACK')
            AND l_quantity >= 10 AND l_quantity <= 20 AND p_size BETWEEN 1 AND 10 AND l_shipmode IN ('AIR', 'AIR REG') AND l_shipinstruct = 'DELIVER IN PERSON')
        OR (p_partkey = l_partkey AND p_brand = 'Brand#34' AND p_container IN ('LG CASE', 'LG BOX', 'LG PACK', 'LG PKG')
            AND l_quantity >= 20 AND l_quantity <= 30 AND p_size BETWEEN 1 AND 15 AND l_shipmode IN ('AIR', 'AIR REG') AND l_shipinstruct = 'DELIVER IN PERSON')""",
    "q20": """SELECT s_name, s_address FROM supplier, nation
        WHERE s_suppkey IN (SELECT ps_suppkey FROM partsupp WHERE ps_partkey IN (SELECT p_partkey FROM part WHERE p_name LIKE 'forest%')
            AND ps_availqty > (SELECT 0.5 * sum(l_quantity) FROM lineitem WHERE l_partkey = ps_partkey AND l_suppkey = ps_suppkey
                AND l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1995-01-01'))
        AND s_nationkey = n_nationkey AND n_name = 'CANADA' ORDER BY s_name""",
    "q21": """SELECT s_name, count(*) AS numwait FROM supplier, lineitem l1, orders, nation
        WHERE s_suppkey = l1.l_suppkey AND o_orderkey = l1.l_orderkey AND o_orderstatus = 'F' AND l1.l_receiptdate > l1.l_commitdate
        AND EXISTS (SELECT * FROM lineitem l2 WHERE l2.l_orderkey = l1.l_orderkey AND l2.l_suppkey <> l1.l_suppkey)
        AND NOT EXISTS (SELECT * FROM lineitem l3 WHERE l3.l_orderkey = l1.l_orderkey AND l3.l_suppkey <> l1.l_suppkey AND l3.l_receiptdate > l3.l_commitdate)
        AND s_nationkey = n_nationkey AND n_name = 'SAUDI ARABIA' GROUP BY s_name ORDER BY numwait DESC, s_name LIMIT 100""",
    "q22": """SELECT cntrycode, count(*) AS numcust, sum(c_acctbal) AS totacctbal FROM (
            SELECT substring(c_phone FROM 1 FOR 2) AS cntrycode, c_acctbal FROM customer
            WHERE substring(c_phone FROM 1 FOR 2) IN ('13', '31', '23', '29', '30', '18', '17')
            AND c_acctbal > (SELECT avg(c_acctbal) FROM customer WHERE c_acctbal > 0.00 AND substring(c_phone FROM 1 FOR 2) IN ('13', '31', '23', '29', '30', '18', '17'))
            AND NOT EXISTS (SELECT * FROM orders WHERE o_custkey = c_custkey)) AS custsale
        GROUP BY cntrycode ORDER BY cntrycode""",
}


def generate(folder, scale):
    subprocess.run(["tpchgen-cli", "parquet", "-s", str(scale), "--output-dir", folder], check=True)


def columns(table):
    return [(name, kind) for name, _, kind in (column.partition(":") for column in TABLES[table].split())]


def written(table, extension, source):
    """The query that writes a table: amounts as doubles where a format has no decimals, and a key where it needs one."""
    money = lambda name, kind: f"CAST({name} AS DOUBLE) AS {name}" if kind == "m" else name
    selected = ", ".join(name if extension == "parquet" else money(name, kind) for name, kind in columns(table))
    key = {"zds": "_id", "msgpack": "key"}.get(extension)
    return f"SELECT {f'CAST(row_number() OVER () AS VARCHAR) AS {key}, ' if key else ''}{selected} FROM '{source}'"


def view(table, extension, path):
    """A view with the dates that a format keeps as texts."""
    date = lambda name, kind: f"CAST({name} AS DATE) AS {name}" if kind == "d" else name
    selected = ", ".join(date(name, kind) if extension in ("zds", "msgpack") else name for name, kind in columns(table))
    return f"CREATE VIEW {table} AS SELECT {selected} FROM '{path}'"


def value(cell):
    """A value as JSON, as wharf-sql prints it."""
    match cell:
        case decimal.Decimal():
            return int(cell) if cell == cell.to_integral_value() else float(cell)
        case datetime.date():
            return cell.isoformat()
        case _:
            return cell


def alike(one, other):
    if isinstance(one, str) and isinstance(other, (int, float)):
        one = float(one)  # decimals are shown as texts
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        return math.isclose(one, other, rel_tol=1e-6, abs_tol=1e-5)
    if isinstance(one, str):
        one = one.removesuffix("T00:00:00")  # dates are timestamps in IDV
    return one == other


def answers(connection):
    """The rows of each query, and the time that it took."""
    results = {}
    for name, sql in QUERIES.items():
        start = time.perf_counter()
        rows = connection.execute(sql).fetchall()
        results[name] = [[value(cell) for cell in row] for row in rows], time.perf_counter() - start
    return results


def duck(folder):
    connection = duckdb.connect(config={"threads": 2})
    for table in TABLES:
        connection.execute(f"CREATE VIEW {table} AS SELECT * FROM '{folder}/{table}.parquet'")
    return connection


def write_answers(output):
    with tempfile.TemporaryDirectory() as folder:
        generate(folder, 0.01)
        results = answers(duck(folder))
    lines = [json.dumps({"name": name, "sql": " ".join(QUERIES[name].split()), "rows": rows}) for name, (rows, _) in results.items()]
    pathlib.Path(output).write_text("[\n" + ",\n".join(lines) + "\n]\n")
    print(f"{len(lines)} queries, {sum(not rows for rows, _ in results.values())} without rows")


def compare(program, scale="0.1", *formats):
    with tempfile.TemporaryDirectory() as folder:
        generate(folder, scale)
        expected = answers(duck(folder))
        wrong = 0
        for extension in formats or ("parquet", "idv", "zds", "msgpack"):
            views = []
            for table in TABLES:
                source, path = f"{folder}/{table}.parquet", f"{folder}/of_{extension}/{table}.{extension}"
                pathlib.Path(path).parent.mkdir(exist_ok=True)
                if extension == "parquet":
                    path = source
                else:
                    subprocess.run([program, written(table, extension, source), "-o", path], check=True, capture_output=True)
                views.append(view(table, extension, path) + ";\n")
            script = pathlib.Path(folder) / "views.sql"
            script.write_text("".join(views))
            times = []
            for name, sql in QUERIES.items():
                start = time.perf_counter()
                run = subprocess.run([program, "-f", script, sql, "--threads", "2"], capture_output=True, text=True)
                times.append(time.perf_counter() - start)
                rows, duck_time = expected[name]
                found = [list(json.loads(line).values()) for line in run.stdout.splitlines()]
                same = run.returncode == 0 and len(found) == len(rows)
                same = same and all(alike(one, other) for one, other in zip(sum(found, []), sum(rows, [])))
                wrong += not same
                print(f"{extension:8} {name}: {len(rows):4} rows, {times[-1]:6.2f} s, DuckDB {duck_time:5.2f} s{'' if same else f', WRONG: {run.stderr} {found[:3]}, expected {rows[:3]}'}")
            print(f"{extension:8} all: {sum(times):.2f} s; DuckDB over Parquet {sum(seconds for _, seconds in expected.values()):.2f} s")
    sys.exit(f"{wrong} answers are wrong" if wrong else 0)


if __name__ == "__main__":
    write_answers(sys.argv[2]) if sys.argv[1] == "--answers" else compare(*sys.argv[1:])
