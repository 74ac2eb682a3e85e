import AdapterKit
import WireFormats

/// Values that are no single ones, in one BLOB column: CBOR, because of the wire formats it alone carries every case of
/// the value tree.
enum EncodedValue {
    static func encode(_ value: WireValue) throws -> [UInt8] {
        do {
            return try CBORFormat().write(value)
        } catch {
            throw PorticoError(.requestInvalid, "A value cannot be stored: \(error).")
        }
    }

    /// What is read was written here, so nothing but the file's damage makes it unreadable.
    static func decode(_ bytes: [UInt8]) throws -> WireValue {
        do {
            return try CBORFormat().read(bytes, limits: limits)
        } catch {
            throw PorticoError(.storeUnavailable, "A stored value cannot be read.", logDetail: "\(error)")
        }
    }

    private static let limits = ReadingLimits(depth: 1024, values: 1 << 24)
}
