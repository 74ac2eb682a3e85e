import SyncMessages

/// What becomes of records, the last word on each. Those that come in the order of their keys, as a snapshot's do, are
/// kept in it: no hashes, and nothing to sort when they are written.
public struct RecordChanges: Sendable {
    public struct Change: Sendable, Equatable {
        public let key: RecordKey
        /// Nil: the record goes.
        public fileprivate(set) var copy: RecordCopy?
    }

    private var ascending: [Change] = []
    private var others: [RecordKey: RecordCopy?] = [:]

    public init() {}

    public var count: Int { ascending.count + others.count }
    public var isEmpty: Bool { count == 0 }

    /// Nil: nothing is said of it.
    public subscript(key: RecordKey) -> RecordCopy?? {
        guard let place = place(of: key) else { return others.isEmpty ? nil : others[key] }
        return .some(ascending[place].copy)
    }

    mutating func set(_ copy: RecordCopy?, of key: RecordKey) {
        if let last = ascending.last, last.key >= key {
            if let place = place(of: key) { ascending[place].copy = copy } else { others[key] = .some(copy) }
        } else {
            if !others.isEmpty { others[key] = nil }
            ascending.append(Change(key: key, copy: copy))
        }
    }

    mutating func removeAll(of collection: String) {
        ascending.removeAll { $0.key.collection == collection }
        others = others.filter { $0.key.collection != collection }
    }

    mutating func merge(_ later: RecordChanges) {
        for change in later.sorted { set(change.copy, of: change.key) }
    }

    /// In the order of their keys.
    public var sorted: [Change] {
        guard !others.isEmpty else { return ascending }
        return (ascending + others.map { Change(key: $0.key, copy: $0.value) }).sorted { $0.key < $1.key }
    }

    private func place(of key: RecordKey) -> Int? {
        guard let last = ascending.last, key <= last.key else { return nil }
        var (low, high) = (0, ascending.count)
        while low < high {
            let middle = (low + high) / 2
            if ascending[middle].key < key { low = middle + 1 } else { high = middle }
        }
        return ascending[low].key == key ? low : nil
    }
}

extension RecordChanges: Equatable {
    public static func == (left: RecordChanges, right: RecordChanges) -> Bool { left.sorted == right.sorted }
}
