import ValueTree
import WireFormats

/// What keeps somebody signed in between two starts. The password is never among it.
public struct StoredCredentials: Sendable, Equatable {
    public let account: Account
    /// Nil once the sign-in has ended: whose device it is stays known, so that what is on it stays readable.
    public let tokens: Tokens?

    public struct Tokens: Sendable, Equatable {
        public let access: String
        /// Seconds since 1970, by this device's clock.
        public let accessEnds: Double
        /// Good for one refresh.
        public let refresh: String

        public init(access: String, accessEnds: Double, refresh: String) {
            self.access = access
            self.accessEnds = accessEnds
            self.refresh = refresh
        }
    }

    public init(account: Account, tokens: Tokens?) {
        self.account = account
        self.tokens = tokens
    }

    /// For a storage that keeps bytes: one CBOR document.
    public var bytes: [UInt8] {
        var members: WireDictionary = ["account": account.wireValue]
        if let tokens {
            members["access"] = .string(tokens.access)
            members["accessEnds"] = .double(tokens.accessEnds)
            members["refresh"] = .string(tokens.refresh)
        }
        // Texts and a number are what every document carries.
        return (try? CBORFormat().write(.dictionary(members))) ?? []
    }

    /// Nil where the bytes are not what ``bytes`` wrote: whoever finds that signs in again.
    public init?(bytes: [UInt8]) {
        guard let value = try? CBORFormat().read(bytes), let account = Account(value["account"]) else { return nil }
        self.init(account: account, tokens: Tokens(value))
    }
}

extension StoredCredentials.Tokens {
    fileprivate init?(_ value: WireValue) {
        guard let access = value["access"]?.stringValue, let ends = value["accessEnds"]?.doubleValue,
            let refresh = value["refresh"]?.stringValue
        else { return nil }
        self.init(access: access, accessEnds: ends, refresh: refresh)
    }
}

extension StoredCredentials: CustomStringConvertible, CustomReflectable {
    /// Without the tokens, so that a log never has them.
    public var description: String { "credentials of \(account.name)" }
    public var customMirror: Mirror { Mirror(self, children: ["account": account.name]) }
}

extension StoredCredentials.Tokens: CustomStringConvertible, CustomReflectable {
    public var description: String { "tokens" }
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
