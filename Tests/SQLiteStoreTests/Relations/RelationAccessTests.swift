import AdapterKit
import RecordStorage
import SQLiteStore
import Testing

@Suite struct RelationAccessTests {
    private let emile = Principal(kind: .user, id: "emile", name: "emile")
    private let one = RowExpression.value(1)

    @Test func `rows that are not seen are in no source, however it is reached`() async throws {
        let library = try await Library(for: emile)
        let books = RelationSource.records("books", as: 1)
        let related = RowExpression.same(.field(1, "author"), .field(2, "id"))
        #expect(try await library.books(where: .value(true)) == [2, 3])
        let exists = Relation(
            .records("authors", as: 2), where: .exists(Relation(books, where: related, columns: [one])),
            columns: [.field(2, "id")])
        #expect(try await library.rows(exists) == [[2]])
        let joined = Relation(
            .records("authors", as: 2), joins: [Join(.left, books, on: related)],
            columns: [.field(2, "id"), .field(1, "id")], order: [RowOrder(.field(2, "id")), RowOrder(.field(1, "id"))])
        #expect(try await library.rows(joined) == [[1, .null], [2, 2], [2, 3], [3, .null]])
        let count = RowExpression.first(Relation(books, columns: [.aggregate(.count, nil, isDistinct: false)]))
        #expect(try await library.value(count) == 2)
        let nested = Relation(
            .rows(
                Relation(.union([Relation(books, columns: [.field(1, "id")])], as: 3), columns: [.output(3, 0)]), as: 4),
            columns: [.output(4, 0)], order: [RowOrder(.output(4, 0))])
        #expect(try await library.rows(nested) == [[2], [3]])
        let among = Relation(
            .records("authors", as: 2), where: .among(.field(2, "id"), Relation(books, columns: [.field(1, "author")])),
            columns: [.field(2, "id")])
        #expect(try await library.rows(among) == [[2]])
        #expect(try await library.books(where: .found(1, .word("notes"))) == [])
    }

    @Test func `entities of others, unknown fields and sources are refused`() async throws {
        let library = try await Library()
        let wrong: [Relation] = [
            Relation(.records("people", as: 1), columns: [one]),
            Relation(.records("books", as: 1), columns: [.field(1, "nothing")]),
            Relation(.records("books", as: 1), columns: [.field(2, "id")]),
            Relation(
                .records("books", as: 1), joins: [Join(.inner, .records("books", as: 1), on: .value(true))],
                columns: [one]),
            Relation(.records("books", as: 1), where: .compare(.less, .field(1, "title"), one), columns: [one]),
            Relation(.records("books", as: 1), where: .field(1, "title"), columns: [one]),
            Relation(.records("books", as: 1), columns: []),
        ]
        for relation in wrong {
            await #expect(throws: PorticoError.self) { try await library.rows(relation) }
        }
    }

    @Test func `what is too large or too deep is refused before it is compiled`() async throws {
        let library = try await Library()
        var deep = RowExpression.value(true)
        for _ in 0..<RelationLimits.standard.depth { deep = .not(deep) }
        let wide = RowExpression.any(
            Array(repeating: .isNull(.field(1, "id")), count: RelationLimits.standard.nodes / 2))
        let many = RowExpression.oneOf(.field(1, "id"), Array(repeating: 1, count: RelationLimits.standard.values + 1))
        for condition in [deep, wide, many] {
            let error = await #expect(throws: PorticoError.self) { try await library.books(where: condition) }
            #expect(error?.code == .requestLimitExceeded)
        }
    }

    @Test func `what is too deep for the database is refused in the same way`() async throws {
        let library = try await Library()
        var deep = RowExpression.value(true)
        for _ in 0..<(RelationLimits.standard.depth - 4) { deep = .not(deep) }
        let error = await #expect(throws: PorticoError.self) { try await library.books(where: deep) }
        #expect(error?.code == .requestLimitExceeded)
    }

    @Test func `the largest that is let through is answered`() async throws {
        let library = try await Library()
        var deep = RowExpression.value(true)
        for _ in 0..<32 { deep = .not(deep) }
        #expect(try await library.books(where: deep) == [1, 2, 3, 4])
        let parts = Array(
            repeating: RowExpression.isNull(.field(1, "id")), count: RelationLimits.standard.nodes / 2 - 10)
        #expect(try await library.books(where: .any(parts)) == [])
        let listed = (0..<RelationLimits.standard.values).map { WireValue.double(Double($0) + 0.5) }
        #expect(try await library.books(where: .oneOf(.field(1, "weight"), listed)) == [1, 2])
    }
}
