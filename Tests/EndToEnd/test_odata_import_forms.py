"""Which forms of values an import takes, and what it says of those that it does not."""

import json
import pathlib
import tempfile
import unittest

from harness import ROOT, GatewayTest, run_portico

MODEL = """<edmx:Edmx xmlns:edmx="http://docs.oasis-open.org/odata/ns/edmx" Version="4.01"><edmx:DataServices>
<Schema xmlns="http://docs.oasis-open.org/odata/ns/edm" Namespace="F"><EntityType Name="Row"><Key><PropertyRef Name="ID"/></Key>
<Property Name="ID" Type="Edm.Int32" Nullable="false"/><Property Name="Flag" Type="Edm.Boolean"/><Property Name="Day" Type="Edm.Date"/>
<Property Name="At" Type="Edm.DateTimeOffset" Precision="6"/><Property Name="Small" Type="Edm.Byte"/><Property Name="Price" Type="Edm.Decimal" Scale="2"/>
<Property Name="Text" Type="Edm.String" MaxLength="3"/></EntityType>
<EntityContainer Name="C"><EntitySet Name="Rows" EntityType="F.Row"/></EntityContainer></Schema></edmx:DataServices></edmx:Edmx>"""


class Forms(GatewayTest):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="portico-forms-")
        model = pathlib.Path(cls.folder.name, "forms.csdl.xml")
        model.write_text(MODEL)
        cls.settings = (
            "--set", f"adapters.odata.services.forms.model={model}", "--set", "adapters.odata.services.forms.access=public")
        super().setUpClass()

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        cls.folder.cleanup()

    def load(self, text, ending="csv"):
        path = pathlib.Path(self.folder.name, f"rows.{ending}")
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return run_portico(
            "odata", "import", "forms", "Rows", path, "--mode", "replace", "--data", self.gateway.data, program="porticoctl")

    def test_the_forms_of_sqlite_are_read(self):
        done = self.load(
            "ID,Flag,Day,At\n1,1,2024-01-31,2024-01-31 10:30:00\n2,0,2024-02-29 00:00:00,2024-01-31 10:30:00.250\n"
            "3,TRUE,2024-01-31,2024-01-31T10:30\n4,false,2024-01-31,2024-01-31 10:30:00+02:00\n5,1,2024-01-31,2024-01-31\n")
        self.assertEqual(done.returncode, 0, done)
        rows = self.gateway.get("/odata/v4/forms/Rows").json()["value"]
        self.assertEqual([row["Flag"] for row in rows], [True, False, True, False, True])
        self.assertEqual(rows[1]["Day"], "2024-02-29")
        self.assertEqual(
            [row["At"] for row in rows],
            ["2024-01-31T10:30:00Z", "2024-01-31T10:30:00.25Z", "2024-01-31T10:30:00Z", "2024-01-31T08:30:00Z", "2024-01-31T00:00:00Z"])

    def test_truth_values_are_numbers_in_json_too(self):
        self.assertEqual(self.load(json.dumps([{"ID": 1, "Flag": 1}, {"ID": 2, "Flag": 0}]), "json").returncode, 0)
        self.assertNotEqual(self.load(json.dumps([{"ID": 1, "Flag": 2}]), "json").returncode, 0)

    def test_a_refused_value_is_told_with_its_place_and_the_form_that_is_wanted(self):
        for column, value, wanted in [
            ("Flag", "maybe", "true, false, 1 or 0"), ("Day", "31.1.2024", "2024-01-31"), ("At", "yesterday", "2024-01-31T10:30:00Z"),
            ("Day", "2024-02-30", "2024-01-31"), ("Small", "256", "0 to 255"), ("Small", "1.5", "0 to 255"), ("Price", "1.234", "12.5"),
            ("Text", "long", "a text"),
        ]:
            with self.subTest(f"{column}={value}"):
                done = self.load(f"ID,{column}\n1,\n2,{value}\n")
                self.assertEqual(done.returncode, 1, done)
                for part in ("line 3", column, f'"{value}"', wanted):
                    self.assertIn(part, done.stderr)

    def test_bytes_that_are_no_text_are_told_with_line_and_column(self):
        done = self.load(b"ID,Text\n1,ab\n2,\xff\xfe\n")
        self.assertEqual(done.returncode, 1, done)
        self.assertIn("line 3", done.stderr)
        self.assertIn("Text", done.stderr)


if __name__ == "__main__":
    unittest.main()
