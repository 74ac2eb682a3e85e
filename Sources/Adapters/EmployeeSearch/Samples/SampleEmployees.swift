import AdapterKit

/// 10,000 invented employees over 12 divisions, the same ones every time; the first two are both called John Doe, in
/// different divisions.
struct SampleEmployees {
    static let count = 10_000
    static let seed: UInt64 = 1_616

    let records: [WireDictionary]

    init() {
        var random = SplitMix64(seed: Self.seed)
        records = (0..<Self.count).map { Self.employee($0, &random) }
    }

    private static func employee(_ number: Int, _ random: inout SplitMix64) -> WireDictionary {
        let isDoe = number < 2
        let first = isDoe ? "John" : random.element(of: SampleNames.first)
        let last = isDoe ? "Doe" : random.element(of: SampleNames.last)
        let division = isDoe ? SampleNames.divisions[number] : random.element(of: SampleNames.divisions)
        return WireDictionary(uncheckedUniqueKeys: [
            .init(key: Employees.id.text, value: .string("E\(100_000 + number)")),
            .init(key: Employees.firstName.text, value: .string(first)),
            .init(key: Employees.lastName.text, value: .string(last)),
            .init(key: Employees.division.text, value: .string(division)),
            .init(key: Employees.email.text, value: .string("e\(100_000 + number)@example.com")),
            .init(key: Employees.phoneNumber.text, value: .string(phoneNumber(&random))),
        ])
    }

    /// Of the numbers that are set aside for fiction: 555-0100 to 555-0199 of any area.
    private static func phoneNumber(_ random: inout SplitMix64) -> String {
        "+1 \(random.number(in: 201..<1_000)) 555 01\(random.number(in: 10..<100))"
    }
}
