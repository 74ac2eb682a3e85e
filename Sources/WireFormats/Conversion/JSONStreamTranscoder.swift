import ValueTree

/// Converts a JSON document of any length: values that fit into a piece are read as a whole, longer arrays and
/// dictionaries are opened and their members taken one by one.
struct JSONStreamTranscoder {
    private var pieces: StreamedPieces
    private var scan: JSONExtent?

    init(_ pieces: StreamedPieces) {
        self.pieces = pieces
    }

    mutating func run(_ output: ([UInt8]) throws -> Void) throws -> Conversion.Report {
        if pieces.window.bytes.starts(with: [0xEF, 0xBB, 0xBF]) { pieces.window.advance(3) }
        try takeValue()
        while !pieces.open.isEmpty {
            try takeMemberOrEnd()
            try pieces.drain(output)
        }
        guard try pieces.skipSpace() == nil else { throw pieces.malformed("something follows the document") }
        try pieces.finish(output)
        return pieces.report
    }

    private mutating func takeMemberOrEnd() throws {
        let level = pieces.open[pieces.open.count - 1]
        guard let next = try pieces.skipSpace() else {
            throw pieces.malformed("the document ends within a container")
        }
        if next == (level.kind == .array ? UInt8(ascii: "]") : UInt8(ascii: "}")) {
            try pieces.end()
            return pieces.window.advance(1)
        }
        if !level.isEmpty {
            guard next == UInt8(ascii: ",") else {
                throw pieces.malformed("a comma or the container's end was expected")
            }
            pieces.window.advance(1)
        }
        pieces.noteMember()
        if level.kind == .dictionary { try takeKey() }
        try takeValue()
    }

    private mutating func takeKey() throws {
        guard try pieces.skipSpace() == UInt8(ascii: "\"") else { throw pieces.malformed("a key was expected") }
        guard let length = try extent(isWhole: true) else { throw pieces.malformed("a key is not closed") }
        let tape = try read(length)
        try pieces.key(tape.string(of: tape.tokens[0]))
        pieces.window.advance(length)
        guard try pieces.skipSpace() == UInt8(ascii: ":") else { throw pieces.malformed("a colon was expected") }
        pieces.window.advance(1)
    }

    private mutating func takeValue() throws {
        guard let first = try pieces.skipSpace() else { throw pieces.malformed("a value is missing") }
        let isContainer = first == UInt8(ascii: "[") || first == UInt8(ascii: "{")
        guard let length = try extent(isWhole: !isContainer) else {
            try pieces.begin(first == UInt8(ascii: "[") ? .array : .dictionary)
            return pieces.window.advance(1)
        }
        let tape = try read(length)
        let format = pieces.format
        try pieces.write(tape, of: length) { limits throws(WireFormatError) in
            try format.readTape(tape.input, limits: limits)
        }
    }

    private func read(_ length: Int) throws -> Tape {
        try pieces.read(length) { piece throws(WireFormatError) in
            try pieces.format.readTape(piece, limits: pieces.innerLimits)
        }
    }

    private mutating func extent(isWhole: Bool) throws -> Int? { try pieces.extent(isWhole: isWhole, &scan) }
}

/// Finds where a JSON value ends without reading it: strings and brackets are enough for that. What is wrong inside is
/// found when the piece is read.
struct JSONExtent: NestedExtent {
    private var origin: Int
    private var containers = OpenContainers()
    private var isInString = false
    private var isEscaped = false
    private(set) var scanned = 0

    init(from origin: Int) { self.origin = origin }

    /// The length of the value that starts at `start`; nil where more bytes are needed. Scalars other than strings end
    /// before what follows them, so the end of the stream ends them too.
    mutating func length(_ bytes: [UInt8], from start: Int, isAtEnd: Bool) -> Int? {
        bytes.withUnsafeBufferPointer { bytes in
            while start + scanned < bytes.count {
                let byte = bytes[start + scanned]
                if !isInString, containers.depth == 0, scanned > 0, Self.endsScalar(byte) { return scanned }
                scanned += 1
                if step(byte) { return scanned }
            }
            return isAtEnd ? scanned : nil
        }
    }

    /// Takes one byte; returns whether the value ends with it.
    @inline(__always)
    private mutating func step(_ byte: UInt8) -> Bool {
        if isInString {
            if isEscaped {
                isEscaped = false
            } else if byte == UInt8(ascii: "\\") {
                isEscaped = true
            } else if byte == UInt8(ascii: "\"") {
                isInString = false
                return containers.depth == 0
            }
            return false
        }
        switch byte {
        case UInt8(ascii: "\""): isInString = true
        case UInt8(ascii: "["), UInt8(ascii: "{"): containers.open(at: origin + scanned - 1)
        case UInt8(ascii: "]"), UInt8(ascii: "}"):
            containers.close()
            return containers.depth == 0
        default: break
        }
        return false
    }

    mutating func resume(at origin: Int) -> Bool {
        guard containers.enter(at: origin) else { return false }
        scanned -= origin - self.origin
        self.origin = origin
        return true
    }

    private static func endsScalar(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: ","), UInt8(ascii: ":"), UInt8(ascii: "]"), UInt8(ascii: "}"), 0x20, 0x09, 0x0A, 0x0D: true
        default: false
        }
    }
}

/// Finds where a value ends without reading it, and knows which containers are open within it.
protocol NestedExtent {
    /// - Parameter origin: where the value begins in the whole document.
    init(from origin: Int)
    /// The length of the value that stands at `start`; nil where more bytes are needed.
    mutating func length(_ bytes: [UInt8], from start: Int, isAtEnd: Bool) -> Int?
    /// Goes on as the scan of the container at `origin`, with what was scanned of it already. False where no container is
    /// open that begins there.
    mutating func resume(at origin: Int) -> Bool
}

/// Where the containers begin that a scan is in.
struct OpenContainers {
    /// In the whole document, the outermost first.
    private var starts: [Int] = []
    /// How many of them are around the value.
    private var outer = 0

    /// How many are open within the value, itself included.
    var depth: Int { starts.count - outer }

    mutating func open(at start: Int) { starts.append(start) }

    mutating func close() {
        if depth > 0 { starts.removeLast() }
    }

    /// Makes the container that begins there the value.
    mutating func enter(at start: Int) -> Bool {
        var (low, high) = (outer, starts.count)
        while low < high {
            let middle = low + (high - low) / 2
            if starts[middle] < start { low = middle + 1 } else { high = middle }
        }
        guard low < starts.count, starts[low] == start else { return false }
        outer = low
        return true
    }
}

extension StreamedPieces {
    /// The length of the value at hand; nil for a container that is longer than a piece. A value that must be taken as a
    /// whole is read up to the limit of the stream.
    ///
    /// - Parameter earlier: the last scan of a container that was longer than a piece. Containers within it that it found
    ///   open are not scanned from their beginnings again, so nesting does not multiply the work.
    mutating func extent<Extent: NestedExtent>(isWhole: Bool, _ earlier: inout Extent?) throws -> Int? {
        var extent: Extent
        if earlier?.resume(at: window.offset) == true, let resumed = earlier {
            earlier = nil
            extent = resumed
        } else {
            extent = Extent(from: window.offset)
        }
        while true {
            if let length = extent.length(window.bytes, from: window.position, isAtEnd: window.isAtEnd) {
                return isWhole || length <= pieceBytes ? length : nil
            }
            guard isWhole || window.available < pieceBytes else {
                earlier = extent
                return nil
            }
            try window.fill(to: window.available + 1)
        }
    }
}
