import AdapterKit
import Foundation
import Testing
import WorkerHost

@Suite struct LastDeclarationTests {
    private let path = NSTemporaryDirectory() + "/last-\(UUID().uuidString)"

    @Test func aDeclarationIsReadAsItWasWritten() throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        let declaration = Self.declaration(rules: nil)
        try LastDeclaration(program: "/bin/tasks", declaration: declaration).write(to: path)
        let last = try #require(LastDeclaration(path: path))
        #expect(last.program == "/bin/tasks")
        #expect(last.declaration == declaration)
        #expect(last.declaration.rules == nil)
    }

    @Test func rulesThatCannotBeAskedAreThereAfterwards() throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        try LastDeclaration(program: "x", declaration: Self.declaration(rules: Lenient())).write(to: path)
        #expect(try #require(LastDeclaration(path: path)).declaration.rules != nil)
    }

    @Test func whatIsNoDeclarationIsNone() throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        #expect(LastDeclaration(path: path) == nil)
        let declaration = Self.declaration(rules: nil)
        try LastDeclaration(program: "x", declaration: declaration).write(to: path)
        let whole = try Data(contentsOf: URL(filePath: path))
        for count in stride(from: 0, to: whole.count, by: 7) {
            try whole.prefix(count).write(to: URL(filePath: path))
            #expect(LastDeclaration(path: path) == nil, "\(count)")
        }
        for position in whole.indices {
            var damaged = whole
            damaged[position] ^= 0xFF
            try damaged.write(to: URL(filePath: path))
            // It may still be one; nothing traps.
            _ = LastDeclaration(path: path)
        }
    }

    private static func declaration(rules: (any RecordRules)?) -> AdapterDeclaration {
        AdapterDeclaration(
            name: "tasks", title: "Tasks", summary: "Tasks.", version: "1.0.0",
            operations: [Operation("version", summary: "Says which version.", effect: .reads, output: .string)],
            rules: rules)
    }
}

private struct Lenient: RecordRules {
    func prepare(_ change: RecordChange, of record: Record?, in writing: RecordRuleContext) throws -> PreparedChange {
        PreparedChange(change)
    }

    func verify(_ record: Record, of entity: EntityName, in writing: RecordRuleContext) throws {}
}
