import NIOCore

/// Finds where frames of HTTP/2 begin and end in the bytes of a connection (RFC 9113, section 4.1). It reads heads only.
struct FrameScanner {
    struct Frame: Equatable {
        static let data: UInt8 = 0x0
        static let headers: UInt8 = 0x1
        static let settings: UInt8 = 0x4
        static let goAway: UInt8 = 0x7
        static let continuation: UInt8 = 0x9

        let type: UInt8
        let flags: UInt8
        let stream: UInt32

        var isSettingsAcknowledgement: Bool { type == Self.settings && flags & 1 != 0 }
    }

    enum Part: Equatable {
        /// The connection's first bytes, or some of a frame's payload.
        case bytes(ByteBuffer)
        /// The head of a frame, whole, with its bytes.
        case head(Frame, ByteBuffer)
        /// The last byte of a frame has been taken.
        case end(Frame)
    }

    static let headLength = 9
    private static let prefaceLength = 24

    private enum State {
        case preface(rest: Int)
        case head
        case payload(Frame, rest: Int)
    }

    private var state = State.preface(rest: prefaceLength)
    /// Arrived and not handed out: less than a head at the end of a call of ``next()``.
    private var buffer = ByteBuffer()

    mutating func append(_ bytes: ByteBuffer) {
        var bytes = bytes
        if buffer.readableBytes == 0 { buffer = bytes } else { buffer.writeBuffer(&bytes) }
    }

    /// Nil where more bytes are needed.
    mutating func next() -> Part? {
        switch state {
        case .preface(let rest):
            guard let piece = take(rest) else { return nil }
            state = piece.readableBytes == rest ? .head : .preface(rest: rest - piece.readableBytes)
            return .bytes(piece)
        case .head: return nextHead()
        case .payload(let frame, 0):
            state = .head
            return .end(frame)
        case .payload(let frame, let rest):
            guard let piece = take(rest) else { return nil }
            state = .payload(frame, rest: rest - piece.readableBytes)
            return .bytes(piece)
        }
    }

    /// What is there of so many bytes; nil: nothing.
    private mutating func take(_ count: Int) -> ByteBuffer? {
        guard buffer.readableBytes > 0 else { return nil }
        return buffer.readSlice(length: min(count, buffer.readableBytes))
    }

    private mutating func nextHead() -> Part? {
        var head = buffer
        guard buffer.readableBytes >= Self.headLength, let high = head.readInteger(as: UInt8.self),
            let low = head.readInteger(as: UInt16.self), let type = head.readInteger(as: UInt8.self),
            let flags = head.readInteger(as: UInt8.self), let stream = head.readInteger(as: UInt32.self),
            let bytes = buffer.readSlice(length: Self.headLength)
        else { return nil }
        let frame = Frame(type: type, flags: flags, stream: stream & 0x7FFF_FFFF)
        state = .payload(frame, rest: Int(high) << 16 | Int(low))
        return .head(frame, bytes)
    }
}
