/// The text formats that Prometheus reads. Source: Prometheus' "Exposition formats", OpenMetrics 1.0.
public enum ExpositionFormat: Sendable {
    /// `text/plain; version=0.0.4`
    case prometheus
    /// `application/openmetrics-text; version=1.0.0`
    case openMetrics

    /// As `Content-Type` has it.
    public var mediaType: String {
        switch self {
        case .prometheus: "text/plain; version=0.0.4; charset=utf-8"
        case .openMetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8"
        }
    }

    /// All samples of the definitions, in their order; metrics without samples are left out.
    public func text(_ samples: MetricSamples, of definitions: [MetricDefinition]) -> String {
        var text = ""
        for definition in definitions {
            guard let found = samples.byName[definition.name], !found.isEmpty else { continue }
            let family = family(definition)
            text += "# HELP \(family) \(Self.escaped(definition.help, quotes: false))\n"
            text += "# TYPE \(family) \(definition.kind.word)\n"
            for (labels, value) in found.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
                let pairs = zip(definition.labels, labels).map { "\($0.name)=\"\(Self.escaped($1, quotes: true))\"" }
                switch value {
                case .number(let number): text += Self.line(definition.name, pairs, number)
                case .distribution(let distribution): text += Self.lines(definition.name, pairs, distribution)
                }
            }
        }
        if self == .openMetrics { text += "# EOF\n" }
        return text
    }

    /// OpenMetrics names a counter's family without its suffix.
    private func family(_ definition: MetricDefinition) -> String {
        guard self == .openMetrics, definition.kind == .counter, definition.name.hasSuffix("_total") else {
            return definition.name
        }
        return String(definition.name.dropLast("_total".count))
    }

    private static func lines(_ name: String, _ pairs: [String], _ distribution: MetricDistribution) -> String {
        var text = ""
        for (index, count) in distribution.cumulativeCounts.enumerated() {
            let bound = index < distribution.bounds.count ? "\(distribution.bounds[index])" : "+Inf"
            text += line("\(name)_bucket", pairs + ["le=\"\(bound)\""], Double(count))
        }
        return text + line("\(name)_count", pairs, Double(distribution.cumulativeCounts.last ?? 0))
            + line("\(name)_sum", pairs, distribution.sum)
    }

    private static func line(_ name: String, _ pairs: [String], _ value: Double) -> String {
        "\(name)\(pairs.isEmpty ? "" : "{\(pairs.joined(separator: ","))}") \(number(value))\n"
    }

    /// Whole numbers without a fraction, as far as a double holds them exactly.
    private static func number(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
        return Int64(exactly: value).map { "\($0)" } ?? "\(value)"
    }

    private static func escaped(_ text: String, quotes: Bool) -> String {
        var result = ""
        for character in text.unicodeScalars {
            switch character {
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\"" where quotes: result += "\\\""
            default: result.unicodeScalars.append(character)
            }
        }
        return result
    }
}
