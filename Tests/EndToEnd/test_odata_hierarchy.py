"""Recursive hierarchies: functions that tell where a node is, and the transformations that go by it."""

import json
import unittest
import urllib.parse

from harness import ROOT, GatewayTest

MODEL = ROOT / "Tests/EndToEnd/models/branches.csdl.xml"
SERVICE = "/odata/v4/branches/"

# What is above each branch.
ABOVE = {
    "All": None, "Europe": "All", "America": "All", "North": "Europe", "South": "Europe", "East": "America",
    "Coast": "East", "Island": None,
}
# By branch: what was sold.
SALES = {"Europe": [1.5], "North": [2, 4], "South": [8], "Coast": [16, 32.25], "Island": [64], None: [128]}
TREE = "$root/Branches,BranchTree,ID"


def path(branch):
    """The branch and all above it."""
    return [] if branch is None else [branch, *path(ABOVE[branch])]


def below(branch):
    return {name for name in ABOVE if branch in path(name)}


def total(branches):
    amounts = [amount for name in branches for amount in SALES.get(name, [])]
    return sum(amounts) if amounts else None


class Hierarchy(GatewayTest):
    settings = (
        "--set", f"adapters.odata.services.branches.model={MODEL}",
        "--set", "adapters.odata.services.branches.access=public",
        "--set", "adapters.odata.services.branches.search=[Branches/Name]")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for name, above in ABOVE.items():
            cls.create("Branches", {"ID": name, "Name": f"The {name}", "AboveID": above})
        amounts = [(branch, amount) for branch, amounts in SALES.items() for amount in amounts]
        for number, (branch, amount) in enumerate(amounts):
            cls.create("Sales", {"ID": number, "Amount": amount, "BranchID": branch})

    @classmethod
    def create(cls, entities, value):
        answer = cls.gateway.request(
            "POST", SERVICE + entities, json.dumps(value), {"Content-Type": "application/json"}, user="alice")
        assert answer.status == 201, answer

    def get(self, request, status=200, **headers):
        address = SERVICE + urllib.parse.quote(request, safe="/?&=$(),'@:;*!%+-._~")
        return self.expect(self.gateway.request("GET", address, None, headers), status).json()

    def values(self, request):
        return self.get(request)["value"]

    def ids(self, request):
        return [row["ID"] for row in self.values(request)]

    def test_the_model_says_so(self):
        answer = self.gateway.request("GET", SERVICE + "$metadata", None, {"Accept": "application/xml"})
        self.assertIn(b"RecursiveHierarchy", answer.body)
        self.assertIn(b"BranchTree", answer.body)

    def test_what_the_model_says_of_apply_is_true(self):
        answer = self.gateway.request("GET", SERVICE + "$metadata", None, {"Accept": "application/json"})
        container = answer.json()["Company"]["Container"]
        support = container["@Org.OData.Aggregation.V1.ApplySupportedDefaults"]
        self.assertIn("Org.OData.Aggregation.V1", json.dumps(answer.json()["$Reference"]))
        taken = set()
        for steps in (
            "identity", "filter(Name ne 'x')", "search(North)", "compute(length(Name) as L)", "orderby(Name)", "skip(1)",
            "top(2)", "concat(identity,top(1))", "groupby((AboveID))", "aggregate($count as N)", "nest(top(1) as X)",
            "addnested(Sales,top(1) as X)", "join(Sales as S)", "outerjoin(Sales as S)", f"ancestors({TREE},top(1))",
            f"descendants({TREE},top(1))", f"traverse({TREE},preorder)",
            *(f"{end}{by}(1,length(ID))" for end in ("top", "bottom") for by in ("count", "sum", "percent")),
        ):
            with self.subTest(steps):
                self.values(f"Branches?$apply={steps}")
                taken.add(steps.partition("(")[0])
        self.assertEqual(set(support["Transformations"]), taken)
        self.assertTrue(support["From"])
        self.values("Sales?$apply=aggregate(Amount with sum from BranchID with max as Most)")
        self.values("Sales?$apply=groupby((rollup(null,BranchID),rollup(null,Branch/AboveID)),aggregate($count as N))")

    def test_functions_tell_where_a_node_is(self):
        def found(call):
            nodes = "HierarchyNodes=$root/Branches,HierarchyQualifier='BranchTree'"
            return set(self.ids(f"Branches?$filter=Aggregation.{call.replace('(', f'({nodes},')}"))

        roots = {name for name, above in ABOVE.items() if above is None}
        self.assertEqual(found("isroot(Node=ID)"), roots)
        self.assertEqual(found("isleaf(Node=ID)"), set(ABOVE) - set(ABOVE.values()))
        self.assertEqual(found("isnode(Node=AboveID)"), set(ABOVE) - roots)
        for name in ABOVE:
            with self.subTest(name):
                self.assertEqual(found(f"isdescendant(Node=ID,Ancestor='{name}')"), below(name) - {name})
                self.assertEqual(found(f"isdescendant(Node=ID,Ancestor='{name}',IncludeSelf=true)"), below(name))
                self.assertEqual(
                    found(f"isdescendant(Node=ID,Ancestor='{name}',MaxDistance=1)"),
                    {other for other, above in ABOVE.items() if above == name})
                self.assertEqual(found(f"isancestor(Node=ID,Descendant='{name}')"), set(path(name)) - {name})
                self.assertEqual(
                    found(f"issibling(Node=ID,Other='{name}')"),
                    {other for other in ABOVE if ABOVE[other] == ABOVE[name]} - {name})

    def test_what_is_of_nodes_is_found_by_where_they_are(self):
        call = "Aggregation.isdescendant(HierarchyNodes=$root/Branches,HierarchyQualifier='BranchTree',Node=Branch/ID,Ancestor=@top)"
        rows = self.values(f"Sales?$filter={call}&@top='Europe'")
        self.assertEqual(sorted(row["BranchID"] for row in rows), ["North", "North", "South"])

    def test_ancestors_and_descendants(self):
        for name in ABOVE:
            start = f"{TREE},filter(ID eq '{name}')"
            with self.subTest(name):
                self.assertEqual(set(self.ids(f"Branches?$apply=descendants({start})")), below(name) - {name})
                self.assertEqual(set(self.ids(f"Branches?$apply=descendants({start},keep start)")), below(name))
                self.assertEqual(set(self.ids(f"Branches?$apply=ancestors({start})")), set(path(name)) - {name})
                self.assertEqual(set(self.ids(f"Branches?$apply=ancestors({start},1)")), {ABOVE[name]} - {None})
        self.assertEqual(
            set(self.ids(f"Branches?$apply=ancestors({TREE},filter(contains(Name,'o')),keep start)")),
            {above for name in ABOVE if "o" in name for above in path(name)})

    def test_a_traversal_has_pages_too(self):
        def walk(above, reverse=False):
            for name in sorted((name for name in ABOVE if ABOVE[name] == above), reverse=reverse):
                yield name
                yield from walk(name, reverse)

        expected = {
            "preorder": list(walk(None)), "preorder,Name desc": list(walk(None, True)),
            "postorder": list(walk(None, True))[::-1], "postorder,Name desc": list(walk(None))[::-1],
        }
        for order, names in expected.items():
            request, found = f"Branches?$apply=traverse({TREE},{order})&$count=true", []
            while request:
                page = self.get(request, Prefer="maxpagesize=3")
                found += [row["ID"] for row in page["value"]]
                self.assertEqual(page["@odata.count"], len(ABOVE))
                request = urllib.parse.unquote(page.get("@odata.nextLink", "").partition(SERVICE)[2])
            self.assertEqual(found, names, order)

    def test_each_node_is_returned_with_its_descendants(self):
        rows = self.values(
            "Sales?$apply=groupby((rolluprecursive($root/Branches,BranchTree,Branch/ID)),aggregate(Amount with sum as Total,$count as N))")
        self.assertEqual({row["Branch"]["ID"]: row["Total"] for row in rows}, {name: total(below(name)) for name in ABOVE})
        for row in rows:
            self.assertEqual(row["Branch"]["Name"], f"The {row['Branch']['ID']}")
        rows = self.values(
            f"Branches?$apply=groupby((rolluprecursive({TREE})),aggregate($count as N))/filter(N gt 1)/orderby(N desc)")
        self.assertEqual(
            {row["ID"]: row["N"] for row in rows},
            {name: len(below(name)) for name in ABOVE if len(below(name)) > 1})
        part = f"descendants({TREE},filter(ID eq 'America'),keep start)"
        rows = self.values(
            f"Sales?$apply=groupby((rolluprecursive($root/Branches,BranchTree,BranchID,{part})),topcount(1,Amount))&$orderby=BranchID")
        self.assertEqual([(row["BranchID"], row["Amount"]) for row in rows], [("America", 32.25), ("Coast", 32.25), ("East", 32.25)])

    def test_what_is_above_is_expanded(self):
        rows = self.values(f"Branches?$apply=descendants({TREE},filter(ID eq 'America'),keep start)&$expand=Above($select=ID)")
        self.assertEqual(
            {row["ID"]: row["Above"]["ID"] for row in rows}, {name: ABOVE[name] for name in below("America")})
        page = self.get(f"Branches?$apply=groupby((rolluprecursive({TREE})),aggregate($count as N))&$expand=Above/$ref")
        self.assertEqual(
            {row["ID"]: row["Above"] and row["Above"]["@odata.id"].rpartition("/")[2] for row in page["value"]},
            {name: above and f"Branches('{above}')" for name, above in ABOVE.items()})
        self.assertEqual(
            [len(row["Sales"]) for row in self.values("Branches?$apply=topcount(1,length(ID))&$expand=Sales")],
            [len(SALES.get(max(ABOVE, key=len), []))])

    def test_what_is_no_hierarchy_is_refused(self):
        for request, status in (
            ("Branches?$apply=descendants($root/Branches,Nothing,ID,filter(ID eq 'All'))", 400),
            ("Branches?$apply=descendants($root/Sales,BranchTree,ID,filter(ID eq 'All'))", 400),
            ("Branches?$apply=traverse($root/Branches,BranchTree,Nothing,preorder)", 400),
            (f"Branches?$apply=descendants({TREE},filter(ID eq 'All'),1001)", 400),
            ("Branches?$filter=Aggregation.isroot(HierarchyNodes=$root/Branches,HierarchyQualifier='BranchTree')", 400),
            (f"Branches?$apply=traverse({TREE},preorder,filter(ID eq 'All'),Name)", 501),
        ):
            with self.subTest(request):
                error = self.get(request, status)["error"]
                self.assertTrue(error["message"])


if __name__ == "__main__":
    unittest.main()
