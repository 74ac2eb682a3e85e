from case import SabotageCase


class Text(SabotageCase):
    rule = "text"

    def test_the_host_of_a_package_registry_is_refused(self):
        host = "pypi" + ".org"
        self.fixture.write("Makefile", f"install:\n\tpip install --index-url https://{host}/simple\n")
        self.assert_refused(
            f"Makefile:2: [text] `{host}` names the host of a package registry; the machine's own settings choose it")

    def test_an_absolute_path_of_one_machine_is_refused(self):
        for place in ["work", "root", "opt/swift"]:
            path = f"/{place}"
            self.fixture.write("README.md", f"See {path}/main.\n")
            code, found = self.fixture.violations(self.rule)
            self.assertEqual((1, 1), (code, len(found)))
            self.assertIn("holds an absolute path of one machine", found[0])

    def test_a_relative_path_of_the_same_name_is_not(self):
        self.fixture.write("README.md", "See docs/work/first.md and at/rooted.\n")
        self.assert_accepted()

    def test_a_committed_resolution_is_refused(self):
        self.fixture.write("Package.resolved", "{}\n")
        self.assert_refused("Package.resolved: [text] Package.resolved must not be committed")

    def test_foundations_codecs_are_refused_in_a_module_and_allowed_in_tests(self):
        self.fixture.write("Tests/ShellTests/ScreenTests.swift", "let oracle = JSONEncoder()\n")
        self.assert_accepted()
        self.fixture.write("Sources/Core/Counter.swift", "let codec = JSONEncoder()\n")
        self.assert_refused(
            "Sources/Core/Counter.swift:1: [text] `JSONEncoder` Foundation's codecs are oracles in tests only; "
            "use WireFormats")
        self.fixture.edit("Tests/Checks/modules.json", '"external": []', '"external": [], "foundationCodecs": "a reason"')
        self.assert_accepted()


class Traps(SabotageCase):
    rule = "traps"

    def test_each_kind_is_refused_in_a_module_and_allowed_in_tests(self):
        kinds = {
            "let a = Dictionary(uniqueKeysWithValues: pairs)": "uniqueKeysWithValues:",
            "let a = try! read()": "try!",
            "let a = value as! Counter": "as!",
            "guard let a else { fatalError() }": "fatalError(",
            "precondition(a > 0)": "precondition(",
            "let a = counters.first!.value": "!",
            "let a = counters[key]!": "!",
            "let a = abs(number)": "abs(",
            "let a = UInt8(number)": "UInt8(",
            "let a = Int32(text.count)": "Int32(",
            "counters.removeFirst(number)": ".removeFirst(",
            "let a = HTTPField.Name(text)": "HTTPField.Name(",
            "let a = Mutex<(@Sendable (Int) -> Void)?>(nil)": "Mutex<(@Sendable (Int) ->",
            "let a = Mutex<Log.Sink?>(nil)": "Mutex<Log.Sink?>",
        }
        for line, spelling in kinds.items():
            with self.subTest(line):
                self.fixture.write("Tests/ShellTests/ScreenTests.swift", line + "\n")
                self.fixture.write("Sources/Core/Counter.swift", "\n")
                self.assert_accepted()
                self.fixture.write("Sources/Core/Counter.swift", "\n" + line + "\n")
                code, found = self.fixture.violations(self.rule)
                self.assertEqual((1, 1), (code, len(found)), found)
                self.assertIn(f"Sources/Core/Counter.swift:2: [traps] `{spelling}`", found[0])
                self.fixture.write("Sources/Core/Counter.swift", "// Cannot trap: a reason.\n" + line + "\n")
                self.assert_accepted()

    def test_an_excuse_without_a_reason_is_none(self):
        self.fixture.write("Sources/Core/Counter.swift", "// Cannot trap:\nlet a = abs(number)\n")
        self.assert_refused("Sources/Core/Counter.swift:2: [traps] `abs(` traps at the smallest integer; use `magnitude`")

    def test_what_looks_alike_is_allowed(self):
        self.fixture.write("Sources/Core/Counter.swift", """
            if a != b, !c { d = number.magnitude }
            let name = HTTPField.Name("X-Counter")!
            let small = UInt8(truncatingIfNeeded: number) &+ UInt8(ascii: "a") &+ UInt8(7)
            let all = Mutex<[@Sendable (Int) -> Void]>([])
            counters.removeFirst()  // abs(number) and try! stand in a comment, "fatalError()" in a text
            let text = "precondition(a)"
        """)
        self.assert_accepted()


class Names(SabotageCase):
    rule = "names"

    def test_a_name_that_states_nothing_is_refused(self):
        self.fixture.write("Sources/Core/StringUtils.swift", "struct CounterManager {}\n")
        self.assert_refused(
            "Sources/Core/StringUtils.swift: [names] the file's name StringUtils does not state what the file holds",
            "Sources/Core/StringUtils.swift:1: [names] the type's name CounterManager does not state what it is")


    def test_a_metaphor_in_the_name_of_a_type_or_a_file_is_refused(self):
        self.fixture.write("Sources/Core/FrontDoor.swift", "final class CounterDesk {}\n")
        self.fixture.write("Tests/EndToEnd/test_front_door.py", "")
        self.assert_refused(
            "Sources/Core/FrontDoor.swift: [names] the file's name FrontDoor holds the metaphor Door; use the field's term",
            "Sources/Core/FrontDoor.swift:1: [names] the type's name CounterDesk holds the metaphor Desk; "
            "use the field's term",
            "Tests/EndToEnd/test_front_door.py: [names] the file's name test_front_door holds the metaphor Door; "
            "use the field's term")

    def test_a_metaphor_in_the_name_of_a_folder_is_refused(self):
        self.fixture.write("Sources/Core/FrontDoor/Counting.swift", "")
        self.assert_refused(
            "Sources/Core/FrontDoor: [names] the folder's name FrontDoor holds the metaphor Door; use the field's term")

    def test_a_word_that_a_metaphor_is_part_of_and_the_room_of_a_chat_are_allowed(self):
        self.fixture.write("Sources/Core/Newsletter.swift", "struct Newsletter {}\nstruct ChatRoom {}\n")
        self.fixture.write("Sources/Core/Chat/RoomMembers.swift", "struct RoomMembers {}\n")
        self.assert_accepted()

    def test_a_general_word_alone_is_refused_at_the_top_level_only(self):
        self.fixture.write("Sources/Core/Counter.swift", "public enum State {}\n\nstruct Counter {\n    enum State {}\n}\n")
        self.assert_refused(
            "Sources/Core/Counter.swift:1: [names] State alone is no name for a type at a module's top level; qualify it")


class Words(SabotageCase):
    rule = "words"

    def test_a_metaphor_in_a_document_is_refused(self):
        self.fixture.write("docs/start.md", "A request passes the front\ndoor, where whoever asks waits.\n")
        self.assert_refused(
            "docs/start.md:2: [words] `door` is refused in documents; write: listener, mount, request validation",
            "docs/start.md:2: [words] `whoever` is refused in documents; write: the caller, the client")

    def test_code_links_and_the_rooms_of_a_chat_are_allowed(self):
        self.fixture.write("docs/start.md", "See `Door`, [a link](door.md) and\n```\nroom\n```\nthe members of a room.\n")
        self.fixture.write("docs/chat.md", "A room has members.\nA room ends.\n")
        self.assert_accepted()

    def test_a_vague_word_in_a_comment_of_a_source_is_refused(self):
        comment = "struct Lid {\n    /// Closes, whoever asks.\n    /// Nobody is told.\n    case nobody, somebody\n}\n"
        self.fixture.write("Tests/ShellTests/ScreenTests.swift", comment)
        self.assert_accepted()
        self.fixture.write("Sources/Core/Lid.swift", comment)
        self.assert_refused(
            "Sources/Core/Lid.swift:2: [words] `whoever` is refused in comments; write: the caller, the client",
            "Sources/Core/Lid.swift:3: [words] `Nobody` is refused in comments; write: every caller, any client, no caller",
            "Sources/Core/Lid.swift:3: [words] `told` is refused in comments; write: reported, returned, notified")


class Folders(SabotageCase):
    rule = "folders"

    def test_folders_of_a_target_that_use_each_other_are_refused(self):
        self.fixture.write("Sources/Core/Reading/Reader.swift", "struct Reader { let writer: Writer }\n")
        self.fixture.write("Sources/Core/Writing/Writer.swift", "/// Ends a `Reader`.\nstruct Writer {}\n")
        self.assert_accepted()
        self.fixture.write("Sources/Core/Writing/Writer.swift", "struct Writer { func read() -> Reader? { nil } }\n")
        cycle = "within the cycle Reading, Writing of Core"
        self.assert_refused(
            f"Sources/Core/Reading/Reader.swift: [folders] uses Writer of Writing, {cycle}",
            f"Sources/Core/Writing/Writer.swift: [folders] uses Reader of Reading, {cycle}")


class Documentation(SabotageCase):
    rule = "documentation"
    path = "Sources/AdapterKit/AdapterKit/Jar.swift"

    def test_each_public_symbol_without_a_comment_is_refused(self):
        self.fixture.write(self.path, """\
public struct Jar {
    public let size: Int
    public init(size: Int) {}
    func inside() { let local = 1 }
    public func open(
        _ lid: Int
    ) { let other = { 1 } }
    public enum Kind {
        case glass
    }
}
public protocol Lid {
    func close()
}
extension Jar {
    public var isOpen: Bool { true }
}
""")
        found = {
            1: "Jar", 2: "size", 3: "init", 5: "open", 8: "Kind", 9: "glass", 12: "Lid", 13: "close", 16: "isOpen"}
        self.assert_refused(*(
            f"{self.path}:{line}: [documentation] `{name}` is public and has no documentation comment"
            for line, name in found.items()))

    def test_what_is_documented_or_fulfils_a_documented_protocol_is_accepted(self):
        self.fixture.write(self.path, """\
/// A lid.
public protocol Lid {
    /// Closes it.
    func close()
}
/// A jar.
public struct Jar: Lid, Hashable, CustomStringConvertible {
    /// Its size.
    @available(*, deprecated)
    public let size: Int
    public func close() {}
    public var description: String { "jar" }
    public func hash(into hasher: inout Hasher) {}
    private struct Inside { public var hidden = 1 }
    let plain = 1
}
""")
        self.fixture.write("Sources/Cellar/Jar.swift", "public struct Undocumented {}\n")
        self.assert_accepted()


class Decisions(SabotageCase):
    rule = "decisions"
    folder = "docs/decisions/"

    def write(self, name, title="{number} Do it", status="accepted.", sections="**Context.** a\n\n**Decision.** b\n\n"
              "**Alternatives rejected.** c\n\n**Consequences.** d\n"):
        number = name[:4]
        self.fixture.write(self.folder + name, f"# {title.format(number=number)}\n\nStatus: {status}\n\n{sections}")
        index = self.fixture.root / self.folder / "README.md"
        known = index.read_text() if index.exists() else "# Decisions\n"
        index.write_text(known + f"- [{number}]({name})\n")

    def test_a_decision_in_the_format_is_accepted(self):
        self.write("0001-do-it.md")
        self.assert_accepted()

    def test_another_format_is_refused(self):
        self.write("0001-do-it.md", title="Do it")
        self.write("0002-do-it.md", sections="**Context.** a\n\n**Decision.** b\n")
        self.assert_refused(
            "docs/decisions/0001-do-it.md: [decisions] does not begin with `# NNNN Title` and `Status: …`",
            "docs/decisions/0002-do-it.md: [decisions] its paragraphs are not Context, Decision, Alternatives rejected, "
            "Consequences")

    def test_a_decision_that_the_index_does_not_list_is_refused(self):
        self.write("0001-do-it.md")
        (self.fixture.root / self.folder / "README.md").write_text("# Decisions\n")
        self.assert_refused("docs/decisions/README.md: [decisions] 0001-do-it.md is not listed")

    def test_a_comment_that_refers_to_no_decision_is_refused(self):
        self.write("0001-do-it.md")
        self.fixture.write("Sources/Core/Counter.swift", "// docs/decisions/0001, docs/decisions/0002 and\n"
                           "// docs/decisions/0001-do-less.md\nstruct Counter {}\n")
        self.assert_refused(
            "Sources/Core/Counter.swift:1: [decisions] docs/decisions/0002 does not exist",
            "Sources/Core/Counter.swift:2: [decisions] docs/decisions/0001-do-less.md does not exist")

    def test_a_number_in_a_page_for_users(self):
        self.fixture.write("docs/ARCHITECTURE.md", "([0001](decisions/0001-do-it.md))\n")
        self.fixture.write("docs/store.md", "It does it\n([0001](decisions/0001-do-it.md)).\n")
        self.assert_refused("docs/store.md:2: [decisions] link the decision by its title, not by its number")

    def test_a_change_that_the_changed_decision_does_not_name_is_refused(self):
        self.write("0001-do-it.md")
        self.write("0002-do-less.md", status="accepted. Overrules [0001](0001-do-it.md).")
        self.assert_refused(
            "docs/decisions/0002-do-less.md: [decisions] 0001-do-it.md does not say `Overruled by` 0002-do-less.md")
        self.write("0001-do-it.md", status="overruled. Overruled by [0002](0002-do-less.md).")
        self.assert_accepted()


class Boundary(SabotageCase):
    rule = "boundary"

    def setUp(self):
        super().setUp()
        self.fixture.write("Sources/AdapterKit/AdapterKit/Clock.swift", "public protocol Clock {}\npublic struct Wall {}\n")

    def test_a_protocol_with_a_row_is_accepted(self):
        self.fixture.write("docs/adapter-boundary.md", "| `Clock` | host | its own |\n")
        self.assert_accepted()

    def test_a_protocol_without_a_row_and_a_row_without_a_protocol_are_refused(self):
        self.fixture.write("docs/adapter-boundary.md", "| `Timer` | host | its own |\n")
        self.assert_refused(
            "Sources/AdapterKit/AdapterKit/Clock.swift:1: [boundary] docs/adapter-boundary.md does not say how `Clock` "
            "crosses by messages",
            "docs/adapter-boundary.md: [boundary] there is no public protocol `Timer`")


class Messages(SabotageCase):
    rule = "boundary"
    source = "Sources/AdapterKit/AdapterKit/Time.swift"
    message = "Sources/AdapterWorker/AdapterProtocol/Values/TimeValues.swift"

    def setUp(self):
        super().setUp()
        self.fixture.write(
            self.source,
            "public struct Time {\n    public let hours: Int\n    public private(set) var zone = 1\n"
            "    public var isNight: Bool { hours > 20 }\n    let secret: Int\n"
            "    public struct Name {\n        public let text: String\n    }\n}\n")
        self.fixture.write(
            self.message,
            'extension Time: MessageValue {\n    public var message: WireValue { .map(("hours", hours), ("zone", zone)) }\n\n'
            '    public init(message: WireValue) {\n        self.init(map("hours"), map("zone"))\n    }\n}\n')

    def test_a_structure_whose_properties_are_written_and_read_is_accepted(self):
        self.assert_accepted()

    def test_a_property_that_is_in_no_message_is_refused(self):
        self.fixture.edit(self.source, "    let secret", "    public let minutes: Int\n    let secret")
        self.assert_refused(
            f"{self.source}:5: [boundary] `Time.minutes` is lost on the way to a worker: it is in no message")

    def test_a_member_that_is_written_and_not_read_is_refused(self):
        self.fixture.edit(self.message, 'map("zone"))\n', "1)\n")
        self.assert_refused(f"{self.message}:1: [boundary] the member `zone` of `Time` is written and not read")

    def test_a_structure_without_a_message_is_refused(self):
        self.fixture.edit(self.source, "public struct Time {", "public struct Date {\n    public let day: Int\n}\npublic struct Time {")
        self.assert_refused(
            f"{self.source}:2: [boundary] `Date` does not cross to a worker: say how in Sources/AdapterWorker/AdapterProtocol/, "
            "or why not in Tests/Checks/rules/boundary.py")


class Surface(SabotageCase):
    rule = "surface"
    source = "Sources/AdapterKit/AdapterKit/Clock.swift"
    listed = "Sources/AdapterKit/public-surface.txt"

    def setUp(self):
        super().setUp()
        self.fixture.write("Sources/AdapterKit/AdapterKit/Lifecycle/SDKVersion.swift", '/// The version.\npublic let adapterKitVersion = "1.2.0"\n')
        self.fixture.write(
            self.source,
            "/// Tells the time.\npublic protocol Clock: Sendable {\n    var hours: Int { get }\n"
            "    func now(\n        in zone: String, // a comment\n        at: Int\n    ) async throws -> Int\n}\n"
            "extension Clock {\n    public var isNight: Bool { hours > 20 }\n    var secret: Int { 1 }\n}\n"
            'public enum Code: String {\n    case late = "too.late"\n    private var hidden: Int { 1 }\n}\n'
            "struct Inner { public let value = 1 }\npublic let limits: [Int] = [\n    1,\n]\n")
        self.fixture.write(
            self.listed,
            "AdapterKit 1.2.0\nClock: func now(in zone: String, at: Int) async throws -> Int\nClock: var hours: Int { get }\n"
            'Clock: var isNight: Bool\nCode: case late = "too.late"\nenum Code: String\nlet limits: [Int]\n'
            "protocol Clock: Sendable\n")

    def test_the_declarations_that_are_listed_are_accepted(self):
        self.assert_accepted()

    def test_the_list_is_what_would_be_written(self):
        before = (self.fixture.root / self.listed).read_text()
        self.fixture._checks("--write-table")
        self.assertEqual(before, (self.fixture.root / self.listed).read_text())

    def test_a_declaration_that_is_not_listed_is_refused(self):
        self.fixture.edit(self.source, "    var secret", "    public var secret")
        self.assert_refused(
            f"{self.listed}: [surface] `Clock: var secret: Int` is public and not listed; run `python3 Tests/Checks "
            "--write-table`")

    def test_what_adapters_are_tested_with_has_a_list_of_its_own(self):
        self.fixture.write("Sources/AdapterTesting/AdapterTesting/Host.swift", "/// A host.\npublic struct Host {}\n")
        self.assert_refused(
            "Sources/AdapterTesting/public-surface.txt: [surface] `struct Host` is public and not listed; run `python3 "
            "Tests/Checks --write-table`",
            "Sources/AdapterTesting/public-surface.txt:1: [surface] the first line is not `AdapterTesting 1.2.0`; run `python3 "
            "Tests/Checks --write-table`")

    def test_a_changed_signature_is_two_violations(self):
        self.fixture.edit(self.source, "at: Int", "at: Int = 0")
        code, found = self.fixture.violations(self.rule)
        self.assertEqual((1, 2), (code, len(found)), found)

    def test_a_declaration_that_is_gone_is_refused(self):
        self.fixture.edit(self.source, "    public var isNight", "    var isNight")
        self.assert_refused(
            f"{self.listed}:4: [surface] `Clock: var isNight: Bool` is not declared any more: docs/plugins.md says when that "
            "may be; then run `python3 Tests/Checks --write-table`")

    def test_another_version_is_refused(self):
        self.fixture.edit("Sources/AdapterKit/AdapterKit/Lifecycle/SDKVersion.swift", "1.2.0", "1.3.0")
        self.assert_refused(
            f"{self.listed}:1: [surface] the first line is not `AdapterKit 1.3.0`; run `python3 Tests/Checks --write-table`")


class Links(SabotageCase):
    rule = "links"

    def test_a_link_to_nowhere_is_refused(self):
        self.fixture.write("docs/start.md", "See [the map](module-dependencies.md) and [the page](extra.md).\n")
        self.assert_refused("docs/start.md:1: [links] extra.md does not exist")


class NamedTests(SabotageCase):
    rule = "tests"

    def test_a_test_that_the_threat_model_names_and_that_is_not_there_is_refused(self):
        self.fixture.write("Tests/EndToEnd/test_parser.py", "def test_it(self): pass\n")
        self.fixture.write("docs/threat-model.md", "`test_parser`, `test_parser.test_it`\n`test_zone`, `test_parser.test_other`\n")
        self.assert_refused(
            "docs/threat-model.md:2: [tests] test_parser.test_other does not exist",
            "docs/threat-model.md:2: [tests] test_zone does not exist")


class Walks(SabotageCase):
    rule = "walks"

    def test_the_path_of_a_type_is_written(self):
        text = (self.fixture.root / "docs/ARCHITECTURE.md").read_text()
        self.assertEqual("1. [`Counter`](../Sources/Core/Counter.swift) counts.\n", text)
        self.assert_accepted()

    def test_a_file_that_does_not_declare_the_named_type_is_refused(self):
        self.fixture.write("Sources/Core/Counter.swift", "extension Counter {}\n")
        self.assert_refused("docs/ARCHITECTURE.md:1: [walks] Sources/Core/Counter.swift does not declare Counter")

    def test_a_walk_through_too_many_files_is_refused(self):
        for number in range(61):
            self.fixture.write(f"Sources/Core/Step{number}.swift", f"struct Step{number} {{}}\n")
        steps = "".join(f"- [`Step{number}`](../Sources/Core/Step{number}.swift)\n" for number in range(61))
        self.fixture.write("docs/ARCHITECTURE.md", "## A walk\n" + steps)
        self.assert_refused("docs/ARCHITECTURE.md:62: [walks] `A walk` leads through more than 60 files")
