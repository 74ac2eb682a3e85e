/// An object while it is written: a scalar by its number, a container by its number among the containers, which come
/// after all scalars in the file.
struct ObjectReference {
    static let limit = 1 << 31
    let bits: UInt32

    static func scalar(_ number: Int) -> ObjectReference { .init(bits: UInt32(truncatingIfNeeded: number)) }
    static func container(_ number: Int) -> ObjectReference {
        .init(bits: UInt32(truncatingIfNeeded: number) | 1 << 31)
    }

    func number(scalars: Int) -> Int {
        bits >> 31 == 0 ? Int(bits) : scalars + Int(bits & 0x7FFF_FFFF)
    }
}

/// Closed containers and their references: an array's items; a dictionary's keys, then its values. All in one list of
/// words, each container led by its kind and the number of its references.
struct ContainerList {
    private(set) var words: [UInt32] = []
    private(set) var count = 0

    init() {
        words.reserveCapacity(64)
    }

    /// Takes items, or keys and values in turn.
    mutating func append(_ kind: ContainerKind, _ members: ArraySlice<ObjectReference>) -> ObjectReference {
        words.append(UInt32(truncatingIfNeeded: members.count) | (kind == .array ? 0 : 1 << 31))
        if kind == .array {
            for member in members { words.append(member.bits) }
        } else {
            var position = members.startIndex
            while position < members.endIndex {
                words.append(members[position].bits)
                position &+= 2
            }
            position = members.startIndex &+ 1
            while position < members.endIndex {
                words.append(members[position].bits)
                position &+= 2
            }
        }
        count += 1
        return .container(count - 1)
    }

    /// Each container's kind and references, in order.
    @inline(__always)
    func visit(_ body: (ContainerKind, ArraySlice<UInt32>) -> Void) {
        var position = 0
        while position < words.count {
            let (head, first) = (words[position], position + 1)
            position = first + Int(head & 0x7FFF_FFFF)
            body(head >> 31 == 0 ? .array : .dictionary, words[first..<position])
        }
    }
}

/// The narrowest widths of big-endian numbers.
enum ByteWidth {
    /// 1, 2, 4 or 8 bytes.
    static func ofInteger(_ value: UInt64) -> Int {
        value < 1 << 8 ? 1 : value < 1 << 16 ? 2 : value < 1 << 32 ? 4 : 8
    }
}
