/// An ordered dictionary with string keys that compare by their UTF-8 bytes.
///
/// Order is the order of insertion and survives every format. Look-up is a scan while there are few entries, which is
/// faster than hashing for the sizes that messages have, and goes through an index above ``indexThreshold``.
public struct WireDictionary: Sendable {
    /// One member.
    public struct Entry: Sendable, Equatable {
        /// The key.
        public var key: String
        /// The value.
        public var value: WireValue

        /// Creates an entry with these values.
        @inlinable
        public init(key: String, value: WireValue) {
            self.key = key
            self.value = value
        }

        public static func == (left: Entry, right: Entry) -> Bool {
            left.key.hasSameBytes(as: right.key) && left.value == right.value
        }
    }

    @usableFromInline static let indexThreshold = 16

    /// The members in order.
    public private(set) var entries: [Entry]
    private var index: [HashedKey: Int]?

    /// Creates a wire dictionary.
    public init() {
        entries = []
    }

    /// Takes entries whose keys the caller knows to be distinct: a reader that has checked them already.
    public init(uncheckedUniqueKeys entries: [Entry]) {
        self.entries = entries
        if entries.count > Self.indexThreshold { rebuildIndex() }
    }

    /// Nil where two keys are equal.
    public init?(uniqueKeys entries: [Entry]) {
        self.init(uncheckedUniqueKeys: [])
        self.entries.reserveCapacity(entries.count)
        for entry in entries {
            guard insert(entry.value, forKey: entry.key) else { return nil }
        }
    }

    /// The number of members.
    public var count: Int { entries.count }
    /// Whether there are no members.
    public var isEmpty: Bool { entries.isEmpty }
    /// The keys in order.
    public var keys: [String] { entries.map(\.key) }

    /// Reading a key that is not there gives nil; assigning nil removes the entry, assigning a value replaces it in
    /// place or appends it.
    public subscript(key: String) -> WireValue? {
        get { position(of: key).map { entries[$0].value } }
        set {
            switch (position(of: key), newValue) {
            case (let found?, let value?): entries[found].value = value
            case (let found?, nil): remove(at: found)
            case (nil, let value?): append(value, forKey: key)
            case (nil, nil): break
            }
        }
    }

    /// Appends unless the key is there already; tells whether it did.
    @discardableResult
    public mutating func insert(_ value: WireValue, forKey key: String) -> Bool {
        guard position(of: key) == nil else { return false }
        append(value, forKey: key)
        return true
    }
}

extension WireDictionary {
    /// A key that hashes and compares by bytes.
    fileprivate struct HashedKey: Hashable, Sendable {
        let text: String

        static func == (left: HashedKey, right: HashedKey) -> Bool { left.text.hasSameBytes(as: right.text) }

        func hash(into hasher: inout Hasher) {
            var text = text
            text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        }
    }

    private func position(of key: String) -> Int? {
        if let index { return index[HashedKey(text: key)] }
        // By index: a closure over the entries would retain and release each that it looks at.
        for place in entries.indices where entries[place].key.hasSameBytes(as: key) { return place }
        return nil
    }

    private mutating func append(_ value: WireValue, forKey key: String) {
        entries.append(Entry(key: key, value: value))
        if index != nil {
            // Cannot trap: the index was made just before.
            index![HashedKey(text: key)] = entries.count - 1
        } else if entries.count > Self.indexThreshold {
            rebuildIndex()
        }
    }

    private mutating func remove(at position: Int) {
        entries.remove(at: position)
        if index != nil { rebuildIndex() }
    }

    private mutating func rebuildIndex() {
        var rebuilt: [HashedKey: Int] = [:]
        rebuilt.reserveCapacity(entries.count)
        for (position, entry) in entries.enumerated() { rebuilt[HashedKey(text: entry.key)] = position }
        index = rebuilt
    }
}

extension WireDictionary: Equatable {
    /// Equal keys in the same order with equal values.
    public static func == (left: WireDictionary, right: WireDictionary) -> Bool {
        left.entries == right.entries
    }
}

extension WireDictionary: Sequence {
    public func makeIterator() -> IndexingIterator<[Entry]> {
        entries.makeIterator()
    }
}

extension WireDictionary: ExpressibleByDictionaryLiteral {
    /// The type of a key in a literal.
    public typealias Key = String
    /// The type of a value in a literal.
    public typealias Value = WireValue

    /// Two equal keys in a literal are a programmer's error and trap.
    public init(dictionaryLiteral elements: (String, WireValue)...) {
        self.init()
        for (key, value) in elements {
            // Cannot trap: literals in source code.
            precondition(insert(value, forKey: key), "duplicate key in a dictionary literal")
        }
    }
}
