import AdapterKit
import WireFormatTesting
import WireFormats

/// Which values are compared: the same ones for the same seed, in `generate` and in `check`.
struct Plan {
    static let valuesPerDocument = 500
    let format: any WireFormat
    let seed: UInt64
    let documents: Int
    private var hasUIDs = true

    init?(format: String, seed: String, values: String) {
        guard let name = FormatName(format), let found = FormatCatalogue.standard[name], let seed = UInt64(seed),
            let values = Int(values), values > 0
        else { return nil }
        (self.format, self.seed) = (found, seed)
        documents = (values + Self.valuesPerDocument - 1) / Self.valuesPerDocument
    }

    /// What the peers carry too: they round fractions of a second to microseconds, and JSON's have no decimals.
    private var traits: FormatTraits {
        var traits = format.traits
        if traits.decimal == .exact { traits.decimal = .none }
        traits.uid = traits.uid && hasUIDs
        traits.date = .wholeSeconds
        return traits
    }

    var withoutUIDs: Plan {
        var plan = self
        plan.hasUIDs = false
        return plan
    }

    func document(_ number: Int) -> WireValue {
        let first = UInt64(number * Self.valuesPerDocument)
        return .array(
            (0..<UInt64(Self.valuesPerDocument)).map { index in
                var generator = ValueGenerator(traits: traits, seed: seed &* 1_000_003 &+ first &+ index)
                return generator.value(size: 20)
            })
    }
}
