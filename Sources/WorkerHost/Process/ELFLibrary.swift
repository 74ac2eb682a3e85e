import Glibc

/// The sections of a shared library, every one of them known to lie within the file.
///
/// Only what the search paths need is read: the headers, the names and the dynamic section. Whatever a hostile file claims costs at most ``maximumNameBytes``, the two tables of headers (4 MiB each) and ``maximumDynamicBytes``.
struct ELFLibrary {
    /// Bytes of the section that holds the sections' names, at most.
    static let maximumNameBytes: UInt64 = 1 << 20
    /// Bytes of the section that tells the loader what the file needs, at most. One of a large program has some hundred entries.
    static let maximumDynamicBytes: UInt64 = 1 << 16
    /// Bytes of all search paths together, at most.
    static let maximumSearchPathBytes = 4096

    private let file: FileBytes
    private let sections: [ELFSection]
    private let names: [UInt8]

    init(_ file: FileBytes) throws(ELFReadError) {
        let header = try ELFHeader(of: file)
        try Self.checkSegments(header.programHeaders, in: file)
        self.file = file
        sections = try Self.sections(header.sectionHeaders, in: file)
        names = try Self.names(of: sections, at: header.sectionNamesIndex, in: file)
    }

    /// Where the loader looks for libraries (`DT_RUNPATH`, `DT_RPATH`), as the file says it: `$ORIGIN` stands for its folder.
    func librarySearchPaths() throws(ELFReadError) -> [String] {
        guard let table = sections.first(where: { hasName(".dynamic", $0) && $0.isInFile }),
            let names = sections.first(where: { hasName(".dynstr", $0) && $0.isInFile })
        else { return [] }
        guard table.byteCount <= Self.maximumDynamicBytes else { throw .malformed("too large a dynamic section") }
        let entries = try file.read(at: table.offset, count: Int(table.byteCount))
        var paths: [String] = []
        for start in stride(from: 0, through: entries.count - 16, by: 16) {
            let (tag, offset) = (entries.integer(UInt64.self, at: start), entries.integer(UInt64.self, at: start + 8))
            guard Self.searchPathTags.contains(tag), offset < names.byteCount else { continue }
            // Both lie within the file, so the sum does not overflow.
            let count = min(Int(names.byteCount - offset), Self.maximumSearchPathBytes)
            let text = try file.read(at: names.offset + offset, count: count).prefix { $0 != 0 }
            paths += String(decoding: text, as: UTF8.self).split(separator: ":").map(String.init)
        }
        return paths
    }

    /// `DT_RPATH` and `DT_RUNPATH`.
    private static let searchPathTags: Set<UInt64> = [15, 29]

    private func hasName(_ name: String, _ section: ELFSection) -> Bool {
        guard section.nameOffset < names.count else { return false }
        return names[section.nameOffset...].prefix { $0 != 0 }.elementsEqual(name.utf8)
    }
}

extension ELFLibrary {
    /// The loader maps these parts, so one beyond the file's end would kill the process when it is touched.
    private static func checkSegments(_ table: ELFHeader.Table, in file: FileBytes) throws(ELFReadError) {
        let entries = try entries(of: table, size: ELFSegment.byteCount, in: file)
        for segment in entries.map(ELFSegment.init) where segment.isMapped {
            guard file.contains(offset: segment.offset, count: segment.byteCount) else { throw .truncated }
        }
    }

    private static func sections(_ table: ELFHeader.Table, in file: FileBytes) throws(ELFReadError) -> [ELFSection] {
        let sections = try entries(of: table, size: ELFSection.byteCount, in: file).map(ELFSection.init)
        for section in sections where section.isInFile {
            guard file.contains(offset: section.offset, count: section.byteCount) else { throw .truncated }
        }
        return sections
    }

    private static func names(
        of sections: [ELFSection], at index: Int, in file: FileBytes
    ) throws(ELFReadError) -> [UInt8] {
        guard !sections.isEmpty else { return [] }
        guard index < sections.count, sections[index].isInFile else { throw .malformed("no section names") }
        guard sections[index].byteCount <= maximumNameBytes else { throw .malformed("too many section names") }
        return try file.read(at: sections[index].offset, count: Int(sections[index].byteCount))
    }

    private static func entries(
        of table: ELFHeader.Table, size: Int, in file: FileBytes
    ) throws(ELFReadError) -> [[UInt8]] {
        guard table.count > 0 else { return [] }
        guard table.entrySize == size else { throw .malformed("headers of \(table.entrySize) bytes, not \(size)") }
        let bytes = try file.read(at: table.offset, count: table.byteCount)
        return (0..<table.count).map { Array(bytes[$0 * size..<($0 + 1) * size]) }
    }
}

/// The header of a 64-bit little-endian shared library (System V gABI, chapter 4, "ELF Header").
///
///     0   magic 7f 45 4c 46, class (2: 64 bit), data (1: little-endian)
///     16  type (3: shared object)      18  machine
///     32  offset of program headers    40  offset of section headers
///     54  size, 56 number of program headers
///     58  size, 60 number of section headers, 62 index of the section that holds their names
struct ELFHeader {
    static let byteCount = 64

    let programHeaders: Table
    let sectionHeaders: Table
    let sectionNamesIndex: Int

    /// Where a table of headers stands. At most 65,535 entries of a size that is fixed: at most 4 MiB.
    struct Table {
        let offset: UInt64
        let entrySize: Int
        let count: Int

        var byteCount: Int { entrySize * count }
    }

    init(of file: FileBytes) throws(ELFReadError) {
        let bytes = try Self.headerBytes(of: file)
        try Self.checkPlatform(bytes)
        programHeaders = Table(
            offset: bytes.integer(UInt64.self, at: 32), entrySize: Int(bytes.integer(UInt16.self, at: 54)),
            count: Int(bytes.integer(UInt16.self, at: 56)))
        sectionHeaders = Table(
            offset: bytes.integer(UInt64.self, at: 40), entrySize: Int(bytes.integer(UInt16.self, at: 58)),
            count: Int(bytes.integer(UInt16.self, at: 60)))
        sectionNamesIndex = Int(bytes.integer(UInt16.self, at: 62))
    }

    private static func headerBytes(of file: FileBytes) throws(ELFReadError) -> [UInt8] {
        guard file.size > 0 else { throw .empty }
        let magic: [UInt8] = [0x7f, 0x45, 0x4c, 0x46]
        let start = try file.read(at: 0, count: Int(min(file.size, 4)))
        guard start.elementsEqual(magic.prefix(start.count)) else { throw .notELF }
        return try file.read(at: 0, count: byteCount)
    }

    private static func checkPlatform(_ bytes: [UInt8]) throws(ELFReadError) {
        guard bytes[4] == 2 else { throw .otherPlatform("not 64 bit") }
        guard bytes[5] == 1 else { throw .otherPlatform("not little-endian") }
        let machine = bytes.integer(UInt16.self, at: 18)
        guard machine == hostMachine else { throw .otherPlatform("machine \(machine), this host is \(hostMachine)") }
        guard bytes.integer(UInt16.self, at: 16) == 3 else { throw .malformed("not a shared library") }
    }

    #if arch(x86_64)
        private static let hostMachine: UInt16 = 62
    #elseif arch(arm64)
        private static let hostMachine: UInt16 = 183
    #else
        #error("name this machine's ELF number")
    #endif
}

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

/// Little-endian integers out of bytes whose number the caller has checked.
extension [UInt8] {
    func integer<Number: FixedWidthInteger & UnsignedInteger>(_ type: Number.Type, at offset: Int) -> Number {
        var number: Number = 0
        for position in (0..<MemoryLayout<Number>.size).reversed() {
            number = number << 8 | Number(self[offset + position])
        }
        return number
    }
}

/// Ranges of an open file, each checked against the file's size.
///
/// Reads instead of mapping it: truncating a mapped file kills the process with SIGBUS.
struct FileBytes {
    let descriptor: Int32
    let size: UInt64

    /// All of the range or an error; `count` is at most what the caller bounded it to.
    func read(at offset: UInt64, count: Int) throws(ELFReadError) -> [UInt8] {
        guard contains(offset: offset, count: UInt64(count)) else { throw .truncated }
        var bytes = [UInt8](repeating: 0, count: count)
        var done = 0
        while done < count {
            let got = bytes.withUnsafeMutableBytes { buffer in
                buffer.baseAddress.map { pread(descriptor, $0 + done, count - done, off_t(offset) + off_t(done)) } ?? 0
            }
            if got < 0 && errno == EINTR { continue }
            guard got >= 0 else { throw .unreadable(String(cString: strerror(errno))) }
            guard got > 0 else { throw .truncated }
            done += got
        }
        return bytes
    }

    func contains(offset: UInt64, count: UInt64) -> Bool {
        offset <= size && count <= size - offset && size <= UInt64(Int64.max)
    }
}

/// Why a file is not read as an ELF library of this machine.
enum ELFReadError: Error, Equatable {
    case unreadable(String)
    case empty
    case notELF
    case truncated
    case malformed(String)
    case otherPlatform(String)
}
