from case import SabotageCase


class Text(SabotageCase):
    rule = "text"

    def test_the_host_of_a_package_registry_is_refused(self):
        host = "pypi" + ".org"
        self.house.write("Makefile", f"install:\n\tpip install --index-url https://{host}/simple\n")
        self.assert_refused(
            f"Makefile:2: [text] `{host}` names the host of a package registry; the machine's own settings choose it")

    def test_an_absolute_path_of_one_machine_is_refused(self):
        for place in ["work", "root", "opt/swift"]:
            path = f"/{place}"
            self.house.write("README.md", f"See {path}/main.\n")
            code, found = self.house.findings(self.rule)
            self.assertEqual((1, 1), (code, len(found)))
            self.assertIn("holds an absolute path of one machine", found[0])

    def test_a_relative_path_of_the_same_name_is_not(self):
        self.house.write("README.md", "See docs/work/first.md and at/rooted.\n")
        self.assert_accepted()

    def test_a_committed_resolution_is_refused(self):
        self.house.write("Package.resolved", "{}\n")
        self.assert_refused("Package.resolved: [text] Package.resolved must not be committed")

    def test_foundations_codecs_are_refused_in_a_room_and_allowed_in_tests(self):
        self.house.write("Tests/ParlourTests/GuestTests.swift", "let oracle = JSONEncoder()\n")
        self.assert_accepted()
        self.house.write("Sources/Cellar/Jar.swift", "let codec = JSONEncoder()\n")
        self.assert_refused(
            "Sources/Cellar/Jar.swift:1: [text] `JSONEncoder` Foundation's codecs are oracles in tests only; "
            "use WireFormats")
        self.house.edit("Tests/Checks/rooms.json", '"outside": []', '"outside": [], "foundationCodecs": "a reason"')
        self.assert_accepted()


class Traps(SabotageCase):
    rule = "traps"

    def test_each_kind_is_refused_in_a_room_and_allowed_in_tests(self):
        kinds = {
            "let a = Dictionary(uniqueKeysWithValues: pairs)": "uniqueKeysWithValues:",
            "let a = try! read()": "try!",
            "let a = value as! Jar": "as!",
            "guard let a else { fatalError() }": "fatalError(",
            "precondition(a > 0)": "precondition(",
            "let a = jars.first!.lid": "!",
            "let a = jars[key]!": "!",
            "let a = abs(number)": "abs(",
            "let a = UInt8(number)": "UInt8(",
            "let a = Int32(text.count)": "Int32(",
            "jars.removeFirst(number)": ".removeFirst(",
            "let a = HTTPField.Name(text)": "HTTPField.Name(",
        }
        for line, spelling in kinds.items():
            with self.subTest(line):
                self.house.write("Tests/ParlourTests/GuestTests.swift", line + "\n")
                self.house.write("Sources/Cellar/Jar.swift", "\n")
                self.assert_accepted()
                self.house.write("Sources/Cellar/Jar.swift", "\n" + line + "\n")
                code, found = self.house.findings(self.rule)
                self.assertEqual((1, 1), (code, len(found)), found)
                self.assertIn(f"Sources/Cellar/Jar.swift:2: [traps] `{spelling}`", found[0])
                self.house.write("Sources/Cellar/Jar.swift", "// Cannot trap: a reason.\n" + line + "\n")
                self.assert_accepted()

    def test_an_excuse_without_a_reason_is_none(self):
        self.house.write("Sources/Cellar/Jar.swift", "// Cannot trap:\nlet a = abs(number)\n")
        self.assert_refused("Sources/Cellar/Jar.swift:2: [traps] `abs(` traps at the smallest integer; use `magnitude`")

    def test_what_looks_alike_is_allowed(self):
        self.house.write("Sources/Cellar/Jar.swift", """
            if a != b, !c { d = number.magnitude }
            let name = HTTPField.Name("X-Jar")!
            let small = UInt8(truncatingIfNeeded: number) &+ UInt8(ascii: "a") &+ UInt8(7)
            jars.removeFirst()  // abs(number) and try! stand in a comment, "fatalError()" in a text
            let text = "precondition(a)"
        """)
        self.assert_accepted()


class Names(SabotageCase):
    rule = "names"

    def test_a_name_that_says_nothing_is_refused(self):
        self.house.write("Sources/Cellar/StringUtils.swift", "struct JarManager {}\n")
        self.assert_refused(
            "Sources/Cellar/StringUtils.swift: [names] the file's name StringUtils does not say what it is about",
            "Sources/Cellar/StringUtils.swift:1: [names] the type's name JarManager does not say what it is")


class Links(SabotageCase):
    rule = "links"

    def test_a_link_to_nowhere_is_refused(self):
        self.house.write("docs/start.md", "See [the map](ARCHITECTURE.md) and [the attic](attic.md).\n")
        self.assert_refused("docs/start.md:1: [links] attic.md does not exist")


class NamedTests(SabotageCase):
    rule = "tests"

    def test_a_test_that_the_threat_model_names_and_that_is_not_there_is_refused(self):
        self.house.write("Tests/EndToEnd/test_door.py", "def test_it(self): pass\n")
        self.house.write("docs/threat-model.md", "`test_door`, `test_door.test_it`\n`test_wall`, `test_door.test_other`\n")
        self.assert_refused(
            "docs/threat-model.md:2: [tests] test_door.test_other does not exist",
            "docs/threat-model.md:2: [tests] test_wall does not exist")
