import AdapterKit
import ODataModel

/// The shapes of records' fields, by the types of the properties that they hold.
///
/// | OData | as a record's value |
/// |---|---|
/// | String, Guid (lower case), Date, TimeOfDay (no zeros at the fraction's end) | string |
/// | Byte to Int64, enumerations (the number) | int64 |
/// | Double, Single | double |
/// | Decimal, Duration (seconds) | int64 or decimal |
/// | DateTimeOffset | date: the instant |
/// | Boolean, Binary | bool, data |
/// | geography, geometry | dictionary: GeoJSON |
/// | complex types | dictionary of these values by property name, `@type` with a derived type's name |
/// | collections | array |
struct FieldShapes {
    let model: EntityDataModel

    func field(_ property: StructuralProperty, _ column: RecordColumn, isKey: Bool, isDerived: Bool) -> Field {
        let standard = defaultValue(property)
        let isComputed = property.annotations.isTagged(CoreTerm.computed)
        let mustBeGiven =
            !property.type.isNullable && standard == nil && !isDerived && !isKey && !isComputed
            && !property.type.isCollection
        return Field(
            column.field, shape(property.type), isRequired: mustBeGiven,
            isNullable: !isKey && (property.type.isNullable || isDerived || isComputed), defaultValue: standard,
            source: isKey ? .caller : source(property),
            summary: property.annotations[CoreTerm.description]?.stringValue ?? "")
    }

    private func source(_ property: StructuralProperty) -> FieldSource {
        if property.annotations.isTagged(CoreTerm.computed) { return .rules }
        return property.annotations.isTagged(CoreTerm.immutable) ? .callerOnCreate : .caller
    }

    func shape(_ type: TypeReference) -> Shape {
        type.isCollection ? .list(of: shape(type.item)) : single(type)
    }

    private func single(_ type: TypeReference) -> Shape {
        switch type.type {
        case .enumeration: .integer
        case .complex, .entity, .abstract: .any
        case .primitive(let primitive): shape(primitive, type.facets)
        case .definition(let name):
            model.definition(name).map { shape($0.underlying, type.facets.within($0.facets)) } ?? .any
        }
    }

    private func shape(_ primitive: PrimitiveType, _ facets: Facets) -> Shape {
        switch primitive {
        case .string: facets.maximumLength.map { .string(maximumLength: $0) } ?? .string
        case .guid, .date, .timeOfDay: .string(maximumLength: 64)
        case .boolean: .bool
        // Cannot trap: integers have ranges.
        case .byte, .sByte, .int16, .int32, .int64: .integer(IntegerRange(primitive.integerRange!))
        case .double, .single: .double
        case .decimal: .decimal(scale: facets.decimalPlaces)
        case .duration: .decimal(scale: nil)
        case .dateTimeOffset: .date
        case .binary: .data(maximumBytes: facets.maximumLength ?? ServiceTables.maximumStreamBytes)
        default: .any
        }
    }

    private func defaultValue(_ property: StructuralProperty) -> WireValue? {
        guard let text = property.defaultValue else { return nil }
        return StoredForm(model: model).value(text: text, type: property.type)
    }
}

extension Facets {
    /// Digits after the point that a decimal may have; nil: any number. Without a scale there are none (CSDL 4.01,
    /// section 7.2.4), but documents of version 2 mean the largest, so an absent one is not enforced.
    var decimalPlaces: Int? {
        if case .digits(let count)? = scale { count } else { nil }
    }

    /// These facets, and what `outer` says where they say nothing.
    public func within(_ outer: Facets) -> Facets {
        Facets(
            maximumLength: maximumLength ?? outer.maximumLength, precision: precision ?? outer.precision,
            scale: scale ?? outer.scale, isUnicode: isUnicode && outer.isUnicode, srid: srid ?? outer.srid,
            legacyType: legacyType)
    }
}
