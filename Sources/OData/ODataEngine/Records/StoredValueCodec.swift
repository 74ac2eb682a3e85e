import AdapterKit
import ODataModel

/// Converts OData's texts to stored values (``FieldShapes`` has the table) and back.
public struct StoredValueCodec: Sendable {
    let model: EntityDataModel

    public init(model: EntityDataModel) {
        self.model = model
    }

    /// The value of a text as OData spells it outside of URLs' quotes: `2024-01-15`, `P1D`, `InStock,OnSale`. Nil where
    /// the text is none of the type's, or the type has no such texts.
    public func value(text: String, type: TypeReference) -> WireValue? {
        switch type.type {
        case .primitive(let primitive): Self.value(text: text, primitive)
        case .definition(let name): model.definition(name).flatMap { Self.value(text: text, $0.underlying) }
        case .enumeration(let name): model.enumeration(name)?.value(of: text).map(WireValue.int64)
        case .complex, .entity, .abstract: nil
        }
    }

    public static func value(text: String, _ type: PrimitiveType) -> WireValue? {
        switch type {
        case .string: return .string(text)
        case .guid: return guid(text).map(WireValue.string)
        case .boolean: return text == "true" ? true : text == "false" ? false : nil
        case .byte, .sByte, .int16, .int32, .int64:
            // Cannot trap: integers have ranges.
            guard let number = Int64(text), type.integerRange!.contains(number) else { return nil }
            return .int64(number)
        case .double, .single: return double(text, type)
        case .decimal: return WireDecimal(text).map(decimal)
        case .date: return CalendarText.date(text).map(WireValue.string)
        case .timeOfDay: return CalendarText.timeOfDay(text).map(WireValue.string)
        case .dateTimeOffset: return CalendarText.instant(text).map(WireValue.date)
        case .duration: return DurationText.seconds(text).map(decimal)
        case .binary: return Base64URL.decode(lenient: text).map(WireValue.data)
        default: return nil
        }
    }

    /// An integer where it is one, so that equal numbers are equal values.
    public static func decimal(_ number: WireDecimal) -> WireValue {
        number.exponent == 0 && number.digits.utf8.count < 18
            // Cannot trap: fewer than 18 digits.
            ? .int64((number.isNegative ? -1 : 1) * Int64(number.digits)!) : .decimal(number)
    }

    private static func double(_ text: String, _ type: PrimitiveType) -> WireValue? {
        switch text {
        case "INF": return .double(.infinity)
        case "-INF": return .double(-.infinity)
        case "NaN": return .double(.nan)
        default:
            guard WireDecimal(text) != nil, let number = Double(text), number.isFinite else { return nil }
            return .double(type == .single ? Double(Float(number)) : number)
        }
    }

    private static func guid(_ text: String) -> String? {
        let groups = text.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard groups.map(\.count) == [8, 4, 4, 4, 12] else { return nil }
        let isHex = groups.allSatisfy { $0.allSatisfy { byte in Character(Unicode.Scalar(byte)).isHexDigit } }
        return isHex ? text.lowercased() : nil
    }
}

extension StoredValueCodec {
    /// A stored value as OData spells it outside of quotes: `$value`'s body, and a key's text. Nil for what has no text.
    public func text(of value: WireValue, type: TypeReference) -> String? {
        switch type.type {
        case .enumeration(let name): value.int64Value.flatMap { model.enumeration(name)?.text(of: $0) }
        default: model.primitive(behind: type.type).flatMap { Self.text(of: value, $0) }
        }
    }

    public static func text(of value: WireValue, _ type: PrimitiveType) -> String? {
        switch (type, value) {
        case (.duration, _): value.decimalValue.map(DurationText.text)
        case (.decimal, _): value.decimalValue.map(\.description)
        case (.single, .double(let number)): floating(number, shortest: Float(number).description)
        case (_, .double(let number)): floating(number, shortest: number.description)
        case (_, .string(let text)): text
        case (_, .bool(let flag)): flag ? "true" : "false"
        case (_, .int64(let number)): String(number)
        case (_, .date(let instant)): instant.rfc3339
        case (_, .data(let bytes)): Base64URL.encode(bytes)
        default: nil
        }
    }

    private static func floating(_ number: Double, shortest: String) -> String {
        guard number.isFinite else { return number.isNaN ? "NaN" : number < 0 ? "-INF" : "INF" }
        return shortest.hasSuffix(".0") ? String(shortest.dropLast(2)) : shortest
    }
}

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

    func field(
        _ property: StructuralProperty, _ column: RecordColumn, of source: String, isKey: Bool, isDerived: Bool
    ) -> Field {
        let restrictions = model.restrictions(of: source)
        let standard = defaultValue(property)
        let isComputed = property.annotations.isTagged(CoreTerm.computed)
        let mustBeGiven =
            !property.type.isNullable && standard == nil && !isDerived && !isKey && !isComputed
            && !property.type.isCollection
        return Field(
            column.field, shape(property.type), isRequired: mustBeGiven,
            isNullable: !isKey && (property.type.isNullable || isDerived || isComputed), defaultValue: standard,
            source: isKey ? .caller : self.source(property),
            isFilterable: restrictions.isFilterable && !restrictions.nonFilterable.contains(property.name),
            isSortable: restrictions.isSortable && !restrictions.nonSortable.contains(property.name),
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
        return StoredValueCodec(model: model).value(text: text, type: property.type)
    }
}

extension Facets {
    /// Digits after the point that a decimal may have; nil: any number. Without a scale there are none (CSDL 4.01,
    /// section 7.2.4), but documents of version 2 mean the largest, so an absent one is not enforced.
    var decimalPlaces: Int? {
        if case .digits(let count)? = scale { count } else { nil }
    }

    /// These facets, with those of `outer` as defaults.
    public func within(_ outer: Facets) -> Facets {
        Facets(
            maximumLength: maximumLength ?? outer.maximumLength, precision: precision ?? outer.precision,
            scale: scale ?? outer.scale, isUnicode: isUnicode && outer.isUnicode, srid: srid ?? outer.srid,
            legacyType: legacyType)
    }
}

/// `Edm.Date`, `Edm.TimeOfDay` and `Edm.DateTimeOffset` in their canonical texts, which sort as the values do.
public enum CalendarText {
    /// `YYYY-MM-DD` of a day that there is, in the years 0000 to 9999.
    public static func date(_ text: String) -> String? {
        guard text.utf8.count == 10, WireDate(rfc3339: "\(text)T00:00:00Z") != nil else { return nil }
        return text
    }

    /// `hh:mm[:ss[.f]]` as `hh:mm:ss[.f]`, without zeros at the fraction's end.
    public static func timeOfDay(_ text: String) -> String? {
        let whole = text.utf8.count == 5 ? "\(text):00" : text
        guard whole.utf8.count >= 8, WireDate(rfc3339: "2001-01-01T\(whole)Z") != nil else { return nil }
        guard whole.contains(".") else { return whole }
        var trimmed = whole[...]
        while trimmed.last == "0" { trimmed.removeLast() }
        return String(trimmed.last == "." ? trimmed.dropLast() : trimmed)
    }

    /// Seconds may be left out; an offset may not.
    public static func instant(_ text: String) -> WireDate? {
        if let instant = WireDate(rfc3339: text) { return instant }
        guard text.utf8.count >= 17 else { return nil }
        let place = text.utf8.index(text.startIndex, offsetBy: 16)
        return WireDate(rfc3339: "\(text[..<place]):00\(text[place...])")
    }
}

/// `Edm.Duration`: days, hours, minutes and seconds (XML Schema 1.1, dayTimeDuration), as an exact number of seconds.
public enum DurationText {
    /// Nil for what is no duration, and beyond 64 bits of seconds.
    public static func seconds(_ text: String) -> WireDecimal? {
        var rest = text.utf8[...]
        let isNegative = rest.first == UInt8(ascii: "-")
        if isNegative || rest.first == UInt8(ascii: "+") { rest.removeFirst() }
        guard rest.popFirst() == UInt8(ascii: "P"), !rest.isEmpty else { return nil }
        var whole = Total()
        var fraction = ""
        if let days = take(UInt8(ascii: "D"), &rest) { whole.add(days, times: 86_400) }
        if rest.first == UInt8(ascii: "T") {
            rest.removeFirst()
            guard !rest.isEmpty else { return nil }
            if let hours = take(UInt8(ascii: "H"), &rest) { whole.add(hours, times: 3600) }
            if let minutes = take(UInt8(ascii: "M"), &rest) { whole.add(minutes, times: 60) }
            if let last = rest.popLast() {
                guard last == UInt8(ascii: "S"), let parts = secondParts(rest) else { return nil }
                whole.add(parts.whole, times: 1)
                fraction = parts.fraction
                rest = rest[rest.endIndex...]
            }
        }
        guard rest.isEmpty, let seconds = whole.seconds else { return nil }
        return WireDecimal("\(isNegative ? "-" : "")\(seconds)\(fraction.isEmpty ? "" : ".\(fraction)")")
    }

    /// `P1DT2H3M4.5S`; `PT0S` for none.
    public static func text(_ seconds: WireDecimal) -> String {
        let zeros = String(repeating: "0", count: max(0, min(seconds.exponent, 18)))
        let plain = zeros.isEmpty ? seconds.description : (seconds.isNegative ? "-" : "") + seconds.digits + zeros
        let parts = plain.split(separator: ".")
        guard let first = parts.first, let signed = Int64(first) else { return "PT0S" }
        let isNegative = first.hasPrefix("-")
        let total = signed.magnitude
        let fraction = parts.count > 1 ? String(parts[1].reversed().drop { $0 == "0" }.reversed()) : ""
        let (days, rest) = total.quotientAndRemainder(dividingBy: 86_400)
        var time = rest / 3600 > 0 ? "\(rest / 3600)H" : ""
        if rest / 60 % 60 > 0 { time += "\(rest / 60 % 60)M" }
        if rest % 60 > 0 || !fraction.isEmpty { time += "\(rest % 60)\(fraction.isEmpty ? "" : ".\(fraction)")S" }
        guard days > 0 || !time.isEmpty else { return "PT0S" }
        return "\(isNegative ? "-" : "")P\(days > 0 ? "\(days)D" : "")\(time.isEmpty ? "" : "T\(time)")"
    }

    /// A sum whose parts come from outside; nil once it is beyond 64 bits.
    private struct Total {
        private(set) var seconds: Int64? = 0

        mutating func add(_ count: Int64, times unit: Int64) {
            let (product, isTooLarge) = count.multipliedReportingOverflow(by: unit)
            let (sum, isBeyond) = (seconds ?? 0).addingReportingOverflow(product)
            seconds = seconds == nil || isTooLarge || isBeyond ? nil : sum
        }
    }

    /// The number before a mark, where the next number is one of that mark.
    private static func take(_ mark: UInt8, _ rest: inout Substring.UTF8View) -> Int64? {
        let digits = rest.prefix { $0 &- 0x30 < 10 }
        guard !digits.isEmpty, digits.count <= 15, digits.endIndex < rest.endIndex, rest[digits.endIndex] == mark
        else { return nil }
        rest = rest[rest.index(after: digits.endIndex)...]
        return Int64(String(decoding: digits, as: UTF8.self))
    }

    private static func secondParts(_ text: Substring.UTF8View) -> (whole: Int64, fraction: String)? {
        let parts = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count), parts.allSatisfy({ !$0.isEmpty && $0.count <= 15 }),
            parts.allSatisfy({ $0.allSatisfy { $0 &- 0x30 < 10 } }),
            let whole = Int64(String(decoding: parts[0], as: UTF8.self))
        else { return nil }
        return (whole, parts.count == 2 ? String(decoding: parts[1], as: UTF8.self) : "")
    }
}
