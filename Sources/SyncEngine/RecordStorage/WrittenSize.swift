import AdapterKit

extension WireValue {
    /// About how many bytes the value takes in an answer: of JSON, without what has to be escaped. Costs no copy.
    var writtenSize: Int {
        switch self {
        case .null, .bool: 5
        case .int64, .uint64, .double, .uid: 12
        case .decimal, .date: 32
        case .string(let text): text.utf8.count + 3
        case .data(let bytes): bytes.count / 3 * 4 + 7
        case .array(let values): values.reduce(2) { $0 + $1.writtenSize }
        case .dictionary(let members): members.writtenSize
        }
    }
}

extension WireDictionary {
    var writtenSize: Int { entries.reduce(2) { $0 + $1.key.utf8.count + 4 + $1.value.writtenSize } }
}

extension Record {
    /// About how many bytes the record takes in an answer.
    public var writtenSize: Int { fields.writtenSize }
}

extension RecordPage {
    /// How many of the records fit into that many bytes: at least the first.
    func count(within bytes: Int) -> Int {
        var size = 0
        let end = records.indices.first { index in
            size += records[index].writtenSize
            return index > 0 && size > bytes
        }
        return end ?? records.count
    }
}
