import AdapterKit
import Foundation
import RecordStorage
import Testing

@testable import SQLiteStore

@Suite struct ReadTransactionReuseTests {
    @Test func `a read goes on in the transaction of the one before`() {
        var turns = ReadTransactionReuse(connections: 1)
        let first = turns.take()
        #expect(!first.goesOn)
        #expect(turns.mayKeep(first))
        let isFree = turns.giveBack(first, holding: true)
        #expect(isFree)
        let next = turns.take()
        #expect(next.goesOn)
    }

    @Test func `what is held is taken back before a write`() {
        var turns = ReadTransactionReuse(connections: 2)
        let held = turns.take()
        _ = turns.giveBack(held, holding: true)
        let kept = turns.beginWriting()
        #expect(kept == [held.connection])
        turns.rested(held.connection)
        turns.endWriting()
        let places = [turns.take(), turns.take()]
        #expect(places.allSatisfy { !$0.goesOn })
    }

    @Test func `nothing is kept during a write`() {
        var turns = ReadTransactionReuse(connections: 1)
        let kept = turns.beginWriting()
        #expect(kept.isEmpty)
        let place = turns.take()
        #expect(!turns.mayKeep(place))
    }

    @Test func `a write during a read ends the transaction of the read`() {
        var turns = ReadTransactionReuse(connections: 1)
        let place = turns.take()
        _ = turns.beginWriting()
        turns.endWriting()
        #expect(!turns.mayKeep(place))
        // It may have seen too late that a caller wrote.
        let isFree = turns.giveBack(place, holding: true)
        #expect(!isFree)
        turns.rested(place.connection)
        let next = turns.take()
        #expect(!next.goesOn)
    }

    @Test func `who shares a connection begins anew, keeps nothing and gives nothing back`() {
        var turns = ReadTransactionReuse(connections: 1)
        let owner = turns.take()
        let guest = turns.take()
        #expect(guest.connection == owner.connection)
        #expect(!guest.goesOn)
        #expect(!turns.mayKeep(guest))
        let isDone = turns.giveBack(guest, holding: false)
        #expect(isDone)
        let isFree = turns.giveBack(owner, holding: true)
        #expect(isFree)
        let next = turns.take()
        #expect(next.goesOn)
    }
}

@Suite struct KeptReadTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    @Test func `every read sees what was acknowledged before it was asked`() async throws {
        let store = try directory.store()
        let records = try await Things.install(Things.declaration([Field("count", .integer)]), in: store)
        _ = try await records.apply([RecordChange("things", .create("a", ["id": "a", "count": .int64(0)]))])
        let acknowledged = Acknowledged()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<6 {
                group.addTask {
                    while await acknowledged.count < 100 {
                        let least = await acknowledged.count
                        let record = try await records.record("a", in: "things")
                        let found = try #require(record?.fields["count"]?.int64Value)
                        #expect(found >= least)
                    }
                }
            }
            for count in 1...100 {
                _ = try await records.apply([
                    RecordChange("things", .update("a", ["count": .int64(Int64(count))]))
                ])
                await acknowledged.note(count)
            }
            try await group.waitForAll()
        }
        await store.close()
    }

    @Test func `reads between writes do not keep the log file from being emptied`() async throws {
        let store = try directory.store()
        let records = try await Things.install(Things.declaration([Field("text", .string)]), in: store)
        let text = String(repeating: "x", count: 50_000)
        for number in 0..<400 {
            _ = try await records.apply([RecordChange("things", .create(nil, ["text": .string("\(number)" + text)]))])
            #expect(try await records.count(nil, in: "things") == number + 1)
        }
        let size = try FileManager.default.attributesOfItem(atPath: directory.path + "-wal")[.size] as? Int
        // Twenty megabytes were written; it is begun again after four.
        #expect(try #require(size) < 8 << 20)
        await store.close()
    }
}

private actor Acknowledged {
    private(set) var count = 0

    func note(_ count: Int) { self.count = count }
}
