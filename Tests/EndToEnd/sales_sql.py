"""Generated aggregations and expansions, each as a request of OData and as SQL of the same rows.

A view of each table has the columns of all that its single-valued navigation properties lead to, by their paths, so that a
path of OData is a column of SQL. Conditions have OData's logic: `eq` and `ne` compare null as a value, the other
comparisons with null are false.
"""

import random
import sqlite3

TABLES = {
    "Regions": ["ID", "Name", "AboveID"], "Customers": ["ID", "Name", "Country", "Credit", "RegionID"],
    "Products": ["ID", "Name", "Kind", "Weight"],
    "Sales": ["ID", "Amount", "Quantity", "Price", "Paid", "Day", "Note", "CustomerID", "ProductID"],
}
KINDS = {
    "ID": "number", "AboveID": "number", "RegionID": "number", "CustomerID": "number", "ProductID": "number", "Credit": "number",
    "Amount": "number", "Quantity": "number", "Weight": "number", "Price": "number", "Paid": "flag", "Day": "day",
    "Name": "text", "Country": "text", "Kind": "text", "Note": "text",
}
# Single-valued navigation: property, its set, and the column that names it.
ONE = {
    "Regions": [("Above", "Regions", "AboveID")], "Customers": [("Region", "Regions", "RegionID")], "Products": [],
    "Sales": [("Customer", "Customers", "CustomerID"), ("Product", "Products", "ProductID")],
}
# Collections: property, its set, and that set's column.
MANY = {
    "Regions": [("Customers", "Customers", "RegionID")], "Customers": [("Sales", "Sales", "CustomerID")],
    "Products": [("Sales", "Sales", "ProductID")], "Sales": [],
}
TEXTS = ["Anna", "Bo", "anna", "it's", "\u00c4rger", "b", "A", "", "Bo Bo", "z%_"]


def quoted(name):
    return f'"{name}"'


def literal(value):
    return "'" + value.replace("'", "''") + "'"


def rows(seed):
    """What both sides have: nulls, equal values and rows without relations among them."""
    chance = random.Random(seed)

    def maybe(value):
        return None if chance.random() < 0.15 else value

    made = {"Regions": [], "Customers": [], "Products": [], "Sales": []}
    for number in range(1, 7):
        made["Regions"].append((number, maybe(chance.choice(TEXTS)), maybe(chance.randint(1, number - 1)) if number > 1 else None))
    for number in range(1, 31):
        made["Customers"].append((
            number, maybe(chance.choice(TEXTS)), maybe(chance.choice(["DE", "FR", "US"])), maybe(chance.randint(-5, 20) * 10),
            maybe(chance.randint(1, 6))))
    for number in range(1, 16):
        made["Products"].append((
            number, maybe(chance.choice(TEXTS)), maybe(chance.choice(["food", "tool", "toy"])), maybe(chance.randint(0, 40) / 4)))
    for number in range(1, 241):
        made["Sales"].append((
            number, maybe(chance.randint(-3, 12)), maybe(chance.randint(1, 5)), maybe(chance.randint(0, 200) / 4), maybe(chance.random() < 0.5),
            maybe(f"2024-0{chance.randint(1, 9)}-1{chance.randint(0, 9)}"), maybe(chance.choice(TEXTS)), maybe(chance.randint(1, 30)),
            maybe(chance.randint(1, 15))))
    return made


class Database:
    def __init__(self, made):
        self.connection = sqlite3.connect(":memory:")
        for table, columns in TABLES.items():
            self.connection.execute(f"CREATE TABLE {table} ({', '.join(columns)})")
            marks = ",".join("?" * len(columns))
            self.connection.executemany(f"INSERT INTO {table} VALUES ({marks})", made[table])
        for table in TABLES:
            columns, joins = self.columns(table)
            received = ", ".join(f"{expression} AS {quoted(path)}" for path, expression in columns)
            self.connection.execute(f"CREATE VIEW all_{table} AS SELECT {received} FROM {table} AS t {' '.join(joins)}")

    @staticmethod
    def columns(table, alias="t", path="", depth=0):
        columns, joins = [(path + column, f"{alias}.{column}") for column in TABLES[table]], []
        for name, target, column in ONE[table] if depth < 2 else []:
            inner = f"{alias}_{name}"
            joins.append(f"LEFT JOIN {target} AS {inner} ON {inner}.ID = {alias}.{column}")
            more, further = Database.columns(target, inner, f"{path}{name}/", depth + 1)
            columns, joins = columns + more, joins + further
        return columns, joins

    def query(self, sql):
        cursor = self.connection.execute(sql)
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row)) for row in cursor.fetchall()]


class Generator:
    def __init__(self, seed):
        self.chance = random.Random(seed)

    def one(self, *choices):
        return self.chance.choice(choices)

    def some(self, items, least, most):
        items = list(items)
        return self.chance.sample(items, min(len(items), self.chance.randint(least, most)))

    # Columns and expressions: of OData and of SQL. `at` is what stands before a path in each.

    def paths(self, table, kinds, depth=2):
        found = [column for column in TABLES[table] if KINDS[column] in kinds]
        for name, target, _ in ONE[table] if depth else []:
            found += [f"{name}/{path}" for path in self.paths(target, kinds, depth - 1)]
        return found

    def column(self, table, kind, at, depth=2):
        path = self.one(*self.paths(table, [kind], depth))
        return at[0] + path, at[1] + quoted(path)

    def number(self, table, at, depth=0):
        if depth < 2 and self.chance.random() < 0.3:
            (left, a), (right, b) = self.number(table, at, depth + 1), self.number(table, at, depth + 1)
            word, sign = self.one(("add", "+"), ("sub", "-"), ("mul", "*"))
            return f"({left} {word} {right})", f"({a} {sign} {b})"
        if depth and self.chance.random() < 0.25:
            value = self.chance.randint(-3, 9)
            return (f"({value})", f"({value})") if value < 0 else (self.one(f"{value}", f"+{value}"), f"{value}")
        if depth and self.chance.random() < 0.1 and self.paths(table, ["text"]):
            text, sql = self.column(table, "text", at)
            return f"length({text})", f"length({sql})"
        return self.column(table, "number", at)

    def condition(self, table, at=("", ""), depth=0):
        if depth < 2 and self.chance.random() < 0.35:
            (left, a), (right, b) = self.condition(table, at, depth + 1), self.condition(table, at, depth + 1)
            return self.one(
                (f"({left}) and ({right})", f"(({a}) AND ({b}))"), (f"({left}) or ({right})", f"(({a}) OR ({b}))"),
                (f"not ({left})", f"(NOT ({a}))"))
        kind = self.one("number", "number", "text", "list", "has", "flag", "day", "many")
        if kind == "many" and MANY[table] and depth < 2:
            return self.of_many(table, at, depth)
        if kind == "flag" and self.paths(table, ["flag"]):
            text, sql = self.column(table, "flag", at)
            return self.one((text, sql), (f"{text} eq true", f"({sql} IS 1)"), (f"{text} ne true", f"({sql} IS NOT 1)"))
        if kind == "day" and self.paths(table, ["day"]):
            (text, sql), day = self.column(table, "day", at), f"2024-0{self.chance.randint(1, 9)}-15"
            return self.compared(text, sql, day, f"'{day}'")
        if kind == "has":
            (text, sql), part = self.column(table, "text", at), self.one("b", "A", "it's", "", "_")
            word, sign = self.one(("contains", ">="), ("startswith", "="))
            return f"{word}({text},{literal(part)})", f"(instr({sql}, {literal(part)}) {sign} 1)"
        if kind == "list":
            (text, sql), values = self.column(table, "number", at), [self.chance.randint(-2, 12) for _ in range(self.chance.randint(0, 4))]
            received = ",".join(self.one(str(value), f"{value:+}") for value in values)
            return f"{text} in ({received})", f"(IFNULL({sql} IN ({','.join(map(str, values))}), 0))"
        if kind in ("text", "many"):
            (text, sql), value = self.column(table, "text", at), self.one(*TEXTS, None)
            received = "null" if value is None else literal(value)
            return self.compared(text, sql, received, "NULL" if value is None else literal(value))
        left, right = self.number(table, at), self.number(table, at, 1)
        return self.compared(*left, *right)

    def compared(self, left, a, right, b):
        word, sign = self.one(("eq", "IS"), ("ne", "IS NOT"), ("gt", ">"), ("ge", ">="), ("lt", "<"), ("le", "<="))
        return f"{left} {word} {right}", f"({a} {sign} {b})" if "IS" in sign else f"(IFNULL({a} {sign} {b}, 0))"

    def of_many(self, table, at, depth):
        name, target, column = self.one(*MANY[table])
        alias = f"m{depth}{self.chance.randint(0, 10**9)}"
        own = f"{alias}.{quoted(column)} = {at[1]}{quoted('ID')}"
        if not at[1]:
            own = f"{alias}.{quoted(column)} = outermost.{quoted('ID')}"
        rows = f"FROM all_{target} AS {alias} WHERE {own}"
        kind = self.one("any", "all", "count")
        if kind == "count":
            (inner, sql), number = self.condition(target, ("", alias + "."), depth + 1), self.chance.randint(0, 5)
            return self.compared(f"{at[0]}{name}/$count($filter={inner})", f"(SELECT COUNT(*) {rows} AND {sql})", str(number), str(number))
        inner, sql = self.condition(target, ("x/" if depth == 0 else f"x{depth}/", alias + "."), depth + 1)
        variable = "x" if depth == 0 else f"x{depth}"
        if kind == "any":
            return f"{at[0]}{name}/any({variable}:{inner})", f"EXISTS(SELECT 1 {rows} AND {sql})"
        return f"{at[0]}{name}/all({variable}:{inner})", f"NOT EXISTS(SELECT 1 {rows} AND NOT IFNULL({sql}, 0))"

    # Aggregation. A result is SQL whose columns are the paths; a rollup has rows that lack columns.

    def aggregates(self, table):
        """Of the rows' own values: what OData says, what SQL says, and its name."""
        made = []
        for number in range(self.chance.randint(1, 3)):
            name = f"A{number}"
            if self.chance.random() < 0.25:
                made.append((f"$count as {name}", "COUNT(*)", name))
                continue
            method, sql = self.one(
                ("sum", "SUM({})"), ("min", "MIN({})"), ("max", "MAX({})"), ("average", "AVG({})"), ("countdistinct", "COUNT(DISTINCT {})"))
            kinds = ["number", "text", "day"] if method == "countdistinct" else ["number", "day"] if method in ("min", "max") else ["number"]
            own = [column for column in TABLES[table] if KINDS[column] in kinds]
            if method in ("sum", "average") and self.chance.random() < 0.4:
                left, right = self.one(*own), self.one(*own)
                text, column = f"{left} mul {right}", f"{quoted(left)} * {quoted(right)}"
            else:
                text = self.one(*own)
                column = quoted(text)
                # In a concat, values of one name are of one kind.
                name = f"D{number}" if KINDS[text] == "day" and method != "countdistinct" else name
            made.append((f"{text} with {method} as {name}", sql.format(column), name))
        return made

    def apply(self, table, where=None):
        """Steps, and the SELECTs whose rows are the result, each with its columns. `where` narrows what they begin with."""
        condition, steps = where, []
        if self.chance.random() < 0.5:
            text, sql = self.condition(table)
            steps.append(f"filter({text})")
            condition = sql if condition is None else f"{condition} AND ({sql})"
        rows = f"all_{table} AS outermost" + (f" WHERE {condition}" if condition else "")
        shape = self.one("plain", "group", "group", "group", "rollup", "rollup", "concat", "again", "related", "best")
        if shape == "related" and not (ONE[table] or MANY[table]):
            shape = "group"
        make = getattr(self, "apply_" + shape)
        more, selects = make(table, rows)
        return "/".join(steps + more), selects

    def apply_plain(self, table, rows):
        made = self.aggregates(table)
        columns = [name for _, _, name in made]
        received = ", ".join(f"{sql} AS {quoted(name)}" for _, sql, name in made)
        return [f"aggregate({','.join(text for text, _, _ in made)})"], [(f"SELECT {received} FROM {rows}", columns)]

    def keys(self, table, least=1, most=3):
        return self.some(self.paths(table, ["text", "number", "flag", "day"]), least, most)

    def grouped(self, keys, made, rows, having=None):
        received = ", ".join([quoted(key) for key in keys] + [f"{sql} AS {quoted(name)}" for _, sql, name in made])
        by = f" GROUP BY {', '.join(quoted(key) for key in keys)}" if keys else ""
        sql = f"SELECT {received} FROM {rows}{by}"
        if having:
            sql = f"SELECT * FROM ({sql}) WHERE {having}"
        return sql, keys + [name for _, _, name in made]

    def having(self, made):
        if not made or self.chance.random() < 0.6:
            return "", None
        (_, sql, name), number = self.one(*made), self.chance.randint(0, 20)
        if sql.startswith(("MIN", "MAX")) and '"Day"' in sql:
            return "", None
        text, sql = self.compared(name, quoted(name), str(number), str(number))
        return f"/filter({text})", sql

    def apply_group(self, table, rows):
        keys, made = self.keys(table), self.aggregates(table) if self.chance.random() < 0.85 else []
        text, sql = self.having(made)
        behind = f",aggregate({','.join(one for one, _, _ in made)})" if made else ""
        # The filter stands within the group's sequence or behind it.
        inside, outside = ("", text) if not made or self.chance.random() < 0.5 else (text, "")
        return [f"groupby(({','.join(keys)}){behind}{inside}){outside}"], [self.grouped(keys, made, rows, sql)]

    def apply_rollup(self, table, rows):
        keys = self.keys(table, 2, 4)
        cut = self.chance.randint(0, len(keys) - 2)
        alone, levels = keys[:cut], keys[cut:]
        made = self.aggregates(table)
        total = self.chance.random() < 0.3
        received = ",".join([*alone, f"rollup({','.join((['null'] if total else []) + levels)})"])
        sets = [alone + levels[:count] for count in range(0 if total else 1, len(levels) + 1)]
        text, sql = self.having(made)
        return (
            [f"groupby(({received}),aggregate({','.join(one for one, _, _ in made)}){text})"],
            [self.grouped(keys, made, rows, sql) for keys in sets])

    def apply_concat(self, table, rows):
        parts = [getattr(self, f"apply_{self.one('plain', 'group', 'rollup')}")(table, rows) for _ in range(2)]
        return [f"concat({','.join('/'.join(steps) for steps, _ in parts)})"], [one for _, selects in parts for one in selects]

    def apply_again(self, table, rows):
        """Groups of groups."""
        keys, number = self.keys(table, 2, 3), self.one(*[column for column in TABLES[table] if KINDS[column] == "number"])
        inner, _ = self.grouped(keys, [("", f"SUM({quoted(number)})", "S")], rows)
        method, sql = self.one(("sum", "SUM"), ("max", "MAX"), ("average", "AVG"), ("countdistinct", "COUNT(DISTINCT "))
        value = f"{sql}{quoted('S')})" if sql.endswith(" ") else f"{sql}({quoted('S')})"
        steps = f"groupby(({','.join(keys)}),aggregate({number} with sum as S))/groupby(({keys[0]}),aggregate(S with {method} as M,$count as N))"
        return [steps], [self.grouped(keys[:1], [("", value, "M"), ("", "COUNT(*)", "N")], f"({inner})")]

    def apply_related(self, table, rows):
        """What navigation properties lead to: each entity counts once in a group."""
        keys = self.keys(table, 0, 2)
        many = bool(MANY[table]) and (not ONE[table] or self.chance.random() < 0.7)
        name, target, column = self.one(*(MANY if many else ONE)[table])
        value = self.one(*[own for own in TABLES[target] if KINDS[own] == "number"])
        method, function = self.one(("sum", "SUM"), ("max", "MAX"), ("min", "MIN"), ("average", "AVG"))
        link = f"r.{quoted(column)} = g.{quoted('ID')}" if many else f"r.{quoted('ID')} = g.{quoted(column)}"
        received = "".join(f"g.{quoted(key)} AS {quoted(key)}, " for key in keys)
        base = f"(SELECT * FROM {rows}) AS g"
        once = f"SELECT DISTINCT {received}r.{quoted('ID')} AS related, r.{quoted(value)} AS value FROM {base} JOIN {target} AS r ON {link}"
        same = " AND ".join(f"o.{quoted(key)} IS k.{quoted(key)}" for key in keys) or "1"
        listed = ", ".join(f"k.{quoted(key)} AS {quoted(key)}" for key in keys)
        groups = f"SELECT {', '.join(quoted(key) for key in keys) + ', ' if keys else ''}COUNT(*) AS N FROM {rows}"
        groups += f" GROUP BY {', '.join(quoted(key) for key in keys)}" if keys else ""
        sql = f"SELECT {listed + ', ' if keys else ''}k.N AS N, (SELECT {function}(o.value) FROM ({once}) AS o WHERE {same}) AS V FROM ({groups}) AS k"
        aggregate = f"aggregate({name}/{value} with {method} as V,$count as N)"
        return [f"groupby(({','.join(keys)}),{aggregate})" if keys else aggregate], [(sql, keys + ["V", "N"])]

    def apply_best(self, table, rows):
        count, (word, way) = self.chance.randint(1, 9), self.one(("topcount", "DESC"), ("bottomcount", "ASC"))
        keys, made = self.keys(table, 1, 2), self.aggregates(table)
        best = f"(SELECT * FROM {rows} ORDER BY {quoted('ID')} {way} LIMIT {count})"
        behind = f"groupby(({','.join(keys)}),aggregate({','.join(one for one, _, _ in made)}))"
        return [f"{word}({count},ID)", behind], [self.grouped(keys, made, best)]

    # Expansion.

    def level(self, table, depth=0):
        """What is asked of one level's entities."""
        level = {"table": table, "filter": None, "order": [], "top": None, "skip": 0, "count": False, "select": None, "apply": None, "inner": []}
        if self.chance.random() < 0.4:
            level["filter"] = self.condition(table)
        for path in self.some(self.paths(table, ["text", "number", "day"], 1), 0, 2):
            level["order"].append((path, self.one("", " desc")))
        # The key at the end: no two rows are alike.
        level["order"].append(("ID", self.one("", " desc")))
        if self.chance.random() < 0.35:
            level["top"] = self.chance.randint(0, 4) if depth else self.chance.randint(1, 12)
        if self.chance.random() < 0.2:
            level["skip"] = self.chance.randint(0, 3)
        level["count"] = self.chance.random() < 0.25
        if self.chance.random() < 0.4:
            level["select"] = self.some(TABLES[table], 1, 3)
        if depth < 3:
            for name, target, column in self.some(MANY[table], 0 if depth else 1, 1):
                if self.chance.random() < 0.75 or not depth:
                    inner = self.level(target, depth + 1)
                    if self.chance.random() < 0.3:
                        inner["apply"] = self.chance.randint(0, 2**40)
                    level["inner"].append((name, True, column, inner))
            for name, target, column in self.some(ONE[table], 0 if MANY[table] or depth else 1, 2):
                inner = self.level(target, depth + 1)
                inner.update(filter=None, order=[], top=None, skip=0, count=False)
                level["inner"].append((name, False, column, inner))
        return level

    @staticmethod
    def options(level, text=None):
        """As OData has it; `text`: what is applied."""
        options = []
        if text is not None:
            return [f"$apply={text}"]
        if level["filter"]:
            options.append(f"$filter={level['filter'][0]}")
        if level["order"]:
            options.append("$orderby=" + ",".join(path + way for path, way in level["order"]))
        if level["top"] is not None:
            options.append(f"$top={level['top']}")
        if level["skip"]:
            options.append(f"$skip={level['skip']}")
        if level["count"]:
            options.append("$count=true")
        if level["select"]:
            options.append("$select=" + ",".join(level["select"]))
        inner = []
        for name, _, column, below in level["inner"]:
            steps = None
            if below["apply"] is not None:
                steps, _ = Generator(below["apply"]).apply(below["table"])
            own = ";".join(Generator.options(below, steps))
            inner.append(f"{name}({own})" if own else name)
        if inner:
            options.append("$expand=" + ",".join(inner))
        return options
