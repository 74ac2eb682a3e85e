import AdapterKit

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
