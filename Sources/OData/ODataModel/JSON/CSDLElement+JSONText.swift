import AdapterKit

extension CSDLElement {
    /// The document as CSDL JSON, in the version of the protocol that it names.
    public var jsonValue: WireValue {
        var root: WireDictionary = ["$Version": .string(self["Version"] == "4.0" ? "4.0" : "4.01")]
        let schemas = first("DataServices")?.all("Schema") ?? []
        for schema in schemas {
            guard let container = schema.first("EntityContainer")?["Name"] else { continue }
            root["$EntityContainer"] = .string("\(schema["Namespace"] ?? "").\(container)")
        }
        var references = WireDictionary()
        for reference in all("Reference") {
            references[reference["Uri"] ?? ""] = ["$Include": .array(reference.all("Include").map(Self.include))]
        }
        if !references.isEmpty { root["$Reference"] = .dictionary(references) }
        for schema in schemas { root[schema["Namespace"] ?? ""] = .dictionary(JSONSchemaWriter.schema(schema)) }
        return .dictionary(root)
    }

    private static func include(_ element: CSDLElement) -> WireValue {
        var members: WireDictionary = ["$Namespace": .string(element["Namespace"] ?? "")]
        if let alias = element["Alias"] { members["$Alias"] = .string(alias) }
        return .dictionary(members)
    }
}
