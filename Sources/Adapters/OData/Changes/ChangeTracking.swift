import ODataModel

/// Tells in the model that changes of a set can be followed (Capabilities vocabulary). Every set's can, since all are
/// kept in a store with a history; what a model says of a set itself stays.
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
