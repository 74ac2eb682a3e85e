import SyncDevice
import ValueTree

extension Simulation {
    /// What a crash would leave is what the device has: nothing changes but by the journal.
    func checkJournal(_ device: Int) throws {
        guard devices[device].isDurable else {
            throw Violation(1, "d\(device) has something that its journal does not have")
        }
    }

    /// The rows in sight are those of one moment, all of them: a pull is applied whole.
    func checkRows(_ device: Int) throws {
        guard let checkpoint = devices[device].machine.state.checkpoint else { return }
        let expected = rowsOfTokens["\(devices[device].person) \(checkpoint)"]
        guard devices[device].rows == expected else {
            let found = devices[device].rows
            let wrong = Set(found.keys).union(expected?.keys.map { $0 } ?? []).filter { found[$0] != expected?[$0] }
            throw Violation(
                1, "d\(device) shows rows of no checkpoint: \(wrong.sorted().map(\.id))")
        }
    }
}
