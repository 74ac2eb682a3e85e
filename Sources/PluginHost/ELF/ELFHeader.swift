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
