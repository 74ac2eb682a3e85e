/// What version 4's annotations say of a property, as SAP's attributes of version 2.
struct SAPAttributesWriter {
    private let model: EntityDataModel
    private let type: StructuredType
    /// Of the sets whose entities have the property.
    private let restrictions: [SetRestrictions]

    init(model: EntityDataModel, type: StructuredType) {
        self.model = model
        self.type = type
        restrictions = model.container.entitySets.filter { model.type($0.type, isA: type.name) }
            .map { SetRestrictions($0.annotations) }
    }

    func write(_ property: StructuralProperty, _ shape: Version2Shape, to output: inout XMLOutput) {
        texts(property.annotations, to: &output)
        rights(property, to: &output)
        if model.primitive(behind: property.type.type) == .date, !property.type.isCollection {
            output.attribute("sap:display-format", "Date")
        }
        if let semantics = semantics(property.name) { output.attribute("sap:semantics", semantics) }
        queries(property.name, isText: shape == .document, to: &output)
    }

    private func texts(_ annotations: Annotations, to output: inout XMLOutput) {
        let texts = [
            ("sap:label", annotations.label), ("sap:heading", annotations[SAPTerm.heading]?.stringValue),
            ("sap:quickinfo", annotations[SAPTerm.quickInfo]?.stringValue),
            ("sap:text", annotations[SAPTerm.text]?.pathValue),
            ("sap:unit", (annotations[SAPTerm.unit] ?? annotations[SAPTerm.currency])?.pathValue),
        ]
        for case (let name, let text?) in texts { output.attribute(name, text) }
        if annotations.isTagged(SAPTerm.hidden) { output.attribute("sap:visible", "false") }
    }

    private func rights(_ property: StructuralProperty, to output: inout XMLOutput) {
        let isComputed = property.annotations.isTagged(CoreTerm.computed)
        if isComputed || restrictions.contains(where: { $0.nonInsertable.contains(property.name) }) {
            output.attribute("sap:creatable", "false")
        }
        if isComputed || property.annotations.isTagged(CoreTerm.immutable) {
            output.attribute("sap:updatable", "false")
        }
    }

    /// Of a property that others name as their unit.
    private func semantics(_ name: String) -> String? {
        for property in type.properties {
            if property.annotations[SAPTerm.unit]?.pathValue == name { return "unit-of-measure" }
            if property.annotations[SAPTerm.currency]?.pathValue == name { return "currency-code" }
        }
        return nil
    }

    /// A text that holds a document of JSON is no value to compare.
    private func queries(_ name: String, isText: Bool, to output: inout XMLOutput) {
        if isText || restrictions.contains(where: { $0.nonSortable.contains(name) || !$0.isSortable }) {
            output.attribute("sap:sortable", "false")
        }
        if isText || restrictions.contains(where: { $0.nonFilterable.contains(name) || !$0.isFilterable }) {
            output.attribute("sap:filterable", "false")
        }
        if restrictions.contains(where: { $0.requiredInFilter.contains(name) }) {
            output.attribute("sap:required-in-filter", "true")
        }
        let allowed = restrictions.lazy.compactMap { $0.filterExpressions[name] }.first
        if let kind = SAPRestrictions.expressions.first(where: { $0.value == allowed })?.key {
            output.attribute("sap:filter-restriction", kind)
        }
    }
}
