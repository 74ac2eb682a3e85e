extension WireValue {
    /// The kind of the value in words for people, such as `an integer`, without what it says.
    public var kindInWords: String {
        switch self {
        case .null: "null"
        case .bool: "true or false"
        case .int64, .uint64: "an integer"
        case .double, .decimal: "a number"
        case .string: "a text"
        case .date: "a date"
        case .data: "bytes"
        case .array: "a list"
        case .dictionary: "a dictionary"
        case .uid: "a reference"
        }
    }
}
