import ReplicaStorage
import SyncMessages
import ValueTree
import WireFormats

extension PullPage {
    /// Reads a page as ``init(from:)`` does, but leaves the records' fields where they lie.
    init(reading tape: Tape) throws(MessageError) {
        var rest: WireDictionary = [:]
        var operations: [RecordOperation] = []
        for member in tape.members(at: 0) {
            let name = tape.string(of: tape.tokens[member])
            guard name == "operations", tape.tokens[member + 1].kind == .array else {
                rest[name] = tape.value(at: member + 1)
                continue
            }
            rest[name] = .array([])
            operations = try Self.operations(tape, at: member + 1)
        }
        try self.init(from: .dictionary(rest))
        self.operations = operations
    }

    private static func operations(_ tape: Tape, at list: Int) throws(MessageError) -> [RecordOperation] {
        var operations: [RecordOperation] = []
        operations.reserveCapacity(tape.tokens[list].memberCount)
        var position = list + 1
        while tape.tokens[position].kind != .end {
            operations.append(try RecordOperation(reading: tape, at: position))
            position = tape.position(after: position)
        }
        return operations
    }
}

extension RecordOperation {
    /// Member by member, where they are as they should be; else as a value, which says what is wrong with it.
    fileprivate init(reading tape: Tape, at position: Int) throws(MessageError) {
        var (collection, id, operation, rev, fields): (String?, String?, String?, Int64?, TapeFields?)
        for member in tape.members(at: position) {
            let (name, value) = (tape.string(of: tape.tokens[member]), tape.tokens[member + 1])
            switch (name, value.kind) {
            case ("collection", .string): collection = tape.string(of: value)
            case ("id", .string): id = tape.string(of: value)
            case ("operation", .string): operation = tape.string(of: value)
            case ("rev", .int64): rev = value.int64
            case ("fields", .dictionary): fields = TapeFields(tape, at: member + 1)
            default: break
            }
        }
        if let collection, let id, let rev, operation == "put", let fields {
            self.init(collection: collection, id: id, rev: rev, kind: .put(RecordFields(fields)))
        } else {
            try self.init(from: tape.value(at: position))
        }
    }
}

extension Tape {
    /// The places of a dictionary's keys; none where there is something else.
    fileprivate func members(at position: Int) -> [Int] {
        guard tokens[position].kind == .dictionary else { return [] }
        var members: [Int] = []
        members.reserveCapacity(tokens[position].memberCount)
        var place = position + 1
        while tokens[place].kind == .key {
            members.append(place)
            place = self.position(after: place)
        }
        return members
    }
}
