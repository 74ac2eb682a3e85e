import Foundation
import SyncDevice
import ValueTree
import WireFormats

/// Fields ⇄ the columns of a row. `fields` is a CBOR map of all fields, in their order; sensitive ones are null in it and
/// stand in `sealed`, another CBOR map, encrypted and bound to the record's key.
struct RowCoding: Sendable {
    let cipher: (any FieldCipher)?
    /// By collection.
    let sensitiveFields: [String: Set<String>]
    private let format = CBORFormat()

    init(cipher: (any FieldCipher)?, sensitiveFields: [String: Set<String>]) {
        self.cipher = cipher
        self.sensitiveFields = cipher == nil ? [:] : sensitiveFields
    }

    struct Columns {
        var fields: Data
        var sealed: Data?
    }

    func columns(_ fields: WireDictionary, of key: RecordKey) throws -> Columns {
        guard let cipher, let names = sensitiveFields[key.collection] else {
            return Columns(fields: try bytes(fields))
        }
        var (open, secret) = (fields, WireDictionary())
        for entry in fields.entries where names.contains(entry.key) {
            secret[entry.key] = entry.value
            open[entry.key] = .null
        }
        guard !secret.isEmpty else { return Columns(fields: try bytes(fields)) }
        let sealed = try cipher.seal([UInt8](try bytes(secret)), context: Self.context(key))
        return Columns(fields: try bytes(open), sealed: Data(sealed))
    }

    func fields(_ columns: Columns, of key: RecordKey) throws -> WireDictionary {
        var fields = try dictionary(columns.fields)
        guard let sealed = columns.sealed else { return fields }
        guard let cipher else { throw StorageFailure("there are sealed fields, and no cipher was given") }
        let secret = try cipher.open([UInt8](sealed), context: Self.context(key))
        for entry in try dictionary(Data(secret)).entries { fields[entry.key] = entry.value }
        return fields
    }

    /// A value that is not a record's: sealed as a whole where there is a cipher, because it may hold any field.
    func blob(_ value: WireValue, as name: String) throws -> Data {
        let bytes = try format.write(value)
        return Data(try cipher?.seal(bytes, context: Array(name.utf8)) ?? bytes)
    }

    func value(_ blob: Data, as name: String) throws -> WireValue {
        let bytes = [UInt8](blob)
        return try format.read(try cipher?.open(bytes, context: Array(name.utf8)) ?? bytes)
    }

    private func bytes(_ fields: WireDictionary) throws -> Data {
        Data(try format.write(.dictionary(fields)))
    }

    private func dictionary(_ bytes: Data) throws -> WireDictionary {
        guard case .dictionary(let fields) = try format.read([UInt8](bytes)) else {
            throw StorageFailure("a row without fields")
        }
        return fields
    }

    private static func context(_ key: RecordKey) -> [UInt8] {
        Array(key.collection.utf8) + [0] + Array(key.id.utf8)
    }
}

/// What is wrong with the files; the text is for a log.
struct StorageFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
