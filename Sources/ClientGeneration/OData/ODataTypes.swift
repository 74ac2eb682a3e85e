import ODataModel

/// The Swift names of a model's types.
struct ODataTypes {
    let model: EntityDataModel
    /// Names that a nested type would hide, or that Swift keeps for itself.
    private static let taken: Set<String> = [
        "Any", "Bool", "Data", "Date", "Decimal", "Double", "Duration", "Fields", "Float", "Foundation", "Int16",
        "Int32", "Int64", "Int8", "Never", "Protocol", "Self", "String", "Swift", "Type", "UInt8", "UUID", "Void",
    ]
    private let names: [QualifiedName: String]

    init(_ model: EntityDataModel) {
        self.model = model
        var names: [QualifiedName: String] = [:]
        for name in model.types.keys.sorted() {
            let plain = SwiftName.typeName(name.name)
            let free = Self.taken.contains(plain) ? plain + "Value" : plain
            let candidates = [free] + (2...99).map { "\(free)\($0)" }
            names[name] = candidates.first { !names.values.contains($0) }
        }
        self.names = names
    }

    func name(_ type: QualifiedName) -> String { names[type] ?? SwiftName.typeName(type.name) }

    /// A primitive type's or an enumeration's; nil for others, and for what the client has no type for.
    func primitive(_ reference: TypeReference) -> String? {
        switch reference.type {
        case .primitive(let type): return Self.swift(type, legacy: reference.facets.legacyType)
        case .definition(let name): return model.definition(name).flatMap { Self.swift($0.underlying, legacy: nil) }
        case .enumeration(let name): return self.name(name)
        case .complex, .entity, .abstract: return nil
        }
    }

    /// A complex type's or an entity type's.
    func structure(_ reference: TypeReference) -> String? {
        switch reference.type {
        case .complex(let name), .entity(let name): self.name(name)
        default: nil
        }
    }

    private static func swift(_ type: PrimitiveType, legacy: String?) -> String? {
        switch type {
        case .binary: "Data"
        case .boolean: "Bool"
        case .byte: "UInt8"
        case .date: "ODataDate"
        case .dateTimeOffset: legacy == "DateTime" ? "ODataLocalDateTime" : "ODataDateTime"
        case .decimal: "Decimal"
        case .double: "Double"
        case .duration: "Duration"
        case .guid: "UUID"
        case .int16, .int32, .int64: type.rawValue
        case .sByte: "Int8"
        case .single: "Float"
        case .string: "String"
        case .timeOfDay: "ODataTimeOfDay"
        default: nil
        }
    }
}

extension SwiftName {
    static func typeName(_ name: String) -> String {
        let plain = NameWords(name).upperCamel
        // Of names without a letter that Swift's may have here, nothing is left.
        return plain.isEmpty ? "Unnamed" : plain.first?.isNumber == true ? "_" + plain : plain
    }

    /// Members' names in Swift, no two of which are the same.
    static func members(_ names: [String], taken: [String]) -> [String: String] {
        var used = Set(taken)
        var found: [String: String] = [:]
        for name in names where found[name] == nil {
            let plain = bare(name) == "_" ? "unnamed" : bare(name)
            let free = ([plain] + (2...99).map { "\(plain)\($0)" }).first { !used.contains($0) } ?? plain
            used.insert(free)
            found[name] = free
        }
        return found
    }

    /// In backticks where the word means something else.
    static func quoted(_ plain: String) -> String { plain == bare(plain) ? member(plain) : plain }
}
