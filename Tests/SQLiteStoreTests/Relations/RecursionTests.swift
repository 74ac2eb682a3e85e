import AdapterKit
import RecordStorage
import SQLiteStore
import Testing

/// A book's `author` is taken as the book that it is below: 1 and 6 are above all, 2 and 3 below 1, 4 and 5 below 2; 7 and
/// 8 are below each other.
@Suite struct RecursionTests {
    private static let books: [WireDictionary] = [(1, nil), (2, 1), (3, 1), (4, 2), (5, 2), (6, nil), (7, 8), (8, 7)]
        .map {
            (number: Int64, above: Int64?) -> WireDictionary in
            [
                "id": .int64(number), "title": .string("title \(9 - number)"),
                "author": above.map { .int64($0) } ?? .null,
                "price": .null, "weight": .null, "stock": .int64(number), "out": .null, "tags": .null,
                "owner": .string(number == 2 ? "emile" : "ada"),
            ]
        }

    private static let id = RowExpression.field(1, "id")

    private func start(_ condition: RowExpression, _ more: [RowExpression] = []) -> Relation {
        Relation(.records("books", as: 1), where: condition, columns: [Self.id] + more)
    }

    /// What is directly below a book that was found.
    private func below(_ more: [RowExpression] = []) -> Relation {
        Relation(
            .found(as: 2),
            joins: [Join(.inner, .records("books", as: 3), on: .compare(.equal, .field(3, "author"), .output(2, 0)))],
            columns: [.field(3, "id")] + more)
    }

    private func found(_ recursion: Recursion, _ library: Library) async throws -> [[WireValue]] {
        try await library.rows(
            Relation(
                .recursion(recursion, as: 4), columns: recursion.start.columns.indices.map { .output(4, $0) },
                order: recursion.order.isEmpty
                    ? [RowOrder(.output(4, 0))] : [RowOrder(.output(4, recursion.start.columns.count))]))
    }

    @Test func `what is found leads further until there is no more`() async throws {
        let library = try await Library(books: Self.books)
        let all = Recursion(from: start(.compare(.equal, Self.id, .value(1))), step: below())
        #expect(try await found(all, library) == [[1], [2], [3], [4], [5]])
        let none = Recursion(from: start(.compare(.equal, Self.id, .value(99))), step: below())
        #expect(try await found(none, library) == [])
    }

    @Test func `a circle comes to its end`() async throws {
        let library = try await Library(books: Self.books)
        let circle = Recursion(from: start(.compare(.equal, Self.id, .value(7))), step: below())
        #expect(try await found(circle, library) == [[7], [8]])
    }

    @Test func `a recursion does not continue from rows that the caller does not see`() async throws {
        let reader = Principal(kind: .user, id: "ada", name: "ada")
        let library = try await Library(books: Self.books, for: reader)
        let all = Recursion(from: start(.compare(.equal, Self.id, .value(1))), step: below())
        #expect(try await found(all, library) == [[1], [3]])
    }

    @Test func `in an order a tree is gone through branch by branch`() async throws {
        let library = try await Library(books: Self.books)
        let depth = RowExpression.arithmetic(.add, .output(2, 1), .value(1))
        for (descending, expected) in [(false, [6, 1, 3, 2, 5, 4]), (true, [1, 2, 4, 5, 3, 6])] as [(Bool, [WireValue])]
        {
            let tree = Recursion(
                from: start(.isNull(.field(1, "author")), [.value(0), .field(1, "title")]),
                step: below([depth, .field(3, "title")]),
                order: [.init(1, descending: true), .init(2, descending: descending)])
            #expect(try await found(tree, library).map { $0[0] } == expected)
        }
    }

    @Test func `it may begin with a value of the row around it`() async throws {
        let library = try await Library(books: Self.books)
        let below = Recursion(from: start(.compare(.equal, Self.id, .field(5, "id"))), step: below())
        let count = Relation(.recursion(below, as: 4), columns: [.aggregate(.count, nil, isDistinct: false)])
        let rows = try await library.rows(
            Relation(
                .records("books", as: 5), columns: [.field(5, "id"), .first(count)], order: [RowOrder(.field(5, "id"))])
        )
        #expect(rows.map { $0[1] } == [5, 3, 1, 1, 1, 1, 2, 2])
    }

    @Test func `what is no recursion is refused`() async throws {
        let library = try await Library(books: Self.books)
        var limited = below()
        limited.limit = 1
        let refused = [
            Relation(.found(as: 1), columns: [.output(1, 0)]),
            Relation(.recursion(Recursion(from: start(.value(true)), step: limited), as: 4), columns: [.output(4, 0)]),
            Relation(
                .recursion(Recursion(from: start(.value(true)), step: below([.value(1)])), as: 4),
                columns: [.output(4, 0)]),
            // Fewer columns than it begins with.
            Relation(
                .recursion(Recursion(from: start(.value(true), [.value(1)]), step: below()), as: 4),
                columns: [.output(4, 0)]),
            Relation(
                .recursion(Recursion(from: start(.value(true)), step: below(), order: [.init(3)]), as: 4),
                columns: [.output(4, 0)]),
        ]
        for relation in refused {
            await #expect(throws: PorticoError.self) { try await library.rows(relation) }
        }
    }

    @Test func `sums go by groups`() async throws {
        let library = try await Library(books: Self.books)
        let (stock, group) = (RowExpression.field(1, "stock"), RowExpression.field(1, "author"))
        let rows = try await library.rows(
            Relation(
                .records("books", as: 1), where: .compare(.less, Self.id, .value(7)),
                columns: [.sumBefore(stock, by: [group], order: [RowOrder(Self.id)]), .sumWithin(stock, by: [group])],
                order: [RowOrder(Self.id)]))
        #expect(rows == [[0, 7], [0, 5], [2, 5], [0, 9], [4, 9], [1, 7]].map { $0.map { .double($0) } })
    }
}
