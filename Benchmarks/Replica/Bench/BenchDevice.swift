import Client
import Foundation

/// One installation, measured.
struct BenchDevice {
    private let folder: URL
    private let session: Session

    init(_ folder: URL, _ gateway: ReadyGateway) async throws {
        self.folder = folder.appendingPathComponent("device")
        session = Session(
            server: ServerAddress("http://bench.example")!, transport: gateway, storage: CredentialsInMemory())
        try await session.signIn(name: "bench", password: "p")
    }

    private func open(indexed: Bool) throws -> Replica {
        try Replica(
            in: folder, session: session, settings: ReplicaSettings(indexes: indexed ? ["notes": ["modified"]] : [:]))
    }

    /// Seconds from the first request to the last row.
    func firstSync(_ records: Int) async throws -> Double {
        let replica = try open(indexed: false)
        let start = ContinuousClock.now
        let status = await replica.sync(within: .seconds(600))
        let time = (ContinuousClock.now - start) / .seconds(1)
        guard try await replica.count(RecordQuery("notes")) == records else { throw ClientError.storage("\(status)") }
        await replica.close()
        return time
    }

    /// Seconds from nothing open to the newest fifty.
    func opening() async throws -> Double {
        await (try open(indexed: true)).close()
        var times: [Double] = []
        for _ in 0..<20 {
            let start = ContinuousClock.now
            let replica = try open(indexed: true)
            let rows = try await replica.records(newest)
            times.append((ContinuousClock.now - start) / .seconds(1))
            guard rows.count == 50 else { throw ClientError.storage("\(rows.count) rows") }
            await replica.close()
        }
        return times.sorted()[times.count / 2]
    }

    /// Seconds from a change at the server to the new rows in the hands of the app.
    func observed(_ gateway: ReadyGateway) async throws -> Double {
        let replica = try open(indexed: true)
        await replica.start()
        var shown = replica.observe(RecordQuery("notes", where: [.id("note-1000007")])).makeAsyncIterator()
        _ = try await shown.next()
        var times: [Double] = []
        for _ in 0..<50 {
            try await Task.sleep(for: .milliseconds(20))
            let start = ContinuousClock.now
            gateway.change()
            _ = try await shown.next()
            times.append((ContinuousClock.now - start) / .seconds(1))
        }
        await replica.close()
        return times.sorted()[times.count / 2]
    }

    private var newest: RecordQuery { RecordQuery("notes", order: [.descending("modified")], limit: 50) }
}
