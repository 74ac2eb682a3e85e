import AdapterKit
import RecordStorage
import SQLiteStore
import Synchronization
import Testing

/// Reads that go on while a caller takes what they find.
@Suite struct StreamedReadTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func store(streams: Int = 8) throws -> SQLiteStore {
        try SQLiteStore(SQLiteStoreSettings(path: directory.path, streams: streams, clock: FixedClock()))
    }

    private func filled(_ store: SQLiteStore, _ count: Int = 500) async throws -> AdapterRecords {
        let records = try await Things.install(Things.declaration([Field("name", .string)]), in: store)
        _ = try await records.apply(
            (0..<count).map { RecordChange("things", .create(nil, ["name": .string("name \($0)")])) })
        return records
    }

    private static let names = Relation(
        .records("things", as: 1), columns: [.field(1, "name")], order: [RowOrder(.field(1, "id"))])

    /// A piece for each row; `sent` counts them.
    private func pieces(
        _ records: AdapterRecords, within time: Duration = .seconds(600), _ sent: Counter = Counter()
    ) async throws -> any ByteStream {
        try await records.streamSnapshot(within: time) { snapshot, output in
            try snapshot.rows(Self.names) { row in
                sent.add()
                try output.send(Array((try row[0].stringValue ?? "").utf8))
            }
        }
    }

    @Test func `every piece comes, in order, and then the end`() async throws {
        let store = try store()
        let records = try await filled(store)
        let pieces = try await pieces(records)
        var names: [String] = []
        while let piece = try await pieces.next() { names.append(String(decoding: piece, as: UTF8.self)) }
        #expect(Set(names) == Set((0..<500).map { "name \($0)" }))
        #expect(try await pieces.next() == nil)
        await store.close()
    }

    @Test func `a read waits for its reader, two pieces ahead`() async throws {
        let store = try store()
        let records = try await filled(store)
        let sent = Counter()
        let pieces = try await pieces(records, sent)
        for taken in 1...20 {
            _ = try await pieces.next()
            try await Task.sleep(for: .milliseconds(5))
            #expect(sent.count <= taken + 2)
        }
        pieces.cancel()
        await store.close()
    }

    @Test func `what is written meanwhile is not seen, and is not kept from being written`() async throws {
        let store = try store()
        let records = try await filled(store)
        let pieces = try await pieces(records)
        _ = try await pieces.next()
        for record in try await records.query(Query(limit: 500), in: "things").records {
            try await records.update(record.id, ["name": "new"], in: "things")
        }
        while let piece = try await pieces.next() { #expect(piece != Array("new".utf8)) }
        await store.close()
    }

    @Test func `who goes away or forgets ends the read, and makes room for the next`() async throws {
        let store = try store(streams: 1)
        let records = try await filled(store)
        for round in 0..<4 {
            let pieces = try await pieces(records)
            _ = try await pieces.next()
            if round % 2 == 0 { pieces.cancel() }
        }
        let last = try await pieces(records)
        #expect(try await last.next() != nil)
        await store.close()
    }

    @Test func `further reads wait in turn, and give up when they are cancelled`() async throws {
        let store = try store(streams: 1)
        let records = try await filled(store)
        let first = try await pieces(records)
        let given = Task { try await pieces(records) }
        let waits = Task { try await pieces(records) }
        try await Task.sleep(for: .milliseconds(50))
        given.cancel()
        await #expect(throws: CancellationError.self) { try await given.value }
        first.cancel()
        #expect(try await waits.value.next() != nil)
        await store.close()
    }

    @Test func `a read that is taken too slowly ends with a failure`() async throws {
        let store = try store()
        let records = try await filled(store)
        let pieces = try await pieces(records, within: .milliseconds(100))
        let error = await #expect(throws: PorticoError.self) {
            _ = try await pieces.next()
            try await Task.sleep(for: .milliseconds(300))
            while try await pieces.next() != nil {}
        }
        #expect(error?.code == .deadlineExceeded)
        await store.close()
    }

    @Test func `a statement that finds nothing for long is interrupted when its caller has gone`() async throws {
        let store = try store(streams: 1)
        let records = try await filled(store, 2000)
        let never = Relation(
            .records("things", as: 1), joins: [Join(.inner, .records("things", as: 2), on: .value(true))],
            where: .compare(.equal, .field(1, "name"), .call(.concatenate, [.field(2, "name"), .value("x")])),
            columns: [.field(1, "name")])
        let long = try await records.streamSnapshot(within: .seconds(60)) { snapshot, _ in
            try snapshot.rows(never) { _ in }
        }
        long.cancel()
        let next = try await pieces(records)
        #expect(try await next.next() != nil)
        await store.close()
    }

    @Test func `what a read throws comes to its reader behind what it had sent`() async throws {
        let store = try store()
        let records = try await filled(store)
        let pieces = try await records.streamSnapshot(within: .seconds(60)) { _, output in
            try output.send([1])
            throw PorticoError(.requestInvalid, "No.")
        }
        #expect(try await pieces.next() == [1])
        let error = await #expect(throws: PorticoError.self) { try await pieces.next() }
        #expect(error?.code == .requestInvalid)
        await store.close()
    }

    @Test func `closing the store ends them`() async throws {
        let store = try store()
        let records = try await filled(store)
        let pieces = try await pieces(records)
        _ = try await pieces.next()
        await store.close()
        let error = await #expect(throws: PorticoError.self) { while try await pieces.next() != nil {} }
        #expect(error?.code == .storeUnavailable)
        await #expect(throws: PorticoError.self) { try await self.pieces(records) }
    }
}

private final class Counter: Sendable {
    private let value = Mutex(0)
    var count: Int { value.withLock { $0 } }
    func add() { value.withLock { $0 += 1 } }
}
