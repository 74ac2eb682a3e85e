/// An object while it is written: a scalar by its number, a container by its number among the containers, which come
/// after all scalars in the file.
struct ObjectReference {
    static let limit = 1 << 31
    private let bits: UInt32

    static func scalar(_ number: Int) -> ObjectReference { .init(bits: UInt32(truncatingIfNeeded: number)) }
    static func container(_ number: Int) -> ObjectReference {
        .init(bits: UInt32(truncatingIfNeeded: number) | 1 << 31)
    }

    func number(scalars: Int) -> Int {
        bits >> 31 == 0 ? Int(bits) : scalars + Int(bits & 0x7FFF_FFFF)
    }
}

/// Closed containers and their references: an array's items; a dictionary's keys, then its values.
struct ContainerList {
    struct Entry {
        let kind: ContainerKind
        let references: Range<Int>
    }

    private(set) var entries: [Entry] = []
    private(set) var references: [ObjectReference] = []
    var count: Int { entries.count }

    init() {
        entries.reserveCapacity(8)
        references.reserveCapacity(64)
    }

    /// Takes items, or keys and values in turn.
    mutating func append(_ kind: ContainerKind, _ members: ArraySlice<ObjectReference>) -> ObjectReference {
        let first = references.count
        if kind == .array {
            references.append(contentsOf: members)
        } else {
            var position = members.startIndex
            while position < members.endIndex {
                references.append(members[position])
                position += 2
            }
            position = members.startIndex + 1
            while position < members.endIndex {
                references.append(members[position])
                position += 2
            }
        }
        entries.append(Entry(kind: kind, references: first..<references.count))
        return .container(entries.count - 1)
    }
}

/// The narrowest widths of big-endian numbers.
enum ByteWidth {
    /// 1, 2, 4 or 8 bytes.
    static func ofInteger(_ value: UInt64) -> Int {
        value < 1 << 8 ? 1 : value < 1 << 16 ? 2 : value < 1 << 32 ? 4 : 8
    }
}
