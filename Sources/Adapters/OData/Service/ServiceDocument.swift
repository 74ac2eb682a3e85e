import AdapterKit
import ODataLanguage
import ODataModel
import WireFormats

/// The service document and the metadata document (JSON Format 4.01, section 5; Protocol 4.01, section 11.1).
struct ServiceDocuments: Sendable {
    let model: EntityDataModel
    /// `Core.SchemaVersion`
    private let version: String?
    /// By version of the protocol.
    private let documents: [String: (xml: [UInt8], json: [UInt8])]
    /// The model as version 2's clients read it.
    let version2: [UInt8]

    /// `isSearched`: whether some of its sets can be searched. `closed`: the sets that no caller may write.
    init(_ model: EntityDataModel, isSearched: Bool, closed: Set<String> = []) {
        self.model = model
        version = Self.version(model)
        let described = WriteRestrictions(ChangeTracking(model).document, of: model, closed: closed).document
        let document = ApplySupport(described, isSearched: isSearched).document
        var documents: [String: (xml: [UInt8], json: [UInt8])] = [:]
        for version in ["4.0", "4.01"] {
            let adapted = document.adapted(in: version)
            documents[version] = (Array(adapted.xmlText.utf8), (try? JSONFormat().write(adapted.jsonValue)) ?? [])
        }
        self.documents = documents
        version2 = model.version2Document(closed: closed)
    }

    /// `$schemaversion` names this model, or any. Throws `record.notFound` for another (Protocol 4.01, section 11.2.12).
    func checkVersion(of target: RequestTarget) throws(PorticoError) {
        for option in target.options {
            guard case .schemaVersion(let wanted) = option.form, wanted != "*", wanted != version else { continue }
            throw PorticoError(
                .recordNotFound, "There is no version \(wanted) of this model.", target: "$schemaversion")
        }
    }

    private static func version(_ model: EntityDataModel) -> String? {
        for schema in model.document.first("DataServices")?.all("Schema") ?? [] {
            for annotation in schema.all("Annotation") {
                guard let term = annotation["Term"].flatMap({ QualifiedName($0) }).map(model.resolve),
                    "\(term)" == "Org.OData.Core.V1.SchemaVersion"
                else { continue }
                return annotation["String"] ?? annotation.first("String")?.text
            }
        }
        return nil
    }

    func service(_ format: ResponseFormat, root: String) -> [UInt8] {
        var output = JSONOutput()
        output.beginObject()
        if format.metadata != .none { output.member("@odata.context", "\(root)$metadata") }
        output.key("value")
        output.beginArray()
        let container = model.container
        for set in container.entitySets where set.includedInServiceDocument { item(set.name, "EntitySet", to: &output) }
        for singleton in container.singletons { item(singleton.name, "Singleton", to: &output) }
        for function in container.functionImports where function.includedInServiceDocument {
            item(function.name, "FunctionImport", to: &output)
        }
        output.endArray()
        output.endObject()
        return output.bytes
    }

    private func item(_ name: String, _ kind: String, to output: inout JSONOutput) {
        output.beginObject()
        output.member("name", name)
        output.member("kind", kind)
        output.member("url", name)
        output.endObject()
    }

    /// XML, unless JSON is asked for. The document names its version (CSDL 4.01, section 3.1).
    func metadata(
        format: String?, accept: String?, version: String
    ) throws(PorticoError) -> (body: [UInt8], type: String) {
        let (xml, json) = documents[version] ?? ([], [])
        let wanted = format ?? accept ?? "application/xml"
        for piece in wanted.split(separator: ",") {
            let type = piece.mediaTypeName
            switch type {
            case "application/xml", "xml", "application/*", "*/*", "text/xml": return (xml, "application/xml")
            case "application/json", "json": return (json, "application/json")
            default: continue
            }
        }
        throw PorticoError(.notAcceptable, "The model can be had as application/xml and application/json.")
    }
}

extension CSDLElement {
    /// With this version of the protocol at its root.
    fileprivate func adapted(in version: String) -> CSDLElement {
        var element = self
        element.attributes.removeAll { $0.name == "Version" }
        element.attributes.append(.init("Version", version))
        return element
    }
}

extension CSDLElement {
    /// A document that names a vocabulary, and where that is published: a reader of a document finds every vocabulary that
    /// it uses (CSDL 4.01, section 3.3).
    func referring(to vocabulary: String) -> CSDLElement {
        let includes = all("Reference").flatMap { $0.all("Include") }
        guard !includes.contains(where: { $0["Namespace"] == vocabulary }) else { return self }
        let address = "https://oasis-tcs.github.io/odata-vocabularies/vocabularies/\(vocabulary).xml"
        let include = CSDLElement("Include", namespace: CSDLNamespace.edmx, [.init("Namespace", vocabulary)])
        var document = self
        document.children.insert(
            CSDLElement("Reference", namespace: CSDLNamespace.edmx, [.init("Uri", address)], children: [include]), at: 0
        )
        return document
    }
}

/// Annotates all sets with `Capabilities.ChangeTracking`, because every set has a change history. Annotations of the
/// model itself stay.
struct ChangeTracking {
    private let model: EntityDataModel

    init(_ model: EntityDataModel) {
        self.model = model
    }

    var document: CSDLElement {
        let sets = model.container.entitySets.filter { $0.annotations[CoreTerm.changeTracking] == nil }.map(\.name)
        guard !sets.isEmpty else { return model.document }
        return annotated(model.document, Set(sets)).referring(to: "Org.OData.Capabilities.V1")
    }

    private func annotated(_ element: CSDLElement, _ sets: Set<String>) -> CSDLElement {
        var element = element
        guard element.name != "EntitySet" else {
            if element["Name"].map(sets.contains) ?? false { element.children.append(annotation) }
            return element
        }
        guard ["Edmx", "DataServices", "Schema", "EntityContainer"].contains(element.name) else { return element }
        element.children = element.children.map { annotated($0, sets) }
        return element
    }

    private var annotation: CSDLElement {
        let supported = CSDLElement("PropertyValue", [.init("Property", "Supported"), .init("Bool", "true")])
        return CSDLElement(
            "Annotation", [.init("Term", CoreTerm.changeTracking)],
            children: [CSDLElement("Record", children: [supported])])
    }
}

/// Annotates the sets that no caller may write with `Capabilities.InsertRestrictions` and its like. Annotations of the model
/// itself stay.
struct WriteRestrictions {
    private static let terms = [
        (CoreTerm.insertRestrictions, "Insertable"), (CoreTerm.updateRestrictions, "Updatable"),
        (CoreTerm.deleteRestrictions, "Deletable"),
    ]

    private let base: CSDLElement
    private let model: EntityDataModel
    private let closed: Set<String>

    init(_ document: CSDLElement, of model: EntityDataModel, closed: Set<String>) {
        (base, self.model, self.closed) = (document, model, closed)
    }

    var document: CSDLElement {
        closed.isEmpty ? base : annotated(base).referring(to: "Org.OData.Capabilities.V1")
    }

    private func annotated(_ element: CSDLElement) -> CSDLElement {
        var element = element
        guard element.name != "EntitySet" else {
            guard let name = element["Name"], closed.contains(name) else { return element }
            let own = model.container.entitySet(name)?.annotations
            element.children += Self.terms.filter { own?[$0.0] == nil }.map { Self.annotation($0.0, $0.1) }
            return element
        }
        guard ["Edmx", "DataServices", "Schema", "EntityContainer"].contains(element.name) else { return element }
        element.children = element.children.map { annotated($0) }
        return element
    }

    private static func annotation(_ term: String, _ property: String) -> CSDLElement {
        let refused = CSDLElement("PropertyValue", [.init("Property", property), .init("Bool", "false")])
        return CSDLElement(
            "Annotation", [.init("Term", term)], children: [CSDLElement("Record", children: [refused])])
    }
}

/// Annotates the container with the supported transformations of `$apply` (Aggregation vocabulary). Annotations of the
/// model itself stay.
struct ApplySupport {
    private let model: CSDLElement
    private let transformations: Set<String>

    init(_ document: CSDLElement, isSearched: Bool) {
        model = document
        transformations = isSearched ? Transformation.names : Transformation.names.subtracting(["search"])
    }

    var document: CSDLElement {
        let (annotated, isNew) = annotated(model)
        return isNew ? annotated.referring(to: AggregationTerm.namespace) : model
    }

    private func annotated(_ element: CSDLElement) -> (CSDLElement, isNew: Bool) {
        var element = element
        guard element.name != "EntityContainer" else {
            let terms = element.all("Annotation").compactMap { $0["Term"] }
            guard !terms.contains(where: { $0.hasSuffix(".ApplySupportedDefaults") }) else { return (element, false) }
            element.children.append(annotation)
            return (element, true)
        }
        guard ["Edmx", "DataServices", "Schema"].contains(element.name) else { return (element, false) }
        let children = element.children.map(annotated)
        element.children = children.map(\.0)
        return (element, children.contains(where: \.isNew))
    }

    private var annotation: CSDLElement {
        let names = transformations.sorted().map { CSDLElement("String", text: $0) }
        let listed = CSDLElement(
            "PropertyValue", [.init("Property", "Transformations")],
            children: [CSDLElement("Collection", children: names)])
        let rollup = CSDLElement(
            "PropertyValue",
            [
                .init("Property", "Rollup"),
                .init("EnumMember", "\(AggregationTerm.namespace).RollupType/MultipleHierarchies"),
            ])
        let from = CSDLElement("PropertyValue", [.init("Property", "From"), .init("Bool", "true")])
        return CSDLElement(
            "Annotation", [.init("Term", AggregationTerm.applySupportedDefaults)],
            children: [CSDLElement("Record", children: [listed, rollup, from])])
    }
}
