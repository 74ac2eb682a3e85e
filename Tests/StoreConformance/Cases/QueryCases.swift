import AdapterKit
import RecordStorage

extension StoreConformance {
    static let queryCases = [
        ConformanceCase("a comparison with null is false, its negation true") { store in
            try await store.own.create(["id": "n", "name": "a"], in: "items")
            try await store.own.create(["id": "v", "name": "a", "rank": 1], in: "items")
            func ids(_ filter: Filter) async throws -> [String] {
                try await store.own.query(Query(filter), in: "items").records.map(\.id.text)
            }
            try expectEqual(try await ids(.compare("rank", .equal, 1)), ["v"], "equal")
            try expectEqual(try await ids(.compare("rank", .notEqual, 1)), ["n"], "not equal")
            try expectEqual(try await ids(.compare("rank", .less, 5)), ["v"], "less")
            try expectEqual(try await ids(.not(.compare("rank", .less, 5))), ["n"], "not less")
            try expectEqual(try await ids(.not(.all([.isNull("rank"), .always]))), ["v"], "not null")
            try expectEqual(try await ids(.compare("rank", .equal, .null)), [], "equal to null")
            try expectEqual(try await ids(.oneOf("rank", [])), [], "one of nothing")
            try expectEqual(try await ids(.not(.oneOf("rank", [1]))), ["n"], "not one of")
        },
        ConformanceCase("texts compare by bytes, and nothing in them is a pattern") { store in
            for name in ["100%", "100x", "a_b", "aXb", "É", "e", "\u{65}\u{301}", "it's \"q\"; --"] {
                try await store.own.create(["name": .string(name)], in: "items")
            }
            func names(_ filter: Filter) async throws -> [String] {
                try await store.own.query(Query(filter, order: [SortKey("name")]), in: "items").records
                    .compactMap { $0["name"].stringValue }
            }
            try expectEqual(try await names(.hasPrefix("name", "100%")), ["100%"], "prefix")
            try expectEqual(try await names(.containsText("name", "_")), ["a_b"], "contains")
            try expectEqual(try await names(.hasSuffix("name", "\u{301}")).count, 1, "suffix")
            try expectEqual(try await names(.compare("name", .equal, "e")).count, 1, "equal")
            try expectEqual(try await names(.compare("name", .equal, "it's \"q\"; --")).count, 1, "quotes")
            try expectEqual(try await names(.hasPrefix("name", "")).count, 8, "empty prefix")
        },
        ConformanceCase("decimals compare by value, all digits") { store in
            let prices = ["-2", "-1.5", "-1.50000000000000000000001", "0.0", "1.5", "1.50", "9", "10", "1e30"]
            for price in prices {
                try await store.own.create(["name": "a", "price": .decimal(WireDecimal(price)!)], in: "items")
            }
            let page = try await store.own.query(Query(order: [SortKey("price")]), in: "items")
            let found = page.records.map { $0["price"] }
            let expected = ["-2", "-1.50000000000000000000001", "-1.5", "0", "1.5", "1.5", "9", "10", "1e30"]
            try expectEqual(found, expected.map { .decimal(WireDecimal($0)!) }, "the order")
            let equal = Filter.compare("price", .equal, .double(1.5))
            try expectEqual(try await store.own.count(equal, in: "items"), 2, "equal values")
        },
        ConformanceCase("what a filter or an order cannot mean is refused with the field's name") { store in
            let wrong: [(Query, String)] = [
                (Query(.compare("other", .equal, 1)), "other"), (Query(.compare("rank", .equal, "1")), "rank"),
                (Query(.hasPrefix("rank", "1")), "rank"), (Query(.listContains("name", "a")), "name"),
                (Query(.compare("tags", .equal, "a")), "tags"), (Query(order: [SortKey("tags")]), "order"),
                (Query(order: [SortKey("other")]), "order"),
            ]
            for (query, target) in wrong {
                let error = try await expectError(.requestInvalid, target) {
                    _ = try await store.own.query(query, in: "items")
                }
                try expectEqual(error.target, target, "what the error names")
            }
        },
        ConformanceCase("filters, orders and pages have limits") { store in
            var deep = Filter.always
            for _ in 0..<FilterLimits.standard.depth { deep = .not(deep) }
            let large: [Query] = [
                Query(deep), Query(limit: Query.maximumLimit + 1),
                Query(.any(Array(repeating: .isNull("rank"), count: FilterLimits.standard.terms))),
                Query(.oneOf("rank", Array(repeating: 1, count: FilterLimits.standard.values + 1))),
                Query(order: Samples.items.fields.filter(\.shape.isScalar).map { SortKey($0.name) }),
            ]
            for query in large {
                try await expectError(.requestLimitExceeded, "\(query.limit)") {
                    _ = try await store.own.query(query, in: "items")
                }
            }
        },
    ]

    static let searchCases = [
        ConformanceCase("search finds every word as a prefix of a word, case and accents aside") { store in
            try await store.own.create(["id": "j", "name": "John Doé", "note": "Straße, O'Neil"], in: "items")
            try await store.own.create(["id": "k", "name": "Joan Dove"], in: "items")
            func ids(_ words: String...) async throws -> [String] {
                try await store.own.query(Query(.search(words: words)), in: "items").records.map(\.id.text)
            }
            try expectEqual(try await ids("jo", "do"), ["j", "k"], "prefixes")
            try expectEqual(try await ids("JOHN", "doe"), ["j"], "case and accents")
            try expectEqual(try await ids("o'neil"), ["j"], "punctuation")
            try expectEqual(try await ids("ohn"), [], "no prefix")
            try expectEqual(try await ids("john", "OR", "joan"), [], "an operator is a word")
            try expectEqual(try await ids("j\"*"), ["j", "k"], "a quote is nothing")
            try expectEqual(try await ids("name:john"), [], "a column is nothing")
            try expectEqual(try await ids("-", "\u{0}"), ["j", "k"], "no words")
            try expectEqual(try await store.own.count(.not(.search(words: ["john"])), in: "items"), 1, "a negation")
        },
        ConformanceCase("search keeps in step with changes") { store in
            func count(_ word: String) async throws -> Int {
                try await store.own.count(.search(words: [word]), in: "items")
            }
            try await store.own.create(["id": "x", "name": "alpha"], in: "items")
            try await store.own.update("x", ["name": "beta"], in: "items")
            try expectEqual([try await count("alpha"), try await count("beta")], [0, 1], "after an update")
            try await expectError(.recordExists, "a refused change") {
                _ = try await store.own.apply([
                    RecordChange("items", .update("x", ["name": "gamma"])),
                    RecordChange("items", .create("x", ["name": "delta"])),
                ])
            }
            try expectEqual([try await count("gamma"), try await count("beta")], [0, 1], "after a refused change")
            try await store.own.delete("x", in: "items")
            try expectEqual(try await count("beta"), 0, "after a deletion")
        },
        ConformanceCase("an entity without search fields has no search") { store in
            try await expectError(.searchUnavailable, "a search") {
                _ = try await store.own.query(Query(.search(words: ["a"])), in: "tickets")
            }
        },
    ]
}

extension StoreConformance {
    static let pagingCases = [
        ConformanceCase("pages by cursor give every row once, nulls first, last when descending") { store in
            let ranks: [WireValue] = [.null, 1, 1, .null, 2, 1, .null, 3]
            _ = try await store.own.apply(
                ranks.enumerated().map { position, rank in
                    RecordChange("items", .create(RecordID(unchecked: "r\(position)"), ["name": "a", "rank": rank]))
                })
            for isDescending in [false, true] {
                let order = [SortKey("rank", descending: isDescending)]
                let whole = try await store.own.query(Query(order: order), in: "items").records
                let nulls = isDescending ? whole.suffix(3) : whole.prefix(3)
                try expect(nulls.allSatisfy { $0["rank"].isNull }, "nulls at their end")
                for limit in 1...3 {
                    let paged = try await pages(Query(order: order, limit: limit), of: store)
                    try expectEqual(paged.map(\.id), whole.map(\.id), "pages of \(limit)")
                }
            }
        },
        ConformanceCase("a cursor goes on correctly where rows come and go") { store in
            for id in ["a", "c", "e"] { try await store.own.create(["id": .string(id), "name": "n"], in: "items") }
            let first = try await store.own.query(Query(limit: 2), in: "items")
            try await store.own.create(["id": "b", "name": "n"], in: "items")
            try await store.own.delete("c", in: "items")
            try await store.own.create(["id": "d", "name": "n"], in: "items")
            let second = try await store.own.query(Query(limit: 2, start: .after(first.next!)), in: "items")
            try expectEqual(second.records.map(\.id), ["d", "e"], "the second page")
            try expectEqual(second.next, nil, "its cursor")
        },
        ConformanceCase("pages by offset, past the end too, and the total") { store in
            for id in ["a", "b", "c"] { try await store.own.create(["id": .string(id), "name": "n"], in: "items") }
            func page(_ offset: Int, limit: Int = 2) async throws -> RecordPage {
                try await store.own.query(Query(limit: limit, start: .offset(offset), countsAll: true), in: "items")
            }
            try expectEqual(try await page(1).records.map(\.id), ["b", "c"], "a page")
            try expectEqual(try await page(2).total, 3, "the total")
            try expectEqual(try await page(9), RecordPage(records: [], next: nil, total: 3), "past the end")
            try expectEqual(try await page(0, limit: 0).records, [], "no rows")
            try expectEqual(
                try await store.own.query(Query(), in: "items").total, nil, "a total that was not asked for")
        },
        ConformanceCase("a page ends where its bytes do, after the first record at least, and goes on") { store in
            for (id, size) in [("a", 100), ("b", 100), ("c", 2_000), ("d", 100)] {
                let note = WireValue.string(String(repeating: "n", count: size))
                try await store.own.create(["id": .string(id), "name": "n", "note": note], in: "items")
            }
            let whole = try await store.own.query(Query(), in: "items").records
            let bytes = whole[0].writtenSize + whole[1].writtenSize
            for order in [[SortKey("id")], [SortKey("rank"), SortKey("id")]] {
                var query = Query(order: order, countsAll: true)
                var pages: [[String]] = []
                while true {
                    let page = try await store.own.query(query, in: "items", atMost: bytes)
                    try expectEqual(page.total, 4, "the total")
                    pages.append(page.records.map(\.id.text))
                    guard let next = page.next else { break }
                    query.start = .after(next)
                }
                try expectEqual(pages, [["a", "b"], ["c"], ["d"]], "the pages")
            }
            let all = try await store.own.query(Query(), in: "items", atMost: bytes * 100)
            try expectEqual(all.records.count, 4, "a page that is large enough")
            try expectEqual(all.next, nil, "its cursor")
        },
        ConformanceCase("a cursor of another order is record.cursorInvalid") { store in
            let cursors = [[], ["a", "b", "c"], [.null], [1]].map { Cursor(values: $0) }
            for cursor in cursors {
                try await expectError(.cursorInvalid, "\(cursor.values.count) values") {
                    _ = try await store.own.query(Query(start: .after(cursor)), in: "items")
                }
            }
        },
        ConformanceCase("the key may be part of the order asked for") { store in
            for id in ["a", "b", "c"] { try await store.own.create(["id": .string(id), "name": "n"], in: "items") }
            let order = [SortKey("name"), SortKey("id", descending: true)]
            let paged = try await pages(Query(order: order, limit: 1), of: store)
            try expectEqual(paged.map(\.id), ["c", "b", "a"], "the order")
        },
    ]

    /// All rows, page by page.
    static func pages(_ query: Query, of store: any Store) async throws -> [Record] {
        var records: [Record] = []
        var query = query
        while true {
            let page = try await store.own.query(query, in: "items")
            try expect(page.records.count <= query.limit, "a page holds at most its limit")
            records += page.records
            guard let next = page.next else { return records }
            query.start = .after(next)
        }
    }
}
