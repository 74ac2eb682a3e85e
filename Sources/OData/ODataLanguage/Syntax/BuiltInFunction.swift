/// A canonical function, by the name that it has in URLs.
///
/// URL Conventions 4.01, sections 5.1.1.5 to 5.1.1.12. `substringof` is OData 2.0's `contains` with its arguments
/// exchanged; version 4 parses neither it nor `replace`.
public enum BuiltInFunction: String, Sendable, Hashable, CaseIterable {
    case concat, contains, endswith, indexof, length, startswith, substring, tolower, toupper, trim
    case matchesPattern
    case hassubset, hassubsequence
    case year, month, day, hour, minute, second, fractionalseconds, totalseconds
    case date, time, totaloffsetminutes, mindatetime, maxdatetime, now
    case round, floor, ceiling
    case geoDistance = "geo.distance"
    case geoLength = "geo.length"
    case geoIntersects = "geo.intersects"
    case substringof, replace

    /// How many arguments it takes.
    public var argumentCounts: ClosedRange<Int> {
        switch self {
        case .mindatetime, .maxdatetime, .now: 0...0
        case .concat, .contains, .endswith, .indexof, .startswith, .matchesPattern, .hassubset, .hassubsequence: 2...2
        case .geoDistance, .geoIntersects, .substringof: 2...2
        case .substring: 2...3
        case .replace: 3...3
        default: 1...1
        }
    }

    /// Those of version 2 (MS-ODATA, section 2.2.3.6.1.1), whose names are case-sensitive.
    static let inVersion2 = [String: Self](
        // Cannot trap: names in source code.
        uniqueKeysWithValues: [
            concat, endswith, indexof, length, replace, startswith, substring, substringof, tolower, toupper, trim,
            year,
            month, day, hour, minute, second, round, floor, ceiling,
        ].map { ($0.rawValue, $0) })

    /// Those of version 4 by their lower-case names: names of functions are case-insensitive.
    static let inVersion4 = [String: Self](
        // Cannot trap: names in source code.
        uniqueKeysWithValues: allCases.filter { $0 != .substringof && $0 != .replace }.map {
            ($0.rawValue.lowercased(), $0)
        })
}
