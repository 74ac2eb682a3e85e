import AdapterKit
import AdapterTesting
import Testing
import XMLUsers

@Suite struct `Importing users` {
    private let host: TestHost

    init() async throws {
        host = try await TestHost(XMLUsersModule.self, withSamples: true)
    }

    private func row(_ number: Int64, _ name: String = "New") -> WireValue {
        ["UserId": .int64(number), "UserName": .string(name), "ShoeSize": "9N"]
    }

    private func count() async throws -> Int {
        try await host.records.unrestricted.count(nil, in: "users")
    }

    private func outcome(_ created: Int64, _ changed: Int64, _ unchanged: Int64, _ deleted: Int64) -> WireValue {
        [
            "created": .int64(created), "changed": .int64(changed), "unchanged": .int64(unchanged),
            "deleted": .int64(deleted),
        ]
    }

    @Test func `appended rows come to those that are there`() async throws {
        #expect(try await host.value("import", ["rows": [row(1), row(2)]]) == outcome(2, 0, 0, 0))
        #expect(try await count() == 502)
    }

    @Test func `replacing rows leave the file's records alone in the store`() async throws {
        let rows: WireValue = [row(1), ["UserId": 100, "UserName": "Fake 1", "ShoeSize": "8.5M"], row(101, "Other")]
        #expect(
            try await host.value("import", ["rows": rows, "mode": "replace", "acceptLoss": true])
                == outcome(1, 1, 1, 498))
        #expect(try await count() == 3)
        #expect(try await host.value("user", ["userId": 101])["UserName"] == "Other")
    }

    @Test func `the same file again changes nothing`() async throws {
        let input: WireDictionary = ["rows": [row(1), row(2)], "mode": "replace", "acceptLoss": true]
        try await host.call("import", input)
        let before = host.records.position
        #expect(try await host.value("import", input) == outcome(0, 0, 2, 0))
        #expect(host.records.position == before)
    }

    /// Of 500 records, `kept` stay.
    @Test(
        arguments: [(0, "has no rows: 500 of 500"), (1, "499 of 500"), (249, "251 of 500"), (250, nil), (500, nil)]
            as [(Int, String?)])
    func `a replacement that deletes most of what is there is refused with the numbers`(
        kept: Int, refusal words: String?
    ) async throws {
        let rows = WireValue.array((0..<kept).map { row(Int64(100 + $0)) })
        let error = try await refusal { try await host.call("import", ["rows": rows, "mode": "replace"]) }
        #expect((error == nil) == (words == nil))
        if let words {
            #expect(error?.code == .recordConflict && error?.message.contains(words) == true, "\(error!.message)")
        }
        #expect(try await count() == (words == nil ? kept : 500))
        try await host.call("import", ["rows": rows, "mode": "replace", "acceptLoss": true])
        #expect(try await count() == kept)
    }

    @Test func `of fewer than twenty records any may go, but not all by a file without rows`() async throws {
        let few = WireValue.array((0..<19).map { row(Int64(100 + $0)) })
        try await host.call("import", ["rows": few, "mode": "replace", "acceptLoss": true])
        let none: WireDictionary = ["rows": [], "mode": "replace"]
        #expect(try await refusal { try await host.call("import", none) }?.code == .recordConflict)
        #expect(try await count() == 19)
        try await host.call("import", ["rows": [row(1)], "mode": "replace"])
        #expect(try await count() == 1)
    }

    @Test func `a taken number names its row, and nothing is loaded`() async throws {
        let error = try await refusal { try await host.call("import", ["rows": [row(1), row(100)]]) }
        #expect(error?.code == .recordExists)
        #expect(error?.target == "rows[1].UserId")
        #expect(try await count() == 500)
    }

    @Test func `a number that two rows have names the second`() async throws {
        let error = try await refusal { try await host.call("import", ["rows": [row(1), row(2), row(1)]]) }
        #expect(error?.code == .requestInvalid)
        #expect(error?.target == "rows[2].UserId")
    }

    @Test func `a field that does not fit is named with its row, and nothing is loaded`() async throws {
        let bad: WireValue = ["UserId": 3, "UserName": "", "ShoeSize": "9N"]
        let error = try await refusal { try await host.call("import", ["rows": [row(1), bad]]) }
        #expect(error?.code == .requestInvalid)
        #expect(error?.target == "rows[1].UserName")
        #expect(try await count() == 500)
    }
}
