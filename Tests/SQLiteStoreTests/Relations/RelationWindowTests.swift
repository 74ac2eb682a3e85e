import AdapterKit
import RecordStorage
import SQLiteStore
import Testing

/// A window's groups are sought one by one where they are named and an index leads to them, and numbered otherwise.
@Suite struct RelationWindowTests {
    private static let author = RowExpression.field(1, "author")
    private static let title = RowExpression.field(1, "title")
    private static let stock = RowExpression.field(1, "stock")

    private static let books: [WireDictionary] = (1...200).map { (number: Int64) -> WireDictionary in
        let author: WireValue = number % 11 == 0 ? .null : .int64(number * 5 % 13)
        let stock: WireValue = number % 7 == 0 ? .null : .int64(number * 3 % 10)
        return [
            "id": .int64(number), "title": .string("title \(number * 7 % 9)"), "author": author, "price": .null,
            "weight": .null, "stock": stock, "out": .null, "tags": .null,
            "owner": .string(number % 3 == 0 ? "emile" : "ada"),
        ]
    }

    /// `isNamed`: with the list as the condition's first part, by which it is recognised.
    private func window(
        _ group: RowExpression, _ values: [WireValue], skip: Int, limit: Int?, _ rest: [RowExpression],
        descending: Bool, isNamed: Bool
    ) -> Relation {
        let list = RowExpression.oneOf(group, values)
        return Relation(
            .records("books", as: 1), where: .all(isNamed ? [list] + rest : [.value(true), list] + rest),
            columns: [group, .field(1, "id"), Self.stock],
            order: [RowOrder(Self.stock, descending: descending), RowOrder(.field(1, "id"))],
            window: RowWindow(by: [group], skip: skip, limit: limit))
    }

    @Test(arguments: [nil, Principal(kind: .user, id: "emile", name: "emile")])
    func `groups that are sought have the rows that numbering finds`(_ principal: Principal?) async throws {
        let library = try await Library(books: Self.books, for: principal)
        let lists: [(RowExpression, [WireValue])] = [
            (Self.author, [5, 3, 5, 12, 99, .null]), (Self.author, (0...12).map { .int64($0) }), (Self.author, []),
            (Self.title, ["title 1", "title 8", "title 77"]),
        ]
        let conditions: [[RowExpression]] = [[], [.compare(.greater, Self.stock, .value(2))]]
        for (group, values) in lists {
            for rest in conditions {
                for (skip, limit, descending) in [(0, 1, false), (0, 4, true), (2, 3, false), (0, 500, true)] {
                    let relations = [true, false].map {
                        window(group, values, skip: skip, limit: limit, rest, descending: descending, isNamed: $0)
                    }
                    #expect(try await library.rows(relations[0]) == library.rows(relations[1]))
                }
            }
        }
    }

    @Test func `no more is read of a group than is asked for`() async throws {
        let library = try await Library(books: Self.books)
        let relation = Relation(
            .records("books", as: 1), where: .oneOf(Self.author, [1, 2, 3]), columns: [.field(1, "id")],
            order: [RowOrder(.field(1, "id"))], window: RowWindow(by: [Self.author], limit: 2))
        let steps = try await library.store.plan(of: relation, seen: VisibleRows(of: Library.declaration, for: nil))
        #expect(steps.count == 1, "\(steps)")
        #expect(steps.first?.hasPrefix("SEARCH t1 USING COVERING INDEX") == true, "\(steps)")
    }

    @Test func `all groups together have no more rows than are asked for`() async throws {
        let library = try await Library(books: Self.books)
        var relation = window(Self.author, [1, 2, 3], skip: 0, limit: 4, [], descending: false, isNamed: true)
        let all = try await library.rows(relation)
        for limit in 0...(all.count + 1) {
            relation.limit = limit
            #expect(try await library.rows(relation) == Array(all.prefix(limit)))
        }
    }
}
