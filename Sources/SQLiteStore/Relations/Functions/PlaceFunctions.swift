import AdapterKit
import Foundation

/// Distances and areas of GeoJSON geometries, longitude and latitude in degrees.
enum PlaceFunctions {
    static let all: [SQLFunction] = [
        .strict("distance", 2) { arguments in
            guard let from = try place(arguments, 0), let to = try place(arguments, 1) else { return .null }
            return .real(from.distance(to: to))
        },
        .strict("lineLength", 1) { arguments in
            guard let line = try geometry(arguments, 0)?["coordinates"]?.arrayValue else { return .null }
            let places = line.compactMap { Place($0) }
            return .real(zip(places, places.dropFirst()).reduce(0) { $0 + $1.0.distance(to: $1.1) })
        },
        .strict("intersects", 2) { arguments in
            guard let place = try place(arguments, 0),
                let rings = try geometry(arguments, 1)?["coordinates"]?.arrayValue
            else { return .null }
            return .flag(place.isInside(rings.map { ($0.arrayValue ?? []).compactMap { Place($0) } }))
        },
    ]

    private static func geometry(_ arguments: SQLArguments, _ position: Int) throws -> WireDictionary? {
        try EncodedValue.decode(arguments.blob(position)).dictionaryValue
    }

    private static func place(_ arguments: SQLArguments, _ position: Int) throws -> Place? {
        try geometry(arguments, position)?["coordinates"].flatMap { Place($0) }
    }
}

/// A point on the globe.
struct Place: Equatable {
    let longitude, latitude: Double

    /// A GeoJSON position.
    init?(_ value: WireValue) {
        guard let numbers = value.arrayValue, numbers.count >= 2, let longitude = numbers[0].asDecimal,
            let latitude = numbers[1].asDecimal
        else { return nil }
        self.longitude = ExactDecimal(longitude).double
        self.latitude = ExactDecimal(latitude).double
    }

    /// Metres along the great circle (haversine), on a sphere.
    func distance(to other: Place) -> Double {
        let (a, b) = (latitude * .pi / 180, other.latitude * .pi / 180)
        let turn = (other.longitude - longitude) * .pi / 180
        let half = pow(sin((b - a) / 2), 2) + cos(a) * cos(b) * pow(sin(turn / 2), 2)
        return 2 * Self.earthRadius * asin(min(1, half.squareRoot()))
    }

    /// Within the first ring and in no other, which are holes; what is on an edge is within. Edges are straight in
    /// longitude and latitude, as on a map.
    func isInside(_ rings: [[Place]]) -> Bool {
        guard let outer = rings.first, isInside(ring: outer) else { return false }
        return !rings.dropFirst().contains { isInside(ring: $0) && !isOnEdge(of: $0) }
    }

    private func isInside(ring: [Place]) -> Bool {
        if isOnEdge(of: ring) { return true }
        var isInside = false
        for (a, b) in zip(ring, ring.dropFirst() + ring.prefix(1))
        where (a.latitude > latitude) != (b.latitude > latitude) {
            let crossing =
                (b.longitude - a.longitude) * (latitude - a.latitude) / (b.latitude - a.latitude) + a.longitude
            if longitude < crossing { isInside.toggle() }
        }
        return isInside
    }

    private func isOnEdge(of ring: [Place]) -> Bool {
        zip(ring, ring.dropFirst()).contains { a, b in
            let cross =
                (longitude - a.longitude) * (b.latitude - a.latitude)
                - (latitude - a.latitude) * (b.longitude - a.longitude)
            return cross == 0 && min(a.longitude, b.longitude) <= longitude
                && longitude <= max(a.longitude, b.longitude)
                && min(a.latitude, b.latitude) <= latitude && latitude <= max(a.latitude, b.latitude)
        }
    }

    /// Metres; the mean radius of WGS 84.
    private static let earthRadius = 6_371_008.8
}
