/// Where in its messages a decoder stands, told from the bytes that went into it. What is said to be the beginning of a
/// message is one; where it cannot be told simply it stays unknown for as long as the connection lasts.
enum DecoderPlace: Equatable {
    case messageStart
    /// Within a body of which so many bytes are to come.
    case body(rest: Int)
    case unknown

    /// After one head with its body's length, and `arrived` bytes behind it.
    init(bodyLength: Int, arrived: Int) {
        self = .body(rest: bodyLength)
        take(arrived)
    }

    /// More bytes went into the decoder.
    mutating func take(_ bytes: Int) {
        switch self {
        case .body(let rest) where bytes < rest: self = .body(rest: rest - bytes)
        case .body(bytes): self = .messageStart
        default: self = .unknown
        }
    }
}
