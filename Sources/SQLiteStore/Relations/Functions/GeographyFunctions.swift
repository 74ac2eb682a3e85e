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
            let places = line.compactMap { Place($0) }
            return .real(zip(places, places.dropFirst()).reduce(0) { $0 + $1.0.distance(to: $1.1) })
        },
        .strict("intersects", 2) { arguments in
            guard let left = try geometry(arguments, 0), let right = try geometry(arguments, 1) else { return .null }
            return .flag(Figure(left).intersects(Figure(right)))
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

    /// Metres; the mean radius of WGS 84.
    private static let earthRadius = 6_371_008.8
}
