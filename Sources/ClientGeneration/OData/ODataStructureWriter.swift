import ODataModel

/// An entity type or a complex type as a structure.
struct ODataStructureWriter {
    let type: StructuredType
    let types: ODataTypes
    let members: [ODataMember]

    func write(to page: inout Page) {
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
    private func declare(_ member: ODataMember, _ page: inout Page) {
        guard member.kind == .link else { return page.line("public var \(member.member): \(member.declared)") }
        page.block("public var \(member.member): \(member.declared)") { page in
            page.line("get { \(member.storage).first }")
            page.line("set { \(member.storage) = newValue.map { [$0] } ?? [] }")
        }
    }

    private func writeInitializers(_ page: inout Page) {
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

    private func writeWriting(_ page: inout Page) {
        page.line()
        page.block("public func write(to row: inout ODataRowWriter)") { page in
            for member in members {
                let verb = member.kind == .link || member.kind == .links ? "link" : "set"
                page.line("row.\(verb)(\(SwiftName.literal(member.name)), self.\(member.member))")
            }
        }
    }

    private func writeFields(_ page: inout Page) {
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

    func write(to page: inout Page) {
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
