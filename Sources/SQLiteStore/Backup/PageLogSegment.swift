import AdapterKit
import DurableFiles

/// A piece of a store's page log: the pages that were committed since the piece before, each with its last content.
///
/// Format: a header of 128 bytes: `PTCPLOG1`, the page size, the size of the database in pages after the last commit in it
/// (0: the commit goes on in the next piece), the number within the stream (64 bits), the stream (32 hexadecimal digits),
/// the digest of the piece before (64 hexadecimal digits; of the first, zeros), the number of pages, four zeros. Then the pages:
/// number and bytes. Then the SHA-256 of all that, as 64 hexadecimal digits. Numbers are big-endian, of 32 bits.
public struct PageLogSegment: Sendable, Equatable {
    /// The log that it belongs to.
    public let stream: String
    /// Its number in the stream, from 1.
    public let number: Int64
    /// The digest of the piece before.
    public let previous: String
    /// The digest of these bytes, for the piece after it.
    public let digest: String
    let pageSize: Int
    /// 0: the commit goes on in the next piece.
    let databasePages: UInt32
    private let count: Int
    private let bytes: [UInt8]

    /// Whether its last commit is whole.
    public var endsCommit: Bool { databasePages > 0 }

    /// The digest before the first piece of a stream.
    public static let noDigest = String(repeating: "0", count: 64)

    static let magic = Array("PTCPLOG1".utf8)
    static let headerSize = 128
    private static let digestSize = 64

    /// Throws `store.unavailable` where the bytes are no such piece, or were changed.
    public init(_ bytes: [UInt8]) throws(PorticoError) {
        guard bytes.count >= Self.headerSize + Self.digestSize, bytes.starts(with: Self.magic) else {
            throw Self.damaged("not a piece of a page log")
        }
        func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }
        func number(_ offset: Int) -> UInt32 { bytes.withUnsafeBytes { $0.bigEndian(offset) } }
        let end = bytes.count - Self.digestSize
        var hash = SHA256Text()
        bytes.withUnsafeBytes { hash.update(UnsafeRawBufferPointer(rebasing: $0[..<end])) }
        digest = hash.finish()
        guard digest == text(end..<bytes.count) else { throw Self.damaged("the digest is another one") }
        let (pageSize, count) = (Int(number(8)), Int(number(120)))
        guard (512...65_536).contains(pageSize), count <= end / pageSize,
            Self.headerSize + count * (pageSize + 4) == end,
            let sequence = Int64(exactly: UInt64(number(16)) << 32 | UInt64(number(20)))
        else { throw Self.damaged("the lengths do not fit") }
        (self.pageSize, self.count, self.number) = (pageSize, count, sequence)
        databasePages = number(12)
        (stream, previous) = (text(24..<56), text(56..<120))
        self.bytes = bytes
    }

    /// Calls `write` with each page, its number from 1, and its bytes.
    func forEachPage(_ write: (UInt32, UnsafeRawBufferPointer) throws -> Void) rethrows {
        try bytes.withUnsafeBytes { bytes in
            for index in 0..<count {
                let offset = Self.headerSize + index * (pageSize + 4)
                try write(
                    bytes.bigEndian(offset),
                    UnsafeRawBufferPointer(rebasing: bytes[(offset + 4)..<(offset + 4 + pageSize)]))
            }
        }
    }

    static func damaged(_ detail: String) -> PorticoError {
        PorticoError(.storeUnavailable, "A piece of the backup's log is damaged.", logDetail: detail)
    }
}

/// Puts committed pages together to a ``PageLogSegment``.
struct PageLogSegmentBuilder {
    /// Pages of one piece at most: 16 MiB of pages of 4 KiB.
    static let maximumPages = 4_096

    let stream: String
    let number: Int64
    let previous: String
    private var pageSize = 0
    private var places: [UInt32: Int] = [:]
    private var bytes: [UInt8]

    init(stream: String, number: Int64, previous: String) {
        (self.stream, self.number, self.previous) = (stream, number, previous)
        bytes = [UInt8](repeating: 0, count: PageLogSegment.headerSize)
    }

    var isEmpty: Bool { places.isEmpty }
    var isFull: Bool { places.count >= Self.maximumPages }

    /// A page that is there already gets the new content.
    mutating func add(_ page: UInt32, _ content: UnsafeRawBufferPointer) {
        pageSize = content.count
        if let place = places[page] {
            bytes.withUnsafeMutableBytes {
                UnsafeMutableRawBufferPointer(rebasing: $0[place..<(place + content.count)]).copyMemory(from: content)
            }
            return
        }
        withUnsafeBytes(of: page.bigEndian) { bytes.append(contentsOf: $0) }
        places[page] = bytes.count
        bytes.append(contentsOf: content)
    }

    /// The piece's bytes and their digest; the builder is of no use any more. `databasePages`: 0 where the commit goes on.
    mutating func finish(databasePages: UInt32) -> (bytes: [UInt8], digest: String) {
        func put(_ value: UInt32, at offset: Int, _ bytes: inout [UInt8]) {
            withUnsafeBytes(of: value.bigEndian) { bytes.replaceSubrange(offset..<(offset + 4), with: $0) }
        }
        bytes.replaceSubrange(0..<8, with: PageLogSegment.magic)
        put(UInt32(pageSize), at: 8, &bytes)
        put(databasePages, at: 12, &bytes)
        put(UInt32(truncatingIfNeeded: number >> 32), at: 16, &bytes)
        put(UInt32(truncatingIfNeeded: number), at: 20, &bytes)
        bytes.replaceSubrange(24..<56, with: stream.utf8)
        bytes.replaceSubrange(56..<120, with: previous.utf8)
        put(UInt32(places.count), at: 120, &bytes)
        var hash = SHA256Text()
        bytes.withUnsafeBytes { hash.update($0) }
        let digest = hash.finish()
        bytes.append(contentsOf: digest.utf8)
        return (bytes, digest)
    }
}
