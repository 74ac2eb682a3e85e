import AdapterKit
import RecordStorage
import Testing

@testable import SQLiteStore

/// Relations of a few hundred parts, which put into each other would be statements of gigabytes.
@Suite(.timeLimit(.minutes(5))) struct StatementBudgetTests {
    private func sql(of relation: Relation, _ library: Library) throws -> String {
        try library.store.sql(of: relation, seen: VisibleRows(of: Library.declaration, for: nil))
    }

    private func isRefused(_ relation: Relation, _ library: Library) -> Bool {
        do {
            _ = try sql(of: relation, library)
            return false
        } catch {
            return (error as? PorticoError)?.code == .requestLimitExceeded
        }
    }

    /// "a" where the text begins with it, null elsewhere; and that of that, so many times.
    private func prefixes(of text: RowExpression, levels: Int) -> RowExpression {
        (0..<levels).reduce(text) { inner, _ in
            .choose(
                [.init(when: .call(.startsWith, [inner, .value("N")]), then: .value("N"))], otherwise: .value(.null))
        }
    }

    @Test func `a beginning of a beginning is asked for once a level`() async throws {
        let library = try await Library()
        func relation(_ levels: Int) -> Relation {
            Relation(
                .records("books", as: 1), where: .same(prefixes(of: .field(1, "title"), levels: levels), .value("N")),
                columns: [.field(1, "id")], order: [RowOrder(.field(1, "id"))])
        }
        let (few, many) = (try sql(of: relation(6), library), try sql(of: relation(12), library))
        #expect(many.utf8.count < 3 * few.utf8.count)
        #expect(try sql(of: relation(30), library).utf8.count < 10_000)
        #expect(try await library.rows(relation(6)) == [[1]])
    }

    @Test func `an order of relations that each begin after a row is too large before it is made`() async throws {
        let library = try await Library(books: [])
        /// A title behind the one before it in an order that is such a title itself.
        func title(_ levels: Int) -> RowExpression {
            let name = SourceName(levels)
            guard levels > 0 else { return .value("a") }
            return .first(
                Relation(
                    .records("books", as: name), columns: [.field(name, "title")],
                    order: [RowOrder(title(levels - 1), descending: true), RowOrder(.field(name, "id"))],
                    start: .after(["b", 1])))
        }
        #expect(try sql(of: Relation(.one, columns: [title(3)]), library).utf8.count < 10_000)
        #expect(isRefused(Relation(.one, columns: [title(16)]), library))
    }

    @Test func `numbers that are looked for among numbers of other kinds are compiled once a level`() async throws {
        let library = try await Library()
        /// Weights, if the one of the book before is among those of another kind, and so on.
        func weights(_ levels: Int) -> Relation {
            let name = SourceName(levels)
            return Relation(
                .records("books", as: name),
                where: levels > 1 ? .among(.field(name, "price"), weights(levels - 1)) : nil,
                columns: [.field(name, "weight")])
        }
        let (few, many) = (try sql(of: weights(10), library), try sql(of: weights(20), library))
        #expect(many.utf8.count < 3 * few.utf8.count)
        #expect(try await library.books(where: .among(.field(1, "stock"), decimals(as: 2))) == [1, 2, 3])
    }

    /// 3, 0 and −3 as decimals, and null.
    private func decimals(as name: SourceName) -> Relation {
        Relation(
            .records("books", as: name),
            columns: [.call(.toDecimal, [.field(name, "stock")])])
    }

    @Test func `unions of numbers of different kinds are compiled once a level`() async throws {
        let library = try await Library()
        func union(_ levels: Int) -> Relation {
            let (whole, part) = (SourceName(2 * levels), SourceName(2 * levels + 1))
            let own = Relation(
                .records("books", as: part), columns: [.field(part, levels % 2 == 0 ? "stock" : "price")])
            guard levels > 0 else { return own }
            return Relation(.union([union(levels - 1), own], as: whole), columns: [.output(whole, 0)])
        }
        let (few, many) = (try sql(of: union(10), library), try sql(of: union(20), library))
        #expect(many.utf8.count < 3 * few.utf8.count)
        #expect(try await library.rows(union(2)).count == 12)
    }

    @Test func `a column that stands for columns counts as all that it stands for`() async throws {
        let library = try await Library()
        /// The sum of many times the column of the level before, which is such a sum.
        func sums(_ levels: Int, of count: Int) -> Relation {
            let name = SourceName(levels)
            guard levels > 0 else { return Relation(.records("books", as: 0), columns: [.field(0, "stock")]) }
            let column = RowExpression.output(name, 0)
            return Relation(
                .rows(sums(levels - 1, of: count), as: name),
                columns: [(1..<count).reduce(column) { sum, _ in .arithmetic(.add, sum, column) }])
        }
        #expect(isRefused(sums(7, of: 10), library))
        #expect(try await library.rows(sums(3, of: 10)).contains([3000]))
    }

    @Test func `a condition on a long union counts once for each of its relations`() async throws {
        let library = try await Library()
        func numbers(_ relations: Int, conditions: Int) -> Relation {
            let union = RelationSource.union(
                (1...relations).map { Relation(.one, columns: [.value(.int64(Int64($0)))]) }, as: 1)
            return Relation(
                union,
                where: .all((0..<conditions).map { .compare(.greater, .output(1, 0), .value(.int64(Int64($0)))) }),
                columns: [.output(1, 0)])
        }
        #expect(isRefused(numbers(400, conditions: 400), library))
        #expect(try await library.rows(numbers(20, conditions: 20)) == [[20]])
    }

    @Test func `groups of groups are too large before they are made`() async throws {
        let library = try await Library(books: [])
        func title(_ levels: Int) -> RowExpression {
            let name = SourceName(levels)
            guard levels > 0 else { return .value("a") }
            return .first(
                Relation(
                    .records("books", as: name), columns: [.field(name, "title")],
                    order: [RowOrder(.field(name, "id"))],
                    window: RowWindow(by: [title(levels - 1)], limit: 1)))
        }
        #expect(try sql(of: Relation(.one, columns: [title(3)]), library).utf8.count < 10_000)
        #expect(isRefused(Relation(.one, columns: [title(24)]), library))
    }

    @Test func `a statement as long as nobody writes one is not kept`() {
        let admission = StatementAdmission()
        for _ in 0..<3 {
            #expect(!admission.admits(String(repeating: " ", count: StatementAdmission.maximumBytes + 1)))
        }
        #expect(!admission.admits("SELECT 1"))
        #expect(admission.admits("SELECT 1"))
    }
}
