import AdapterKit
import RecordStorage
import SQLiteStore
import Testing

/// Conditions on related records select the same rows however they are evaluated, and are evaluated in the cheaper way.
@Suite struct SemijoinTests {
    private struct Author {
        let id: Int64
        let name: String
    }

    private struct Book {
        let id: Int64
        let author: Int64?
        let stock: Int64?
    }

    /// Some books have no author, or one that is not there; some authors have no books.
    private struct Data {
        let authors: [Author]
        let books: [Book]

        init(authors: Int64, books: Int64, _ random: inout SeededRandom) {
            self.authors = (1...authors).map { Author(id: $0, name: "n\($0 % 7)") }
            self.books = (1...books).map { number in
                Book(
                    id: number,
                    author: Int.random(in: 0..<5, using: &random) == 0
                        ? nil : .random(in: 1...(authors + 3), using: &random),
                    stock: Int.random(in: 0..<6, using: &random) == 0 ? nil : .random(in: 0...9, using: &random))
            }
        }

        func library() async throws -> Library {
            let library = try await Library(books: [], isCompared: false)
            let gone = (1...Library.someAuthors.count).map {
                RecordChange("authors", .delete(RecordID(unchecked: "\($0)")))
            }
            _ = try await library.everything.apply(gone)
            let all =
                authors.map { RecordChange("authors", .create(nil, ["id": .int64($0.id), "name": .string($0.name)])) }
                + books.map {
                    RecordChange(
                        "books",
                        .create(
                            nil,
                            [
                                "id": .int64($0.id), "author": $0.author.map { .int64($0) } ?? .null,
                                "stock": $0.stock.map { .int64($0) } ?? .null,
                            ]))
                }
            _ = try await library.everything.apply(all)
            return library
        }
    }

    private typealias Condition = (expression: RowExpression, holds: (Book) -> Bool)

    private struct Generator {
        let data: Data
        var random: SeededRandom
        private var lastSource = 1

        init(data: Data, random: SeededRandom) {
            self.data = data
            self.random = random
        }

        private mutating func source() -> SourceName {
            lastSource += 1
            return SourceName(lastSource)
        }

        mutating func condition(of book: SourceName, depth: Int) -> Condition {
            switch Int.random(in: 0..<(depth > 0 ? 7 : 2), using: &random) {
            case 0:
                let stock = Int64.random(in: 0...9, using: &random)
                return (
                    .compare(.less, .field(book, "stock"), .value(.int64(stock))),
                    { $0.stock.map { $0 < stock } ?? false }
                )
            case 1:
                let id = Int64.random(in: 1...Int64(data.books.count), using: &random)
                return (.compare(.equal, .field(book, "id"), .value(.int64(id))), { $0.id == id })
            case 2:
                let parts = (0..<2).map { _ in condition(of: book, depth: depth - 1) }
                return (.all(parts.map(\.expression)), { book in parts.allSatisfy { $0.holds(book) } })
            case 3:
                let parts = (0..<2).map { _ in condition(of: book, depth: depth - 1) }
                return (.any(parts.map(\.expression)), { book in parts.contains { $0.holds(book) } })
            case 4: return author(of: book)
            default: return siblings(of: book, depth: depth)
            }
        }

        /// By the value of the only related record.
        private mutating func author(of book: SourceName) -> Condition {
            let (source, name) = (source(), "n\(Int.random(in: 0..<9, using: &random))")
            let value = RowExpression.first(
                Relation(
                    .records("authors", as: source),
                    where: .compare(.equal, .field(source, "id"), .field(book, "author")),
                    columns: [.field(source, "name")], limit: 1))
            let names = Dictionary(uniqueKeysWithValues: data.authors.map { ($0.id, $0.name) })
            let isSame: (Book) -> Bool = { $0.author.flatMap { names[$0] } == name }
            if Bool.random(using: &random) { return (.same(value, .value(.string(name))), isSame) }
            return (.isTrue(.call(.startsWith, [value, .value(.string(name))])), isSame)
        }

        /// By the other books of the author, some or none.
        private mutating func siblings(of book: SourceName, depth: Int) -> Condition {
            let (author, other) = (source(), source())
            let inner = condition(of: other, depth: depth - 1)
            let books = RowExpression.exists(
                Relation(
                    .records("books", as: other),
                    where: .all([.compare(.equal, .field(author, "id"), .field(other, "author")), inner.expression]),
                    columns: [.value(1)]))
            let isNegative = Bool.random(using: &random)
            let authors = RowExpression.exists(
                Relation(
                    .records("authors", as: author),
                    where: .all([
                        .compare(.equal, .field(author, "id"), .field(book, "author")),
                        isNegative ? .not(books) : books,
                    ]),
                    columns: [.value(1)]))
            let chosen = Set(data.books.filter(inner.holds).compactMap(\.author))
            let ids = Set(data.authors.map(\.id))
            let isSome: (Book) -> Bool = { book in
                book.author.map { ids.contains($0) && chosen.contains($0) != isNegative } ?? false
            }
            if Bool.random(using: &random) { return (.not(authors), { !isSome($0) }) }
            return (authors, isSome)
        }
    }

    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func `generated conditions on related records choose the rows that the plainest code chooses`(
        seed: UInt64
    ) async throws {
        var random = SeededRandom(seed: seed)
        // With statistics and without.
        let data = Data(authors: 40, books: seed.isMultiple(of: 2) ? 60 : 1_200, &random)
        let library = try await data.library()
        var generator = Generator(data: data, random: random)
        for _ in 0..<100 {
            let condition = generator.condition(of: 1, depth: 3)
            let expected = data.books.filter(condition.holds).map(\.id)
            #expect(try await library.books(where: condition.expression) == expected, "\(condition.expression)")
        }
    }

    @Test func `related records are searched once for many rows, and for each of few rows`() async throws {
        var random = SeededRandom(seed: 1)
        let library = try await Data(authors: 1_200, books: 2_400, &random).library()
        let related = RowExpression.compare(.equal, .field(2, "id"), .field(1, "author"))
        let named = RowExpression.exists(
            Relation(
                .records("authors", as: 2), where: .all([related, .same(.field(2, "name"), .value("n1"))]),
                columns: [.value(1)]))
        let steps = { (condition: RowExpression) async throws -> String in
            try await library.store.plan(
                of: Relation(.records("books", as: 1), where: condition, columns: [.field(1, "id")]),
                seen: VisibleRows(of: Library.declaration, for: nil)
            ).joined(separator: "\n")
        }
        let many = try await steps(named)
        #expect(many.contains("LIST SUBQUERY") && !many.contains("CORRELATED"), "\(many)")
        #expect(many.contains("SEARCH t1 USING"), "\(many)")
        let few = try await steps(.all([.same(.field(1, "id"), .value(5)), named]))
        #expect(few.contains("CORRELATED"), "\(few)")
    }

    @Test func `large groups are read through the table, and by an index that has all of them`() async throws {
        var random = SeededRandom(seed: 2)
        let library = try await Data(authors: 20, books: 2_400, &random).library()
        let plan = { (operand: RowExpression?) async throws -> String in
            try await library.store.plan(
                of: Relation(
                    .records("books", as: 1),
                    columns: [
                        .field(1, "author"), .aggregate(operand == nil ? .count : .sum, operand, isDistinct: false),
                    ],
                    groups: [.field(1, "author")]),
                seen: VisibleRows(of: Library.declaration, for: nil)
            ).joined(separator: "\n")
        }
        let sums = try await plan(.field(1, "stock"))
        #expect(!sums.contains("INDEX"), "\(sums)")
        #expect(try await plan(nil).contains("COVERING INDEX"))
    }
}
