/// A section header (System V gABI, chapter 4, "Sections").
///
///     0  name, an offset into the names    4  type (0: none, 8: takes no space in the file)
///     24 offset of its bytes               32 number of its bytes
struct ELFSection {
    static let byteCount = 64

    let nameOffset: Int
    let isInFile: Bool
    let offset: UInt64
    let byteCount: UInt64

    init(_ bytes: [UInt8]) {
        nameOffset = Int(bytes.integer(UInt32.self, at: 0))
        let type = bytes.integer(UInt32.self, at: 4)
        isInFile = type != 0 && type != 8
        offset = bytes.integer(UInt64.self, at: 24)
        byteCount = bytes.integer(UInt64.self, at: 32)
    }
}

/// A program header (System V gABI, chapter 5, "Program Header").
///
///     0  type (1: mapped by the loader)    8  offset of its bytes    32 number of its bytes in the file
struct ELFSegment {
    static let byteCount = 56

    let isMapped: Bool
    let offset: UInt64
    let byteCount: UInt64

    init(_ bytes: [UInt8]) {
        isMapped = bytes.integer(UInt32.self, at: 0) == 1
        offset = bytes.integer(UInt64.self, at: 8)
        byteCount = bytes.integer(UInt64.self, at: 32)
    }
}
