import AdapterKit
import Testing

@testable import WorkerHost

/// Declarations that the host could not serve: each ended the gateway, or its start, before they were checked.
@Suite struct DeclarationCheckTests {
    private static func entity(_ name: EntityName, rows: RowRules = RowRules(read: .signedIn, write: .nobody)) -> Entity
    {
        Entity(
            name, summary: "Things.", key: EntityKey("id"),
            fields: [Field("id", .string, isRequired: true), Field("members", .list(of: .string), isNullable: true)],
            rows: rows)
    }

    private static func declaration(
        mounts: [String] = [], methods: [String] = ["GET"], bindings: [PathTemplate] = [], entities: [Entity] = [],
        operations: [OperationName] = ["op"]
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
            })
    }

    @Test func whatCanBeServedHasNoProblem() {
        let rows = RowRules(read: .memberOf("things", through: "id", members: "members"), write: .nobody)
        let declared = Self.declaration(
            mounts: ["/files", "/api/v1/tasks/files"], bindings: ["/v2/tasks/{id}"],
            entities: [Self.entity("things"), Self.entity("parts", rows: rows)])
        #expect(DeclarationCheck.problem(declared) == nil)
    }

    @Test(arguments: ["/", "/{rest}", "/x/{rest}", "/y/{rest*}", "/x/"])
    func aMountIsAtPlainSegments(_ path: String) {
        #expect(
            DeclarationCheck.problem(Self.declaration(mounts: [path]))?.contains("has to be plain segments") == true)
    }

    @Test(arguments: [
        "/auth", "/auth/login", "/admin/v1", "/sync/v1/pull", "/health", "/api/v1", "/api/v1/notes", "/api",
    ])
    func pathsOfTheGatewayAndOfOtherAdaptersAreNotTaken(_ path: String) throws {
        #expect(DeclarationCheck.problem(Self.declaration(mounts: [path])) == "the path \(path) is the gateway's")
        let bound = Self.declaration(bindings: [try #require(PathTemplate(path))])
        #expect(DeclarationCheck.problem(bound) == "the path \(path) is the gateway's")
    }

    @Test func namesAreDistinctAndMethodsAreMethods() {
        #expect(
            DeclarationCheck.problem(Self.declaration(operations: ["op", "op"])) == "two operations have the name op")
        #expect(
            DeclarationCheck.problem(Self.declaration(entities: [Self.entity("a"), Self.entity("a")]))
                == "two entities have the name a")
        let odd = Self.declaration(mounts: ["/files"], methods: ["GET\r\n"])
        #expect(DeclarationCheck.problem(odd) == "a method of the mount m0 is none")
    }

    @Test func rowRulesNameWhatIsThereAndAreNotDeep() {
        func problem(_ rule: RowRule) -> String? {
            DeclarationCheck.problem(
                Self.declaration(entities: [Self.entity("things", rows: RowRules(read: rule, write: .nobody))]))
        }
        #expect(
            problem(.memberOf("rooms", through: "id", members: "members"))?.contains("which is not declared") == true)
        #expect(problem(.memberOf("things", through: "id", members: "id"))?.contains("for a list of names") == true)
        let deep = (0..<100).reduce(RowRule.signedIn) { rule, _ in .not(rule) }
        #expect(problem(deep) == "a row rule of things has more than 16 levels")
    }
}
