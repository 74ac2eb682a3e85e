import AdapterKit
import ODataModel
import ODataRecords

/// What a GeoJSON geometry must be to be the value of a property (RFC 7946, section 3.1; JSON Format 4.01, section 7.1).
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
