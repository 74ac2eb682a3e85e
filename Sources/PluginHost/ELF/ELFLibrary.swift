/// The sections of a shared library, every one of them known to lie within the file.
///
/// Only what the stamp needs is read: the headers and the names. Whatever a hostile file claims costs at most
/// ``maximumNameBytes`` and the two tables of headers (4 MiB each).
struct ELFLibrary {
    /// Of the section that holds the sections' names.
    static let maximumNameBytes: UInt64 = 1 << 20

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

    /// The contents of the one section of that name, nil where there is none. It must be of exactly `byteCount` bytes.
    func section(named name: String, byteCount: Int) throws(ELFReadError) -> [UInt8]? {
        let found = sections.filter { hasName(name, $0) }
        guard let section = found.first else { return nil }
        guard found.count == 1, section.byteCount == UInt64(byteCount), section.isInFile else {
            throw .malformed("section \(name) is not one of \(byteCount) bytes")
        }
        return try file.read(at: section.offset, count: byteCount)
    }

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
