import Foundation

/// A file of documents, each led by its length as eight big-endian bytes.
struct FrameWriter {
    private let file: FileHandle

    init(path: String) throws {
        guard FileManager.default.createFile(atPath: path, contents: nil) else { fail("cannot write \(path)") }
        file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
    }

    func write(_ document: [UInt8]) throws {
        let length = (0..<8).map { UInt8(truncatingIfNeeded: document.count >> (56 - 8 * $0)) }
        try file.write(contentsOf: Data(length + document))
    }
}

struct FrameReader {
    private let file: FileHandle

    init(path: String) throws {
        file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
    }

    /// Nil at the end of the file.
    func next() throws -> [UInt8]? {
        guard let head = try file.read(upToCount: 8), head.count == 8 else { return nil }
        let length = head.reduce(0) { $0 << 8 | Int($1) }
        return [UInt8](try file.read(upToCount: length) ?? Data())
    }
}

func fail(_ message: String) -> Never {
    FileHandle.standardError.write(Data("wire-differential: \(message)\n".utf8))
    exit(1)
}
