import AdapterKit
import Crypto

/// A credential that was verified: who it speaks for, and how far.
public struct Authentication: Sendable, Hashable {
    public enum Method: String, Sendable, CaseIterable {
        /// The only one that a browser sends by itself: writes need a CSRF token (``CSRFToken``).
        case sessionCookie
        case accessToken
        case basic
        case apiKey
    }

    public let principal: Principal
    public let method: Method
    public let account: AccountID
    /// The sign-in that it belongs to; nil for Basic and API keys.
    public let session: SessionID?
    public let apiKey: APIKeyID?
    public let scope: CredentialScope
    /// When the credential ends by itself; nil: never.
    public let expires: WireDate?
    /// Names the sign-in as far as it reaches: what is kept for it is under this name. Another one once its roles or its
    /// account's password are others.
    public let signIn: String
    /// The account's version when this was verified.
    let credentialVersion: Int64

    package init(
        _ account: Account, _ principal: Principal, method: Method, session: SessionID? = nil,
        apiKey: APIKeyID? = nil, scope: CredentialScope = .everything, expires: WireDate?
    ) {
        self.principal = principal
        self.method = method
        self.account = account.id
        credentialVersion = account.credentialVersion
        self.session = session
        self.apiKey = apiKey
        self.scope = scope
        self.expires = expires
        let credential = session?.text ?? apiKey?.text ?? method.rawValue
        signIn = "\(account.id.text)/\(credential)/\(account.credentialVersion)/\(principal.roleList)"
    }
}

/// The reach of a credential, within what its account may do.
public struct CredentialScope: Sendable, Hashable {
    /// Nil: every adapter.
    public let adapters: Set<AdapterName>?
    public let mayWrite: Bool

    public init(adapters: Set<AdapterName>? = nil, mayWrite: Bool = true) {
        self.adapters = adapters
        self.mayWrite = mayWrite
    }

    public static let everything = CredentialScope()

    public func allows(_ effect: Effect, in adapter: AdapterName) -> Bool {
        (effect == .reads || mayWrite) && adapters?.contains(adapter) ?? true
    }
}

/// The key by which a verified credential is found in memory: its HMAC-SHA256 under a random key that never leaves this
/// process, so a memory dump gives no digest of a password that could be attacked elsewhere.
public struct CredentialKey: Sendable, Hashable {
    private let words: (UInt64, UInt64, UInt64, UInt64)

    /// Parts are separated by their lengths: `ab` and `c` differ from `a` and `bc`.
    ///
    /// `keyed` is an HMAC that has taken its key and nothing else: taking it costs as much as a short credential.
    package init(_ method: Authentication.Method, _ parts: [Secret], keyed: HMAC<SHA256>) {
        var bytes = Array(method.rawValue.utf8)
        for part in parts {
            let text = part.reveal().utf8
            withUnsafeBytes(of: UInt64(text.count).littleEndian) { bytes.append(contentsOf: $0) }
            bytes.append(contentsOf: text)
        }
        var code = keyed
        code.update(data: bytes)
        words = code.finalize().withUnsafeBytes {
            $0.loadUnaligned(as: (UInt64, UInt64, UInt64, UInt64).self)
        }
    }

    public static func == (left: Self, right: Self) -> Bool { left.words == right.words }

    /// The words are uniformly distributed already.
    public func hash(into hasher: inout Hasher) { hasher.combine(words.0) }
}

/// Why an access token is not accepted. For the log; callers learn only that it is not.
enum TokenRefusal: String, Error, CaseIterable {
    case tooLarge, malformed, algorithm, type, critical, keyUnknown, issuer, audience, expired, notYetValid, signature,
        nonce
}
