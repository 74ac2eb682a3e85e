import SyncDevice
import SyncMessages
import Testing
import ValueTree

/// A pull of several pages whose rows are kept elsewhere: nothing of it counts before all of it does, wherever it lies.
@Suite("A pull that is staged piece by piece")
struct StagingTests {
    private let rowStore = PersistedRowStore()

    private func device() -> Device {
        var limits = DeviceLimits()
        limits.gatheredRecords = 1
        return Device(
            restoring: DeviceState(
                clientID: "c", outbox: Outbox(), rows: ReplicaRows(keptBy: rowStore), checkpoint: nil),
            limits: limits)
    }

    /// Answers one pull with these pages, does what the device wants in between, and tells how many pieces it staged.
    private func pull(_ pages: [PullPage], _ device: inout Device) -> Int {
        var (actions, pieces) = (device.sync(), 0)
        for page in pages {
            guard let asked = actions.compactMap({ if case .pull(let number, _) = $0 { number } else { nil } }).first
            else { break }
            actions = device.pulled(asked, .page(page))
            for action in actions {
                if case .stage(let piece) = action {
                    rowStore.stage(piece)
                    device.pieceIsStaged()
                    pieces += 1
                }
                if case .persist(let entry) = action {
                    rowStore.store(entry)
                    device.rowsAreStored()
                }
            }
        }
        return pieces
    }

    private func page(_ revisions: [String: Int64], remove: [String] = [], reset: Bool = false) -> PullPage {
        let puts = revisions.sorted { $0.key < $1.key }.map { Bench.put($0.key, $0.value) }
        let removals = remove.map { RecordOperation(collection: "notes", id: $0, rev: 99, kind: .remove()) }
        return PullPage(reset: reset ? ["notes"] : [], operations: puts + removals, ending: .next("more"))
    }

    private func revisions(_ rows: ReplicaRows) -> [String: Int64] {
        Dictionary(uniqueKeysWithValues: rows.records(of: "notes").map { ($0.id, $0.rev) })
    }

    @Test("leaves the rows alone until its last page; what one that was cut off has staged counts no more")
    func atOnce() {
        var first = device()
        #expect(pull([page(["n1": 1, "n2": 2]), page(["n7": 7])], &first) == 2)
        #expect(revisions(first.state.rows).isEmpty && first.state.checkpoint == nil)
        var second = device()
        #expect(revisions(second.state.rows).isEmpty)
        let last = Bench.complete(["n1": 1, "n2": 2, "n3": 3], put: ["n3": 3])
        #expect(pull([page(["n1": 1, "n2": 2]), last], &second) == 1)
        #expect(revisions(second.state.rows) == ["n1": 1, "n2": 2, "n3": 3])
    }

    @Test("counts a record once that comes again, with its last revision, and one that goes not at all")
    func again() {
        var device = device()
        let whole: [String: Int64] = ["n1": 7, "n3": 3, "n4": 4]
        let pages = [page(["n1": 1, "n2": 2]), page(["n3": 3, "n1": 7], remove: ["n2"]), page([:], remove: ["n9"])]
        #expect(pull(pages + [Bench.complete(whole, put: ["n4": 4])], &device) == 3)
        #expect(revisions(device.state.rows) == whole)
        #expect(revisions(ReplicaRows(keptBy: rowStore)) == whole)
    }

    @Test("forgets what it staged of a scope that begins again")
    func begunAgain() {
        var device = device()
        let pages = [page(["n1": 1, "n2": 2]), page(["n2": 5], reset: true)]
        #expect(pull(pages + [Bench.complete(["n2": 5, "n3": 6], put: ["n3": 6])], &device) == 2)
        #expect(revisions(device.state.rows) == ["n2": 5, "n3": 6])
    }

    @Test("lies over the rows that there are")
    func later() {
        var device = device()
        #expect(pull([Bench.complete(["n1": 1, "n2": 2], put: ["n1": 1, "n2": 2])], &device) == 0)
        let pages = [page(["n2": 3], remove: ["n1"]), Bench.complete(["n2": 3, "n4": 4], put: ["n4": 4])]
        #expect(pull(pages, &device) == 1)
        #expect(revisions(device.state.rows) == ["n2": 3, "n4": 4])
    }
}
