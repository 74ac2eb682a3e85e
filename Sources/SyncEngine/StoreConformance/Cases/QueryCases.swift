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
