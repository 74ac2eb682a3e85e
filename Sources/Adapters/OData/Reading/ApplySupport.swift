import ODataLanguage
import ODataModel

/// Tells in the model what `$apply` takes (Aggregation vocabulary): the same of every set. What a model says of that itself
/// stays.
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
