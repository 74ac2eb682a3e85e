import AdapterKit
import RecordStorage
import SQLiteStore
import Testing

@Suite struct RelationTests {
    private let title = RowExpression.field(1, "title")
    private let stock = RowExpression.field(1, "stock")
    private let price = RowExpression.field(1, "price")

    @Test func `equality knows null, order does not`() async throws {
        let library = try await Library()
        #expect(try await library.books(where: .same(stock, .value(.null))) == [4])
        #expect(try await library.books(where: .not(.same(stock, .value(3)))) == [2, 3, 4])
        #expect(try await library.books(where: .compare(.less, stock, .value(1))) == [2, 3])
        #expect(try await library.books(where: .not(.compare(.less, stock, .value(1)))) == [1])
        #expect(try await library.books(where: .not(.isTrue(.compare(.less, stock, .value(1))))) == [1, 4])
        #expect(try await library.books(where: .field(1, "out")) == [1, 4])
        #expect(try await library.books(where: .not(.field(1, "out"))) == [2])
    }

    @Test func `decimals are compared and computed exactly`() async throws {
        let library = try await Library()
        let sum = RowExpression.arithmetic(.add, .value(.decimal("0.1")), .value(.decimal("0.2")))
        #expect(try await library.value(sum) == .decimal("0.3"))
        #expect(try await library.books(where: .same(price, .value(.decimal("0.2")))) == [2])
        #expect(
            try await library.books(where: .compare(.greater, price, .value(.decimal("12345678901234567890.49")))) == [
                3
            ])
        let total = Relation(.records("books", as: 1), columns: [.aggregate(.sum, price, isDistinct: false)])
        #expect(try await library.rows(total) == [[.decimal("12345678901234567890.80")]])
        let third = RowExpression.arithmetic(.divide, .value(.decimal("1.0")), .value(.decimal("3")))
        #expect(try await library.value(third) == .decimal("0.33333333333333333333333333333333333333"))
        #expect(try await library.value(.call(.round, [.value(.decimal("-2.5"))])) == .decimal("-3"))
        let rest = RowExpression.arithmetic(.remainder, .value(.decimal("-7.5")), .value(2))
        #expect(try await library.value(rest) == .decimal("-1.5"))
    }

    @Test func `a value is found among numbers of other kinds`() async throws {
        let numbers: [WireDictionary] = [
            ["id": 1, "title": "a", "stock": 3, "price": .decimal("2.0"), "weight": 2],
            ["id": 2, "title": "b", "stock": 2, "price": .decimal("3.00"), "weight": 1.5],
            ["id": 3, "title": "c", "stock": 7, "price": .decimal("1.5"), "weight": 8],
        ]
        let library = try await Library(books: numbers)
        for (own, others, expected) in [
            ("stock", "price", [1, 2]), ("price", "stock", [1, 2]), ("weight", "stock", [1]), ("stock", "weight", [2]),
            ("price", "weight", [1, 3]), ("weight", "price", [1, 2]), ("stock", "stock", [1, 2, 3]),
        ] as [(FieldName, FieldName, [Int64])] {
            let among = Relation(.records("books", as: 2), columns: [.field(2, others)])
            let found = try await library.books(where: .among(.field(1, own), among))
            #expect(found == expected, "\(own) among \(others)")
        }
    }

    @Test func `an integer and a double are compared exactly`() async throws {
        // One beyond 2^53, which no double is.
        let library = try await Library(
            books: [["id": 1, "stock": 9_007_199_254_740_993, "weight": .double(9_007_199_254_740_992)]],
            isCompared: false)
        #expect(try await library.books(where: .same(stock, .field(1, "weight"))) == [])
        #expect(try await library.books(where: .compare(.greater, stock, .field(1, "weight"))) == [1])
    }

    @Test func `numbers without measure cost neither memory nor the process`() async throws {
        let library = try await Library(books: [])
        var large = RowExpression.value(.decimal("1e999999"))
        for _ in 0..<10 { large = .arithmetic(.multiply, large, large) }
        #expect(try await library.value(large) == .null)
        let apart = RowExpression.arithmetic(.add, .value(.decimal("1e5000")), .value(.decimal("1e-5000")))
        #expect(try await library.value(apart) == .null)
        let sum = Relation(
            .union([.max, 1].map { Relation(.one, columns: [.value(.int64($0))]) }, as: 1),
            columns: [.aggregate(.sum, .output(1, 0), isDistinct: false)])
        let error = await #expect(throws: PorticoError.self) { try await library.rows(sum) }
        #expect(error?.code == .requestInvalid)
    }

    @Test func `a field of decimals keeps the zeros that were written`() async throws {
        let library = try await Library()
        let rows = try await library.rows(
            Relation(.records("books", as: 1), where: .same(.field(1, "id"), .value(2)), columns: [price]))
        guard case .decimal(let number) = rows[0][0] else { return #expect(Bool(false)) }
        #expect(number.description == "0.20")
    }

    @Test func `pages go on after nulls, in both directions`() async throws {
        let library = try await Library()
        for isDescending in [false, true] {
            let order = [
                RowOrder(stock, descending: isDescending), RowOrder(.field(1, "id"), descending: isDescending),
            ]
            var page = Relation(
                .records("books", as: 1), columns: [stock, .field(1, "id")], order: order, limit: 1)
            var found: [Int64] = []
            while let row = try await library.rows(page).first {
                found.append(try #require(row[1].int64Value))
                page.start = .after(row)
            }
            #expect(found == (isDescending ? [1, 2, 3, 4] : [4, 3, 2, 1]))
        }
    }

    @Test func `some and all related rows`() async throws {
        let library = try await Library()
        func authors(_ condition: RowExpression) async throws -> [WireValue] {
            try await library.rows(
                Relation(.records("authors", as: 2), where: condition, columns: [.field(2, "id")])
            ).map { $0[0] }
        }
        let related = RowExpression.same(.field(1, "author"), .field(2, "id"))
        let cheap = RowExpression.compare(.less, price, .value(1))
        let one = RowExpression.value(1)
        #expect(
            try await authors(
                .exists(Relation(.records("books", as: 1), where: .all([related, cheap]), columns: [one])))
                == [1, 2])
        #expect(
            try await authors(
                .not(
                    .exists(
                        Relation(
                            .records("books", as: 1), where: .all([related, .not(.isTrue(cheap))]), columns: [one]))))
                == [1, 3])
    }

    @Test func `a window takes some rows of each group`() async throws {
        let library = try await Library()
        let relation = Relation(
            .records("books", as: 1), columns: [.field(1, "author"), .field(1, "id")],
            order: [RowOrder(.field(1, "id"), descending: true)], window: RowWindow(by: [.field(1, "author")], limit: 1)
        )
        #expect(try await library.rows(relation) == [[.null, 4], [1, 1], [2, 3]])
    }

    @Test func `groups are counted, and groups chosen by their count`() async throws {
        let library = try await Library()
        let count = RowExpression.aggregate(.count, nil, isDistinct: false)
        let relation = Relation(
            .records("books", as: 1),
            joins: [Join(.left, .records("authors", as: 2), on: .same(.field(2, "id"), .field(1, "author")))],
            columns: [.field(2, "name"), count, .aggregate(.average, .field(1, "weight"), isDistinct: false)],
            groups: [.field(2, "name")], groupCondition: .compare(.greaterOrEqual, count, .value(1)),
            order: [RowOrder(count, descending: true), RowOrder(.field(2, "name"))])
        #expect(try await library.rows(relation) == [["Émile", 2, 2.5], [.null, 1, 0.0], ["Ada", 1, 1.5]])
    }

    @Test func `elements of a list are rows`() async throws {
        let library = try await Library()
        let tag = RowExpression.member(.element(2), [], .text)
        let tags = Relation(
            .elements(of: .field(1, "tags"), as: 2), where: .call(.startsWith, [tag, .value("m")]), columns: [.value(1)]
        )
        #expect(try await library.books(where: .exists(tags)) == [1])
    }

    @Test func `members of a dictionary are values`() async throws {
        let library = try await Library()
        let home = RowExpression.field(1, "home")
        let relation = Relation(
            .records("authors", as: 1),
            columns: [
                .member(home, [.member("city")], .text), .member(home, [.member("zip"), .position(-1)], .integer),
            ],
            order: [RowOrder(.field(1, "id"))])
        #expect(try await library.rows(relation) == [["London", 2], ["Paris", .null], [.null, .null]])
    }

    @Test func `a nested relation's columns go by their positions, a union's meet in one kind`() async throws {
        let library = try await Library()
        func branch(_ column: RowExpression) -> Relation { Relation(.one, columns: [column]) }
        let union = RelationSource.union([branch(.value(1)), branch(.value(.decimal("2.5")))], as: 1)
        let relation = Relation(
            .rows(Relation(union, columns: [.output(1, 0)]), as: 2), columns: [.output(2, 0)],
            order: [RowOrder(.output(2, 0), descending: true)])
        #expect(try await library.rows(relation) == [[.decimal("2.5")], [.decimal("1")]])
    }

    @Test func `one query may be asked while its rows are received`() async throws {
        let library = try await Library()
        let relation = Relation(
            .records("books", as: 1), columns: [.field(1, "id")], order: [RowOrder(.field(1, "id"))])
        for _ in 0..<3 {
            let counts = try await library.records.withReadSnapshot { snapshot in
                var counts: [Int] = []
                try snapshot.rows(relation) { _ in counts.append(try snapshot.rows(relation).count) }
                return counts
            }
            #expect(counts == [4, 4, 4, 4])
        }
    }

    @Test func `whole words are searched, alone or combined`() async throws {
        let library = try await Library()
        #expect(try await library.books(where: .found(1, .word("BETE"))) == [3])
        #expect(try await library.books(where: .found(1, .word("bet"))) == [])
        #expect(try await library.books(where: .found(1, .any([.word("notes"), .phrase("la bête")]))) == [1, 3])
        #expect(try await library.books(where: .found(1, .not(.word("notes")))) == [2, 3, 4])
    }
}

extension WireValue {
    static func decimal(_ text: String) -> WireValue { .decimal(WireDecimal(text)!) }
}
