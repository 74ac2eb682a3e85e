/// The entries of a tar archive, and the bytes of one that is made.
///
/// Format: blocks of 512 bytes. An entry is a header block and its content, filled up to whole blocks; two blocks of zeros
/// end the archive. A header has the name (offset 0, 100 bytes), mode (100, 8), size (124, 12), modification time (136,
/// 12), sum (148, 8), kind (156, 1), `ustar` (257, 6), and what comes before the name with a slash (345, 155). Numbers are
/// octal digits; the sum is that of all bytes of the header with its own eight taken as spaces.
/// Source: IEEE Std 1003.1-2017, `pax`, "ustar Interchange Format".
///
/// Regular files and folders alone are taken. Extended headers are passed over unless they change a name or a size.
struct TarArchive {
    static let block = 512

    /// A regular file within the archive.
    struct Entry: Equatable {
        let path: PackagePath
        let offset: Int
        let size: Int
    }

    let files: [Entry]

    /// `read`: so many bytes from a place on; fewer where the file ends. Throws at the first thing that is no such archive,
    /// or where more than `limit` files are in it.
    init(
        limit: Int, read: (_ offset: Int, _ count: Int) throws(AdapterPackageError) -> [UInt8]
    ) throws(AdapterPackageError) {
        var files: [Entry] = []
        var names: Set<PackagePath> = []
        var (offset, headers) = (0, 0)
        while true {
            let block = try read(offset, Self.block)
            guard block.count == Self.block else { throw Self.truncated }
            if block.allSatisfy({ $0 == 0 }) { break }
            headers += 1
            // Folders and extended headers count too: an archive of nothing else would be read for ever.
            guard headers <= 4 * limit + 16 else { throw AdapterPackageError("The package has too many entries.") }
            let header = try Header(block)
            let content = offset + Self.block
            switch header.kind {
            case .file:
                let path = try header.path()
                guard files.count < limit else {
                    throw AdapterPackageError("The package has more than \(limit) files.")
                }
                guard names.insert(path).inserted else { throw AdapterPackageError("The package has \(path) twice.") }
                files.append(Entry(path: path, offset: content, size: header.size))
            case .folder:
                guard header.size == 0 else {
                    throw AdapterPackageError("The package has a folder entry with content.")
                }
            case .extended:
                guard header.size <= Self.maximumExtension else {
                    throw AdapterPackageError("The package has an extended header that is too large.")
                }
                try Self.checkExtension(try read(content, header.size), size: header.size)
            }
            let (next, overflow) = content.addingReportingOverflow(Self.blocks(header.size) * Self.block)
            guard !overflow else { throw Self.truncated }
            offset = next
        }
        let last = files.last.map { $0.offset + $0.size - 1 } ?? 0
        if let end = files.last, end.size > 0, try read(last, 1).isEmpty { throw Self.truncated }
        self.files = files
    }

    static let truncated = AdapterPackageError(
        "The package ends too early: the file is not an adapter package, or only a part of one. Copy it again.")

    private static let maximumExtension = 64 << 10

    static func blocks(_ size: Int) -> Int { size / block + (size % block == 0 ? 0 : 1) }

    /// Records of `length key=value` and a line feed.
    private static func checkExtension(_ bytes: [UInt8], size: Int) throws(AdapterPackageError) {
        guard bytes.count == size else { throw truncated }
        for line in bytes.split(separator: UInt8(ascii: "\n")) {
            let text = String(decoding: line, as: UTF8.self)
            let record = text.drop { $0 != " " }.dropFirst()
            for key in ["path", "size", "linkpath", "GNU."] where record.hasPrefix(key) {
                throw AdapterPackageError(
                    "The package has an extended header that changes names or sizes. Make the archive in the format ustar."
                )
            }
        }
    }
}

private struct Header {
    enum Kind { case file, folder, extended }

    let kind: Kind
    let size: Int
    private let name: [UInt8]

    init(_ block: [UInt8]) throws(AdapterPackageError) {
        guard block[257..<262].elementsEqual("ustar".utf8) else {
            throw AdapterPackageError("The package is not a tar archive in the format ustar.")
        }
        var sum = 0
        for (place, byte) in block.enumerated() { sum += (148..<156).contains(place) ? 0x20 : Int(byte) }
        guard Self.number(block[148..<156]) == sum else {
            throw AdapterPackageError("The package has a damaged header. Copy the package again.")
        }
        guard let size = Self.number(block[124..<136]) else {
            throw AdapterPackageError("The package has a header without a valid size.")
        }
        self.size = size
        switch block[156] {
        case UInt8(ascii: "0"), 0: kind = .file
        case UInt8(ascii: "5"): kind = .folder
        case UInt8(ascii: "x"), UInt8(ascii: "g"): kind = .extended
        default:
            throw AdapterPackageError("The package has an entry that is neither a file nor a folder, such as a link.")
        }
        let prefix = Self.text(block[345..<500])
        let own = Self.text(block[0..<100])
        // GNU's own form, "ustar  ", has other things where the prefix is.
        let isPOSIX = block[262] == 0
        name = isPOSIX && !prefix.isEmpty ? prefix + [UInt8(ascii: "/")] + own : own
    }

    func path() throws(AdapterPackageError) -> PackagePath {
        guard let text = String(validating: name, as: UTF8.self),
            let path = PackagePath(text.hasPrefix("./") ? String(text.dropFirst(2)) : text)
        else {
            throw AdapterPackageError(
                "The package has a file whose name leads out of it, or is not valid: \(String(decoding: name, as: UTF8.self).debugDescription)."
            )
        }
        return path
    }

    private static func text(_ field: ArraySlice<UInt8>) -> [UInt8] { Array(field.prefix { $0 != 0 }) }

    /// Octal digits, spaces or zeros around them. Eleven of them are below 2^33.
    private static func number(_ field: ArraySlice<UInt8>) -> Int? {
        let digits = field.drop { $0 == 0x20 }.prefix { $0 != 0x20 && $0 != 0 }
        guard !digits.isEmpty, digits.allSatisfy({ (0x30...0x37).contains($0) }) else { return nil }
        return digits.reduce(0) { $0 << 3 | Int($1 - 0x30) }
    }
}

extension TarArchive {
    /// The header of a file, without an owner or a time, so that equal files make equal archives.
    static func header(_ path: PackagePath, size: Int, isExecutable: Bool) throws(AdapterPackageError) -> [UInt8] {
        var block = [UInt8](repeating: 0, count: Self.block)
        func put(_ text: some Collection<UInt8>, at place: Int) {
            block.replaceSubrange(place..<place + text.count, with: text)
        }
        let names = path.names
        guard size >= 0, size < 1 << 33, let last = names.last else {
            throw AdapterPackageError("\(path) is too large for an archive.")
        }
        // A path is at most 255 bytes, its last name 100 and the others 155: it always has this form.
        put(last.utf8, at: 0)
        put(names.dropLast().joined(separator: "/").utf8, at: 345)
        put(octal(isExecutable ? 0o755 : 0o644, 7), at: 100)
        put(octal(0, 7), at: 108)
        put(octal(0, 7), at: 116)
        put(octal(size, 11), at: 124)
        put(octal(0, 11), at: 136)
        block[156] = UInt8(ascii: "0")
        put("ustar\u{0}00".utf8, at: 257)
        put([UInt8](repeating: 0x20, count: 8), at: 148)
        put(octal(block.reduce(0) { $0 + Int($1) }, 6) + [0], at: 148)
        return block
    }

    /// What fills the content up to whole blocks.
    static func padding(_ size: Int) -> [UInt8] { [UInt8](repeating: 0, count: blocks(size) * block - size) }

    static let end = [UInt8](repeating: 0, count: 2 * block)

    private static func octal(_ number: Int, _ digits: Int) -> [UInt8] {
        let text = String(number, radix: 8)
        return Array(String(repeating: "0", count: max(0, digits - text.count)).utf8) + Array(text.utf8)
    }
}
