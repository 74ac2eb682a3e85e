import AdapterKit
import ODataEngine
import ODataModel

/// Reads values of OData's JSON as stored values. Throws `request.invalid` with the property at fault as the target.
struct ValueReader: Sendable {
    let model: EntityDataModel
    /// Whether values may also be such as records hold already: instants, durations as seconds, bytes. They are checked
    /// all the same, and come out as they would from OData's JSON.
    var takesStored = false
    private var form: StoredValueCodec { StoredValueCodec(model: model) }

    func value(_ json: WireValue, _ type: TypeReference, at path: String) throws(PorticoError) -> WireValue {
        guard type.isCollection else { return try single(json, type, at: path) }
        guard case .array(let items) = json else { throw wrong(type, path) }
        var values: [WireValue] = []
        for (position, item) in items.enumerated() {
            values.append(try single(item, type.item, at: "\(path)[\(position)]"))
        }
        return .array(values)
    }

    private func single(_ json: WireValue, _ type: TypeReference, at path: String) throws(PorticoError) -> WireValue {
        if json.isNull {
            guard type.isNullable else {
                throw PorticoError(.requestInvalid, "\(path) cannot be null.", target: path)
            }
            return .null
        }
        switch type.type {
        case .complex(let name): return try complex(json, name, at: path)
        case .enumeration(let name):
            guard let enumeration = model.enumeration(name) else { throw wrong(type, path) }
            if let text = json.stringValue, let value = enumeration.value(of: text) { return .int64(value) }
            if let number = json.int64Value, !takesStored || enumeration.has(number) { return .int64(number) }
            throw wrong(type, path)
        case .entity, .abstract: return json
        case .primitive(let primitive): return try primitiveValue(json, primitive, type, at: path)
        case .definition(let name):
            let definition = model.definition(name)
            let narrowed = TypeReference(
                type.type, isNullable: type.isNullable, facets: type.facets.within(definition?.facets ?? Facets()))
            return try primitiveValue(json, definition?.underlying ?? .string, narrowed, at: path)
        }
    }

    private func primitiveValue(
        _ json: WireValue, _ primitive: PrimitiveType, _ type: TypeReference, at path: String
    ) throws(PorticoError) -> WireValue {
        let stored = takesStored ? Self.stored(json, primitive) : nil
        guard let value = stored ?? Self.primitive(json, primitive) else { throw wrong(type, path) }
        try Self.check(value, primitive, type.facets, at: path)
        return value
    }

    private static func check(
        _ value: WireValue, _ primitive: PrimitiveType, _ facets: Facets, at path: String
    ) throws(PorticoError) {
        if let maximum = facets.maximumLength, let text = value.stringValue, text.unicodeScalars.count > maximum {
            throw PorticoError(.requestInvalid, "\(path) has at most \(maximum) characters.", target: path)
        }
        if let maximum = facets.maximumLength, let bytes = value.dataValue, bytes.count > maximum {
            throw PorticoError(.requestInvalid, "\(path) has at most \(maximum) bytes.", target: path)
        }
        // Texts have 12 at most (ABNF, `fractionalSeconds`).
        let precision = facets.precision ?? 12
        if let digits = secondDigits(value, primitive), digits > precision {
            throw PorticoError(
                .requestInvalid, "\(path) has at most \(precision) digits of a second after the point.", target: path)
        }
        guard primitive == .decimal, let number = value.decimalValue else { return }
        if case .digits(let scale)? = facets.scale, number.exponent < -scale {
            throw PorticoError(.requestInvalid, "\(path) has at most \(scale) digits after the point.", target: path)
        }
        if let precision = facets.precision, !number.isZero, number.digitsInAll(scale: facets.scale) > precision {
            throw PorticoError(.requestInvalid, "\(path) has at most \(precision) digits.", target: path)
        }
    }

    /// Digits after the point of the seconds in an instant or a time of day; nil for another type.
    private static func secondDigits(_ value: WireValue, _ primitive: PrimitiveType) -> Int? {
        switch (primitive, value) {
        case (.dateTimeOffset, .date(let instant)): instant.fraction.utf8.count
        // Without zeros at the fraction's end.
        case (.timeOfDay, .string(let text)): text.utf8.drop { $0 != UInt8(ascii: ".") }.dropFirst().count
        default: nil
        }
    }

    /// A value as records hold it; nil for any other.
    private static func stored(_ value: WireValue, _ type: PrimitiveType) -> WireValue? {
        switch (type, value) {
        case (.dateTimeOffset, .date), (.binary, .data): value
        case (.duration, _): value.decimalValue.map(StoredValueCodec.decimal)
        case (.double, .double): value
        case (.single, .double(let number)): .double(Double(Float(number)))
        default: nil
        }
    }

    /// Nil for what is none of the type's. Numbers that JSON may carry as texts (IEEE754Compatible) come either way.
    private static func primitive(_ json: WireValue, _ type: PrimitiveType) -> WireValue? {
        switch type {
        case .boolean: return json.boolValue.map(WireValue.bool)
        case .byte, .sByte, .int16, .int32, .int64:
            // Cannot trap: integers have ranges.
            if let number = json.int64Value { return type.integerRange!.contains(number) ? .int64(number) : nil }
            if case .double(let number) = json, let whole = Int64(exactly: number) {
                // Cannot trap: integers have ranges.
                return type.integerRange!.contains(whole) ? .int64(whole) : nil
            }
            return type == .int64 ? json.stringValue.flatMap { StoredValueCodec.value(text: $0, type) } : nil
        case .decimal:
            if let text = json.stringValue { return StoredValueCodec.value(text: text, .decimal) }
            return json.decimalValue.map(StoredValueCodec.decimal)
        case .double, .single:
            if let text = json.stringValue {
                return ["INF", "-INF", "NaN"].contains(text) ? StoredValueCodec.value(text: text, type) : nil
            }
            // Its shortest text reads back as it. Zero goes the long way: as a decimal it has no sign.
            if type == .double, case .double(let number) = json, number.isFinite, number != 0 { return json }
            guard let exact = json.decimalValue else { return nil }
            // A single is rounded by its type; a double that would lose digits of the number is none.
            guard type == .single else { return exact.exactDouble.map(WireValue.double) }
            return Double(exact.description).map { .double(Double(Float($0))) }
        case .stream: return nil
        default:
            if type.isSpatial { return GeoJSON(of: type).holds(json) ? json : nil }
            return json.stringValue.flatMap { StoredValueCodec.value(text: $0, type) }
        }
    }

    private func complex(_ json: WireValue, _ name: QualifiedName, at path: String) throws(PorticoError) -> WireValue {
        guard case .dictionary(let members) = json else { throw wrong(TypeReference(.complex(name)), path) }
        var actual = name
        var stored = WireDictionary()
        if let named = (members["@odata.type"] ?? members["@type"])?.stringValue {
            guard let type = QualifiedName(named.drop { $0 == "#" }).map(model.resolve), model.type(type, isA: name)
            else {
                throw PorticoError(.requestInvalid, "\(named) is no type of \(path).", target: path)
            }
            actual = type
            if type != name { stored["@type"] = .string(type.description) }
        }
        guard let type = model.structured(actual) else { throw wrong(TypeReference(.complex(name)), path) }
        for member in members where !member.key.contains("@") {
            guard let property = type.property(member.key) else {
                throw PorticoError(
                    .requestInvalid, "\(actual) has no property \(member.key).", target: "\(path)/\(member.key)")
            }
            stored[property.name] = try value(member.value, property.type, at: "\(path)/\(member.key)")
        }
        for property in type.properties where stored[property.name] == nil {
            if let text = property.defaultValue {
                stored[property.name] = form.value(text: text, type: property.type)
            } else if takesStored, !property.type.isNullable, !property.type.isCollection {
                throw PorticoError(
                    .requestInvalid, "\(property.name) is missing.", target: "\(path)/\(property.name)")
            }
        }
        return .dictionary(stored)
    }

    private func wrong(_ type: TypeReference, _ path: String) -> PorticoError {
        .ofOtherType(type, model, at: path)
    }
}

extension PorticoError {
    /// Refuses a value that is none of the type's, with an example where the type's name does not say the form.
    static func ofOtherType(_ type: TypeReference, _ model: EntityDataModel, at path: String) -> PorticoError {
        let example: String? =
            switch type.isCollection ? nil : model.primitive(behind: type.type) {
            case .date: "2024-01-15"
            case .dateTimeOffset: "2024-01-15T10:20:30Z"
            case .timeOfDay: "10:20:30"
            case .duration: "P1DT2H30M"
            case .guid: "01234567-89ab-cdef-0123-456789abcdef"
            default: nil
            }
        return ofOtherType("\(type)", such: example, at: path)
    }

    /// The same in the terms of version 2.
    static func ofOtherVersion2Type(_ type: TypeReference, _ model: EntityDataModel, at path: String) -> PorticoError {
        let name = model.version2Shape(of: type).typeName
        let example: String? =
            switch name {
            case "Edm.DateTime": "2024-01-15T10:20:30"
            case "Edm.DateTimeOffset": "2024-01-15T10:20:30Z"
            case "Edm.Time": "PT10H20M30S"
            case "Edm.Guid": "01234567-89ab-cdef-0123-456789abcdef"
            default: nil
            }
        return ofOtherType(name, such: example, at: path)
    }

    private static func ofOtherType(_ name: String, such example: String?, at path: String) -> PorticoError {
        let form = example.map { ", such as \($0)" } ?? ""
        return PorticoError(.requestInvalid, "\(path) is of type \(name)\(form).", target: path)
    }
}

extension WireDecimal {
    /// Digits before the point, and those after it: as many as a fixed scale keeps for them (CSDL 4.01, section 7.2.3).
    fileprivate func digitsInAll(scale: Facets.Scale?) -> Int {
        let whole = max(digits.utf8.count + exponent, 0)
        if case .digits(let places)? = scale { return whole + places }
        return whole + max(-exponent, 0)
    }
}

extension EnumerationType {
    /// Whether members make the number up.
    fileprivate func has(_ number: Int64) -> Bool {
        if members.contains(where: { $0.value == number }) { return true }
        guard isFlags else { return false }
        return members.reduce(0) { $0 | $1.value } & number == number
    }
}

/// Validates GeoJSON geometries as property values (RFC 7946, section 3.1; JSON Format 4.01, section 7.1).
struct GeoJSON {
    /// The type that the property is of; empty for any.
    private let wanted: Substring
    /// Positions of Edm.Geography are longitude and latitude in degrees, those of Edm.Geometry any numbers.
    private let isGeographic: Bool
    /// Collections within collections, which RFC 7946 advises against.
    private static let deepestCollection = 4

    init(of type: PrimitiveType) {
        let name = type.rawValue
        isGeographic = name.hasPrefix("Geography")
        wanted = name.dropFirst(isGeographic ? "Geography".count : "Geometry".count)
    }

    func holds(_ value: WireValue) -> Bool {
        guard let name = value["type"]?.stringValue else { return false }
        let isWanted = wanted.isEmpty || name == wanted || (wanted == "Collection" && name == "GeometryCollection")
        return isWanted && isGeometry(value, depth: 1)
    }

    private func isGeometry(_ value: WireValue, depth: Int) -> Bool {
        let coordinates = value["coordinates"]
        switch value["type"]?.stringValue {
        case "Point": return isPosition(coordinates)
        case "MultiPoint": return isList(coordinates, of: isPosition)
        case "LineString": return isLine(coordinates)
        case "MultiLineString": return isList(coordinates, of: isLine)
        case "Polygon": return isPolygon(coordinates)
        case "MultiPolygon": return isList(coordinates, of: isPolygon)
        case "GeometryCollection":
            return depth <= Self.deepestCollection
                && isList(value["geometries"]) { $0.map { isGeometry($0, depth: depth + 1) } ?? false }
        default: return false
        }
    }

    /// Two numbers, a height and a measure.
    private func isPosition(_ value: WireValue?) -> Bool {
        guard let numbers = value?.arrayValue, (2...4).contains(numbers.count) else { return false }
        let read = numbers.compactMap(\.coordinate)
        guard read.count == numbers.count else { return false }
        return !isGeographic || (read[0].magnitude <= 180 && read[1].magnitude <= 90)
    }

    private func isLine(_ value: WireValue?) -> Bool {
        (value?.arrayValue?.count ?? 0) >= 2 && isList(value, of: isPosition)
    }

    /// Rings: closed, so of four positions at least.
    private func isPolygon(_ value: WireValue?) -> Bool {
        isList(value) { ring in
            guard let positions = ring?.arrayValue, positions.count >= 4, isList(ring, of: isPosition) else {
                return false
            }
            return positions.first?.coordinates == positions.last?.coordinates
        }
    }

    private func isList(_ value: WireValue?, of isItem: (WireValue?) -> Bool) -> Bool {
        value?.arrayValue?.allSatisfy(isItem) ?? false
    }
}

extension WireValue {
    /// Nil for what is no number, and for infinities.
    fileprivate var coordinate: Double? {
        switch self {
        case .int64, .uint64, .double, .decimal: break
        default: return nil
        }
        return (doubleValue ?? decimalValue.flatMap { Double($0.description) }).flatMap { $0.isFinite ? $0 : nil }
    }

    fileprivate var coordinates: [Double?]? { arrayValue?.map(\.coordinate) }
}
