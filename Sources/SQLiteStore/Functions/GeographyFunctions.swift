import AdapterKit
import Foundation

/// Distances and areas of GeoJSON geometries, longitude and latitude in degrees.
enum GeographyFunctions {
    static let all: [SQLFunction] = [
        .strict("distance", 2) { arguments in
            guard let from = try place(arguments, 0), let to = try place(arguments, 1) else { return .null }
            return .real(from.distance(to: to))
        },
        .strict("lineLength", 1) { arguments in
            guard let line = try geometry(arguments, 0)?["coordinates"]?.arrayValue else { return .null }
            let places = line.compactMap { GeographyPoint($0) }
            return .real(zip(places, places.dropFirst()).reduce(0) { $0 + $1.0.distance(to: $1.1) })
        },
        .strict("intersects", 2) { arguments in
            guard let left = try geometry(arguments, 0), let right = try geometry(arguments, 1) else { return .null }
            return .flag(try GeoPolygons(left).intersects(GeoPolygons(right), spend: arguments.spend))
        },
    ]

    private static func geometry(_ arguments: SQLArguments, _ position: Int) throws -> WireDictionary? {
        try EncodedValue.decode(arguments.blob(position)).dictionaryValue
    }

    private static func place(_ arguments: SQLArguments, _ position: Int) throws -> GeographyPoint? {
        try geometry(arguments, position)?["coordinates"].flatMap { GeographyPoint($0) }
    }
}

/// A point on the globe.
struct GeographyPoint: Equatable {
    let longitude, latitude: Double

    /// A GeoJSON position.
    init?(_ value: WireValue) {
        guard let numbers = value.arrayValue, numbers.count >= 2, let longitude = numbers[0].decimalValue,
            let latitude = numbers[1].decimalValue
        else { return nil }
        self.longitude = ExactDecimal(longitude).double
        self.latitude = ExactDecimal(latitude).double
    }

    /// Metres along the great circle (haversine), on a sphere.
    func distance(to other: GeographyPoint) -> Double {
        let (a, b) = (latitude * .pi / 180, other.latitude * .pi / 180)
        let turn = (other.longitude - longitude) * .pi / 180
        let half = pow(sin((b - a) / 2), 2) + cos(a) * cos(b) * pow(sin(turn / 2), 2)
        return 2 * Self.earthRadius * asin(min(1, half.squareRoot()))
    }

    /// Metres; the mean radius of WGS 84.
    private static let earthRadius = 6_371_008.8
}

/// The area of a GeoJSON geometry, on a map: edges are straight in longitude and latitude.
struct GeoPolygons {
    private var points: [GeographyPoint] = []
    private var lines: [[GeographyPoint]] = []
    /// The outer ring first, then its holes.
    private var polygons: [[[GeographyPoint]]] = []

    init(_ geometry: WireDictionary) { add(geometry) }

    private mutating func add(_ geometry: WireDictionary) {
        let coordinates = geometry["coordinates"]?.arrayValue ?? []
        switch geometry["type"]?.stringValue {
        case "Point": points += [GeographyPoint(.array(coordinates))].compactMap { $0 }
        case "MultiPoint": points += Self.line(.array(coordinates))
        case "LineString": lines.append(Self.line(.array(coordinates)))
        case "MultiLineString": lines += coordinates.map(Self.line)
        case "Polygon": polygons.append(coordinates.map(Self.line))
        case "MultiPolygon": polygons += coordinates.map { ($0.arrayValue ?? []).map(Self.line) }
        default: for part in geometry["geometries"]?.arrayValue ?? [] { part.dictionaryValue.map { add($0) } }
        }
    }

    private static func line(_ value: WireValue) -> [GeographyPoint] {
        (value.arrayValue ?? []).compactMap { GeographyPoint($0) }
    }

    /// The cost of looking at one edge, in bytes that are looked at once.
    private static let costOfEdge = 32

    /// Whether the two have a point in common. Looks at each edge for each of the other's, which `spend` gets to know; what
    /// it throws ends the search.
    func intersects(_ other: GeoPolygons, spend: (Int) throws -> Void) rethrows -> Bool {
        let (own, others) = (edges, other.edges)
        func isCovered(_ place: GeographyPoint, by polygons: GeoPolygons, _ edges: Int) throws -> Bool {
            try spend(Self.costOfEdge * (edges + polygons.points.count))
            return polygons.covers(place)
        }
        if try corners.contains(where: { try isCovered($0, by: other, others.count) }) { return true }
        if try other.corners.contains(where: { try isCovered($0, by: self, own.count) }) { return true }
        return try own.contains { edge in
            try spend(Self.costOfEdge * others.count)
            return others.contains { edge.crosses($0) }
        }
    }

    private var corners: [GeographyPoint] { points + lines.flatMap { $0 } + polygons.flatMap { $0.flatMap { $0 } } }
    private var edges: [PolygonEdge] { (lines + polygons.flatMap { $0 }).flatMap { PolygonEdge.all(of: $0) } }

    private func covers(_ place: GeographyPoint) -> Bool {
        points.contains(place) || lines.contains { PolygonEdge.all(of: $0).contains { $0.holds(place) } }
            || polygons.contains { Self.polygon($0, covers: place) }
    }

    /// Within the first ring and in none of the others; what is on an edge is within.
    private static func polygon(_ rings: [[GeographyPoint]], covers place: GeographyPoint) -> Bool {
        guard let outer = rings.first else { return false }
        let edges = rings.map { PolygonEdge.all(of: $0) }
        if edges.contains(where: { $0.contains { $0.holds(place) } }) { return true }
        return isInside(outer, place) && !rings.dropFirst().contains { isInside($0, place) }
    }

    /// By how often a ray from the place to the east meets the ring.
    private static func isInside(_ ring: [GeographyPoint], _ place: GeographyPoint) -> Bool {
        var isInside = false
        for edge in PolygonEdge.all(of: ring)
        where (edge.a.latitude > place.latitude) != (edge.b.latitude > place.latitude) {
            let share = (place.latitude - edge.a.latitude) / (edge.b.latitude - edge.a.latitude)
            if place.longitude < edge.a.longitude + share * (edge.b.longitude - edge.a.longitude) { isInside.toggle() }
        }
        return isInside
    }
}

/// From one place straight to another.
private struct PolygonEdge {
    let a, b: GeographyPoint

    static func all(of line: [GeographyPoint]) -> [PolygonEdge] {
        zip(line, line.dropFirst()).map { PolygonEdge(a: $0, b: $1) }
    }

    /// On which side a point is, by its sign.
    private func side(_ place: GeographyPoint) -> Double {
        (b.longitude - a.longitude) * (place.latitude - a.latitude)
            - (b.latitude - a.latitude) * (place.longitude - a.longitude)
    }

    func holds(_ place: GeographyPoint) -> Bool {
        side(place) == 0 && min(a.longitude, b.longitude) <= place.longitude
            && place.longitude <= max(a.longitude, b.longitude) && min(a.latitude, b.latitude) <= place.latitude
            && place.latitude <= max(a.latitude, b.latitude)
    }

    /// Within both; ends that touch are corners, which are looked at by themselves.
    func crosses(_ other: PolygonEdge) -> Bool {
        side(other.a) * side(other.b) < 0 && other.side(a) * other.side(b) < 0
    }
}
