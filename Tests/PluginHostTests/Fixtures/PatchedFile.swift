import Foundation

/// Changes bytes of a file in place.
struct PatchedFile {
    let path: String

    func replace(at offset: Int, with bytes: some Sequence<UInt8>) throws {
        let file = try FileHandle(forUpdating: URL(filePath: path))
        defer { try? file.close() }
        try file.seek(toOffset: UInt64(offset))
        try file.write(contentsOf: Data(bytes))
    }

    func truncate(to size: Int) throws {
        let file = try FileHandle(forUpdating: URL(filePath: path))
        defer { try? file.close() }
        try file.truncate(atOffset: UInt64(size))
    }

    func bytes() throws -> [UInt8] {
        [UInt8](try Data(contentsOf: URL(filePath: path)))
    }

    /// A little-endian number of the file.
    func number(at offset: Int, bytes count: Int) throws -> Int {
        try bytes()[offset..<offset + count].reversed().reduce(0) { $0 << 8 | Int($1) }
    }

    /// Where the stamp stands.
    func stampOffset() throws -> Int {
        guard let range = try Data(bytes()).range(of: Data("AdapterKit-Stamp".utf8)) else {
            throw Tool.Failure(description: "no stamp in \(path)")
        }
        return range.lowerBound
    }
}
