import AdapterKit

/// 500 users from 100 on: the two of the contract's fixtures first, and at the end one whose name needs escaping.
enum SampleUsers {
    static let numbers = 100..<600

    static let records = numbers.map { number -> WireDictionary in
        [
            Users.userID.text: .int64(Int64(number)), Users.userName.text: .string(name(number)),
            Users.shoeSize.text: .string(shoeSize(number)),
        ]
    }

    private static func name(_ number: Int) -> String {
        number == numbers.upperBound - 1 ? "A&B ‹é>" : "Fake \(number - numbers.lowerBound + 1)"
    }

    /// 8.5M and 12W for the first two, as the fixtures have it; half sizes from 5 to 14 in four widths after them.
    private static func shoeSize(_ number: Int) -> String {
        let steps = (number - numbers.lowerBound) * 7 + 7
        let halves = 10 + steps % 19
        let width = ["M", "W", "N", "E"][(number - numbers.lowerBound) % 4]
        return "\(halves / 2)\(halves % 2 == 0 ? "" : ".5")\(width)"
    }
}
