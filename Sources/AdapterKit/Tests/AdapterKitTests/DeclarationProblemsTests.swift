import AdapterKit
import Testing

/// Declarations that the host could not serve: each ended the gateway, or its start, before they were checked.
@Suite struct DeclarationProblemsTests {
    private static func entity(_ name: EntityName, rows: RowRules = RowRules(read: .signedIn, write: .nobody)) -> Entity
    {
        Entity(
            name, summary: "Things.", key: EntityKey("id"),
            fields: [Field("id", .string, isRequired: true), Field("members", .list(of: .string), isNullable: true)],
            rows: rows)
    }

    private static func declaration(
        mounts: [String] = [], methods: [String] = ["GET"], bindings: [PathTemplate] = [], entities: [Entity] = [],
        operations: [OperationName] = ["op"], soap: [SOAPService] = []
    ) -> AdapterDeclaration {
        AdapterDeclaration(
            name: "tasks", title: "Tasks", summary: "Tasks.", version: "1", entities: entities,
            operations: operations.map { name in
                Operation(
                    name, summary: "Does it.", effect: .reads, input: ObjectShape("Input", members: []),
                    output: .string,
                    bindings: bindings.map { HTTPBinding(.get, $0) })
            },
            mounts: mounts.enumerated().compactMap { number, path in
                PathTemplate(path).map {
                    HTTPMount(
                        OperationName(unchecked: "m\(number)"), summary: "Files.", path: $0, methods: methods)
                }
            }, soapServices: soap)
    }

    /// The words of the first one.
    private func refusal(_ declaration: AdapterDeclaration) -> String? { declaration.problems.first?.words }

    @Test func whatCanBeServedHasNoProblem() {
        let rows = RowRules(read: .memberOf("things", through: "id", members: "members"), write: .nobody)
        let declared = Self.declaration(
            mounts: ["/files", "/api/v1/tasks/files"], bindings: ["/v2/tasks/{id}"],
            entities: [Self.entity("things"), Self.entity("parts", rows: rows)])
        #expect(refusal(declared) == nil)
    }

    @Test(arguments: ["/", "/{rest}", "/x/{rest}", "/y/{rest*}", "/x/"])
    func aMountIsAtPlainSegments(_ path: String) {
        #expect(
            refusal(Self.declaration(mounts: [path]))?.contains("has to be plain segments") == true)
    }

    @Test(arguments: [
        "/auth", "/auth/login", "/admin/v1", "/sync/v1/pull", "/health", "/api/v1", "/api/v1/notes", "/api", "/batch",
        "/openapi.json", "/favicon.ico", "/favicon.svg", "/client/a.js",
    ])
    func pathsOfTheGatewayAndOfOtherAdaptersAreNotTaken(_ path: String) throws {
        let problem =
            path.hasPrefix("/api")
            ? "the path \(path) is not below /api/v1/tasks, as the adapter's own are"
            : "the path \(path) is the gateway's"
        #expect(refusal(Self.declaration(mounts: [path])) == problem)
        let bound = Self.declaration(bindings: [try #require(PathTemplate(path))])
        #expect(refusal(bound) == problem)
        let service = Self.declaration(soap: [Self.service(paths: [try #require(PathTemplate(path))])])
        #expect(refusal(service) == problem)
    }

    @Test func namesAreDistinctAndMethodsAreMethods() {
        #expect(
            refusal(Self.declaration(operations: ["op", "op"])) == "two operations have the name op")
        #expect(
            refusal(Self.declaration(entities: [Self.entity("a"), Self.entity("a")]))
                == "two entities have the name a")
        let odd = Self.declaration(mounts: ["/files"], methods: ["GET\r\n"])
        #expect(refusal(odd) == "a method of the mount m0 is not one to twenty capital letters")
    }

    @Test func operationsAndPathsOfAllSOAPServicesTogetherAreBounded() throws {
        let names = (0..<100).map { OperationName(unchecked: "op\($0)") }
        func services(_ count: Int, operations: Int, paths: Int) throws -> [SOAPService] {
            try (0..<count).map { number in
                SOAPService(
                    "S\(number)", namespace: "urn:s\(number)",
                    paths: try (0..<paths).map { try #require(PathTemplate("/s\(number)/\($0)")) },
                    operations: Array(names.prefix(operations)))
            }
        }
        func problem(_ services: [SOAPService]) -> String? {
            refusal(Self.declaration(operations: names, soap: services))
        }
        #expect(problem(try services(50, operations: 100, paths: 1)) == nil)
        #expect(
            problem(try services(51, operations: 100, paths: 1))
                == "it has 5100 operations of SOAP services; at most 5000 are taken")
        #expect(
            problem(try services(11, operations: 1, paths: 100))
                == "it has 1100 paths of SOAP services; at most 1000 are taken")
    }

    @Test func rowRulesNameWhatIsThereAndAreNotDeep() {
        func problem(_ rule: RowRule) -> String? {
            refusal(
                Self.declaration(entities: [Self.entity("things", rows: RowRules(read: rule, write: .nobody))]))
        }
        #expect(
            problem(.memberOf("rooms", through: "id", members: "members"))?.contains("which is not declared") == true)
        #expect(problem(.memberOf("things", through: "id", members: "id"))?.contains("for a list of names") == true)
        let deep = (0..<100).reduce(RowRule.signedIn) { rule, _ in .not(rule) }
        #expect(problem(deep)?.contains("a row rule has more than 16 levels") == true)
        #expect(problem(.any(Array(repeating: .signedIn, count: 500)))?.contains("more than 500 parts") == true)
        #expect(problem(.fieldIsOneOf("id", [.double(.nan)]))?.contains("cannot have") == true)
        #expect(problem(.attributeEquals("id", attribute: "a\r\nb"))?.contains("control characters") == true)
    }

    private static func service(
        _ name: String = "Things", namespace: String = "urn:things", paths: [PathTemplate] = ["/soap"],
        operations: [OperationName] = ["op"]
    ) -> SOAPService {
        SOAPService(name, namespace: namespace, paths: paths, operations: operations)
    }

    private static func operation(
        _ name: OperationName = "op", effect: Effect = .reads, input: [Member] = [], inputName: String = "Input",
        output: Shape = .string, documentType: String? = nil, access: Access? = nil, deadline: Duration? = nil,
        caching: CacheLifetime = .noStore, entities: [EntityName]? = nil, callThrough: CallThrough? = nil,
        audience: Audience = .callers, bindings: [HTTPBinding] = []
    ) -> Operation {
        Operation(
            name, summary: "Does it.", effect: effect, input: ObjectShape(inputName, members: input), output: output,
            documentType: documentType, access: access, deadline: deadline, caching: caching, entities: entities,
            callThrough: callThrough, audience: audience, bindings: bindings)
    }

    private static func mount(
        _ path: PathTemplate = "/files", methods: [String] = ["GET"], readingPosts: [String] = [],
        mediaType: String = "text/plain", bodyLimit: Int? = nil
    ) -> HTTPMount {
        HTTPMount(
            "files", summary: "Files.", path: path, methods: methods, readingPosts: readingPosts, mediaType: mediaType,
            bodyLimit: bodyLimit)
    }

    private static func adapter(
        title: String = "Tasks", summary: String = "Tasks.", version: String = "1", access: AccessRights = .login,
        entities: [Entity] = [], operations: [Operation] = [operation()], mounts: [HTTPMount] = [],
        feeds: [LiveFeed] = [], mirrors: [MirrorSource] = [], soap: [SOAPService] = []
    ) -> AdapterDeclaration {
        AdapterDeclaration(
            name: "tasks", title: title, summary: summary, version: version, access: access, entities: entities,
            operations: operations, mounts: mounts, liveFeeds: feeds, mirrors: mirrors, soapServices: soap)
    }

    private static func things(
        _ fields: [Field] = [], indexes: [Index] = [], search: [FieldName] = [], parents: [ParentReference] = [],
        writers: Access? = nil, chooser: EntityKey.Chooser = .caller
    ) -> Entity {
        Entity(
            "things", summary: "Things.", key: EntityKey("id", chosenBy: chooser),
            fields: [Field("id", .string, isRequired: true)] + fields, indexes: indexes, searchFields: search,
            parents: parents, writers: writers)
    }

    private static func mirror(_ settings: MirrorSettings) -> AdapterDeclaration {
        adapter(entities: [things()], mirrors: [MirrorSource("things", of: "hr", settings: settings)])
    }

    private static func feed(_ changed: EventName = "changed", path: PathTemplate = "/live") -> LiveFeed {
        LiveFeed(
            "live", summary: "Happens.", path: path,
            group: .init("a", members: "members", membership: "membership", changed: changed, fields: ["id"]),
            sources: [])
    }

    private static func bound(_ binding: HTTPBinding) -> AdapterDeclaration {
        adapter(operations: [operation(bindings: [binding])])
    }

    private static func shaped(_ shape: Shape) -> AdapterDeclaration { adapter(operations: [operation(output: shape)]) }

    private static let line = "a\r\nSet-Cookie: b=c"
    private static let roles = Access.roles(Set((0..<100).map { RoleName(unchecked: "r\($0)") }))
    private static let listed = RowRules(read: .sharedWith("members"), write: .nobody)

    /// What a worker could declare, and a part of what is said about it.
    static let hostile: [(AdapterDeclaration, String)] = texts + shapes + entities + operations + places + mirrors

    private static let texts: [(AdapterDeclaration, String)] = [
        (adapter(title: line), "the title has control characters"),
        (adapter(summary: "a\u{2028}b"), "the summary has control characters"),
        (adapter(version: "\u{85}"), "the version has control characters"),
        (adapter(title: "\u{FFFE}"), "the title has control characters"),
        (adapter(summary: String(repeating: "a", count: 5_000)), "the summary has more than 4096 bytes"),
        (adapter(access: AccessRights(write: roles)), "the adapter asks for one of more than 16 roles"),
        (adapter(operations: [operation(access: roles)]), "the operation op asks for one of more than 16 roles"),
        (adapter(entities: [things(writers: roles)]), "the entity things asks for one of more than 16 roles"),
        (adapter(operations: [operation(documentType: line)]), "the documents of the operation op have no media type"),
        (adapter(operations: [operation(documentType: "text")]), "have no media type"),
        (adapter(operations: [operation(documentType: "")]), "have no media type"),
        (adapter(mounts: [mount(mediaType: line)]), "the answers of the mount files have no media type"),
        (adapter(mounts: [mount(readingPosts: [line])]), "a reading post of the mount files has control characters"),
        (bound(HTTPBinding(.post, "/a", form: .document(field: "a", errorMessage: line))), "has control characters"),
        (
            bound(HTTPBinding(.get, "/a", presentation: Presentation(defaultFormat: line))),
            "a default format that is not known"
        ),
        (
            bound(HTTPBinding(.get, "/a", presentation: Presentation(defaultFormat: "html"))),
            "a default format that is not known"
        ),
        (bound(HTTPBinding(.get, "/a", presentation: Presentation(xml: XMLDocument(root: "a b")))), "root has no name"),
        (bound(HTTPBinding(.get, "/a", presentation: Presentation(xml: XMLDocument(root: "")))), "root has no name"),
        (
            bound(HTTPBinding(.get, "/a", presentation: Presentation(xml: XMLDocument(root: "a", namespace: "<\"")))),
            "the namespace of the operation op is no URI"
        ),
        (
            bound(HTTPBinding(.get, "/a", presentation: Presentation(errors: .flat(code: "a", message: "a")))),
            "two names"
        ),
        (
            bound(HTTPBinding(.get, "/a", presentation: Presentation(errors: .flat(code: "a", message: "requestId")))),
            "two names"
        ),
        (
            bound(HTTPBinding(.get, "/a", presentation: Presentation(errors: .flat(code: "", message: "a")))),
            "two names"
        ),
    ]

    private static let shapes: [(AdapterDeclaration, String)] = [
        (shaped(.string(TextLimits(minimumLength: 5, maximumLength: 3))), "shortest length is above its longest"),
        (
            shaped(.string(TextLimits(minimumLength: .max, maximumLength: .max))),
            "shortest length is above its longest, or above"
        ),
        (shaped(.data(maximumBytes: .max)), "data of more than"),
        (shaped(.decimal(scale: .max)), "a decimal with more than"),
        (shaped(.choice([])), "a choice that does not have one to 1000 different texts"),
        (shaped(.choice(["a", "a"])), "a choice that does not have one to 1000 different texts"),
        (shaped(.choice((0..<2_000).map { "\($0)" })), "a choice that does not have one to 1000 different texts"),
        (shaped(.choice(["\u{0}"])), "a choice of the operation op has control characters"),
        (shaped((0..<400).reduce(Shape.bool) { shape, _ in .list(of: shape) }), "a shape of more than 16 levels"),
        (shaped(.object(ObjectShape(line, members: []))), "an object whose name is not of letters"),
        (shaped(.object(ObjectShape("", members: []))), "an object whose name is not of letters"),
        (adapter(operations: [operation(inputName: "a\"b")]), "an object whose name is not of letters"),
        (adapter(operations: [operation(input: [Member("a", .bool, summary: line)])]), "the summary of the member a"),
        (
            adapter(operations: [operation(input: [Member("a", .double, defaultValue: .double(.nan))])]),
            "the default of the member a of Input is not of its shape"
        ),
        (
            adapter(operations: [operation(input: [Member("a", .any, defaultValue: deep)])]),
            "the default of the member a of Input is too large"
        ),
        (
            adapter(operations: [
                operation(input: [Member("a", .any, defaultValue: .string(String(repeating: "a", count: 100_000)))])
            ]), "the default of the member a of Input is too large"
        ),
        (
            adapter(
                operations: (0..<101).map { number in
                    operation(
                        OperationName(unchecked: "o\(number)"),
                        input: (0..<1_000).map { Member(FieldName(unchecked: "m\($0)"), .bool) })
                }), "its shapes have more than 100000 members"
        ),
    ]

    private static let deep = (0..<400).reduce(WireValue.bool(true)) { value, _ in .array([value]) }

    private static let entities: [(AdapterDeclaration, String)] = [
        (adapter(entities: [things([Field("rank", .string)], search: ["rank"])]), "cannot be searched"),
        (adapter(entities: [things([Field("RowID", .string)], search: ["RowID"])]), "cannot be searched"),
        (adapter(entities: [things([Field("a", .string)], search: ["a", "a"])]), "two fields of the search"),
        (adapter(entities: [things(indexes: [Index([])])]), "an index has no fields"),
        (adapter(entities: [things(indexes: [Index(["id", "id"])])]), "two fields of an index of things are id"),
        (adapter(entities: [things(indexes: Array(repeating: Index(["id"]), count: 6_000))]), "6000 indexes"),
        (adapter(entities: [things(parents: [ParentReference("id", in: "gone")])]), "a parent is of gone"),
        (adapter(entities: [things([Field("a", .any, defaultValue: deep)])]), "the default of the field a of things"),
        (adapter(entities: [things([Field("a", .bool, summary: line)])]), "the summary of the field a of things"),
        (
            adapter(entities: [things((0..<999).map { Field(FieldName(unchecked: "f\($0)"), .decimal(scale: 2)) })]),
            "columns of an entity; at most 1500 are taken"
        ),
        (
            adapter(entities: [entity("a", rows: listed)], feeds: [feed("reset")]),
            "the event reset of the live feed live is the gateway's"
        ),
        (
            adapter(entities: [entity("a", rows: listed)], feeds: [feed(path: "/sync/x")]),
            "the path /sync/x is the gateway's"
        ),
        (adapter(entities: [entity("a")], feeds: [feed()]), "its groups are not read by their members alone"),
    ]

    private static let operations: [(AdapterDeclaration, String)] = [
        (adapter(operations: [operation(deadline: .zero)]), "the deadline of the operation op is not within a day"),
        (adapter(operations: [operation(deadline: .seconds(-1))]), "the deadline of the operation op"),
        (adapter(operations: [operation(deadline: .nanoseconds(Int64.max))]), "the deadline of the operation op"),
        (adapter(operations: [operation(effect: .writes, caching: .untilRecordsChange)]), "cannot be kept"),
        (
            adapter(operations: [operation(effect: .writes, bindings: [HTTPBinding(.get, "/a")])]),
            "its method cannot be GET"
        ),
        (adapter(operations: [operation(audience: .operators, bindings: [HTTPBinding(.get, "/a")])]), "for operators"),
        (adapter(operations: [operation(entities: ["gone"])]), "names the entity gone, which is not declared"),
        (
            adapter(operations: [operation(callThrough: CallThrough(to: "hr", staleFor: .nanoseconds(Int64.max)))]),
            "a time of more than ten years"
        ),
        (adapter(operations: [operation(callThrough: CallThrough(to: "hr", waitFor: .seconds(-1)))]), "is negative"),
        (adapter(operations: [operation(callThrough: CallThrough(to: "hr", keptAnswers: 0))]), "it keeps no answers"),
        (
            adapter(operations: [operation(bindings: Array(repeating: HTTPBinding(.get, "/a"), count: 6_000))]),
            "6000 paths of operations"
        ),
        (adapter(mounts: [mount(methods: [])]), "the mount files has no method"),
        (adapter(mounts: [mount(methods: ["TRACE"])]), "one that the gateway answers itself"),
        (
            adapter(mounts: [mount(methods: [String(repeating: "A", count: 100_000)])]),
            "a method of the mount files is not one to twenty capital letters"
        ),
        (adapter(mounts: [mount(bodyLimit: .max)]), "the mount files takes bodies of more than"),
    ]

    private static let places: [(AdapterDeclaration, String)] = [
        (
            adapter(operations: [
                operation("a", bindings: [HTTPBinding(.get, "/x/{a}")]),
                operation("b", bindings: [HTTPBinding(.get, "/x/{b}")]),
            ]), "the adapter has two routes GET /x/{}"
        ),
        (
            adapter(operations: [operation(bindings: [HTTPBinding(.get, "/files")])], mounts: [mount()]),
            "the adapter has two routes GET /files"
        ),
        (
            adapter(operations: [operation(bindings: [HTTPBinding(.get, "/files/{x*}")])], mounts: [mount()]),
            "the adapter has two routes GET /files/{*}"
        ),
        (adapter(mounts: [mount(methods: ["GET", "GET"])]), "the adapter has two routes GET /files"),
        (
            adapter(
                entities: [things()],
                operations: [operation(bindings: [HTTPBinding(.delete, "/api/v1/tasks/things/{number}")])]),
            "the adapter has two routes DELETE /api/v1/tasks/things/{}"
        ),
        (adapter(soap: [service(paths: ["/soap", "/soap"])]), "the adapter has two routes GET /soap"),
        (adapter(soap: [service(paths: ["/soap/{x}"])]), "have to be plain segments"),
        (adapter(soap: [service(paths: [])]), "has no path, or more than 100"),
        (adapter(soap: [service(operations: [])]), "has no operations"),
        (adapter(soap: [service(operations: ["gone"])]), "names the operation gone, which is not declared"),
        (adapter(soap: [service(operations: ["op", "op"])]), "two elements of the SOAP service Things are op"),
        (
            adapter(
                operations: [operation(), operation("opResponse")], soap: [service(operations: ["op", "opResponse"])]),
            "two elements of the SOAP service Things are opResponse"
        ),
        (adapter(operations: [operation(documentType: "text/plain")], soap: [service()]), "which answers documents"),
        (adapter(operations: [operation(audience: .operators)], soap: [service()]), "which is for operators"),
        (adapter(soap: [service("a b")]), "a SOAP service has a name that is not of letters"),
        (adapter(soap: [service(namespace: "")]), "is no URI of its own"),
        (adapter(soap: [service(namespace: "\"><x/>")]), "is no URI of its own"),
        (adapter(soap: [service(namespace: "http://www.w3.org/2001/XMLSchema")]), "is no URI of its own"),
        (adapter(mounts: [mount("/a/../b")]), "has a segment that is `.` or `..`"),
        (adapter(mounts: [mount("/a\r\nb")]), "a character that needs an escape"),
        (adapter(mounts: [mount("/\"<script>")]), "a character that needs an escape"),
        (bound(HTTPBinding(.get, "/a\u{0}/{b}")), "a character that needs an escape"),
        (
            bound(HTTPBinding(.get, PathTemplate(stringLiteral: "/" + String(repeating: "a", count: 2_000)))),
            "is longer than 1000 bytes"
        ),
        (
            bound(HTTPBinding(.get, PathTemplate(stringLiteral: String(repeating: "/a", count: 40)))),
            "is longer than 1000 bytes"
        ),
    ]

    private static let mirrors: [(AdapterDeclaration, String)] = [
        (mirror(MirrorSettings(refresh: .zero)), "`refresh` is no time"),
        (mirror(MirrorSettings(refresh: .seconds(-1))), "`refresh` is no time"),
        (mirror(MirrorSettings(refresh: .nanoseconds(1))), "is refreshed more than ten times a second"),
        (mirror(MirrorSettings(staleFor: .nanoseconds(Int64.max))), "a time of more than ten years"),
        (mirror(MirrorSettings(freshFor: .seconds(-1))), "is negative"),
        (mirror(MirrorSettings(guard: .init(share: .nan))), "`guard.share` is not from 0 to 1"),
        (mirror(MirrorSettings(guard: .init(from: -1))), "`guard.from` is negative"),
        (mirror(MirrorSettings(callers: .init(count: 0))), "keeps the rows of no callers, or too many"),
        (mirror(MirrorSettings(callers: .init(rows: .max))), "keeps the rows of no callers, or too many"),
        (mirror(MirrorSettings(callers: .init(rows: -1))), "keeps the rows of no callers, or too many"),
        (
            adapter(entities: [things()], mirrors: Array(repeating: MirrorSource("things", of: "hr"), count: 100_000)),
            "it has 100000 mirrors; at most 500 are taken"
        ),
        (
            adapter(entities: [things()], mirrors: Array(repeating: MirrorSource("things", of: "hr"), count: 2)),
            "the entity things has two sources"
        ),
    ]

    @Test(arguments: hostile.indices)
    func whatCannotBeServedIsRefusedWithOneSentence(_ index: Int) throws {
        let (declaration, reason) = Self.hostile[index]
        let problem = try #require(refusal(declaration), "\(reason)")
        #expect(problem.contains(reason), "\(problem)")
        #expect(problem.utf8.count < 500 && problem.unicodeScalars.allSatisfy { $0.value >= 0x20 }, "\(problem)")
    }

    @Test func whatIsUnusualAndCanBeServedHasNoProblem() {
        let declared = Self.adapter(
            entities: [
                Self.entity("a", rows: Self.listed), Self.things([Field("rank", .integer)], indexes: [Index(["rank"])]),
            ],
            operations: [
                Self.operation(deadline: .milliseconds(1), bindings: [HTTPBinding(.get, "/v2/(x)/$all/")]),
                Self.operation("other", effect: .writes, output: .choice(["", "Größe"]), audience: .operators),
            ],
            mounts: [Self.mount("/files/a@b", methods: ["GET", "PROPFIND"], bodyLimit: 0)], feeds: [Self.feed()],
            soap: [Self.service(namespace: "http://example.com/a?b#c")])
        #expect(refusal(declared) == nil)
    }
}
