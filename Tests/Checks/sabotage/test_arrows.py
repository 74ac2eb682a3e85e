from case import SabotageCase


class Arrows(SabotageCase):
    rule = "arrows"

    def test_a_dependency_against_the_table_is_refused(self):
        self.house.edit("Tests/Checks/rooms.json", '"rooms": ["Cellar"]', '"rooms": []')
        self.assert_refused("Package.swift: [arrows] Parlour may not depend on Cellar")

    def test_a_room_that_the_table_does_not_know_is_refused(self):
        self.house.edit("Package.swift", "    targets: [\n", '    targets: [\n        .target(name: "Attic"),\n')
        self.house.write("Sources/Attic/Trunk.swift", "")
        self.assert_refused("Package.swift: [arrows] room Attic is not in Tests/Checks/rooms.json")

    def test_a_table_that_points_outwards_is_refused(self):
        self.house.edit("Tests/Checks/rooms.json", '"Keeps", "rooms": []', '"Keeps", "rooms": ["Parlour"]')
        self.assert_refused("Tests/Checks/rooms.json: [arrows] Cellar → Parlour points outwards or nowhere")


class Table(SabotageCase):
    rule = "table"

    def test_a_document_that_differs_from_the_table_is_refused(self):
        self.house.edit("docs/ARCHITECTURE.md", "Receives", "Receives and keeps")
        self.assert_refused(
            "docs/ARCHITECTURE.md: [table] differs from rooms.json; run `python3 Tests/Checks --write-table`")
