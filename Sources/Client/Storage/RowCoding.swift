import Dispatch
import Foundation
import GRDB
import SyncDevice
import SyncMessages
import Synchronization
import ValueTree
import WireFormats

/// Fields ⇄ the columns of a row. `fields` is a CBOR map of all fields, in their order; sensitive ones are null in it and
/// stand in `sealed`, another CBOR map, encrypted and bound to the record's key.
public struct RowCoding: Sendable {
    package let cipher: RowCipher?
    /// By collection.
    package let sensitiveFields: [String: Set<String>]
    private let format = CBORFormat()

    /// Without a cipher nothing is sealed.
    public init(cipher: RowCipher? = nil, sensitiveFields: [String: Set<String>] = [:]) {
        self.cipher = cipher
        self.sensitiveFields = cipher == nil ? [:] : sensitiveFields
    }

    package struct Columns {
        var fields: [UInt8]
        var sealed: [UInt8]?

        init(fields: [UInt8], sealed: [UInt8]? = nil) {
            (self.fields, self.sealed) = (fields, sealed)
        }

        /// From the columns of these names.
        package init(_ row: Row) {
            fields = [UInt8](row["fields"] as Data)
            sealed = (row["sealed"] as Data?).map { [UInt8]($0) }
        }
    }

    func columns(_ content: RecordFields, of key: RecordKey) throws -> Columns {
        guard let cipher, let names = sensitiveFields[key.collection] else {
            if let fields = content.written as? EncodedFields { return Columns(fields: try fields.cbor()) }
            return Columns(fields: try bytes(content.tree))
        }
        let fields = content.tree
        var (open, secret) = (fields, WireDictionary())
        for entry in fields.entries where names.contains(entry.key) {
            secret[entry.key] = entry.value
            open[entry.key] = .null
        }
        guard !secret.isEmpty else { return Columns(fields: try bytes(fields)) }
        let sealed = try cipher.seal(try bytes(secret), context: Self.context(key))
        return Columns(fields: try bytes(open), sealed: sealed)
    }

    package func fields(_ columns: Columns, of key: RecordKey) throws -> WireDictionary {
        var fields = try dictionary(columns.fields)
        guard let sealed = columns.sealed else { return fields }
        guard let cipher else { throw StorageFailure("there are sealed fields, and no cipher was given") }
        let secret = try cipher.open(sealed, context: Self.context(key))
        for entry in try dictionary(secret).entries { fields[entry.key] = entry.value }
        return fields
    }

    /// A value that is not a record's: sealed as a whole where there is a cipher, because it may hold any field.
    package func blob(_ value: WireValue, as name: String) throws -> Data {
        let bytes = try format.write(value)
        return Data(try cipher?.seal(bytes, context: Array(name.utf8)) ?? bytes)
    }

    package func value(_ blob: Data, as name: String) throws -> WireValue {
        let bytes = [UInt8](blob)
        return try format.read(try cipher?.open(bytes, context: Array(name.utf8)) ?? bytes)
    }

    private func bytes(_ fields: WireDictionary) throws -> [UInt8] {
        try format.write(.dictionary(fields))
    }

    private func dictionary(_ bytes: [UInt8]) throws -> WireDictionary {
        guard case .dictionary(let fields) = try format.read(bytes) else {
            throw StorageFailure("a row without fields")
        }
        return fields
    }

    private static func context(_ key: RecordKey) -> [UInt8] {
        Array(key.collection.utf8) + [0] + Array(key.id.utf8)
    }
}

/// A fault of the files; the text is for a log.
public struct StorageFailure: Error, CustomStringConvertible {
    public let description: String

    package init(_ description: String) {
        self.description = description
    }
}

/// The columns of many rows, made side by side on the device's cores: writing CBOR, and sealing, take about as long as
/// SQLite takes for the rows.
struct EncodedRows {
    /// Rows that are encoded before they are written, so that no more than these lie in memory twice.
    static let atOnce = 4096
    /// Fewer are not worth another thread.
    private static let leastForAThread = 256
    private static let cores = ProcessInfo.processInfo.activeProcessorCount

    private let coding: RowCoding

    init(_ coding: RowCoding) {
        self.coding = coding
    }

    /// In the order of the changes; nil where the record goes.
    func columns(_ changes: ArraySlice<RecordChanges.Change>) throws -> [RowCoding.Columns?] {
        let length = max(Self.leastForAThread, (changes.count - 1) / Self.cores + 1)
        let starts = Array(stride(from: changes.startIndex, to: changes.endIndex, by: length))
        let parts = Mutex<[Int: Result<[RowCoding.Columns?], any Error>]>([:])
        DispatchQueue.concurrentPerform(iterations: starts.count) { number in
            let part = changes[starts[number]..<min(starts[number] + length, changes.endIndex)]
            let made = Result {
                try part.map { change in try change.copy.map { try coding.columns($0.content, of: change.key) } }
            }
            parts.withLock { $0[number] = made }
        }
        return try parts.withLock { parts in try starts.indices.flatMap { try parts[$0]?.get() ?? [] } }
    }
}

/// Fields as they lie in an answer's tape, whatever its format. They are written to their row from there: no tree is made
/// of what no one looks at, which is most of a first sync.
package struct EncodedFields: WrittenFields {
    private let tape: Tape
    private let position: Int

    /// Nil where there is something else than a dictionary.
    package init?(_ tape: Tape, at position: Int) {
        guard tape.tokens[position].kind == .dictionary else { return nil }
        (self.tape, self.position) = (tape, position)
    }

    package var tree: WireDictionary {
        guard case .dictionary(let tree) = tape.value(at: position) else { preconditionFailure("not a dictionary") }
        return tree
    }

    func cbor() throws -> [UInt8] { try CBORFormat().write(tape, valueAt: position) }
}

/// The app's way to seal fields: bytes to bytes, bound to a context.
public struct RowCipher: Sendable {
    package typealias Step = @Sendable (_ bytes: [UInt8], _ context: [UInt8]) throws -> [UInt8]

    private let sealing: Step
    private let opening: Step

    package init(seal: @escaping Step, open: @escaping Step) {
        (sealing, opening) = (seal, open)
    }

    package func seal(_ bytes: [UInt8], context: [UInt8]) throws -> [UInt8] { try sealing(bytes, context) }
    package func open(_ sealed: [UInt8], context: [UInt8]) throws -> [UInt8] { try opening(sealed, context) }
}
