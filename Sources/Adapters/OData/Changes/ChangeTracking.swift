import ODataModel

/// Tells in the model that changes of a set can be followed (Capabilities vocabulary). Every set's can, since all are
/// kept in a store with a history; what a model says of a set itself stays.
struct ChangeTracking {
    private static let namespace = "Org.OData.Capabilities.V1"
    private static let address =
        "https://oasis-tcs.github.io/odata-vocabularies/vocabularies/Org.OData.Capabilities.V1.xml"

    private let model: EntityDataModel

    init(_ model: EntityDataModel) {
        self.model = model
    }

    var document: CSDLElement {
        let sets = model.container.entitySets.filter { $0.annotations[CoreTerm.changeTracking] == nil }.map(\.name)
        guard !sets.isEmpty else { return model.document }
        return referring(annotated(model.document, Set(sets)))
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

    /// Whoever reads a document finds every vocabulary that it uses (CSDL 4.01, section 3.3).
    private func referring(_ document: CSDLElement) -> CSDLElement {
        let includes = document.all("Reference").flatMap { $0.all("Include") }
        guard !includes.contains(where: { $0["Namespace"] == Self.namespace }) else { return document }
        let include = CSDLElement("Include", namespace: CSDLNamespace.edmx, [.init("Namespace", Self.namespace)])
        var document = document
        document.children.insert(
            CSDLElement(
                "Reference", namespace: CSDLNamespace.edmx, [.init("Uri", Self.address)], children: [include]), at: 0)
        return document
    }
}
