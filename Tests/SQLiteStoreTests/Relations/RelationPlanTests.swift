import AdapterKit
import RecordStorage
import SQLiteStore
import Testing

@Suite struct RelationPlanTests {
    private let price = RowExpression.field(1, "price")
    private let id = RowExpression.field(1, "id")

    private func plan(_ relation: Relation, for principal: Principal? = nil) async throws -> [String] {
        let library = try await Library()
        return try await library.store.plan(
            of: relation, seen: VisibleRows(of: Library.declaration, for: principal))
    }

    @Test func `equality, order and a prefix are ranges of an index`() async throws {
        let conditions: [RowExpression] = [
            .same(price, .value(1)), .isTrue(.compare(.less, price, .value(1))),
            .call(.startsWith, [.field(1, "title"), .value("a")]),
            .oneOf(.field(1, "author"), (1...20).map { .int64($0) }),
        ]
        for condition in conditions {
            let steps = try await plan(Relation(.records("books", as: 1), where: condition, columns: [id]))
            #expect(steps.contains { $0.hasPrefix("SEARCH t1 USING") }, "\(steps)")
        }
    }

    @Test func `a page goes on within an index, for one who sees some rows too`() async throws {
        let page = Relation(
            .records("books", as: 1), columns: [price, id], order: [RowOrder(price), RowOrder(id)],
            start: .after([1, 2]), limit: 10)
        for principal in [nil, Principal(kind: .user, id: "emile", name: "emile")] {
            let steps = try await plan(page, for: principal)
            #expect(steps.contains { $0.contains("library/books:price") }, "\(steps)")
            #expect(!steps.contains { $0.contains("TEMP B-TREE") }, "\(steps)")
        }
    }

    @Test func `the related row is found by its key`() async throws {
        let author = RowExpression.first(
            Relation(
                .records("authors", as: 2), where: .compare(.equal, .field(2, "id"), .field(1, "author")),
                columns: [.field(2, "name")], limit: 1))
        let steps = try await plan(
            Relation(.records("books", as: 1), columns: [author]))
        #expect(steps.contains { $0.hasPrefix("SEARCH t2 USING INTEGER PRIMARY KEY") }, "\(steps)")
    }
}
