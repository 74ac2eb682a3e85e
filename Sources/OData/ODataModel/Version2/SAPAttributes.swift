/// SAP's attributes of one element of version 2 as annotations of version 4 (SAP Annotations for OData Version 2.0).
/// Those that have no term are left out.
struct SAPAttributes {
    private let element: CSDLElement

    init(_ element: CSDLElement) {
        self.element = element
    }

    subscript(name: String) -> String? { element["{\(Version2Namespace.sap)}\(name)"] }

    /// Whether the attribute denies what holds without it.
    func denies(_ name: String) -> Bool { self[name] == "false" }

    var label: [CSDLElement] { text("label", SAPTerm.label) }

    /// The elements of a property: its name, what belongs to it, and who sets it.
    func property(units: Set<String>) -> [CSDLElement] {
        var annotations = label + text("heading", SAPTerm.heading) + text("quickinfo", SAPTerm.quickInfo)
        if let path = self["text"] { annotations.append(.annotation(SAPTerm.text, .init("Path", path))) }
        if let path = self["unit"] {
            annotations.append(.annotation(units.contains(path) ? SAPTerm.unit : SAPTerm.currency, .init("Path", path)))
        }
        if denies("visible") { annotations.append(.annotation(SAPTerm.hidden)) }
        if denies("updatable") {
            annotations.append(.annotation(denies("creatable") ? CoreTerm.computed : CoreTerm.immutable))
        }
        return annotations
    }

    private func text(_ name: String, _ term: String) -> [CSDLElement] {
        self[name].map { [.annotation(term, .init("String", $0))] } ?? []
    }
}

/// Restrictions by SAP's attributes of a set and of its entities' properties.
struct SAPRestrictions {
    let set: SAPAttributes
    let properties: [(name: String, attributes: SAPAttributes)]

    var annotations: [CSDLElement] {
        var records: [(term: String, values: [CSDLElement])] = [
            (
                CoreTerm.insertRestrictions,
                flag("creatable", "Insertable") + paths("NonInsertableProperties", settableLater)
            ),
            (CoreTerm.updateRestrictions, flag("updatable", "Updatable")),
            (CoreTerm.deleteRestrictions, flag("deletable", "Deletable")),
            (CoreTerm.filterRestrictions, filter),
            (CoreTerm.sortRestrictions, paths("NonSortableProperties") { $0.denies("sortable") }),
            (CoreTerm.searchRestrictions, flag("searchable", "Searchable")),
            (CoreTerm.countRestrictions, flag("countable", "Countable")),
        ]
        records.removeAll(where: \.values.isEmpty)
        return records.map { .annotation($0.term, record: $0.values) }
    }

    private var filter: [CSDLElement] {
        var values: [CSDLElement] = []
        if set["requires-filter"] == "true" { values.append(.value("RequiresFilter", .init("Bool", "true"))) }
        values += paths("RequiredProperties") { $0["required-in-filter"] == "true" }
        values += paths("NonFilterableProperties") { $0.denies("filterable") }
        let kinds = properties.compactMap { property in
            property.attributes["filter-restriction"].flatMap { Self.expressions[$0] }.map { (property.name, $0) }
        }
        guard !kinds.isEmpty else { return values }
        let records = kinds.map { name, kind in
            CSDLElement(
                "Record",
                children: [
                    .value("Property", .init("PropertyPath", name)),
                    .value("AllowedExpressions", .init("String", kind)),
                ])
        }
        return values + [.value("FilterExpressionRestrictions", collection: records)]
    }

    /// SAP's words for what a filter may do with a property, and version 4's.
    static let expressions = [
        "single-value": "SingleValue", "multi-value": "MultiValue", "interval": "SingleRange",
    ]

    /// The properties that are not set at first but can be changed; what can be neither is computed, which is the property's to say.
    private func settableLater(_ property: SAPAttributes) -> Bool {
        property.denies("creatable") && !property.denies("updatable")
    }

    private func flag(_ attribute: String, _ property: String) -> [CSDLElement] {
        set.denies(attribute) ? [.value(property, .init("Bool", "false"))] : []
    }

    private func paths(_ name: String, _ belongs: (SAPAttributes) -> Bool) -> [CSDLElement] {
        let names = properties.filter { belongs($0.attributes) }.map(\.name)
        guard !names.isEmpty else { return [] }
        return [.value(name, collection: names.map { CSDLElement("PropertyPath", text: $0) })]
    }
}

extension CSDLElement {
    fileprivate static func annotation(_ term: String, _ value: Attribute? = nil) -> CSDLElement {
        CSDLElement("Annotation", [.init("Term", term)] + [value].compactMap { $0 })
    }

    fileprivate static func annotation(_ term: String, record values: [CSDLElement]) -> CSDLElement {
        CSDLElement("Annotation", [.init("Term", term)], children: [CSDLElement("Record", children: values)])
    }

    fileprivate static func value(_ property: String, _ value: Attribute) -> CSDLElement {
        CSDLElement("PropertyValue", [.init("Property", property), value])
    }

    fileprivate static func value(_ property: String, collection: [CSDLElement]) -> CSDLElement {
        CSDLElement(
            "PropertyValue", [.init("Property", property)], children: [CSDLElement("Collection", children: collection)])
    }
}

/// The writer of version 4's annotations of a property, as SAP's attributes of version 2.
struct SAPAttributesWriter {
    private let model: EntityDataModel
    private let type: StructuredType
    /// The restrictions of the sets whose entities have the property.
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

    /// The semantics of a property that others name as their unit.
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
