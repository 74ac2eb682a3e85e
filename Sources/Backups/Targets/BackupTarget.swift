import AdapterKit

/// Where backups are kept, apart from the machine: a folder of another disk or machine, or object storage.
///
/// It keeps objects by name. An object is there as a whole or not at all, and writing one that is there replaces it. What
/// was written is durable when the call returns. Nothing that it says is believed further: contents are compared with
/// digests, and a list may be out of date.
///
/// Every method throws ``PorticoError`` with a sentence for operators: `record.notFound` where the object is not there,
/// `store.full` where the target has no room, others where it cannot be used. Safe to call from any task.
public protocol BackupTarget: Sendable {
    /// Where it is, for operators. No secret.
    var place: String { get }

    /// Writes a small object.
    func write(_ bytes: [UInt8], to name: BackupObjectName) async throws

    /// Writes a file's content.
    func write(file path: String, to name: BackupObjectName) async throws

    /// The content of a small object. Throws `request.tooLarge` beyond `limit` bytes.
    func read(_ name: BackupObjectName, limit: Int) async throws -> [UInt8]

    /// Writes an object's content into a new file of mode 0600.
    func read(_ name: BackupObjectName, into path: String) async throws

    /// The objects whose names begin with the folder, in the order of their names. What is no object of a backup is left out.
    func list(_ folder: BackupObjectName) async throws -> [BackupObject]

    /// Removes an object, which need not be there.
    func remove(_ name: BackupObjectName) async throws
}

/// An object of a backup, as its target lists it.
public struct BackupObject: Sendable, Equatable {
    public let name: BackupObjectName
    /// Bytes.
    public let size: Int64

    public init(_ name: BackupObjectName, size: Int64) {
        (self.name, self.size) = (name, size)
    }
}

/// Names an object of a backup: parts of letters, digits, `-`, `_` and `.` with slashes between them, none of them empty or
/// beginning with a full stop; at most 400 bytes. It is a path within any folder and a key in any bucket.
public struct BackupObjectName: Sendable, Hashable, Comparable, CustomStringConvertible {
    public let text: String

    /// Nil for a text that is no such name.
    public init?(_ text: String) {
        let parts = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard text.utf8.count <= 400, parts.allSatisfy(Self.isPart) else { return nil }
        self.text = text
    }

    private init(unchecked text: String) {
        self.text = text
    }

    private static func isPart(_ part: Substring.UTF8View) -> Bool {
        guard let first = part.first, first != UInt8(ascii: ".") else { return false }
        return part.allSatisfy { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."): true
            default: false
            }
        }
    }

    public var description: String { text }

    /// The parts between slashes.
    public var parts: [Substring] { text.split(separator: "/") }

    public static func < (left: BackupObjectName, right: BackupObjectName) -> Bool {
        left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
    }
}

/// How a target is laid out.
///
/// ```
/// copies/COPY/store          the database
/// copies/COPY/attachments    the digests of the attachments that belong to it, one a line
/// copies/COPY/files/N        the gateway's other files; the manifest has their paths
/// copies/COPY/manifest.json  written last: without it there is no copy
/// copies/COPY/verified       the digest of the manifest, written once the copy was restored and checked
/// log/STREAM/NUMBER          pieces of the page log
/// attachments/ab/abcd…       attachments by their digests, of all copies
/// ```
extension BackupObjectName {
    static let copies = BackupObjectName(unchecked: "copies")
    static let log = BackupObjectName(unchecked: "log")
    static let attachments = BackupObjectName(unchecked: "attachments")
    /// Written and removed to see whether that is possible.
    static let probe = BackupObjectName(unchecked: "probe")

    static func of(_ copy: CopyName, _ object: String) -> BackupObjectName {
        BackupObjectName(unchecked: "copies/\(copy.text)/\(object)")
    }

    static func of(_ copy: CopyName) -> BackupObjectName { BackupObjectName(unchecked: "copies/\(copy.text)") }

    static func file(_ index: Int, of copy: CopyName) -> BackupObjectName { of(copy, "files/\(index)") }

    /// `stream`: 32 hexadecimal digits.
    static func log(_ stream: String) -> BackupObjectName { BackupObjectName(unchecked: "log/\(stream)") }

    static func piece(_ number: Int64, of stream: String) -> BackupObjectName {
        let digits = String(number)
        let zeros = String(repeating: "0", count: max(0, 12 - digits.utf8.count))
        return BackupObjectName(unchecked: "log/\(stream)/\(zeros)\(digits)")
    }

    /// `digest`: 64 hexadecimal digits.
    static func attachment(_ digest: String) -> BackupObjectName {
        BackupObjectName(unchecked: "attachments/\(digest.prefix(2))/\(digest)")
    }
}

/// Names a copy: when it was begun, to the second in UTC, and eight random hexadecimal digits, as `20261126T232447Z-5f0c91aa`. Later
/// copies have greater names.
public struct CopyName: Sendable, Hashable, Comparable, CustomStringConvertible {
    public let text: String

    /// Nil for a text that is no such name.
    public init?(_ text: some StringProtocol) {
        let bytes = Array(text.utf8)
        guard bytes.count == 25, bytes[8] == UInt8(ascii: "T"), bytes[15] == UInt8(ascii: "Z"),
            bytes[16] == UInt8(ascii: "-"), (bytes[0..<8] + bytes[9..<15]).allSatisfy({ (0x30...0x39).contains($0) }),
            bytes[17...].allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) })
        else { return nil }
        self.text = String(text)
    }

    /// `random`: a number that no other copy of that second has.
    public init(begun time: WireDate, random: UInt32) {
        let stamp = (time.cut(toFractionDigits: 0).rfc3339 ?? "").filter { !"-:".contains($0) }
        let digits = String(random, radix: 16)
        text = stamp + "-" + String(repeating: "0", count: 8 - digits.utf8.count) + digits
    }

    /// When it was begun, in seconds since 1970.
    var begun: Double {
        let digits = text.utf8.filter { (0x30...0x39).contains($0) }.prefix(14).map { Int($0 - 0x30) }
        func number(_ range: Range<Int>) -> Int { digits[range].reduce(0) { $0 * 10 + $1 } }
        let time = CivilTime(
            year: number(0..<4), month: number(4..<6), day: number(6..<8), hour: number(8..<10),
            minute: number(10..<12), second: number(12..<14))
        return time.map { WireDate(secondsSinceReferenceDate: Double($0.secondsSinceReferenceDate)).secondsSince1970 }
            ?? 0
    }

    public var description: String { text }

    public static func < (left: CopyName, right: CopyName) -> Bool { left.text < right.text }
}

extension BackupTarget {
    /// Writes an object and removes it. Throws why that is not possible.
    public func probe() async throws {
        try await write(Array("portico".utf8), to: .probe)
        guard try await read(.probe, limit: 100) == Array("portico".utf8) else {
            throw PorticoError(.storeUnavailable, "The backup target \(place) does not return what was written to it.")
        }
        try await remove(.probe)
    }
}

extension PorticoError {
    /// Whether an object is not there.
    var isNotFound: Bool { code == .recordNotFound }

    /// Whatever was thrown, with a sentence for operators.
    static func ofBackup(_ error: any Error) -> PorticoError {
        switch error {
        case let error as PorticoError: error
        case is CancellationError: PorticoError(.stopping, "The gateway is stopping.")
        default: PorticoError(.storeUnavailable, "The backup failed.", logDetail: "\(error)")
        }
    }
}
