import AdapterKit
import IPAddresses

/// An id that says nothing: 128 random bits as 32 lower-case hexadecimal digits.
public protocol OpaqueID: ValidatedName {}

extension OpaqueID {
    static var byteCount: Int { 16 }

    init(_ randomness: any Randomness) {
        self.init(unchecked: Hexadecimal.text(randomness.bytes(Self.byteCount)))
    }

    public static func isValid(_ text: String) -> Bool {
        text.utf8.count == 2 * byteCount && text.utf8.allSatisfy { ($0 >= 48 && $0 <= 57) || ($0 >= 97 && $0 <= 102) }
    }

    var recordID: RecordID { RecordID(unchecked: text) }
}

/// Identifies an account for ever, whatever it is called.
public struct AccountID: OpaqueID {
    public let text: String
    public init(unchecked text: String) { self.text = text }
}

/// Identifies a sign-in: its cookie and its family of tokens. No secret.
public struct SessionID: OpaqueID {
    public let text: String
    public init(unchecked text: String) { self.text = text }
}

/// Identifies an API key, and is the part of it that may be shown.
public struct APIKeyID: OpaqueID {
    public let text: String
    public init(unchecked text: String) { self.text = text }
}

/// Identifies a signing key: the `kid` of a token (RFC 7515, section 4.1.4).
public struct SigningKeyID: OpaqueID {
    public let text: String
    public init(unchecked text: String) { self.text = text }
}

/// The unit by which sign-in limits count clients: an IPv4 address, or the /64 network of an IPv6 address
/// (``IPAddress/clientNetwork``).
public struct ClientAddress: Sendable, Hashable, CustomStringConvertible {
    public let description: String

    /// From the text of an IP address, without port. Any other text is ``unknown``.
    public init(_ text: String) {
        description = IPAddress(text)?.clientNetwork ?? "unknown"
    }

    /// A peer without an IP address, such as one on a Unix socket.
    public static let unknown = ClientAddress("")
}

/// The name that a person types to sign in, and by which records name their owners.
///
/// 1 to 64 of ASCII letters, digits and `. _ - @ +`, the first a letter or a digit. It is shown as it was given; two
/// names that differ only in case are one (``folded``). ASCII only, so that no two names look alike, folding depends on
/// no locale, and HTTP Basic can carry every name (RFC 7617 forbids the colon). docs/decisions/0050.
public struct AccountName: ValidatedName {
    public static let maximumLength = 64

    public let text: String
    public init(unchecked text: String) { self.text = text }

    public static func isValid(_ text: String) -> Bool {
        guard let first = text.utf8.first, text.utf8.count <= maximumLength else { return false }
        return isAlphanumeric(first) && text.utf8.allSatisfy { isAlphanumeric($0) || "._-@+".utf8.contains($0) }
    }

    /// The name in lower case: what is unique among accounts.
    public var folded: String { Self.fold(text) }

    static func fold(_ text: String) -> String {
        String(decoding: text.utf8.map { $0 >= 65 && $0 <= 90 ? $0 + 32 : $0 }, as: UTF8.self)
    }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        (byte >= 48 && byte <= 57) || (byte >= 65 && byte <= 90) || (byte >= 97 && byte <= 122)
    }
}
