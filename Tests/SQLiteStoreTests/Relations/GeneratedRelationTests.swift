import AdapterKit
import RecordStorage
import SQLiteStore
import Testing

@Suite struct GeneratedRelationTests {
    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func `generated conditions choose the rows that the plainest code chooses`(seed: UInt64) async throws {
        var generator = ConditionGenerator(random: SeededRandom(seed: seed))
        let books = (1...40).map { generator.book($0) }
        let library = try await Library(books: books)
        for _ in 0..<150 {
            let condition = generator.condition(depth: 4)
            let expected = books.filter { condition.holds(for: $0) == true }.compactMap { $0["id"]?.int64Value }
            let found = try await library.books(where: condition)
            #expect(found == expected, "\(condition)")
        }
    }

    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func `pages of generated orders go through every row once, in order`(seed: UInt64) async throws {
        var generator = ConditionGenerator(random: SeededRandom(seed: seed))
        let books = (1...30).map { generator.book($0) }
        let library = try await Library(books: books)
        for _ in 0..<12 {
            var fields: [FieldName] = ["stock", "weight", "price", "title", "out"]
            fields.shuffle(using: &generator.random)
            let order =
                fields.prefix(Int.random(in: 0...3, using: &generator.random)).map {
                    RowOrder(.field(1, $0), descending: Bool.random(using: &generator.random))
                } + [RowOrder(.field(1, "id"), descending: Bool.random(using: &generator.random))]
            var page = Relation(.records("books", as: 1), columns: order.map(\.expression), order: order)
            let whole = try await library.rows(page)
            #expect(whole.count == books.count && Self.isOrdered(whole, order))
            page.limit = 7
            var found: [[WireValue]] = []
            while case let rows = try await library.rows(page), let last = rows.last {
                found += rows
                page.start = .after(last)
            }
            #expect(found == whole)
        }
    }

    private static func isOrdered(_ rows: [[WireValue]], _ order: [RowOrder]) -> Bool {
        zip(rows, rows.dropFirst()).allSatisfy { left, right in
            for (position, criterion) in order.enumerated() {
                let sign = Self.order(left[position], right[position])
                if sign != 0 { return criterion.isDescending ? sign > 0 : sign < 0 }
            }
            return false
        }
    }

    private static func order(_ left: WireValue, _ right: WireValue) -> Int {
        if left.isNull || right.isNull { return (left.isNull ? 0 : 1) - (right.isNull ? 0 : 1) }
        return left.order(right) ?? 0
    }
}
