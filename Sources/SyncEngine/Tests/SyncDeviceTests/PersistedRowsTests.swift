import SyncDevice
import SyncMessages
import Testing
import ValueTree

@Suite
struct PersistedRowsTests {
    private let rowStore = PersistedRowStore()

    private func device() -> Device {
        Device(
            restoring: DeviceState(
                clientID: "c", outbox: Outbox(), rows: ReplicaRows(keptBy: rowStore), checkpoint: "at-2"))
    }

    /// Pulls this page and returns what is to be persisted.
    private func pull(_ page: PullPage, _ device: inout Device) -> [JournalEntry] {
        var entries: [JournalEntry] = []
        var actions = device.sync()
        while let asked = actions.compactMap({ if case .pull(let number, _) = $0 { number } else { nil } }).first {
            actions = device.pulled(asked, .page(page))
            for case .persist(let entry) in actions { entries.append(entry) }
        }
        return entries
    }

    private func ids(_ device: Device) -> [String] { device.state.records(of: "notes").map(\.id) }

    @Test
    func `what was pulled is in sight before it is stored and after`() {
        var first = device()
        for entry in pull(Bench.complete(["n1": 1, "n2": 2], put: ["n1": 1, "n2": 2]), &first) { rowStore.store(entry) }
        var second = device()
        #expect(ids(second) == ["n1", "n2"])
        var page = Bench.complete(["n2": 2, "n3": 3], put: ["n3": 3])
        page.operations.append(RecordOperation(collection: "notes", id: "n1", rev: 3, kind: .remove()))
        let entries = pull(page, &second)
        #expect(ids(second) == ["n2", "n3"])
        #expect(second.state[RecordKey("notes", "n1")] == nil)
        for entry in entries { rowStore.store(entry) }
        second.rowsAreStored()
        #expect(ids(second) == ["n2", "n3"])
        #expect(second.state.rows.checksum(of: "notes") == device().state.rows.checksum(of: "notes"))
    }

    @Test
    func `a scope that is sent again hides what is kept of it`() {
        var device = device()
        for entry in pull(Bench.complete(["n1": 1, "n2": 2], put: ["n1": 1, "n2": 2]), &device) {
            rowStore.store(entry)
        }
        device.rowsAreStored()
        var page = Bench.complete(["n2": 5], put: ["n2": 5])
        page.reset = ["notes"]
        _ = pull(page, &device)
        #expect(ids(device) == ["n2"])
        #expect(device.state.rows[RecordKey("notes", "n2")]?.rev == 5)
    }
}
