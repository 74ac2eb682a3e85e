/// Annotations of a document: those inside of elements, and those that `Annotations` elements aim at a target.
struct AnnotationReader {
    private let scope: NameScope
    /// By target path, the first part with its namespace.
    private var external: [String: [Annotations.Entry]] = [:]

    init(scope: NameScope, schemas: [CSDLElement]) throws(CSDLProblem) {
        self.scope = scope
        for group in schemas.flatMap({ $0.all("Annotations") }) {
            let target = scope.expanded(try group.required("Target"))
            external[target, default: []] += try entries(in: group, qualifier: group["Qualifier"])
        }
    }

    /// What the element says itself and what others say of `target`.
    func annotations(of element: CSDLElement, target: String) throws(CSDLProblem) -> Annotations {
        Annotations(try entries(in: element, qualifier: nil) + (external[target] ?? []))
    }

    private func entries(in element: CSDLElement, qualifier: String?) throws(CSDLProblem) -> [Annotations.Entry] {
        var entries: [Annotations.Entry] = []
        for annotation in element.all("Annotation") {
            entries.append(
                Annotations.Entry(
                    term: scope.expanded(try annotation.required("Term")),
                    qualifier: annotation["Qualifier"] ?? qualifier,
                    value: value(of: annotation, tagging: true)))
        }
        return entries
    }

    /// An expression: as an attribute, as a child, or none, which for an annotation means that the term applies.
    private func value(of element: CSDLElement, tagging: Bool = false) -> AnnotationValue {
        for attribute in element.attributes {
            if let value = constant(attribute.name, attribute.value) { return value }
        }
        guard let child = element.children.first(where: { $0.name != "Annotation" }) else {
            return tagging ? .bool(true) : .null
        }
        return expression(child)
    }

    private func expression(_ element: CSDLElement) -> AnnotationValue {
        switch element.name {
        case "Collection":
            return .collection(element.children.filter { $0.name != "Annotation" }.map(expression))
        case "Record":
            return .record(
                element.all("PropertyValue").map { .init($0["Property"] ?? "", value(of: $0, tagging: true)) })
        case "Null": return .null
        default: return constant(element.name, element.text) ?? .expression(element.name)
        }
    }

    private func constant(_ kind: String, _ text: String) -> AnnotationValue? {
        switch kind {
        case "Bool": .bool(text == "true" || text == "1")
        case "Int": Int64(text).map(AnnotationValue.int) ?? .number(text)
        case "Float", "Decimal", "Date", "DateTimeOffset", "Duration", "TimeOfDay", "Guid", "Binary": .number(text)
        case "String": .string(text)
        case "EnumMember": .enumMember(text)
        case "Path", "PropertyPath", "NavigationPropertyPath", "AnnotationPath", "AnyPropertyPath",
            "ModelElementPath":
            .path(text)
        default: nil
        }
    }
}
