import CSV
import Foundation

/// A file of records in parts of a bounded size: CSV between two lines, a list in JSON between two of its items.
/// Everything else is one part.
final class PartReader {
    struct Part {
        let bytes: [UInt8]
        /// The line or row of its first record in the file.
        let first: Int
        /// Nil where the part is the whole file.
        let unit: String?

        var location: String { "\(unit ?? "row") \(first)" }

        /// What the gateway names rows by.
        var position: [String: String] { unit == nil ? [:] : ["first": "\(first)"] }
    }

    /// Records of a part at most, and bytes after which it ends.
    static let records = 10_000
    static let bytes = 1 << 20
    /// A record beyond it ends the reading: a quote that is not closed would take the whole file for one.
    static let largestRecord = 64 << 20

    let mediaType: String
    private let path: String
    private let file: FileHandle
    private let size: UInt64
    private let from: Int
    private let separator: CSVSeparator
    private var pending: [UInt8] = []
    private var offset = 0
    private var taken: UInt64 = 0
    private var isAtEnd = false
    private var splitter: RecordSplitter?
    /// Of CSV: the header line, which goes before each part.
    private var header: [UInt8] = []
    private var hasBegun = false

    /// Throws ``CommandError`` where the file cannot be read or its ending is not known.
    init(_ path: String, from: Int, separator: CSVSeparator = .comma) throws {
        mediaType = try FileContents.mediaType(of: path)
        guard let file = FileHandle(forReadingAtPath: path) else { throw CommandError.unreadable(path) }
        self.file = file
        self.path = path
        self.from = from
        self.separator = separator
        size = (try? file.seekToEnd()) ?? 0
        try? file.seek(toOffset: 0)
    }

    /// How much of the file was handed out.
    var fraction: Double { size == 0 ? 1 : Double(taken) / Double(size) }

    /// Nil at the end.
    func next() throws -> Part? {
        if !hasBegun {
            hasBegun = true
            splitter = try begin()
            if splitter == nil { return try wholePart() }
            if mediaType == "text/csv", let record = try record() { header = record.bytes }
        }
        guard splitter != nil else { return nil }
        var (bytes, count, first) = (header, 0, 0)
        while count < Self.records, bytes.count < Self.bytes, let record = try record() {
            if record.number < from { continue }
            if count == 0 { first = record.number }
            if mediaType != "text/csv", count > 0 { bytes.append(UInt8(ascii: ",")) }
            bytes += record.bytes
            count += 1
        }
        guard count > 0 else { return try emptyFile() }
        isEmpty = false
        if mediaType == "text/csv" { return Part(bytes: bytes, first: first, unit: "line") }
        return Part(bytes: [UInt8(ascii: "[")] + bytes + [UInt8(ascii: "]")], first: first, unit: "row")
    }

    private var isEmpty = true

    /// A file without records is one part all the same: the gateway says what is missing, or replaces what there is.
    private func emptyFile() throws -> Part? {
        guard isEmpty, from == 1 else { return nil }
        isEmpty = false
        if mediaType == "text/csv" { return Part(bytes: header, first: 1, unit: nil) }
        return Part(bytes: Array("[]".utf8), first: 1, unit: nil)
    }

    /// Nil where the file cannot be taken apart.
    private func begin() throws -> RecordSplitter? {
        try fill()
        if mediaType == "text/csv" { return .csv(CSVSplitter(separator: separator)) }
        guard mediaType == "application/json" else { return nil }
        let blank: Set<UInt8> = [0x20, 0x09, 0x0A, 0x0D, 0xEF, 0xBB, 0xBF]
        guard pending.first(where: { !blank.contains($0) }) == UInt8(ascii: "[") else { return nil }
        return .json(JSONSplitter())
    }

    private func wholePart() throws -> Part? {
        while try fill() {
            guard pending.count <= Self.largestRecord else {
                throw CommandError(
                    "\(path) has more than \(Self.largestRecord) bytes and is no list of records in CSV or JSON.")
            }
        }
        guard from == 1 else { throw CommandError("\(path) is loaded as a whole, so --from cannot be.", exitStatus: 2) }
        taken = size
        return Part(bytes: pending, first: 1, unit: nil)
    }

    private func record() throws -> (bytes: [UInt8], number: Int)? {
        while true {
            let found = try splitter?.next(in: pending, from: &offset, isAtEnd: isAtEnd, path: path)
            if let found {
                taken += UInt64(found.bytes.count)
                return found
            }
            if isAtEnd { return nil }
            guard pending.count <= Self.largestRecord else {
                throw CommandError(
                    "\(path) has a record of more than \(Self.largestRecord) bytes: is a quote not closed?")
            }
            try fill()
        }
    }

    /// Whether there was more.
    @discardableResult
    private func fill() throws -> Bool {
        if let start = splitter?.start, start > 0 {
            pending.removeFirst(start)
            offset -= start
            splitter?.restart()
        }
        guard let more = try? file.read(upToCount: 1 << 18), !more.isEmpty else {
            isAtEnd = true
            return false
        }
        pending += more
        return true
    }
}

/// Where records end in a file's bytes.
enum RecordSplitter {
    case csv(CSVSplitter)
    case json(JSONSplitter)

    /// Where the record that is not finished begins.
    var start: Int {
        switch self {
        case .csv(let splitter): splitter.start
        case .json(let splitter): splitter.start
        }
    }

    /// The bytes before ``start`` are gone.
    mutating func restart() {
        switch self {
        case .csv(var splitter):
            splitter.start = 0
            self = .csv(splitter)
        case .json(var splitter):
            splitter.start = 0
            self = .json(splitter)
        }
    }

    mutating func next(
        in bytes: [UInt8], from offset: inout Int, isAtEnd: Bool, path: String
    ) throws -> (bytes: [UInt8], number: Int)? {
        switch self {
        case .csv(var splitter):
            defer { self = .csv(splitter) }
            return splitter.next(in: bytes, from: &offset, isAtEnd: isAtEnd)
        case .json(var splitter):
            defer { self = .json(splitter) }
            return try splitter.next(in: bytes, from: &offset, isAtEnd: isAtEnd, path: path)
        }
    }
}

/// Lines of CSV (RFC 4180), with the line ends that stand in quotes. Blank lines are skipped.
struct CSVSplitter {
    private enum Location { case fieldStart, plain, quoted, quoteInQuoted }

    private let separator: UInt8

    fileprivate(set) var start = 0
    private var location = Location.fieldStart
    private var line = 1
    private var recordLine = 1

    init(separator: CSVSeparator) { self.separator = separator.byte }

    mutating func next(
        in bytes: [UInt8], from offset: inout Int, isAtEnd: Bool
    ) -> (bytes: [UInt8], number: Int)? {
        while offset < bytes.count {
            let byte = bytes[offset]
            offset += 1
            if byte == UInt8(ascii: "\n") {
                line += 1
                if location != .quoted {
                    let record = bytes[start..<offset]
                    let number = recordLine
                    (start, location, recordLine) = (offset, .fieldStart, line)
                    if record.contains(where: { $0 != 0x0A && $0 != 0x0D }) { return (Array(record), number) }
                    continue
                }
            }
            location = after(byte)
        }
        guard isAtEnd, start < bytes.count else { return nil }
        defer { start = bytes.count }
        return (Array(bytes[start...]), recordLine)
    }

    private func after(_ byte: UInt8) -> Location {
        switch (location, byte) {
        // A byte order mark stands before a field that may be quoted.
        case (.fieldStart, 0xEF), (.fieldStart, 0xBB), (.fieldStart, 0xBF):
            line == 1 && start == 0 ? .fieldStart : .plain
        case (.fieldStart, UInt8(ascii: "\"")): .quoted
        case (.quoted, UInt8(ascii: "\"")): .quoteInQuoted
        case (.quoted, _): .quoted
        case (.quoteInQuoted, UInt8(ascii: "\"")): .quoted
        case (_, separator): .fieldStart
        default: .plain
        }
    }
}

/// The items of a list in JSON.
struct JSONSplitter {
    fileprivate(set) var start = 0
    private var depth = 0
    private var (isInText, isEscaped) = (false, false)
    private var number = 0
    private var hasContent = false
    private var isClosed = false

    mutating func next(
        in bytes: [UInt8], from offset: inout Int, isAtEnd: Bool, path: String
    ) throws -> (bytes: [UInt8], number: Int)? {
        while offset < bytes.count {
            let byte = bytes[offset]
            offset += 1
            if isInText {
                if isEscaped {
                    isEscaped = false
                } else if byte == UInt8(ascii: "\\") {
                    isEscaped = true
                } else if byte == UInt8(ascii: "\"") {
                    isInText = false
                }
                continue
            }
            switch byte {
            case 0x20, 0x09, 0x0A, 0x0D: continue
            case _ where isClosed: throw CommandError("\(path): something follows the list after row \(number).")
            case UInt8(ascii: "\""): (isInText, hasContent) = (true, true)
            case UInt8(ascii: "["), UInt8(ascii: "{"):
                depth += 1
                if depth == 1 { start = offset } else { hasContent = true }
            case UInt8(ascii: "]"), UInt8(ascii: "}"):
                depth -= 1
                guard depth == 0 else { continue }
                isClosed = true
                if hasContent || number > 0 { return try item(bytes, offset, path) }
                start = offset
            case UInt8(ascii: ",") where depth == 1: return try item(bytes, offset, path)
            default: if depth > 0 { hasContent = true }
            }
        }
        if isClosed { start = offset }
        guard isAtEnd, !isClosed else { return nil }
        throw CommandError("\(path): the list is not closed after row \(number).")
    }

    private mutating func item(_ bytes: [UInt8], _ offset: Int, _ path: String) throws -> (bytes: [UInt8], number: Int)?
    {
        number += 1
        guard hasContent else { throw CommandError("\(path): row \(number) is missing between two commas.") }
        defer { (start, hasContent) = (offset, false) }
        return (Array(bytes[start..<(offset - 1)]), number)
    }
}
