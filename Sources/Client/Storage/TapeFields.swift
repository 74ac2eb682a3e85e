import SyncMessages
import ValueTree
import WireFormats

/// Fields as they lie in an answer's tape, whatever its format. They are written to their row from there: no tree is made
/// of what nobody looks at, which is most of a first sync.
package struct TapeFields: WrittenFields {
    private let tape: Tape
    private let position: Int

    /// Nil where there is something else than a dictionary.
    package init?(_ tape: Tape, at position: Int) {
        guard tape.tokens[position].kind == .dictionary else { return nil }
        (self.tape, self.position) = (tape, position)
    }

    package var tree: WireDictionary {
        guard case .dictionary(let tree) = tape.value(at: position) else { preconditionFailure("not a dictionary") }
        return tree
    }

    func cbor() throws -> [UInt8] { try CBORFormat().write(tape, valueAt: position) }
}
