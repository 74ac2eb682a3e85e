import AdapterKit
import Testing

@Suite struct MirrorProblemsTests {
    private static let key = Field("id", .string, isRequired: true)

    private static func problems(
        of mirrors: [MirrorSource] = [], operations: [Operation] = [], fields: [Field] = [],
        chosenBy chooser: EntityKey.Chooser = .either
    ) -> [String] {
        AdapterDeclaration(
            name: "staff", title: "Staff", summary: "", version: "1",
            entities: [Entity("people", summary: "", key: EntityKey("id", chosenBy: chooser), fields: [key] + fields)],
            operations: operations, mirrors: mirrors
        ).mirrorProblems
    }

    private static func operation(
        _ callThrough: CallThrough, effect: Effect = .reads, caching: CacheLifetime = .noStore
    ) -> Operation {
        Operation("search", summary: "", effect: effect, output: .any, caching: caching, callThrough: callThrough)
    }

    @Test func `a declaration that can be right has no problems`() {
        #expect(
            Self.problems(of: [MirrorSource("people", of: "hr")], operations: [Self.operation(CallThrough(to: "hr"))])
                == [])
        #expect(Self.problems() == [])
    }

    @Test(arguments: [
        ([MirrorSource("rooms", of: "hr")], "the mirror of rooms: there is no such entity"),
        ([MirrorSource("people", of: "hr"), MirrorSource("people", of: "site")], "the entity people has two sources"),
        ([MirrorSource("people", of: "hr", settings: MirrorSettings(refresh: .zero))], "`refresh` is no time"),
        ([MirrorSource("people", of: "hr", settings: MirrorSettings(staleFor: .seconds(1)))], "longer than `staleFor`"),
        ([MirrorSource("people", of: "hr", settings: MirrorSettings(waitFor: .seconds(-1)))], "negative"),
        ([MirrorSource("people", of: "hr", settings: MirrorSettings(guard: .init(share: .nan)))], "0 to 1"),
        ([MirrorSource("people", of: "hr", settings: MirrorSettings(guard: .init(from: -1)))], "`guard.from`"),
    ])
    func `a mirror that cannot be right is named with its reason`(mirrors: [MirrorSource], reason: String) {
        let problems = Self.problems(of: mirrors)
        #expect(problems.count == 1)
        #expect(problems.first?.contains(reason) == true, "\(problems)")
    }

    @Test func `rows need keys of their own, and fields that no rules give`() {
        let mirror = [MirrorSource("people", of: "hr")]
        #expect(Self.problems(of: mirror, chosenBy: .server).first?.contains("chosen by the server") == true)
        #expect(Self.problems(of: mirror, chosenBy: .caller) == [])
        let written = [MirrorSource("people", of: "hr", writing: .queued)]
        #expect(Self.problems(of: written).first?.contains("may leave its key to the server") == true)
        #expect(Self.problems(of: written, chosenBy: .caller) == [])
        let ruled = Field("total", .integer, isRequired: true, source: .rules)
        #expect(Self.problems(of: mirror, fields: [ruled]).first?.contains("its field total") == true)
    }

    @Test func `an operation that asks another system reads, and keeps nothing else`() {
        let (one, call) = (CallThrough(to: "hr"), CallThrough(to: "hr", keptAnswers: 0))
        #expect(Self.problems(operations: [Self.operation(one, effect: .writes)]).first?.contains("it writes") == true)
        #expect(Self.problems(operations: [Self.operation(one, caching: .untilRecordsChange)]).count == 1)
        #expect(Self.problems(operations: [Self.operation(call)]).first?.contains("keeps no answers") == true)
        #expect(
            Self.problems(operations: [Self.operation(CallThrough(to: "hr", freshFor: .seconds(9_999_999)))]).count == 1
        )
    }

    private static func configured(_ values: WireDictionary) throws -> CallThrough? {
        try CallThrough(AdapterConfiguration(values))
    }

    @Test func `the configuration decides between a mirror and calls`() throws {
        #expect(try Self.configured(["upstream": "hr"]) == nil)
        #expect(try Self.configured(["upstream": "hr", "mode": "mirror"]) == nil)
        #expect(try MirrorSource("people", AdapterConfiguration(["upstream": "hr", "mode": "call"])) == nil)
        let call = try Self.configured([
            "upstream": "hr", "mode": "call", "freshFor": 5.0, "staleFor": 60.0, "waitFor": 1.0,
            "answers": ["entries": 7, "bytes": 4_096],
        ])
        let expected = CallThrough(
            to: "hr", freshFor: .seconds(5), staleFor: .seconds(60), waitFor: .seconds(1), keptAnswers: 7,
            keptBytes: 4_096)
        #expect(call == expected)
    }

    private static let wrong: [(values: WireDictionary, path: String)] = [
        (["mode": "call"], "mode"), (["mode": "call", "upstream": "hr", "refresh": 5.0], "refresh"),
        (["mode": "call", "upstream": "hr", "guard": ["share": 0.1]], "guard"),
        (["mode": "call", "upstream": "hr", "freshFor": 9.0, "staleFor": 8.0], "staleFor"),
    ]

    @Test(arguments: wrong)
    func `keys that make no sense with calls are refused`(values: WireDictionary, path: String) {
        let problem = #expect(throws: ConfigurationProblem.self) { try Self.configured(values) }
        #expect(problem?.path == path)
    }
}
