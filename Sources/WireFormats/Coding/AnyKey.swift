/// A coding key of any name, or an array's index.
struct AnyKey: CodingKey {
    let stringValue: String
    let intValue: Int?

    init(stringValue: String) {
        (self.stringValue, intValue) = (stringValue, nil)
    }

    init(intValue: Int) {
        (stringValue, self.intValue) = ("Index \(intValue)", intValue)
    }

    static let `super` = AnyKey(stringValue: "super")
}
