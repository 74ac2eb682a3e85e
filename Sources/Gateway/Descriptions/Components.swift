import ValueTree

/// Parts of a description that stand once and are referred to, under identifiers that are different ones in every language.
struct Components: Sendable {
    private let kind: String
    private(set) var values = WireDictionary()
    private var names = UniqueNames()

    /// `kind`: `schemas`, `responses`.
    init(_ kind: String) { self.kind = kind }

    /// A reference to the value, which is added where it is new. Another value of that name gets a number behind it.
    mutating func reference(_ name: String, _ value: (_ name: String) -> WireValue) -> WireValue {
        var (candidate, number) = (name, 1)
        while true {
            let wanted = value(candidate)
            if values[candidate] == wanted { break }
            if values[candidate] == nil, names.take(candidate) {
                values[candidate] = wanted
                break
            }
            number += 1
            candidate = "\(name)\(number)"
        }
        return ["$ref": .string("#/components/\(kind)/\(candidate)")]
    }
}

/// Names that every language takes for identifiers.
enum Identifier {
    /// The text's letters and digits, with an underscore for whatever stands between them.
    static func of(_ text: String) -> String {
        text.split { !($0.isASCII && ($0.isLetter || $0.isNumber)) }.joined(separator: "_")
    }
}

/// Identifiers of which no two become one where a generator writes them in its language's case.
struct UniqueNames: Sendable {
    private var taken: Set<String> = []

    /// Whether the name was free; it is taken then.
    mutating func take(_ name: String) -> Bool {
        taken.insert(name.lowercased().filter { $0 != "_" }).inserted
    }

    /// The name, or with a number behind it where that is taken.
    mutating func unique(_ name: String) -> String {
        var (candidate, number) = (name, 1)
        while !take(candidate) {
            number += 1
            candidate = "\(name)_\(number)"
        }
        return candidate
    }
}
