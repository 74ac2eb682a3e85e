import AdapterKit
import HostConfiguration

/// The grammar of one place of a connection file. From this one declaration come the check of a file and the JSON Schema
/// that editors use.
indirect enum FileGrammar: Sendable {
    case value(ConfigurationKind)
    /// A template (``Template``).
    case template
    /// A path into a document (``DocumentPath``).
    case path
    /// A mapping of the section's keys.
    case section(FileSection)
    /// A mapping whose keys are names of the author's own.
    case named(FileGrammar)
    case list(of: FileGrammar)
    /// A text as the short form of a section.
    case textOr(FileSection)
    /// Any value, with templates in its texts.
    case content
}

/// A mapping with known keys.
struct FileSection: Sendable {
    struct Key: Sendable {
        let name: String
        let grammar: FileGrammar
        let isRequired: Bool
        let summary: String

        init(_ name: String, _ grammar: FileGrammar, isRequired: Bool = false, _ summary: String) {
            (self.name, self.grammar, self.isRequired, self.summary) = (name, grammar, isRequired, summary)
        }
    }

    /// Its name in the JSON Schema.
    let name: String
    let keys: [Key]

    func key(_ name: String) -> Key? { keys.first { $0.name == name } }
}

extension FileGrammar {
    /// Deeper values are refused.
    static let maximumDepth = 32
    /// Secrets have no place in these files.
    static let reader = ConfigurationValueReader(secrets: SecretSource(environment: [:]) { _ in throw NoSecrets() })
    private struct NoSecrets: Error {}

    /// Everything that is wrong with the structure, in the order of the file.
    func problems(of node: ConfigurationNode, depth: Int = 0) -> [ConfigurationError] {
        guard depth <= Self.maximumDepth else {
            return [ConfigurationError("This nests deeper than \(Self.maximumDepth) levels.", at: node.location)]
        }
        switch self {
        case .value(let kind):
            do throws(ConfigurationError) {
                _ = try Self.reader.read(node, as: kind)
                return []
            } catch { return [error] }
        case .template, .path:
            if case .scalar = node.content { return [] }
            return [ConfigurationError("Here must stand a text.", at: node.location)]
        case .section(let section): return section.problems(of: node, depth: depth)
        case .textOr(let section):
            if case .scalar = node.content { return [] }
            return section.problems(of: node, depth: depth)
        case .named(let inner):
            guard case .mapping(let entries) = node.content else {
                return [ConfigurationError("Here must stand a mapping of names.", at: node.location)]
            }
            return entries.flatMap { inner.problems(of: $0.value, depth: depth + 1) }
        case .list(let item):
            guard case .list(let items) = node.content else {
                return [ConfigurationError("Here must stand a list.", at: node.location)]
            }
            return items.flatMap { item.problems(of: $0, depth: depth + 1) }
        case .content:
            switch node.content {
            case .null, .scalar: return []
            case .list(let items): return items.flatMap { problems(of: $0, depth: depth + 1) }
            case .mapping(let entries): return entries.flatMap { problems(of: $0.value, depth: depth + 1) }
            }
        }
    }
}

extension FileSection {
    func problems(of node: ConfigurationNode, depth: Int) -> [ConfigurationError] {
        guard case .mapping(let entries) = node.content else {
            return [ConfigurationError("Here must stand a mapping with the keys of \(name).", at: node.location)]
        }
        let reference = ConfigurationReference(keys.map { ConfigurationKey($0.name, .text, $0.summary) })
        var problems = entries.flatMap { entry in
            guard let key = key(entry.key) else {
                return [ConfigurationError(unknown: [entry.key], in: reference, at: entry.keyLocation)]
            }
            return key.grammar.problems(of: entry.value, depth: depth + 1)
        }
        for key in keys where key.isRequired && !entries.contains(where: { $0.key == key.name }) {
            problems.append(ConfigurationError("Here \(key.name) is missing.", at: node.location))
        }
        return problems
    }
}

// The JSON Schema (draft 2020-12) of the same declaration.

extension FileSection {
    /// The schema of a file whose root is this section.
    func jsonSchema(title: String) -> WireValue {
        var definitions: [String: WireValue] = [:]
        let root = schema(&definitions)
        var members: WireDictionary = [
            "$schema": "https://json-schema.org/draft/2020-12/schema", "title": .string(title),
        ]
        for member in root { members[member.key] = member.value }
        members["$defs"] = .dictionary(
            WireDictionary(
                uncheckedUniqueKeys: definitions.sorted { $0.key < $1.key }.map { .init(key: $0.key, value: $0.value) })
        )
        return .dictionary(members)
    }

    private func schema(_ definitions: inout [String: WireValue]) -> WireDictionary {
        var properties = WireDictionary()
        for key in keys {
            var schema = key.grammar.schema(&definitions)
            schema["description"] = .string(key.summary)
            properties[key.name] = .dictionary(schema)
        }
        var members: WireDictionary = ["type": "object", "additionalProperties": false]
        members["properties"] = .dictionary(properties)
        let required = keys.filter(\.isRequired).map { WireValue.string($0.name) }
        if !required.isEmpty { members["required"] = .array(required) }
        return members
    }

    fileprivate func reference(_ definitions: inout [String: WireValue]) -> WireDictionary {
        if definitions[name] == nil {
            definitions[name] = .null  // Named before it is described, so that a section may hold itself.
            definitions[name] = .dictionary(schema(&definitions))
        }
        return ["$ref": .string("#/$defs/\(name)")]
    }
}

extension FileGrammar {
    fileprivate func schema(_ definitions: inout [String: WireValue]) -> WireDictionary {
        switch self {
        case .value(let kind): return kind.schema
        case .template: return Self.text
        case .path: return ["type": "string", "pattern": "^(/.*)?$"]
        case .section(let section): return section.reference(&definitions)
        case .textOr(let section):
            return ["anyOf": [.dictionary(Self.text), .dictionary(section.reference(&definitions))]]
        case .named(let inner):
            return ["type": "object", "additionalProperties": .dictionary(inner.schema(&definitions))]
        case .list(let item): return ["type": "array", "items": .dictionary(item.schema(&definitions))]
        case .content: return [:]
        }
    }

    /// A text; what YAML takes for a number or a truth is read as the text that it is.
    fileprivate static let text: WireDictionary = ["type": ["string", "number", "boolean"]]

    fileprivate static let roles: WireValue = [
        "type": "object", "required": ["roles"], "additionalProperties": false,
        "properties": ["roles": ["type": "array", "minItems": 1, "items": ["type": "string"]]],
    ]

    fileprivate static let right: WireValue = ["anyOf": [["enum": ["none", "public", "login"]], roles]]
}

extension ConfigurationKind {
    fileprivate var schema: WireDictionary {
        switch self {
        case .text, .secret: FileGrammar.text
        case .integer(let range):
            [
                "type": "integer", "minimum": .int64(Int64(range.lowerBound)),
                "maximum": .int64(Int64(range.upperBound)),
            ]
        case .number: ["type": "number"]
        case .flag: ["type": "boolean"]
        case .duration: ["type": "string", "pattern": "^[0-9]+(ms|s|m|h|d)$"]
        case .size: ["type": ["string", "integer"]]
        case .choice(let choices): ["enum": .array(choices.map { .string($0) })]
        case .access:
            [
                "anyOf": [
                    ["enum": ["public-read", "public", "login"]], FileGrammar.roles,
                    [
                        "type": "object", "minProperties": 1, "additionalProperties": false,
                        "properties": [
                            "read": FileGrammar.right, "write": FileGrammar.right, "refresh": FileGrammar.right,
                        ],
                    ],
                ]
            ]
        case .list(let item): ["type": "array", "items": .dictionary(item.schema)]
        case .oneOrMore(let item):
            [
                "anyOf": [
                    .dictionary(item.schema), ["type": "array", "items": .dictionary(item.schema)],
                ]
            ]
        case .mapping: ["type": "object"]
        }
    }
}
