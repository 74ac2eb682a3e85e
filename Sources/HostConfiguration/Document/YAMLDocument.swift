import Yams

/// Reads YAML with the place of every key and value.
///
/// Yams' nodes and not a decoder: only they know lines and columns. A key that stands twice is an error, which YAML
/// demands and most readers overlook.
///
/// Anchors and aliases are refused: a few lines of them stand for billions of values.
public enum YAMLDocument {
    /// Bytes of a file.
    public static let maximumBytes = 1 << 20

    /// `maximumBytes`: of the text; more is an error. `boundsAliases`: whether a text in which much looks like an alias is
    /// refused before it is parsed; prose with many asterisks does too.
    public static func read(
        _ text: String, file: String, maximumBytes: Int = maximumBytes, boundsAliases: Bool = true
    ) throws(ConfigurationError) -> ConfigurationNode {
        guard text.utf8.count <= maximumBytes else {
            throw ConfigurationError(
                "The file has more than \(maximumBytes) bytes.", at: .file(file, line: 1, column: 1))
        }
        if boundsAliases, let place = AliasBound(text).exceeded {
            throw anchorError(.file(file, line: place.line, column: place.column))
        }
        do {
            let parser = try Parser(yaml: text)
            // The nodes have their anchors as long as the parser is there.
            return try withExtendedLifetime(parser) {
                guard let node = try parser.singleRoot() else {
                    return ConfigurationNode(.mapping([]), at: .file(file, line: 1, column: 1))
                }
                return try convert(node, file)
            }
        } catch let error as ConfigurationError {
            throw error
        } catch let error as YamlError {
            throw syntaxError(error, file)
        } catch {
            throw ConfigurationError("\(error)", at: .file(file, line: 1, column: 1))
        }
    }

    private static func convert(_ node: Node, _ file: String) throws(ConfigurationError) -> ConfigurationNode {
        let location = location(node.mark, file)
        // An alias reads as the node that it names, which has the anchor.
        guard !node.hasAnchor else { throw anchorError(location) }
        switch node {
        case .scalar(let scalar):
            let isPlain = scalar.style == .plain
            let isNull = isPlain && ["", "~", "null"].contains(scalar.string)
            return ConfigurationNode(isNull ? .null : .scalar(scalar.string), at: location, isPlain: isPlain)
        case .sequence(let items):
            var list: [ConfigurationNode] = []
            for item in items { list.append(try convert(item, file)) }
            return ConfigurationNode(.list(list), at: location)
        case .mapping(let mapping): return ConfigurationNode(.mapping(try entries(mapping, file)), at: location)
        case .alias: throw anchorError(location)
        }
    }

    private static func entries(
        _ mapping: Node.Mapping, _ file: String
    ) throws(ConfigurationError) -> [ConfigurationNode.Entry] {
        var entries: [ConfigurationNode.Entry] = []
        for (key, value) in mapping {
            let keyLocation = location(key.mark, file)
            guard !key.hasAnchor else { throw anchorError(keyLocation) }
            guard let name = key.string else { throw ConfigurationError("A key must be a text.", at: keyLocation) }
            entries.append(.init(key: name, keyLocation: keyLocation, value: try convert(value, file)))
        }
        return entries
    }

    private static func anchorError(_ location: ConfigurationLocation) -> ConfigurationError {
        ConfigurationError("Anchors and aliases are not supported.", at: location)
    }

    private static func location(_ mark: Mark?, _ file: String) -> ConfigurationLocation {
        .file(file, line: mark?.line ?? 1, column: mark?.column ?? 1)
    }

    private static func hint(_ problem: String) -> String {
        problem.contains("cannot start any token")
            ? " Lines are indented by spaces, not by tabs; a text that begins with a sign stands in quotes." : ""
    }

    private static func syntaxError(_ error: YamlError, _ file: String) -> ConfigurationError {
        switch error {
        case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
            .composer(_, let problem, let mark, _):
            ConfigurationError("This is not valid YAML: \(problem).\(hint(problem))", at: location(mark, file))
        case .duplicatedKeysInMapping(let keys, let context):
            repeatedKeyError(RepeatedKey(keys.first ?? "", first: context.mark, in: context.text), file)
        default: ConfigurationError("This is not valid YAML: \(error).", at: .file(file, line: 1, column: 1))
        }
    }

    private static func repeatedKeyError(_ repeated: RepeatedKey, _ file: String) -> ConfigurationError {
        let location = repeated.location
        return ConfigurationError(
            "The key \(repeated.key) stands here a second time.",
            at: .file(file, line: location.line, column: location.column))
    }
}

/// Yams hashes the keys of mappings while it reads, aliases in them written out: a key of a few nested ones takes for ever,
/// before a node can be looked at. Few aliases write out to little.
private struct AliasBound {
    private static let most = 16

    /// Where the first text stands that looks like an anchor, if one does and more than so many look like aliases.
    private(set) var exceeded: (line: Int, column: Int)?

    init(_ text: String) {
        var anchor: (line: Int, column: Int)?
        var aliases = 0
        var (line, column) = (1, 0)
        var previous = UInt8(ascii: "\n")
        var isMark = false
        for byte in text.utf8 {
            column += 1
            if isMark, byte > 0x20 {
                if previous == UInt8(ascii: "*") { aliases += 1 } else { anchor = anchor ?? (line, column - 1) }
            }
            isMark = (byte == UInt8(ascii: "*") || byte == UInt8(ascii: "&")) && Self.precedesValues(previous)
            if byte == UInt8(ascii: "\n") { (line, column) = (line + 1, 0) }
            previous = byte
        }
        if aliases > Self.most { exceeded = anchor }
    }

    private static func precedesValues(_ byte: UInt8) -> Bool { byte <= 0x20 || "[{,:-?".utf8.contains(byte) }
}

extension Node {
    fileprivate var hasAnchor: Bool {
        switch self {
        case .scalar(let scalar): scalar.anchor != nil
        case .sequence(let sequence): sequence.anchor != nil
        case .mapping(let mapping): mapping.anchor != nil
        case .alias: true
        }
    }
}

/// A key that stands twice in one mapping, and where it stands again. Yams names the first place only.
struct RepeatedKey {
    let key: String
    private let first: Mark
    private let text: String

    init(_ key: String, first: Mark, in text: String) {
        self.key = key
        self.first = first
        self.text = text
    }

    /// The first place's line and column where the mapping is written in one line.
    var location: (line: Int, column: Int) {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated().dropFirst(first.line) {
            let indentation = line.prefix { $0 == " " }.count
            let content = line.dropFirst(indentation)
            if content.isEmpty || content.first == "#" { continue }
            guard indentation >= first.column - 1 else { break }
            if indentation == first.column - 1, names(content) { return (index + 1, first.column) }
        }
        return (first.line, first.column)
    }

    private func names(_ content: Substring) -> Bool {
        [key, "'\(key)'", "\"\(key)\""].contains { written in
            content.hasPrefix(written) && content.dropFirst(written.count).drop { $0 == " " }.first == ":"
        }
    }
}
