import AdapterKit
import ODataModel
import ODataRecords

/// What the server gives an entity, whatever is sent: computed properties. And what it gives where nothing is sent.
///
/// A computed integer counts changes, from its default on. A computed instant is the creation's, or where its name
/// speaks of a change (`Modified`, `Updated`, `Changed`) the last change's. An instant that must have a value and was
/// not sent gets the time.
struct ServerValues: Sendable {
    let tables: ServiceTables
    let now: WireDate

    func creating(_ type: StructuredType, _ values: [String: WireValue]) -> [String: WireValue] {
        var values = values
        for property in type.properties {
            let isComputed = property.annotations.isTagged(CoreTerm.computed)
            if isInstant(property), isComputed || (values[property.name] == nil && mustBeGiven(property)) {
                values[property.name] = .date(now)
            } else if isCounter(property, of: type) {
                values[property.name] = standard(property) ?? .int64(1)
            } else if isComputed, !type.isKey(property.name) {
                values[property.name] = nil
            }
        }
        return values
    }

    /// Whether ``creating(_:_:)`` leaves every entity of the type as it was sent.
    func givesNothing(_ type: StructuredType) -> Bool {
        type.properties.allSatisfy { property in
            !property.annotations.isTagged(CoreTerm.computed) && !(isInstant(property) && mustBeGiven(property))
        }
    }

    /// For a change of an entity that is there: computed properties as they are, or as the change makes them.
    func computed(_ type: StructuredType, _ values: [String: WireValue], _ current: (String) -> WireValue)
        -> [String: WireValue]
    {
        var values = values
        for property in type.properties {
            let isComputed = property.annotations.isTagged(CoreTerm.computed)
            if isInstant(property), Self.speaksOfChange(property.name), isComputed || mustBeGiven(property) {
                values[property.name] = .date(now)
            } else if isCounter(property, of: type) {
                values[property.name] = .int64((current(property.name).int64Value ?? 0) &+ 1)
            } else if isComputed {
                values[property.name] = nil
            }
        }
        return values
    }

    /// What of a change OData takes: values of properties that a client cannot change are ignored (Protocol 4.01,
    /// section 11.4.3), so that an entity can be sent back as it was read.
    static func changeable(_ type: StructuredType, _ values: [String: WireValue]) -> [String: WireValue] {
        values.filter { name, _ in
            guard let property = type.property(name) else { return true }
            return !property.annotations.isTagged(CoreTerm.computed)
                && !property.annotations.isTagged(CoreTerm.immutable) && !type.isKey(name)
        }
    }

    /// Those that a replacement keeps.
    func kept(_ type: StructuredType) -> [String] {
        type.properties.filter {
            $0.annotations.isTagged(CoreTerm.computed) || $0.annotations.isTagged(CoreTerm.immutable)
                || type.isKey($0.name) || (isInstant($0) && mustBeGiven($0))
        }.map(\.name)
    }

    private func isInstant(_ property: StructuralProperty) -> Bool {
        !property.type.isCollection && tables.model.primitive(behind: property.type.type) == .dateTimeOffset
    }

    private func isCounter(_ property: StructuralProperty, of type: StructuredType) -> Bool {
        !type.isKey(property.name) && property.annotations.isTagged(CoreTerm.computed) && !property.type.isCollection
            && tables.model.primitive(behind: property.type.type)?.isInteger == true
    }

    private func mustBeGiven(_ property: StructuralProperty) -> Bool {
        !property.type.isNullable && property.defaultValue == nil
    }

    private func standard(_ property: StructuralProperty) -> WireValue? {
        property.defaultValue.flatMap { StoredForm(model: tables.model).value(text: $0, type: property.type) }
    }

    private static func speaksOfChange(_ name: String) -> Bool {
        ["Modified", "Updated", "Changed"].contains { name.contains($0) }
    }
}
