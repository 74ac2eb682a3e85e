import AdapterKit
import WireFormats

// CSDL JSON (CSDL JSON 4.01) is read into the elements that CSDL XML would have: what differs are the defaults
// (`$Nullable` is false and `$Type` is Edm.String where they are left out) and that annotations are members.

extension CSDLElement {
    /// Reads a JSON document. Throws ``CSDLProblem``.
    public init(json bytes: [UInt8]) throws(CSDLProblem) {
        let value: WireValue
        do {
            value = try JSONFormat().read(bytes, limits: ReadingLimits(depth: Self.maximumDepth))
        } catch {
            throw CSDLProblem(error.message, line: error.position?.line)
        }
        guard case .dictionary(let root) = value, let version = root["$Version"]?.stringValue else {
            throw CSDLProblem("This is no CSDL JSON document: it lacks $Version.")
        }
        var schemas: [CSDLElement] = []
        for member in root where !member.key.hasPrefix("$") {
            schemas.append(JSONSchema.element(member.key, member.value.dictionaryValue ?? [:]))
        }
        let references = root["$Reference"]?.dictionaryValue ?? [:]
        self.init(
            "Edmx", namespace: CSDLNamespace.edmx, [Attribute("Version", version)],
            children: references.map { JSONSchema.reference($0.key, $0.value) }
                + [CSDLElement("DataServices", namespace: CSDLNamespace.edmx, children: schemas)])
    }
}

/// Schemas and references of a CSDL JSON document.
enum JSONSchema {
    static func reference(_ uri: String, _ value: WireValue) -> CSDLElement {
        let includes = value["$Include"]?.arrayValue ?? []
        return CSDLElement(
            "Reference", namespace: CSDLNamespace.edmx, [.init("Uri", uri)],
            children: includes.map { include in
                CSDLElement(
                    "Include", namespace: CSDLNamespace.edmx,
                    [("Namespace", "$Namespace"), ("Alias", "$Alias")].compactMap { attribute, member in
                        include[member]?.stringValue.map { CSDLElement.Attribute(attribute, $0) }
                    })
            })
    }

    static func element(_ namespace: String, _ schema: WireDictionary) -> CSDLElement {
        var element = CSDLElement("Schema", [.init("Namespace", namespace)])
        element.add("Alias", schema["$Alias"])
        for member in schema where !member.key.hasPrefix("$") && !member.key.contains("@") {
            element.children += JSONSchemaChild.elements(member.key, member.value)
        }
        for target in schema["$Annotations"]?.dictionaryValue ?? [:] {
            element.children.append(
                CSDLElement(
                    "Annotations", [.init("Target", target.key)],
                    children: JSONAnnotations.elements(target.value.dictionaryValue ?? [:], of: "")))
        }
        element.children += JSONAnnotations.elements(schema, of: "")
        return element
    }
}

extension CSDLElement {
    /// An attribute of a JSON member's text, number or flag; none where the member is left out.
    mutating func add(_ attribute: String, _ value: WireValue?) {
        switch value {
        case .string(let text): attributes.append(Attribute(attribute, text))
        case .bool(let flag): attributes.append(Attribute(attribute, flag ? "true" : "false"))
        case .int64(let number): attributes.append(Attribute(attribute, String(number)))
        case .double(let number): attributes.append(Attribute(attribute, number.description))
        case .decimal(let number): attributes.append(Attribute(attribute, number.description))
        default: return
        }
    }
}
