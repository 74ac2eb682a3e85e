import AdapterKit

/// Functions of numbers and texts alone.
enum Sums {
    /// `Calculate(value)` doubles, `Calculate(a,b)` adds. Throws `request.invalid` beyond 64 bits.
    static func calculate(_ call: ServiceCall) throws(PorticoError) -> Int64 {
        let isOne = call.parameters == ["value"]
        let left = call[isOne ? "value" : "a"].int64Value ?? 0
        let (sum, overflow) = left.addingReportingOverflow(isOne ? left : call["b"].int64Value ?? 0)
        guard !overflow else { throw PorticoError(.requestInvalid, "The result does not fit into 64 bits.") }
        return sum
    }

    static func convert(_ call: ServiceCall) -> String {
        if call.parameters == ["number"] { return "Number: \(call["number"].int64Value ?? 0)" }
        return "String: \(call["input"].stringValue ?? "")"
    }
}

/// How many prices there are, and how high.
struct ProductStatistics {
    let prices: [Double]

    /// 0 where there are none, since the model's result has no null.
    var average: Double { prices.isEmpty ? 0 : prices.reduce(0, +) / Double(prices.count) }

    var members: WireDictionary {
        [
            "totalProducts": .int64(Int64(prices.count)), "averagePrice": .double(average),
            "maxPrice": .double(prices.max() ?? 0), "minPrice": .double(prices.min() ?? 0),
        ]
    }
}
