import ODataModel

/// An entity type or a complex type as a structure.
struct ODataStructureWriter {
    let type: StructuredType
    let types: ODataTypes
    let members: [ODataMember]

    func write(to page: inout IndentedSource) {
        page.block("public struct \(types.name(type.name)): \(type.isEntity ? "ODataEntity" : "ODataStructure")") {
            page in
            page.line("public static let odataType = \(SwiftName.literal(type.name.description))")
            if type.isEntity {
                let keys = type.key.map { SwiftName.literal($0.alias) }.joined(separator: ", ")
                page.line("public static let odataKeys: [String] = [\(keys)]")
                page.line("public var odata = ODataControl()")
            }
            for member in members { declare(member, &page) }
            for member in members where member.kind == .link {
                page.line("private var \(member.storage): [\(member.type)] = []")
            }
            writeInitializers(&page)
            writeWriting(&page)
            writeFields(&page)
        }
    }

    /// A structure cannot hold another one of its own type, so a related entity lies in a list.
    private func declare(_ member: ODataMember, _ page: inout IndentedSource) {
        guard member.kind == .link else { return page.line("public var \(member.member): \(member.declared)") }
        page.block("public var \(member.member): \(member.declared)") { page in
            page.line("get { \(member.storage).first }")
            page.line("set { \(member.storage) = newValue.map { [$0] } ?? [] }")
        }
    }

    private func writeInitializers(_ page: inout IndentedSource) {
        page.line()
        let parameters = members.map { "\($0.member): \($0.declared) = nil" }.joined(separator: ", ")
        page.block("public init(\(parameters))") { page in
            for member in members { page.line("self.\(member.member) = \(member.member)") }
        }
        page.line()
        page.block("public init(_ row: ODataRow) throws") { page in
            if type.isEntity { page.line("odata = row.control") }
            for member in members {
                page.line("self.\(member.member) = try row.\(member.reading)(\(SwiftName.literal(member.name)))")
            }
            if members.isEmpty, !type.isEntity { page.line("_ = row") }
        }
    }

    private func writeWriting(_ page: inout IndentedSource) {
        page.line()
        page.block("public func write(to row: inout ODataRowWriter)") { page in
            for member in members {
                let verb = member.kind == .link || member.kind == .links ? "link" : "set"
                page.line("row.\(verb)(\(SwiftName.literal(member.name)), self.\(member.member))")
            }
        }
    }

    private func writeFields(_ page: inout IndentedSource) {
        page.line()
        page.block("public struct Fields: ODataFields") { page in
            page.line("let odataPath: ODataPath")
            page.line("public init(_ path: ODataPath) { odataPath = path }")
            for member in members {
                page.line(
                    "public var \(member.member): \(member.field) { .init(odataPath, \(SwiftName.literal(member.name))) }"
                )
            }
        }
    }
}

/// An enumeration as a structure with names, since a server may know more of them.
struct ODataEnumerationWriter {
    let type: EnumerationType
    let types: ODataTypes

    func write(to page: inout IndentedSource) {
        let name = types.name(type.name)
        page.block("public struct \(name): ODataEnumeration") { page in
            page.line("public static let odataType = \(SwiftName.literal(type.name.description))")
            page.line("public let rawValue: String")
            page.line("public init(rawValue: String) { self.rawValue = rawValue }")
            let names = SwiftName.members(type.members.map(\.name), taken: ["odataType", "rawValue"])
            for member in type.members {
                let plain = SwiftName.quoted(names[member.name] ?? member.name)
                page.line("public static let \(plain) = \(name)(rawValue: \(SwiftName.literal(member.name)))")
            }
        }
    }
}

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

    /// The members that the client has types for, and the names of the others.
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
