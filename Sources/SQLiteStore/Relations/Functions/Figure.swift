import AdapterKit

/// What a GeoJSON geometry covers, on a map: edges are straight in longitude and latitude.
struct Figure {
    private var points: [Place] = []
    private var lines: [[Place]] = []
    /// The outer ring first, then its holes.
    private var polygons: [[[Place]]] = []

    init(_ geometry: WireDictionary) { add(geometry) }

    private mutating func add(_ geometry: WireDictionary) {
        let coordinates = geometry["coordinates"]?.arrayValue ?? []
        switch geometry["type"]?.stringValue {
        case "Point": points += [Place(.array(coordinates))].compactMap { $0 }
        case "MultiPoint": points += Self.line(.array(coordinates))
        case "LineString": lines.append(Self.line(.array(coordinates)))
        case "MultiLineString": lines += coordinates.map(Self.line)
        case "Polygon": polygons.append(coordinates.map(Self.line))
        case "MultiPolygon": polygons += coordinates.map { ($0.arrayValue ?? []).map(Self.line) }
        default: for part in geometry["geometries"]?.arrayValue ?? [] { part.dictionaryValue.map { add($0) } }
        }
    }

    private static func line(_ value: WireValue) -> [Place] { (value.arrayValue ?? []).compactMap { Place($0) } }

    /// Whether the two have a point in common.
    func intersects(_ other: Figure) -> Bool {
        corners.contains { other.covers($0) } || other.corners.contains { covers($0) }
            || edges.contains { edge in other.edges.contains { edge.crosses($0) } }
    }

    private var corners: [Place] { points + lines.flatMap { $0 } + polygons.flatMap { $0.flatMap { $0 } } }
    private var edges: [Edge] { (lines + polygons.flatMap { $0 }).flatMap { Edge.all(of: $0) } }

    private func covers(_ place: Place) -> Bool {
        points.contains(place) || lines.contains { Edge.all(of: $0).contains { $0.holds(place) } }
            || polygons.contains { Self.polygon($0, covers: place) }
    }

    /// Within the first ring and in none of the others; what is on an edge is within.
    private static func polygon(_ rings: [[Place]], covers place: Place) -> Bool {
        guard let outer = rings.first else { return false }
        let edges = rings.map { Edge.all(of: $0) }
        if edges.contains(where: { $0.contains { $0.holds(place) } }) { return true }
        return isInside(outer, place) && !rings.dropFirst().contains { isInside($0, place) }
    }

    /// By how often a ray from the place to the east meets the ring.
    private static func isInside(_ ring: [Place], _ place: Place) -> Bool {
        var isInside = false
        for edge in Edge.all(of: ring) where (edge.a.latitude > place.latitude) != (edge.b.latitude > place.latitude) {
            let share = (place.latitude - edge.a.latitude) / (edge.b.latitude - edge.a.latitude)
            if place.longitude < edge.a.longitude + share * (edge.b.longitude - edge.a.longitude) { isInside.toggle() }
        }
        return isInside
    }
}

/// From one place straight to another.
private struct Edge {
    let a, b: Place

    static func all(of line: [Place]) -> [Edge] { zip(line, line.dropFirst()).map { Edge(a: $0, b: $1) } }

    /// On which side a place is: the sign tells.
    private func side(_ place: Place) -> Double {
        (b.longitude - a.longitude) * (place.latitude - a.latitude)
            - (b.latitude - a.latitude) * (place.longitude - a.longitude)
    }

    func holds(_ place: Place) -> Bool {
        side(place) == 0 && min(a.longitude, b.longitude) <= place.longitude
            && place.longitude <= max(a.longitude, b.longitude) && min(a.latitude, b.latitude) <= place.latitude
            && place.latitude <= max(a.latitude, b.latitude)
    }

    /// Within both; ends that touch are corners, which are looked at by themselves.
    func crosses(_ other: Edge) -> Bool {
        side(other.a) * side(other.b) < 0 && other.side(a) * other.side(b) < 0
    }
}
