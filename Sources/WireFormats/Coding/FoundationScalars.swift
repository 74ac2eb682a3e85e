import ValueTree

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension Date: WireScalar {
    var wireValue: WireValue? {
        .date(WireDate(secondsSinceReferenceDate: timeIntervalSinceReferenceDate))
    }

    init?(wireValue: WireValue) {
        guard let instant = WireDate(wireValue: wireValue) else { return nil }
        self.init(timeIntervalSinceReferenceDate: instant.secondsSinceReferenceDate)
    }
}

extension Data: WireScalar {
    var wireValue: WireValue? { .data([UInt8](self)) }

    /// Data, or strict base64.
    init?(wireValue: WireValue) {
        switch wireValue {
        case .data(let bytes): self.init(bytes)
        case .string(let text):
            guard let bytes = Base64.decode(text) else { return nil }
            self.init(bytes)
        default: return nil
        }
    }
}

extension Decimal: WireScalar {
    var wireValue: WireValue? {
        isFinite ? WireDecimal(description).map(WireValue.decimal) : nil
    }

    /// Nil where the digits do not fit.
    init?(wireValue: WireValue) {
        guard let number = WireDecimal(wireValue: wireValue), let decimal = Decimal(string: number.description),
            let kept = WireDecimal(decimal.description), kept == number
        else { return nil }
        self = decimal
    }
}

extension URL: WireScalar {
    var wireValue: WireValue? { .string(absoluteString) }

    init?(wireValue: WireValue) {
        guard let text = wireValue.stringValue else { return nil }
        self.init(string: text)
    }
}
