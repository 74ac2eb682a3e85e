/// Every key there is. What is not here is an error, with the most similar key as a suggestion.
public struct ConfigurationReference: Sendable {
    public let keys: [ConfigurationKey]
    /// Keys of earlier versions. A configuration that has one is refused, with what takes its place.
    public let removed: [RemovedKey]
    /// Paths below which names may stand that nothing here knows, and which of them are left unread.
    public let unread: [[String]: UnreadNames]

    public init(_ keys: [ConfigurationKey], removed: [RemovedKey] = [], unread: [[String]: UnreadNames] = [:]) {
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

    /// The known name most like the last of `names` at its place; nil where none is near.
    func suggestion(for names: [String]) -> String? {
        guard let wrong = names.last else { return nil }
        let parent = Array(names.dropLast())
        return Self.suggestion(
            for: wrong, of: Set(keys.filter { $0.isBelow(parent) }.map { $0.path[parent.count] }).subtracting(["*"]))
    }

    fileprivate static func suggestion(for wrong: String, of known: Set<String>) -> String? {
        let ranked = known.map { (name: $0, distance: distance(wrong.lowercased(), $0.lowercased())) }
        let best = ranked.min { ($0.distance, $0.name) < ($1.distance, $1.name) }
        return best.flatMap { $0.distance <= max(2, wrong.count / 3) ? $0.name : nil }
    }

    /// Levenshtein's distance.
    private static func distance(_ left: String, _ right: String) -> Int {
        let (left, right) = (Array(left), Array(right))
        var row = Array(0...right.count)
        for (i, a) in left.enumerated() {
            var diagonal = row[0]
            row[0] = i + 1
            for (j, b) in right.enumerated() {
                let above = row[j + 1]
                row[j + 1] = min(above + 1, row[j] + 1, diagonal + (a == b ? 0 : 1))
                diagonal = above
            }
        }
        return row[right.count]
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
        !known.contains(name) && ConfigurationReference.suggestion(for: name, of: similar) == nil
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
    /// Whether a gateway that runs takes up another value; otherwise that needs a restart.
    public private(set) var reloads = false
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

    /// The same key, with another value taken up while the gateway runs.
    public var reloading: ConfigurationKey {
        var key = self
        key.reloads = true
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
