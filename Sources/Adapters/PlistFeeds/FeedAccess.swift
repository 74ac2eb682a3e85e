import AdapterKit

/// The rights to read each feed: `adapters.feeds.{feed}.access`, for all others `adapters.feeds.access`, without that a
/// login. Operators write feeds, and no caller.
struct FeedAccess: Sendable {
    private let named: [FeedName: Access]
    private let others: Access

    /// Throws ``ConfigurationProblem`` for what is no feed's name and no access.
    init(_ configuration: AdapterConfiguration) throws {
        var named: [FeedName: Access] = [:]
        for entry in configuration.values where !FeedName.reserved.contains(entry.key) {
            guard let name = FeedName(entry.key) else {
                throw ConfigurationProblem(entry.key, "\(entry.key) cannot be the name of a feed.")
            }
            guard let value = entry.value["access"] else { continue }
            named[name] = try Self.access(value, at: "\(entry.key).access")
        }
        self.named = named
        others = try configuration["access"].map { try Self.access($0, at: "access") } ?? .login
    }

    subscript(feed: FeedName) -> Access {
        named[feed] ?? others
    }

    /// Feeds that every caller may read, for pages that are shown to every caller.
    func isPublic(_ feed: FeedName) -> Bool {
        self[feed].decision(for: .anonymous) == .allowed
    }

    /// The same rule for every other interface: which feeds' records a principal may read.
    var rule: RowRule {
        let configured = named.sorted { $0.key < $1.key }.map { name, access in
            RowRule.all([.fieldIsOneOf(Feeds.name, [.string(name.text)]), access.readingRule])
        }
        let isNamed = RowRule.fieldIsOneOf(Feeds.name, named.keys.sorted().map { .string($0.text) })
        return .any(configured + [.all([.not(isNamed), others.readingRule])])
    }

    private static func access(_ value: WireValue, at path: String) throws -> Access {
        guard let rights = AccessRights(configurationValue: value) else {
            throw ConfigurationProblem(
                path, "This is no access: public-read, public, login, roles: [names], or read and write.")
        }
        return rights.reading
    }
}

extension Access {
    fileprivate var readingRule: RowRule {
        switch self {
        case .nobody: .nobody
        case .public: .everyone
        case .login: .signedIn
        case .roles(let roles): .any(roles.sorted().map(RowRule.hasRole))
        }
    }
}
