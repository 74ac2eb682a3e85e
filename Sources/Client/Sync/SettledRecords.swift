import SyncDevice
import SyncMessages

extension PushReply {
    /// The records whose edits the reply settles.
    func settledKeys(in outbox: Outbox) -> Set<RecordKey> {
        switch self {
        case .answer(let answer):
            let sequences = Set(answer.outcomes.map(\.sequence))
            return Set(outbox.pending.filter { $0.sequence.map(sequences.contains) ?? false }.map(\.edit.key))
        case .refused: return outbox.touchedKeys
        default: return []
        }
    }
}
