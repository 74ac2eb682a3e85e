import ODataModel

/// A property of a type, as the structure in Swift has it.
struct ODataMember {
    enum Kind {
        case value, values, structure, structures
        /// A way to related entities.
        case link, links
    }

    /// In the model.
    let name: String
    /// In Swift, as it stands.
    let member: String
    let type: String
    let kind: Kind

    var isList: Bool { kind == .values || kind == .structures || kind == .links }
    var declared: String { isList ? "[\(type)]?" : "\(type)?" }
    var storage: String { "one" + SwiftName.typeName(name) }

    var field: String {
        switch kind {
        case .value: "ODataField<\(type)>"
        case .values: "ODataFieldList<\(type)>"
        case .structure, .link: "ODataLink<\(type)>"
        case .structures, .links: "ODataLinks<\(type)>"
        }
    }

    var reading: String {
        switch kind {
        case .value: "value"
        case .values: "values"
        case .structure, .link: "structure"
        case .structures, .links: "structures"
        }
    }

    /// Those that the client has types for, and the names of the others.
    static func all(of type: StructuredType, _ types: ODataTypes) -> (members: [ODataMember], leftOut: [String]) {
        let names = SwiftName.members(
            type.properties.map(\.name) + type.navigation.map(\.name), taken: ["odata", "odataPath", "odataKey"])
        var (members, leftOut): ([ODataMember], [String]) = ([], [])
        func add(_ name: String, _ type: String, _ kind: Kind) {
            let member = SwiftName.quoted(names[name] ?? name)
            members.append(ODataMember(name: name, member: member, type: type, kind: kind))
        }
        for property in type.properties {
            let isList = property.type.isCollection
            if let found = types.primitive(property.type) {
                add(property.name, found, isList ? .values : .value)
            } else if let found = types.structure(property.type) {
                add(property.name, found, isList ? .structures : .structure)
            } else {
                leftOut.append("\(type.name.name).\(property.name)")
            }
        }
        for link in type.navigation { add(link.name, types.name(link.target), link.isCollection ? .links : .link) }
        return (members, leftOut)
    }
}
