import AdapterKit

/// An operation: what it takes, what it answers, and what it does.
///
/// The host reads the input in every format, checks it against the shape, and writes the output as the caller asks.
struct Summarize {
    static let maximumNumbers = 10_000

    static let operation = Operation(
        "summarize", summary: "Count, sum and mean of numbers.", effect: .reads,
        input: ObjectShape(
            "Numbers", members: [Member("numbers", .list(of: .double), isRequired: true, summary: "One at least.")]),
        output: .object(
            ObjectShape(
                "Summary",
                members: [
                    Member("count", .integer, isRequired: true), Member("sum", .double, isRequired: true),
                    Member("mean", .double, isRequired: true),
                ])))

    let numbers: [Double]

    init(_ call: Call) throws {
        numbers = (call["numbers"].arrayValue ?? []).compactMap(\.doubleValue)
        guard !numbers.isEmpty, numbers.count <= Self.maximumNumbers else {
            throw PorticoError(
                .requestInvalid, "There must be 1 to \(Self.maximumNumbers) numbers.", target: "numbers")
        }
    }

    func run() throws -> WireValue {
        let sum = numbers.reduce(0, +)
        // Infinite where the numbers are too large; no format carries that.
        guard sum.isFinite else { throw PorticoError(.requestInvalid, "The sum is too large.", target: "numbers") }
        return [
            "count": .int64(Int64(numbers.count)), "sum": .double(sum), "mean": .double(sum / Double(numbers.count)),
        ]
    }
}
