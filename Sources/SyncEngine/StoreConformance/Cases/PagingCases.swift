import AdapterKit
import RecordStorage

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
            try expectEqual(try await store.own.query(Query(), in: "items").total, nil, "a total nobody asked for")
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
