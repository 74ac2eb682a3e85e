import AdapterKit
import AdapterTesting
import Testing

@Suite struct `Records in memory` {
    private let clock = SettableClock()
    private let memory: MemoryRecords
    private let mine: any RecordStore
    private let goods = Shop.goods.name
    private let shelves = Shop.shelves.name

    init() throws {
        memory = try MemoryRecords(Shop.declare(AdapterConfiguration()), clock: clock)
        mine = memory.seen(by: .user("ann"))
    }

    private func refusal(_ body: () async throws -> Void) async -> ErrorCode? {
        do {
            try await body()
            return nil
        } catch {
            return (error as? PorticoError)?.code
        }
    }

    private func titles(_ filter: Filter?, order: [SortKey] = []) async throws -> [String] {
        try await mine.query(Query(filter, order: order), in: goods).records.compactMap { $0["title"].stringValue }
    }

    private func stock() async throws {
        for (title, price, shelf) in [("Grüner Tee", 5, "a"), ("Tea", 7, nil), ("Éclair", 7, "b")] {
            try await mine.create(
                [
                    "title": .string(title), "price": .int64(Int64(price)),
                    "shelf": shelf.map { .string($0) } ?? .null,
                ],
                in: goods)
        }
    }

    @Test func `what the server gives is set, what was left out gets its default`() async throws {
        let made = try await mine.create(["title": "Tea", "author": "somebody else"], in: goods)
        #expect(made["author"] == "ann")
        #expect(made["price"] == 10)
        #expect(made["code"] == .null)
        #expect(made["added"] == .date(clock.now()))
        #expect(made.fields.keys == Shop.goods.fields.map(\.name.text))
    }

    @Test func `a change keeps the creation and renews the time of change`() async throws {
        let made = try await mine.create(["title": "Tea"], in: goods)
        clock.advance(seconds: 60)
        let changed = try await memory.unrestricted.update(made.id, ["price": 11], in: goods)
        #expect(changed["added"] == made["added"])
        #expect(changed["changed"] == .date(clock.now()))
        #expect(changed["author"] == "ann")
        #expect(changed["title"] == "Tea")
        #expect(changed.revision > made.revision)
    }

    @Test func `a replacement sets what is not named to its default`() async throws {
        let made = try await mine.create(["title": "Tea", "price": 3, "shelf": "a", "code": "T"], in: goods)
        let action = RecordChange.Action.replace(made.id, ["title": "Chai"], orCreate: false)
        let replaced = try await mine.apply([RecordChange(goods, action)]).records[0]
        #expect(replaced?["price"] == 10)
        #expect(replaced?["shelf"] == .null)
        #expect(replaced?["code"] == "T")
    }

    @Test func `what does not fit is refused and names the field`() async throws {
        #expect(await refusal { try await mine.create([:], in: goods) } == .requestInvalid)
        #expect(
            await refusal { try await mine.create(["title": "Tea", "price": 1_001], in: goods) } == .requestInvalid)
        #expect(
            await refusal { try await mine.create(["title": "Tea", "colour": "green"], in: goods) } == .requestInvalid)
        let made = try await mine.create(["title": "Tea", "code": "T"], in: goods)
        #expect(await refusal { try await mine.update(made.id, ["code": "U"], in: goods) } == .requestInvalid)
        #expect(await refusal { try await mine.update(made.id, ["id": "other"], in: goods) } == .requestInvalid)
        #expect(try await mine.update(made.id, ["code": "T"], in: goods)["code"] == "T")
    }

    @Test func `an id is taken once, and so is a unique value`() async throws {
        try await mine.create(["title": "Tea", "code": "T"], id: "tea", in: goods)
        #expect(await refusal { try await mine.create(["title": "Tea"], id: "tea", in: goods) } == .recordExists)
        #expect(await refusal { try await mine.create(["title": "Te", "code": "T"], in: goods) } == .recordExists)
    }

    @Test func `conditions are kept`() async throws {
        let made = try await mine.create(["title": "Tea"], in: goods)
        try await mine.update(made.id, ["price": 1], in: goods, if: .revision(made.revision))
        #expect(
            await refusal { try await mine.update(made.id, ["price": 2], in: goods, if: .revision(made.revision)) }
                == .preconditionFailed)
        #expect(await refusal { try await mine.delete("none", in: goods, if: .exists) } == .recordNotFound)
        #expect(await refusal { try await mine.delete("none", in: goods) } == .recordNotFound)
        #expect(
            await refusal {
                _ = try await mine.apply([
                    RecordChange(goods, .replace(made.id, ["title": "x"], orCreate: true), if: .absent)
                ])
            } == .preconditionFailed)
    }

    @Test func `a transaction happens whole or not at all`() async throws {
        let before = memory.position
        let changes: [RecordChange] = [
            RecordChange(goods, .create("a", ["title": "A"])), RecordChange(goods, .create("a", ["title": "B"])),
        ]
        #expect(await refusal { _ = try await mine.apply(changes) } == .recordExists)
        #expect(try await mine.record("a", in: goods) == nil)
        #expect(memory.position == before)
    }

    @Test func `one sees and changes what the row rules allow`() async throws {
        let tea = try await mine.create(["title": "Tea", "tags": ["bob"]], in: goods)
        let secret = try await mine.create(["title": "Secret"], in: goods)
        let bobs = memory.seen(by: .user("bob"))
        #expect(try await bobs.record(secret.id, in: goods) == nil)
        #expect(try await bobs.count(nil, in: goods) == 1)
        #expect(await refusal { try await bobs.update(tea.id, ["price": 0], in: goods) } == .accessDenied)
        #expect(await refusal { try await bobs.update(secret.id, ["price": 0], in: goods) } == .recordNotFound)
        #expect(await refusal { try await mine.create(["number": 1, "room": "r"], in: shelves) } == .accessDenied)
        let keeper = memory.seen(by: .user("kim", roles: ["keeper"]))
        #expect(try await keeper.create(["room": "r"], in: shelves).id == "1")
    }

    @Test func `filters are two-valued`() async throws {
        try await stock()
        #expect(try await titles(.compare("shelf", .notEqual, "a"), order: [SortKey("title")]) == ["Tea", "Éclair"])
        #expect(try await titles(.not(.compare("shelf", .less, "b")), order: [SortKey("title")]) == ["Tea", "Éclair"])
        #expect(try await titles(.compare("shelf", .greaterOrEqual, "a")).count == 2)
        #expect(try await titles(.isNull("shelf")) == ["Tea"])
        #expect(try await titles(.oneOf("price", [5, 6])) == ["Grüner Tee"])
        #expect(try await titles(.hasPrefix("title", "te")) == [])
        #expect(try await titles(.hasSuffix("title", "a")) == ["Tea"])
        #expect(try await titles(.containsText("title", "üner T")) == ["Grüner Tee"])
        #expect(try await titles(.never) == [])
        #expect(try await titles(.always).count == 3)
    }

    @Test func `search takes prefixes of words, case and accents aside`() async throws {
        try await stock()
        #expect(try await titles(.search(words: ["gruner"])) == ["Grüner Tee"])
        #expect(try await titles(.search(words: ["TE"])).count == 2)
        #expect(try await titles(.search(words: ["te", "gr"])) == ["Grüner Tee"])
        #expect(try await titles(.search(words: ["ee"])) == [])
        let search = Query(.search(words: ["a"]))
        #expect(await refusal { _ = try await mine.query(search, in: shelves) } == .searchUnavailable)
    }

    @Test func `filters mean what they mean in the host's store`() async throws {
        let entity = Entity(
            "books", summary: "Books.", key: EntityKey("id"),
            fields: [Field("id", .string), Field("title", .string), Field("price", .decimal(scale: nil))],
            searchFields: ["title"])
        let books = try MemoryRecords(
            AdapterDeclaration(
                name: "library", title: "Library", summary: "Books.", version: "1", entities: [entity])
        ).unrestricted
        let prices = ["0.1000000000000000000000001", "0.1", "0.10000000000000000000000009"]
        for (number, price) in prices.enumerated() {
            let price = try #require(WireDecimal(price))
            try await books.create(
                ["title": .string("Neil O\(number)"), "price": .decimal(price)], id: RecordID("\(number)"), in: "books")
        }
        try await books.create(["title": "O'Neil"], id: "o", in: "books")
        func ids(_ filter: Filter?, order: [SortKey] = []) async throws -> [String] {
            try await books.query(Query(filter, order: order), in: "books").records.map(\.id.text)
        }
        // A word with punctuation is two tokens that follow each other, not two words in any order.
        #expect(try await ids(.search(words: ["o'neil"])) == ["o"])
        // Decimals are compared with all of their digits.
        #expect(try await ids(.compare("price", .equal, .decimal(#require(WireDecimal("0.1"))))) == ["1"])
        #expect(try await ids(.not(.isNull("price")), order: [SortKey("price")]) == ["1", "2", "0"])
        await #expect(throws: PorticoError.self) { try await ids(.compare("price", .equal, "0.1")) }
    }

    @Test(arguments: [true, false])
    func `pages by cursor hold every row once, in a total order`(descending: Bool) async throws {
        for number in 0..<23 {
            try await mine.create(["title": "T", "price": .int64(Int64(number % 4))], in: goods)
        }
        var query = Query(order: [SortKey("price", descending: descending)], limit: 5, countsAll: true)
        var seen: [Record] = []
        while true {
            let page = try await mine.query(query, in: goods)
            #expect(page.total == 23)
            seen += page.records
            guard let next = page.next else { break }
            query.start = .after(next)
        }
        #expect(Set(seen.map(\.id)).count == 23)
        let whole = try await mine.query(Query(order: query.order, limit: 100), in: goods).records
        #expect(whole == seen)
        let prices = seen.compactMap { $0["price"].int64Value }
        #expect(prices == (descending ? prices.sorted(by: >) : prices.sorted()))
    }

    @Test func `a page that starts past the end is empty`() async throws {
        try await stock()
        let page = try await mine.query(Query(start: .offset(3)), in: goods)
        #expect(page.records.isEmpty)
        #expect(page.next == nil)
    }

    @Test func `a cursor of another order is refused`() async throws {
        let query = Query(start: .after(Cursor(values: [1, 2, 3])))
        #expect(await refusal { _ = try await mine.query(query, in: goods) } == .cursorInvalid)
    }
}
