import NearestNames

/// Every key there is. What is not here is an error, with the most similar key as a suggestion.
public struct ConfigurationReference: Sendable {
    public let keys: [ConfigurationKey]
    /// Keys of earlier versions. A configuration that has one is refused, with what takes its place.
    public let removed: [RemovedKey]
    /// Paths below which names may stand that nothing here knows, and which of them are left unread.
    public let unread: [[String]: UnreadNames]
    /// Paths of what is there where it is named, whatever is said of it.
    public let whereNamed: Set<[String]>

    /// Keys of the same name that are suggested together.
    private static let mostSuggestions = 3

    public init(
        _ keys: [ConfigurationKey], removed: [RemovedKey] = [], unread: [[String]: UnreadNames] = [:],
        whereNamed: Set<[String]> = []
    ) {
        self.whereNamed = whereNamed
        self.keys = keys
        self.removed = removed
        self.unread = unread
    }

    /// Why a key is left unread that is not among ``keys``; nil: it is an error.
    func reasonUnread(_ names: [String]) -> String? {
        unread.first { path, unread in
            names.count > path.count && names.starts(with: path) && unread.takes(names[path.count])
        }?.value.reason
    }

    /// What takes the place of a removed key.
    func instead(of names: [String]) -> String? {
        removed.first { $0.path.count == names.count && zip($0.path, names).allSatisfy { $0 == "*" || $0 == $1 } }?
            .instead
    }

    /// Whether the last of these names is of the operator's choice, so that it means something without keys below it.
    func isNamedFreely(_ names: [String]) -> Bool {
        keys.contains { key in key.isBelow(names) && key.path.prefix(names.count).last == "*" }
    }

    /// Whether the key of these names takes up another value while the gateway runs.
    public func reloads(_ names: [String]) -> Bool { key(for: names)?.reloads ?? false }

    func key(for names: [String]) -> ConfigurationKey? {
        keys.first { $0.matches(names) }
    }

    func hasKeys(below names: [String]) -> Bool {
        keys.contains { $0.isBelow(names) }
    }

    /// The known key that `names` most likely mean: one with a similar name at its place, else the few that have the name at
    /// another place; nil where there is none.
    func suggestion(for names: [String]) -> String? {
        guard let wrong = names.last else { return nil }
        let parent = Array(names.dropLast())
        let siblings = Set(keys.filter { $0.isBelow(parent) }.map { $0.path[parent.count] }).subtracting(["*"])
        if let near = NearestName.of(wrong, among: siblings) { return (parent + [near]).joined(separator: ".") }
        // Below `adapters` stand names of adapters.
        guard parent != ["adapters"] else { return nil }
        let elsewhere = keys.filter { $0.path.last == wrong && !$0.path.contains("*") }.map(\.name)
        return (1...Self.mostSuggestions).contains(elsewhere.count) ? elsewhere.joined(separator: " or ") : nil
    }
}

/// Names at one place that are left unread, unless they are known or look misspelt.
public struct UnreadNames: Sendable {
    /// Why, as the end of a sentence.
    let reason: String
    /// What stands there is known: what is wrong with it is an error.
    private let known: Set<String>
    /// A name like one of these is probably meant to be it, and an error.
    private let similar: Set<String>

    public init(known: Set<String> = [], similar: Set<String> = [], because reason: String) {
        (self.reason, self.known, self.similar) = (reason, known, similar)
    }

    func takes(_ name: String) -> Bool {
        !known.contains(name) && NearestName.of(name, among: similar) == nil
    }
}

/// A key that an earlier version had.
public struct RemovedKey: Sendable, Equatable {
    /// Names joined by dots; `*` stands for any one name.
    public let path: [String]
    /// What to write instead, as the end of a sentence.
    public let instead: String

    public init(_ path: String, instead: String) {
        self.path = path.split(separator: ".").map(String.init)
        self.instead = instead
    }
}

/// One key of the configuration reference.
public struct ConfigurationKey: Sendable, Equatable {
    /// Names joined by dots; `*` stands for any one name.
    public let path: [String]
    public let kind: ConfigurationKind
    /// As one would write it; nil: nothing.
    public let defaultText: String?
    public let summary: String
    /// Whether a mapping that has this key cannot do without it.
    public let isRequired: Bool
    /// Why a gateway that runs does not take up another value, as a sentence without its full stop; nil: it does.
    public private(set) var restartReason: String?
    /// Where the paths begin that its texts are; nil: they are no paths of files.
    public private(set) var files: NamedPath.Base?

    public init(
        _ path: String, _ kind: ConfigurationKind, default defaultText: String? = nil, isRequired: Bool = false,
        _ summary: String
    ) {
        self.isRequired = isRequired
        self.path = path.split(separator: ".").map(String.init)
        self.kind = kind
        self.defaultText = defaultText
        self.summary = summary
    }

    public var name: String { path.joined(separator: ".") }

    /// Whether a gateway that runs takes up another value; otherwise that needs a restart.
    public var reloads: Bool { restartReason == nil }

    /// The same key, of which another value needs a restart.
    public func needingRestart(because reason: String) -> ConfigurationKey {
        var key = self
        key.restartReason = reason
        return key
    }

    /// The same key, whose texts are paths of files and folders: no program may read them. Of a secret it is the secret's text that
    /// may be a path.
    public func namingFiles(from base: NamedPath.Base) -> ConfigurationKey {
        var key = self
        key.files = base
        return key
    }

    func matches(_ names: [String]) -> Bool {
        names.count == path.count && zip(path, names).allSatisfy { $0 == "*" || $0 == $1 }
    }

    /// Whether something below these names could belong to this key.
    func isBelow(_ names: [String]) -> Bool {
        names.count < path.count && zip(path, names).allSatisfy { $0 == "*" || $0 == $1 }
    }
}

/// What a key takes.
public indirect enum ConfigurationKind: Sendable, Equatable {
    case text
    case integer(ClosedRange<Int>)
    /// A number that may have a fraction: `0.5`.
    case number
    case flag
    /// `250ms`, `30s`, `15m`, `8h`, `30d`; never zero.
    case duration
    /// `512`, `64KiB`, `1MiB`, `2GiB`
    case size
    case choice([String])
    /// `public-read`, `public`, `login`, or `{roles: [a, b]}`
    case access
    /// `{env: NAME}` or `{file: PATH}`; a text as it stands where `allowsPlain`.
    case secret(allowsPlain: Bool)
    case list(of: ConfigurationKind)
    /// A list of such values, or one of them as it stands; read as a list.
    case oneOrMore(ConfigurationKind)
    /// A mapping with these keys, for lists of mappings.
    case mapping([ConfigurationKey])
}
